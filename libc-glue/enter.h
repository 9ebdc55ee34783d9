/*
 * Upcalls, the library's side: the kernel enters enter.c when there are events for handlers, or
 * when the timer has expired.
 */
#ifndef LIBC_GLUE_ENTER_H
#define LIBC_GLUE_ENTER_H

/* An upcall is in progress, perhaps a handler. */
int upcall_is_running(void);

/* The end of the stack of upcalls, or 0 if there is no memory; the kernel's entry point. */
unsigned long upcall_stack(void);
void upcall_entry(void);

/* From an upcall: call the handlers of all queues that have events for them; and whether there are
 * such queues. Null in a program without event queues (lib/portals/upcall.c). */
__attribute__((weak)) void upcall_call_handlers(void);
__attribute__((weak)) int upcall_has_queues(void);

#endif
