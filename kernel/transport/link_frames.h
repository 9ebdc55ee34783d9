/*
 * The far transport (link=frames): messages to other nodes go over network card 0, by net/frames.
 * The kernel adds: when the card is polled, waiting, interrupts, the timer, death and the end.
 *
 *   the node waits in a call   the waiter polls (wait.c), and halts soon, with
 *                              the card's interrupts on
 *   the application computes   control=interrupt: an arrival interrupts it
 *                              control=poll: PtlEQGet makes a call when it finds
 *                              nothing, and nothing else polls
 *                              control=watchdog: an arrival interrupts it if the last
 *                              poll is watchdog_us ago; see below
 *   always                     a timer serves the link's own deadlines
 *
 * Watchdog: an arrival may interrupt. If the last poll was long ago, the handler polls at once.
 * Otherwise it disables the cards' interrupts and sets the timer to watchdog_us after that poll:
 * mostly the application has polled by then. If not, the timer's handler polls. It repeats every
 * watchdog_us while messages come, and enables the cards' interrupts when none has come for that
 * long. So at any time either the cards interrupt or the timer is set. A node that receives nothing
 * is never interrupted, and one that receives much is interrupted once in watchdog_us.
 *
 * The timer is set lazily: only if it would come too late, and postponed only by a halt that will
 * last much longer. An interrupt that comes too early sets it again. link_frames.c says how late it
 * may be.
 *
 * Messages to oneself go through link_shm.c. Interrupts are off in all of these.
 */
#ifndef KERNEL_LINK_FRAMES_H
#define KERNEL_LINK_FRAMES_H
#include <stdbool.h>
#include <stdint.h>

#include "net/frames/frames.h"

extern struct frames *link_frames; /* null: messages do not go over frames */

/* Once, while booting, after link_shm_start: takes all memory that it will ever use. */
void link_frames_start(void);

/*
 * Starts an operation at another node: frames_start's result. It waits while there is no room for
 * the operation, and while a node that shares memory with this one boots.
 */
int link_frames_start_operation(const struct initiator_args *args);

/* The fast path of puts, frames_fast_put. False: it is another operation, or must wait. */
bool link_frames_fast_put(const struct initiator_args *args);

/* Sends a barrier's signal to a process of the job (frames_signal); waits while there is no room,
 * or the node boots. False: it is dead. */
bool link_frames_signal(uint32_t nid, uint32_t news);

/* Polls the card and the clock: not 0 if frames came, or a timeout or the end of a send may end
 * the caller's wait. Within the link's own work, as in a wait for the console, it does nothing. */
uint32_t link_frames_poll(void);

/* Nothing more will be sent for a while: sends messages that are delayed for a batch
 * (net/link/batch.c). */
void link_frames_flush(void);

/* The same in a call that does not wait, if nothing interrupts the application. */
void link_frames_progress(void);

/* Whether everything that has come since the last poll interrupts. */
bool link_frames_is_alert(void);

/* Before a halt: from now on an arrival ends it. False: something has come. */
bool link_frames_rest(void);

/* Once, before the application starts: *calls is margay_start's, in its memory. */
void link_frames_enter(uint64_t *calls);

/* In a call that takes long without waiting: handles what has come, like an arrival that interrupts
 * the application. */
void link_frames_serve(void);

/* Before the application continues after a wait. */
void link_frames_resume(void);

/* The time at which a halt must end for the link, or somewhat before. */
uint64_t link_frames_alarm_at(void);

/* An interrupt of a card: while the application computes, or the node is halted. */
void link_frames_arrival(bool computing);

/* One of the timer, likewise. */
void link_frames_alarm(bool computing);

/* A caller further up the stack is inside the link: none of its functions may be called. */
bool link_frames_is_busy(void);

/* Node `nid` is dead (`next` is 0), or it boots again with the incarnation `next`: operations
 * under way with its earlier life end with failure. */
void link_frames_ended(uint32_t nid, uint32_t next);

/* This node has ended and announced it: acknowledges until no other node needs that any more. */
void link_frames_linger(void);

#endif
