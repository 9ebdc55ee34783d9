/*
 * Upcalls: the kernel interrupts the application to have the library call the
 * handlers of event queues (rule 23), or because its timer has run out, and lets it go on
 * afterwards.
 *
 *   an event for a handler --> upcall_look, or upcall_ring for another node
 *   the timer              --> upcall_timer
 *   on the way to ring 3, from a system call or an interrupt, if none runs:
 *       upcall_enter: frame and vector state are kept here, the application
 *       goes on in the library's entry, on the library's stack
 *   SYS_UPCALL_RETURN: everything as it was; or, if there are more events
 *       by now, back into the library, which looks again; or, with a detour, everything but rip
 *       and rsp: the library goes on there, as a signal handler does, and no upcall runs
 *
 * The library's loop is in lib/portals/upcall.c. While an upcall runs no other
 * one starts, and no node rings for one: the node that leaves an event sets this node's
 * flag in the region and rings only if that was clear; it is cleared, and the
 * queues looked at once more, when the upcall is about to end. So no event is
 * left behind, and a flood costs one doorbell for many events.
 *
 * Interrupts are off in all of these.
 */
#ifndef KERNEL_UPCALL_H
#define KERNEL_UPCALL_H
#include <stdbool.h>
#include <stdint.h>

#include "kernel/cpu/cpu.h"
#include "kernel/process/process.h"
#include "net/portals/types.h"

/* Once, while booting: memory for the vector state, as much as the CPU has. */
void upcall_start(void);

/* A queue of this process's has a handler from now on: upcalls enter at `entry`
 * with rsp = `stack`. Both are user addresses; false: they cannot be. */
bool upcall_may_enter(uint64_t entry, uint64_t stack);
void upcall_add(handle_t eq, uint64_t entry, uint64_t stack);

/* The queue is gone; all of them are. */
void upcall_remove(handle_t eq);
void upcall_remove_all(void);

/* An event may have been recorded in a queue of this process: if one is there for
 * a handler, an upcall is wanted. At the end of each system call that records
 * any; with no handler it is one comparison. */
void upcall_look_again(void);
static inline void upcall_look(void)
{
	if (__builtin_expect(this_process()->upcalls.queues != 0, 0))
		upcall_look_again();
}

/* There is one for a handler of another node's: it was recorded, and the lock
 * of that node's block given back, before. True if the node was rung; if not, it
 * has been already, and has not looked yet. */
bool upcall_ring(uint32_t nid);

/* A doorbell came: maybe for an upcall. */
void upcall_bell(void);

/* The application's timer (SYS_TIMER) has run out: an upcall tells it. */
void upcall_timer(void);

/* An upcall will start on the way to ring 3. */
static inline bool upcall_is_due(void)
{
	return this_cpu()->upcall != 0;
}

/* The application, about to go on as `frame` says, enters the library instead: with rsi = 1 if the
 * timer has run out, else 0; rdx and r8 = rip and rsp of what was interrupted. Call if
 * upcall_is_due. */
void upcall_enter(struct trap_frame *frame);

/* The same at the end of a system call, from entry.asm: frame->rax is set. */
void upcall_enter_from_call(struct trap_frame *frame);

#endif
