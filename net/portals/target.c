/*
 * The target's side in three phases: handling an arriving put or get (figure 4 of the Portals
 * paper), deliver_begin and deliver_end. The steps shared with deliver_inline are here, too
 * (target.h). answer.c handles acks and replies. Called by the kernel that runs the engine on this
 * block. See deliver.h.
 */
#include "target.h"
#include "ac.h"
#include "answer.h"
#include "atomic.h"
#include "eq.h"
#include "op.h"
#include "range.h"

int target_use(struct process_view *view, const struct place *place)
{
	struct md *md = place->md;
	uint32_t options = place->options;

	if (!(options & MD_MANAGE_REMOTE)) {
		md->local_offset += place->bytes;
		if ((options & MD_MAX_SIZE) &&
		    md->room - md->local_offset < md->user.max_size) {
			if (!(md->flags & MD_UNLINK))
				md->flags |= MD_INACTIVE;
			else if (md->user.threshold != 1) /* otherwise md_spend unlinks it */
				if (md_depart(view, md))
					return DELIVER_DAMAGED;
		}
	}
	return md_spend(view, md) ? DELIVER_DAMAGED : DELIVER_OK;
}

int target_discard(struct process_view *view, const struct message *message, int result,
		   struct grant *grant, struct message *answer)
{
	view->block->delivered.counters[STAT_DROPPED]++;
	grant->answers = (uint8_t)message_refuse(message, NI_DROPPED, answer);
	if (grant->answers) {
		answer->uid = view->uid;
		answer->jid = view->jid;
	}
	return result;
}

void target_accept(const struct process_view *view, const struct message *message,
		   uint64_t mlength, struct message *answer)
{
	answer_make(message, NI_OK, mlength, answer);
	answer->uid = view->uid;
	answer->jid = view->jid;
}

int target_find(struct process_view *view, const struct message *message, struct place *place,
		struct grant *grant)
{
	int result;

	if (view->block->state != BLOCK_OPEN || message->target_pid != view->pid)
		return DELIVER_CLOSED;
	if (message->pt_index >= view->limits.portals || !ac_admits(view, message))
		return DELIVER_DROPPED;
	result = match_find(view, message, place);
	if (result)
		return result;
	if (message->operation == MESSAGE_ATOMIC || message->operation == MESSAGE_FETCH_ATOMIC)
		place->bytes &= ~(atomic_size(message->datatype) - 1);
	result = grant_range(view, place->md, place->options, place->offset, place->bytes,
			     message->operation != MESSAGE_GET, grant);
	if (result)
		return result == PORTALS_SEGV ? DELIVER_DROPPED : DELIVER_DAMAGED;
	return DELIVER_OK;
}

__attribute__((flatten)) /* as initiator_put (initiator.c) */
int target_begin(struct process_view *view, const struct message *message, uint32_t runner,
		 struct grant *grant, struct message *answer)
{
	struct block *block = view->block;
	struct operation *op;
	struct place place;
	struct md *md;
	struct eq *eq;
	int result = target_find(view, message, &place, grant);

	if (result == DELIVER_DAMAGED)
		return result;
	if (result)
		return target_discard(view, message, result, grant, answer);
	md = place.md;
	result = op_alloc(view, &op);
	if (result)
		return result;
	if (target_use(view, &place)) {
		op_free(view, op);
		return DELIVER_DAMAGED;
	}
	md->pending++;

	target_head(message, &place, grant, &op->head);
	op->hdr_data = message->hdr_data;
	op->runner = runner;
	op->md = (uint32_t)(md - view->mds);
	op->link = (uint32_t)block_link_delivered(block);
	block->delivered.operations++;
	op->reserved = 0;
	op->phase = OP_OPEN;
	op->kind = message->operation;
	op->fail = NI_OK;
	op->begun = 0;
	grant->op = op->handle;

	eq = eq_lookup(view, md->user.eq_handle);
	if (eq) {
		if (!(place.options & MD_EVENT_END_DISABLE)) {
			eq->begun++;
			op->begun = 1;
		}
		if (!(place.options & MD_EVENT_START_DISABLE)) {
			grant->events = eq_record(view, eq, &op->head, target_start(op->kind),
						  &md->user, op->hdr_data, op->link, NI_OK);
			grant_rings(view, grant, eq);
		}
	}
	if (op->kind == MESSAGE_GET) {
		target_accept(view, message, place.bytes, answer);
		grant->answers = 1;
	} else if (target_acks(message, place.options)) {
		target_accept(view, message, place.bytes, answer);
		grant->ack = 1;
	}
	return DELIVER_OK;
}

int deliver_begin(struct process_view *view, const struct message *message, uint32_t runner,
		  struct grant *grant, struct message *answer)
{
	grant_clear(grant);
	switch (message->operation) {
	case MESSAGE_ATOMIC:
		if (message->length <= DELIVER_INLINE_BYTES || !atomic_message_valid(message))
			return target_discard(view, message, DELIVER_DROPPED, grant, answer);
		/* fall through */
	case MESSAGE_PUT:
	case MESSAGE_GET:
		return target_begin(view, message, runner, grant, answer);
	case MESSAGE_ACK:
		return answer_ack(view, message, grant);
	case MESSAGE_REPLY:
		return answer_reply(view, message, runner, grant);
	case MESSAGE_BARRIER:
		return target_barrier(view, message);
	default:
		return target_discard(view, message, DELIVER_DROPPED, grant, answer);
	}
}

int deliver_end(struct process_view *view, struct grant *grant, enum fail_type fail,
		struct message *answer)
{
	struct block *block = view->block;
	struct operation *op;
	struct md *md;
	struct eq *eq;

	grant->events = 0;
	grant->answers = 0;
	grant->upcall = 0;
	if (grant->op == HANDLE_NONE)
		return DELIVER_OK;
	op = op_lookup(view, grant->op);
	if (!op || op->phase != OP_OPEN)
		return DELIVER_STALE;
	md = op->md < view->limits.mds ? &view->mds[op->md] : 0;
	if (!md || md->handle != op->head.md_handle) {
		op_free(view, op);
		return DELIVER_DAMAGED;
	}
	if (fail == NI_OK)
		fail = op->fail;
	block_count_end(block, fail);
	if (fail != NI_FAIL)
		block->delivered.counters[op->kind == MESSAGE_GET ? STAT_BYTES_OUT : STAT_BYTES_IN] +=
			op->head.mlength;
	if (grant->ack) {
		answer->fail = (uint8_t)fail;
		if (fail)
			answer->mlength = 0;
		grant->answers = 1;
	}

	eq = eq_lookup(view, md->user.eq_handle);
	if (eq) {
		eq->begun -= op->begun;
		eq->reserved -= op->reserved;
		if (!(md->user.options & MD_EVENT_END_DISABLE))
			grant->events = eq_record(view, eq, &op->head, target_start(op->kind) + 1,
						  &md->user, op->hdr_data, op->link, fail);
	}
	op_free(view, op);
	grant->events += md_unpin(view, md);
	grant_rings(view, grant, eq);
	return DELIVER_OK;
}
