/*
 * Upcalls: the kernel interrupts the application so that the library calls the handlers of event
 * queues (rule 23), or because its timer has expired, and resumes it afterwards.
 *
 *   an event for a handler --> upcall_check, or upcall_ring for another node
 *   the timer              --> upcall_timer
 *   on the way to ring 3, from a system call or an interrupt, if none runs:
 *       upcall_enter: frame and vector state are saved here, the application continues in the
 *       library's entry, on the library's stack
 *   SYS_UPCALL_RETURN: restores everything. If more events have come, it re-enters the library
 *       instead, which looks again. With a detour, it restores everything but rip and rsp: the
 *       library continues there, as a signal handler does, and no upcall runs
 *
 * The library's loop is in lib/portals/upcall.c. While an upcall runs, no other one starts, and no
 * node rings for one: a node that leaves an event sets this node's flag in the region, and rings
 * only if the flag was clear. When the upcall is about to end, the flag is cleared and the queues
 * are checked once more. So no event is left behind, and a flood of events costs one doorbell.
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

/* A queue of this process gets its first handler: upcalls enter at `entry` with rsp = `stack`. Both
 * are user addresses; false: they are invalid. */
bool upcall_may_enter(uint64_t entry, uint64_t stack);
void upcall_add(handle_t eq, uint64_t entry, uint64_t stack);

/* A queue is gone; all of them are. */
void upcall_remove(handle_t eq);
void upcall_remove_all(void);

/* An event may have been recorded in a queue of this process: if one is for a handler, an upcall is
 * wanted. Called at the end of each system call that records events; without handlers it is one
 * comparison. */
void upcall_check_queues(void);
static inline void upcall_check(void)
{
	if (__builtin_expect(this_process()->upcalls.queues != 0, 0))
		upcall_check_queues();
}

/* An event for a handler of another node has been recorded, and the lock of its block released.
 * True if the node was rung; if not, it has been rung already and has not looked yet. */
bool upcall_ring(uint32_t nid);

/* A doorbell came, perhaps for an upcall. */
void upcall_bell(void);

/* The application's timer (SYS_TIMER) has expired: an upcall tells it. */
void upcall_timer(void);

/* An upcall will start on the way to ring 3. */
static inline bool upcall_is_due(void)
{
	return this_cpu()->upcall != 0;
}

/* Instead of continuing at `frame`, the application enters the library: with rsi = 1 if the timer
 * has expired, else 0; rdx and r8 = rip and rsp of the interrupted code. Call if upcall_is_due. */
void upcall_enter(struct trap_frame *frame);

/* The same at the end of a system call, from entry.asm: frame->rax is set. */
void upcall_enter_from_call(struct trap_frame *frame);

#endif
