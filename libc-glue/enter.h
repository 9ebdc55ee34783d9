/*
 * Upcalls, as the library takes them: the kernel enters enter.c by itself when there are events
 * for handlers, or the timer has run out.
 */
#ifndef LIBC_GLUE_ENTER_H
#define LIBC_GLUE_ENTER_H

/* An upcall is in progress, perhaps a handler. */
int upcall_is_running(void);

/* The end of the stack of upcalls, or 0 if there is no memory for it; where the kernel enters. */
unsigned long upcall_stack(void);
void upcall_entry(void);

/* The handlers of all queues that have events for them, from an upcall; and whether there are such
 * queues. Null in a program that makes no event queues (lib/portals/upcall.c has them). */
__attribute__((weak)) void upcall_call_handlers(void);
__attribute__((weak)) int upcall_has_queues(void);

#endif
