/*
 * Short messages in one step: an arriving request is matched, carried out and ended while the lock
 * is held once, without an operation record. target.h has the rules; this file has the order of the
 * steps, and copies at most one cache line. An atomic operation with an ack has a record until its
 * END. See deliver.h.
 */
#include "answer.h"
#include "atomic.h"
#include "eq.h"
#include "range.h"
#include "target.h"

/* Apply a short atomic operation to the granted range; `old` (may be null) receives the former
 * contents. */
static int apply(const struct process_view *view, const struct message *message,
		 const void *payload, const struct grant *grant, void *old)
{
	uint8_t elements[DELIVER_INLINE_BYTES];

	if (range_read(view, grant, elements))
		return DELIVER_DAMAGED;
	if (old)
		port_copy(old, elements, grant->bytes);
	atomic_apply(message->atomic_operation, message->datatype, elements, grant->bytes,
		     payload, message->length);
	return range_write(view, grant, elements);
}

int deliver_apply(const struct process_view *view, const struct grant *grant, uint32_t operation,
		  uint32_t datatype, uint64_t at, const void *operands, uint64_t bytes)
{
	uint8_t elements[DELIVER_STEP_BYTES];
	struct grant step = *grant;

	if (bytes > DELIVER_STEP_BYTES || (at | bytes) & (atomic_size(datatype) - 1))
		return DELIVER_DAMAGED;
	if (at >= grant->bytes)
		return DELIVER_OK;
	step.offset += at;
	step.bytes = grant->bytes - at < bytes ? grant->bytes - at : bytes;
	if (range_read(view, &step, elements))
		return DELIVER_DAMAGED;
	atomic_apply(operation, datatype, elements, step.bytes, operands, bytes);
	return range_write(view, &step, elements);
}

/* Copy the operation's bytes. DAMAGED: the block no longer says where they are. */
static int carry_out(const struct process_view *view, const struct message *message,
		     const void *payload, const struct grant *grant, void *result)
{
	switch (message->operation) {
	case MESSAGE_PUT:
		return range_write(view, grant, payload);
	case MESSAGE_ATOMIC:
		return apply(view, message, payload, grant, 0);
	case MESSAGE_FETCH_ATOMIC:
		return apply(view, message, payload, grant, result);
	case MESSAGE_GETPUT:
		if (range_read(view, grant, result))
			return DELIVER_DAMAGED;
		return range_write(view, grant, payload);
	default:
		return range_read(view, grant, result);
	}
}

/* Count an operation's bytes. */
static void count_bytes(struct block *block, uint8_t operation, uint64_t bytes)
{
	if (operation != MESSAGE_GET)
		block->delivered.counters[STAT_BYTES_IN] += bytes;
	if (message_fetches(operation))
		block->delivered.counters[STAT_BYTES_OUT] += bytes;
}

/* Carry out a short valid request. DROPPED or CLOSED: the caller must discard it. */
static int request(struct process_view *view, const struct message *message,
		   const void *payload, struct grant *grant, struct message *answer,
		   void *result)
{
	struct block *block = view->block;
	struct event_head head;
	struct place place;
	uint32_t link;
	struct md *md;
	struct eq *eq;
	int found = target_find(view, message, &place, grant);

	if (found)
		return found;
	if (target_use(view, &place))
		return DELIVER_DAMAGED;
	md = place.md;
	link = (uint32_t)block_link_delivered(block);
	block->delivered.operations++;

	target_head(message, &place, grant, &head);
	eq = eq_lookup(view, md->user.eq_handle);
	if (eq && __builtin_expect(!(place.options & MD_EVENT_START_DISABLE), 0))
		grant->events = eq_record(view, eq, &head, target_start(message->operation),
					  &md->user, message->hdr_data, link, NI_OK);
	if (carry_out(view, message, payload, grant, result))
		return DELIVER_DAMAGED;
	count_bytes(block, message->operation, grant->bytes);
	if (message_fetches(message->operation) || target_acks(message, place.options)) {
		target_accept(view, message, grant->bytes, answer);
		grant->answers = 1;
	}
	if (eq && !(place.options & MD_EVENT_END_DISABLE))
		grant->events += eq_record(view, eq, &head, target_start(message->operation) + 1,
					   &md->user, message->hdr_data, link, NI_OK);
	if (md->flags & MD_LEAVING)
		grant->events += md_reap(view, md);
	grant_rings(view, grant, eq);
	return DELIVER_OK;
}

int deliver_inline(struct process_view *view, const struct message *message,
		   const void *payload, struct grant *grant, struct message *answer,
		   void *result)
{
	int done = DELIVER_DROPPED;

	grant_clear(grant);
	switch (message->operation) {
	case MESSAGE_ATOMIC:
	case MESSAGE_FETCH_ATOMIC:
		if (!atomic_message_valid(message))
			break;
		/* fall through */
	case MESSAGE_PUT:
	case MESSAGE_GET:
	case MESSAGE_GETPUT:
		if (message->length <= DELIVER_INLINE_BYTES)
			done = request(view, message, payload, grant, answer, result);
		break;
	case MESSAGE_ACK:
		return answer_ack(view, message, grant);
	case MESSAGE_REPLY:
		return answer_reply_inline(view, message, payload, grant);
	case MESSAGE_BARRIER:
		return target_barrier(view, message);
	}
	if (done == DELIVER_OK || done == DELIVER_DAMAGED)
		return done;
	return target_discard(view, message, done, grant, answer);
}

int deliver_atomic(struct process_view *view, const struct message *message, uint32_t runner,
		   const void *operands, struct grant *grant, struct message *answer)
{
	int result;

	grant_clear(grant);
	if (message->operation != MESSAGE_ATOMIC || message->length > DELIVER_INLINE_BYTES ||
	    !atomic_message_valid(message))
		return target_discard(view, message, DELIVER_DROPPED, grant, answer);
	result = target_begin(view, message, runner, grant, answer);
	if (result == DELIVER_OK && apply(view, message, operands, grant, 0)) {
		deliver_end(view, grant, NI_FAIL, answer);
		result = DELIVER_DAMAGED;
	}
	return result;
}
