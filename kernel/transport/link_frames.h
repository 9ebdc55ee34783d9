/*
 * The far transport (link=frames): messages to other nodes go over network card
 * 0, by net/frames. Here is what the kernel adds: when the card is
 * looked at, waiting, interrupts, the timer, death and the end.
 *
 *   the node waits in a call   the waiter polls (wait.c), and halts soon, with
 *                              the card's interrupts on
 *   the application computes   control=interrupt: an arrival interrupts it
 *                              control=poll: PtlEQGet makes a call when it finds
 *                              nothing, and nothing else looks
 *                              control=watchdog: an arrival interrupts it if the last
 *                              look is watchdog_us ago; below
 *   always                     a timer serves what the link itself waits for
 *
 * Watchdog: an arrival may interrupt. If the last look was long ago, its handler looks at once.
 * If not it switches the cards' interrupts off and sets the timer to watchdog_us after that look:
 * mostly the application has looked by itself until then. The timer's handler looks if it has
 * not, comes again in watchdog_us while messages come, and lets the cards interrupt when none
 * has come for so long. So the cards interrupt or the timer is set, at any time; a node that
 * hears nothing is left alone, and one that hears much is interrupted once in watchdog_us.
 *
 * The timer is lazy: it is set when it would come too late, and put off only by a halt that
 * is to last much longer; an interrupt of it that comes too early sets it anew. How late it may
 * be: link_frames.c.
 *
 * Messages to oneself stay with link_shm.c. Interrupts are off in all of these.
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
 * Start an operation at another node: frames_start's result. It waits while there is no
 * room for the operation, and while a node that shares memory with this one boots.
 */
int link_frames_start_operation(const struct initiator_args *args);

/* The fast path of puts, frames_fast_put. False: it is another operation, or must wait. */
bool link_frames_fast_put(const struct initiator_args *args);

/* Tell a process of the job news of a barrier (frames_signal); waits while there is no room,
 * or the node boots. False: it is dead. */
bool link_frames_signal(uint32_t nid, uint32_t news);

/* Look at the card and the clock: not 0 if frames came, or time or the end of a send may
 * have ended what is waited for. From within the link's own work, as from a wait for the
 * console in it, it does nothing. */
uint32_t link_frames_poll(void);

/* Nothing more is sent for a while: messages that are delayed for a batch
 * (net/link/batch.c) leave. */
void link_frames_flush(void);

/* The same in a call that does not wait, if nothing interrupts the application. */
void link_frames_look(void);

/* Nothing has come since the last look that would not interrupt. */
bool link_frames_is_alert(void);

/* Before a halt: from now on an arrival ends it. False: something has come. */
bool link_frames_rest(void);

/* Once, before the application starts: *calls is margay_start's, in its memory. */
void link_frames_enter(uint64_t *calls);

/* Before the application goes on after a wait. */
void link_frames_resume(void);

/* When a halt ends for the link's sake: it may be too early. */
uint64_t link_frames_alarm_at(void);

/* An interrupt of a card: while the application computes, or the node is halted. */
void link_frames_arrival(bool computing);

/* One of the timer, likewise. */
void link_frames_alarm(bool computing);

/* The link is at work further up the stack: nothing of it may be called. */
bool link_frames_is_busy(void);

/* Node `nid` is dead (`next` is 0), or it boots again with the incarnation `next`: what was
 * under way with its earlier life ends with failure. */
void link_frames_ended(uint32_t nid, uint32_t next);

/* This node has ended and said so: acknowledge until no other node needs that any more. */
void link_frames_linger(void);

#endif
