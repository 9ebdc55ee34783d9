/*
 * Waiting: spin for a short while, then halt until a doorbell or the timer.
 *
 * The sleep protocol (docs/machine.md, Sleep): set own->sleeping, fence, look again, `sti; hlt`.
 * The node that publishes: event, fence, read `sleeping`, clear it, ring. So a node that is awake
 * is not rung, and no doorbell is lost. Over frames the flag is not used: the publishing node
 * always rings.
 *
 * Waits nest: while one is halted, a doorbell's work may halt for a lock, and a
 * request of the launcher's may wait for room on the console.
 *
 * An upcall (upcall.h) ends a wait that the application asked for: the system call returns, the
 * upcall runs on the way out, and the library repeats the call. Its doorbell is taken in the halt,
 * so no upcall is lost.
 */
#ifndef KERNEL_WAIT_H
#define KERNEL_WAIT_H
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true as soon as ready(arg) is true; false when `deadline` (time.h) has passed and it is
 * still false. Call with interrupts off and no lock held; ready is called with interrupts off,
 * often, and must be quick. `what_for` names what it waits for, for a backtrace request, e.g. "room
 * on the console"; it must stay valid during the call. Requests of the launcher are served
 * meanwhile.
 */
bool wait_until(bool (*ready)(void *arg), void *arg, uint64_t deadline, const char *what_for);

/* The same for what the application waits for: WAIT_UPCALL if an upcall is due
 * and ready(arg) still false. */
enum wait_end { WAIT_READY, WAIT_TIMEOUT, WAIT_UPCALL };
enum wait_end wait_or_upcall(bool (*ready)(void *arg), void *arg, uint64_t deadline,
                             const char *what_for);

/* The same for a caller whose application has spun already, as the library does before SYS_EQ_WAIT:
 * it looks once, then halts. */
enum wait_end wait_halted_or_upcall(bool (*ready)(void *arg), void *arg, uint64_t deadline,
                                    const char *what_for);

/* wait_until the deadline, whatever happens. */
void wait_time(uint64_t deadline, const char *what_for);

/* The same for the application; false if an upcall came first. */
bool wait_time_or_upcall(uint64_t deadline, const char *what_for);

/* One `sti; hlt; cli`, counted. The caller has set the sleeping flag, looked again, and set the
 * timer if the halt must end. Returns after any interrupt. */
void wait_halted(void);

/* What the node waits for now, or NULL. */
const char *wait_what_for(void);

#endif
