/*
 * The near transport: see near.h. No state.
 */
#include "near.h"
#include "answer.h"
#include "op.h"
#include "range.h"
#include "target.h"

/* ---- one phase each, under one lock ---- */

/* Whether a message is applied while it begins. */
static int is_short_atomic(const struct message *message)
{
	return message->operation == MESSAGE_ATOMIC && message->length <= DELIVER_INLINE_BYTES;
}

/* deliver_begin or deliver_atomic, repeated while no operation record is free. Not part of the
 * flattened near_long_put, which rarely calls it. */
__attribute__((noinline))
static int begin(void *context, const struct process_view *me, struct process_view *view,
		 const struct message *message, const void *operands, struct grant *grant,
		 struct message *answer)
{
	for (uint32_t tries = 0;; tries++) {
		int result;

		if (!near_port_lock(context, view))
			return DELIVER_DAMAGED;
		result = is_short_atomic(message) ?
			deliver_atomic(view, message, me->nid, operands, grant, answer) :
			deliver_begin(view, message, me->nid, grant, answer);
		near_port_unlock(context, view);
		if (result != DELIVER_BUSY)
			return result;
		if (!near_port_wait(context, view, tries))
			return DELIVER_DAMAGED;
	}
}

/* deliver_end, and wake the owner for its events and for `events` events of begin. 0: the block's
 * lock is dead. */
static int end(void *context, struct process_view *view, struct grant *grant,
	       enum fail_type fail, uint32_t events, int upcall)
{
	struct message unused;

	if (!near_port_lock(context, view))
		return 0;
	deliver_end(view, grant, fail, &unused);
	near_port_unlock(context, view);
	near_port_wake(context, view, events + grant->events, upcall | grant->upcall);
	return 1;
}

/* Copy operand bytes [at, at + bytes) to `to`. Short payload may outlive its descriptor. */
static int operands_at(const struct process_view *me, const struct outgoing *out, uint64_t at,
		       void *to, uint64_t bytes)
{
	if (!out->payload)
		return deliver_read(me, &out->grant, at, to, bytes);
	port_copy(to, out->payload + at, bytes);
	return DELIVER_OK;
}

/* Apply a long atomic operation, step by step. Returns 1 if a block is damaged or the lock dead. */
static int apply(void *context, const struct process_view *me, struct process_view *peer,
		 const struct outgoing *out, const struct grant *to)
{
	uint8_t operands[DELIVER_STEP_BYTES];

	for (uint64_t at = 0; at < to->bytes; at += DELIVER_STEP_BYTES) {
		uint64_t left = to->bytes - at;
		uint64_t bytes = left < DELIVER_STEP_BYTES ? left : DELIVER_STEP_BYTES;
		int failed;

		if (operands_at(me, out, at, operands, bytes) ||
		    !near_port_lock(context, peer))
			return 1;
		failed = deliver_apply(peer, to, out->message->atomic_operation,
				       out->message->datatype, at, operands, bytes);
		near_port_unlock(context, peer);
		if (failed)
			return 1;
	}
	near_port_copied(context, to->bytes);
	return 0;
}

/* Count bytes that were copied through a buffer. The lock of `me` is held. */
static void count_copied(struct process_view *me, uint64_t bytes)
{
	me->block->started.counters[STAT_COPIED] += bytes;
}

/*
 * End the initiator's half: SEND_END unless it is recorded, then the answer, if there is one, with
 * `fetched` as its payload. `failed`: the target cannot be reached, so make the answer that says
 * so.
 */
static int conclude(void *context, struct process_view *me, struct outgoing *out,
		    int failed, int answers, struct message *answer, const void *fetched)
{
	struct grant *grant = &out->grant;

	if (failed)
		answers = message_refuse(out->message, NI_FAIL, answer);
	if (!near_port_lock(context, me))
		return PORTALS_FAIL;
	if (out->sends && !out->sent)
		initiator_sent(me, out->message, grant, failed ? NI_FAIL : NI_OK);
	else if (out->sends && failed)
		initiator_lost(me, grant->bytes);
	grant_clear(grant);
	if (!answers)
		initiator_unanswered(me, out->message);
	else if (message_fetches(out->message->operation))
		answer_reply_inline(me, answer, fetched, grant);
	else
		answer_ack(me, answer, grant);
	if (fetched)
		count_copied(me, answer->mlength);
	near_port_unlock(context, me);
	if (fetched)
		near_port_copied(context, answer->mlength);
	return PORTALS_OK;
}

/* ---- the sequences of near.h ---- */

/* A short message without an ack, or a short fetch. */
static int in_one_step(void *context, struct process_view *me, struct process_view *peer,
		       struct outgoing *out)
{
	uint8_t fetched[DELIVER_INLINE_BYTES];
	int fetches = message_fetches(out->message->operation);
	struct message answer;
	struct grant to;
	int result;

	if (!near_port_lock(context, peer))
		return conclude(context, me, out, 1, 0, &answer, 0);
	result = deliver_inline(peer, out->message, out->payload, &to, &answer, fetched);
	near_port_unlock(context, peer);
	near_port_wake(context, peer, to.events, to.upcall);
	near_port_copied(context, out->copied + to.bytes);
	if (result == DELIVER_DAMAGED)
		return conclude(context, me, out, 1, 0, &answer, 0);
	/* A send without an ack has ended: initiator_start recorded SEND_END. */
	return fetches ? conclude(context, me, out, 0, 1, &answer, fetched) : PORTALS_OK;
}

/* A put or an atomic operation. */
static int put(void *context, struct process_view *me, struct process_view *peer,
	       struct outgoing *out)
{
	struct message answer;
	uint32_t events;
	int result, failed = 0, upcall, concluded;
	struct grant to;

	to.answers = 0;        /* begin does not set it if the lock is dead */
	result = begin(context, me, peer, out->message, out->payload, &to, &answer);
	if (result != DELIVER_OK)
		return conclude(context, me, out, result == DELIVER_DAMAGED, to.answers, &answer, 0);
	events = to.events;
	upcall = to.upcall;
	if (out->message->operation == MESSAGE_PUT)
		failed = out->payload ? deliver_data(peer, &to, 0, out->payload, out->grant.bytes) :
			 near_port_copy(context, peer, &to, me, &out->grant);
	else if (!is_short_atomic(out->message))
		failed = apply(context, me, peer, out, &to);
	if (to.ack && failed) {
		answer.fail = NI_FAIL;
		answer.mlength = 0;
	}
	concluded = conclude(context, me, out, 0, to.ack, &answer, 0);
	end(context, peer, &to, failed ? NI_FAIL : NI_OK, events, upcall);
	return concluded;
}

static int get(void *context, struct process_view *me, struct process_view *peer,
	       struct outgoing *out)
{
	struct grant from, to;
	struct message reply, unused;
	int result, taken, upcall, ended = 1;
	uint32_t events;

	result = begin(context, me, peer, out->message, 0, &from, &reply);
	if (result != DELIVER_OK)
		return conclude(context, me, out, result == DELIVER_DAMAGED, 1, &reply, 0);
	events = from.events;
	upcall = from.upcall;
	taken = begin(context, me, me, &reply, 0, &to, &unused);
	if (taken == DELIVER_OK) {
		int failed = near_port_copy(context, me, &to, peer, &from);

		ended = end(context, me, &to, failed ? NI_FAIL : NI_OK, 0, 0);
	}
	end(context, peer, &from, taken == DELIVER_DAMAGED ? NI_FAIL : NI_OK, events, upcall);
	/* The process's own block is damaged and did not accept the reply: the get has failed. */
	if (taken == DELIVER_DAMAGED)
		return conclude(context, me, out, 1, 0, &reply, 0);
	return ended ? PORTALS_OK : PORTALS_FAIL;
}

/* ---- the calls ---- */

/* This node itself ends the record that awaits the answer, also if the target dies: then with
 * SEND_END before it. So block_peer_died must leave it. The lock is held. */
static void own_answer(struct process_view *me, const struct message *message)
{
	struct operation *op = op_lookup(me, message->op_handle);

	if (op)
		op->runner = me->nid;
}

int near_start(struct process_view *me, void *context, const struct initiator_args *args)
{
	uint8_t room[DELIVER_OPERAND_BYTES];
	struct message message, answer;
	struct process_view *peer;
	struct outgoing out;
	int error;

	out.message = &message;
	out.room = room;
	if (!near_port_lock(context, me))
		return PORTALS_FAIL;
	error = initiator_start(me, args, &out);
	if (!error) {
		count_copied(me, out.copied);
		own_answer(me, &message);
	}
	near_port_unlock(context, me);
	if (error)
		return error;
	peer = near_port_peer(context, me, args->target_nid);
	if (!peer)
		return conclude(context, me, &out, 1, 0, &answer, 0);
	switch (message.operation) {
	case MESSAGE_GET:
		if (message.length > DELIVER_INLINE_BYTES ||
		    !near_port_is_short(context, message.length))
			return get(context, me, peer, &out);
		break;
	case MESSAGE_ATOMIC:
		if (message.ack_request == ACK_YES || !is_short_atomic(&message))
			return put(context, me, peer, &out);
		break;
	case MESSAGE_PUT:
		if (!out.sent || !near_port_is_short(context, message.length))
			return put(context, me, peer, &out);
		break;
	}
	return in_one_step(context, me, peer, &out);
}

int near_fast_put(struct process_view *me, void *context, const struct initiator_args *args)
{
	struct process_view *peer = near_port_known(context, args->target_nid);
	struct message message, none;
	struct grant from, to;
	int result;

	if (!peer || args->ack == ACK_YES ||
	    !initiator_fast_put(me, args, DELIVER_INLINE_BYTES, &message, &from))
		return 0;
	result = DELIVER_DAMAGED;
	if (near_port_lock(context, peer)) {
		const uint8_t *payload = (peer == me ? me->memory : me->sources) + from.offset;

		result = deliver_inline(peer, &message, payload, &to, &none, 0);
		near_port_unlock(context, peer);
		near_port_wake(context, peer, to.events, to.upcall);
		near_port_copied(context, to.bytes);
	}
	if (result == DELIVER_DAMAGED && near_port_lock(context, me)) {
		initiator_lost(me, from.bytes);
		near_port_unlock(context, me);
	}
	return 1;
}

/* Record the ack of a put of near_long_put. */
__attribute__((noinline))
static void acknowledge(void *context, struct process_view *me, const struct message *put,
			const struct message *ack)
{
	struct grant grant;

	grant_clear(&grant);
	if (!near_port_lock(context, me))
		return;
	answer_ack_at_once(me, put, ack, &grant);
	near_port_unlock(context, me);
}

/* A put of near_long_put was discarded, or it did not reach its target. */
__attribute__((noinline, cold))
static void not_delivered(void *context, struct process_view *me, const struct message *put,
			  uint64_t bytes, int lost, int answers, struct message *ack)
{
	if (lost && near_port_lock(context, me)) {
		initiator_lost(me, bytes);
		near_port_unlock(context, me);
	}
	if (lost ? message_refuse(put, NI_FAIL, ack) : answers)
		acknowledge(context, me, put, ack);
}

/* Flattened, as calls between files took half of the instructions, not counting the copy. */
__attribute__((flatten))
int near_long_put(struct process_view *me, void *context, const struct initiator_args *args)
{
	struct process_view *peer = near_port_known(context, args->target_nid);
	struct message message, ack;
	struct grant from, to;
	int result, failed, upcall;
	uint32_t events;

	if (args->operation > MESSAGE_PUT || !peer ||
	    !initiator_fast_put(me, args, UINT64_MAX, &message, &from))
		return 0;
	grant_clear(&to);
	result = DELIVER_DAMAGED;
	if (near_port_lock(context, peer)) {
		result = target_begin(peer, &message, me->nid, &to, &ack);
		near_port_unlock(context, peer);
		if (__builtin_expect(result == DELIVER_BUSY, 0))
			result = begin(context, me, peer, &message, 0, &to, &ack);
	}
	if (result != DELIVER_OK) {
		not_delivered(context, me, &message, from.bytes, result == DELIVER_DAMAGED,
			      to.answers, &ack);
		return 1;
	}
	events = to.events;
	upcall = to.upcall;
	failed = near_port_copy(context, peer, &to, me, &from);
	if (to.ack) {
		if (failed) {
			ack.fail = NI_FAIL;
			ack.mlength = 0;
		}
		acknowledge(context, me, &message, &ack);
	}
	end(context, peer, &to, failed ? NI_FAIL : NI_OK, events, upcall);
	return 1;
}
