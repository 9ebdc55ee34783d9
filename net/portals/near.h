/*
 * The near transport: it carries out a whole operation between two process blocks that are both
 * mapped here. The initiator's kernel runs it; the target's processor takes no part. The far
 * transport is net/frames.
 *
 * This is the only place that has the order of an operation's phases where one kernel does both
 * halves. The kernel, the host tests and the simulator run it. Each line below is done under the
 * lock of one block, unless it says otherwise. At most one lock is held at a time, and none during
 * copies of more than DELIVER_OPERAND_BYTES:
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
 * So a message's SEND_END and ACK are recorded before its PUT_END, and the initiator sees them
 * before anything that the message causes (rule 18). A long atomic operation goes like a put, with
 * deliver_apply in place of the copy, under the lock for each step; a short one with an ack, with
 * deliver_atomic in place of begin and copy. If the target discards a message, the
 * operation ends with the second line. If the target turns out to be dead, the initiator's half
 * ends with NI_FAIL. If SEND_END was recorded before, the failure is counted, and an awaited ack
 * reports it (rule 22).
 */
#ifndef NET_PORTALS_NEAR_H
#define NET_PORTALS_NEAR_H
#include "initiator.h"

/*
 * Carry out one operation of the process `me`. PORTALS_OK if it was started; events show its
 * result. Else the error of initiator_start; PORTALS_FAIL also if the lock of the process's own
 * block is dead. `context` is the argument of the port functions. It waits only in these.
 */
int near_start(struct process_view *me, void *context, const struct initiator_args *args);

/* The fast path of a short put without an ack: initiator_fast_put, which needs no lock, then
 * delivery in one step. 1: done. 0: nothing has happened; the put is longer, of another kind or
 * invalid, so call near_long_put. */
int near_fast_put(struct process_view *me, void *context, const struct initiator_args *args);

/* The same for a put of any length, with or without an ack: initiator_fast_put, then deliver_begin,
 * copy, the ack, deliver_end. No record awaits the ack, as no other kernel sends it. 0: call
 * near_start. */
int near_long_put(struct process_view *me, void *context, const struct initiator_args *args);

/* ---- the port ---- */

/* The view of the process on node `nid` (`me` for the own node), or null if the node cannot be
 * reached. Waits while the node boots. */
struct process_view *near_port_peer(void *context, struct process_view *me, uint32_t nid);

/* The same without waiting: null also if the view is not known yet. */
struct process_view *near_port_known(void *context, uint32_t nid);

/* Acquire the lock of a view's block. 0: a node has died while it held the lock. */
int near_port_lock(void *context, struct process_view *view);
void near_port_unlock(void *context, struct process_view *view);

/* As deliver_copy, by the fastest method that the port has. */
int near_port_copy(void *context, const struct process_view *to, const struct grant *dest,
		   const struct process_view *from, const struct grant *source);

/* The engine itself has copied this many bytes: for the port's counters. */
void near_port_copied(void *context, uint64_t bytes);

/* `events` events were recorded in a view's block. `upcall`: 1 if one of them is for a handler. */
void near_port_wake(void *context, const struct process_view *view, uint32_t events, int upcall);

/* A view has no free operation record; this is wait number `tries`, from 0. Wait briefly. 0:
 * waiting is useless, as the process is dead or its block damaged. */
int near_port_wait(void *context, const struct process_view *view, uint32_t tries);

/* Whether to carry out messages of `bytes` bytes, at most DELIVER_INLINE_BYTES, in one step. */
int near_port_is_short(void *context, uint64_t bytes);

#endif
