/*
 * The near transport: it carries an operation between two process blocks that are
 * both mapped here, completely, before it returns. The initiator's kernel runs it;
 * the target's processor takes no part. The far transport is net/frames.
 *
 * This file is the one place that orders the phases of an operation where one
 * kernel does both halves. The kernel, the host tests and the simulator run it. A
 * lock is held over each line, never two at once, and over no copy that is longer
 * than DELIVER_OPERAND_BYTES:
 *
 *   a put                                        a short put without ack, an exchange
 *   ------------------------------------------   -----------------------------------
 *   me    initiator_start: SEND_START            me    initiator_start: SEND_START,
 *   peer  deliver_begin: match, PUT_START              payload is read, SEND_END
 *         copy, without a lock                   peer  deliver_inline: PUT_START, copy,
 *   me    initiator_sent: SEND_END, and the ack        PUT_END (GETPUT_END)
 *   peer  deliver_end: PUT_END                   me    an exchange: the reply
 *
 *   a get                                        a short get
 *   ------------------------------------------   -----------------------------------
 *   me    initiator_start                        me    initiator_start
 *   peer  deliver_begin: match, GET_START        peer  deliver_inline: GET_START, copy,
 *   me    deliver_begin of the reply                   GET_END
 *         copy, without a lock                   me    deliver_inline of the reply
 *   me    deliver_end: REPLY_END
 *   peer  deliver_end: GET_END
 *
 * So a message's SEND_END and ACK are recorded before its PUT_END, and nothing that
 * the message causes is seen before them (rule 18). An atomic operation with an ack
 * goes the way of a put, with deliver_atomic in place of begin and copy. What the
 * target discards ends in the second line. If the target turns out dead, the
 * initiator's half ends with NI_FAIL; after SEND_END the failure is counted, and an
 * ack that is still to come carries it (rule 22).
 */
#ifndef NET_PORTALS_NEAR_H
#define NET_PORTALS_NEAR_H
#include "initiator.h"

/*
 * Carry out one operation of the process `me`: PORTALS_OK once it was started,
 * whatever becomes of it (that shows in its events), or the error of
 * initiator_start. PORTALS_FAIL also if the process's own block is broken.
 * `context` is the port's. It waits where the port waits.
 */
int near_start(struct process_view *me, void *context, const struct initiator_args *args);

/* The fast path of a put: initiator_fast_put, which needs no lock, then delivery in one step.
 * 1: done. 0: nothing has happened; the put is of another kind or invalid, so call near_start. */
int near_fast_put(struct process_view *me, void *context, const struct initiator_args *args);

/* ---- the port ---- */

/* The view of a process on node `nid`, `me` for the own node; null if the node cannot be
 * reached. It waits while the node boots. */
struct process_view *near_port_peer(void *context, struct process_view *me, uint32_t nid);

/* The same without waiting: null also if it is not known yet. */
struct process_view *near_port_known(void *context, uint32_t nid);

/* The lock of a view's block. 0: its owner died while it held the lock. */
int near_port_lock(void *context, struct process_view *view);
void near_port_unlock(void *context, struct process_view *view);

/* As deliver_copy, by the fastest way there is here. */
int near_port_copy(void *context, const struct process_view *to, const struct grant *dest,
		   const struct process_view *from, const struct grant *source);

/* So many bytes were copied by the engine itself: for the counters. */
void near_port_copied(void *context, uint64_t bytes);

/* So many events were recorded in a view's block; with `upcall` one is for a handler. */
void near_port_wake(void *context, const struct process_view *view, uint32_t events, int upcall);

/* A view has had no free operation record, `tries` times before: wait a little. 0: there is
 * no use in it, the process is dead or damaged. */
int near_port_wait(void *context, const struct process_view *view, uint32_t tries);

/* Whether messages of `bytes` bytes, at most DELIVER_INLINE_BYTES, go in one step. */
int near_port_is_short(void *context, uint64_t bytes);

#endif
