/*
 * The initiator's side: starting operations, and ending sends. See initiator.h. Called only by the
 * initiator's own kernel.
 */
#include "initiator.h"
#include "atomic.h"
#include "eq.h"
#include "md.h"
#include "op.h"
#include "iovec.h"
#include "range.h"

/* The active descriptor that a handle names (rule 7), or null. */
static struct md *active(const struct process_view *view, handle_t handle)
{
	struct md *md = md_lookup(view, handle);

	if (!md || md->user.threshold == 0 || (md->flags & (MD_LEAVING | MD_INACTIVE)))
		return 0;
	return md;
}

/* Grant the range of a send: `bytes` bytes from `offset` on in its descriptor. */
static int source(const struct process_view *view, const struct md *md, uint64_t offset,
		  uint64_t bytes, struct grant *grant)
{
	grant_clear(grant);
	return grant_range(view, md, md->user.options, offset, bytes, 0, grant);
}

/* 1 if the application itself may write all of [offset, offset + bytes) of a descriptor, so that a
 * reply may be written there. */
static int may_fill(const struct process_view *view, const struct md *md, uint64_t offset,
		    uint64_t bytes)
{
	struct span span;

	if (md->user.options & MD_IOVEC)
		return iovec_may_fill(view, md, offset, bytes);
	return !bytes || (!md_span(view, md, offset, bytes, &span) &&
			  port_may_use(view, view->base + span.offset, span.bytes, 1));
}

/* The most bytes, from `offset` on, that the reply to a GETPUT of `length` bytes may fill: all of
 * the descriptor, but with MD_SPAN only `length`, as it may extend beyond the application's
 * memory. */
static uint64_t reply_room(const struct md *md, uint64_t offset, uint64_t length)
{
	uint64_t room = md->room - offset;

	return (md->user.options & MD_SPAN) && room > length ? length : room;
}

static int names_process(const struct initiator_args *args)
{
	return args->target_nid != ANY_ID && args->target_pid != ANY_ID;
}

/* Allocate a record that awaits the answer to a request; its runner is the node that answers. */
static int expect_answer(struct process_view *view, const struct initiator_args *args,
			 uint8_t kind, uint64_t bytes, uint32_t md, struct operation **taken)
{
	struct operation *op;
	int result = op_alloc(view, &op);

	if (result)
		return result == DELIVER_BUSY ? PORTALS_NO_SPACE : PORTALS_FAIL;
	op->head.nid = args->target_nid;
	op->head.pid = args->target_pid;
	op->head.uid = view->uid;
	op->head.jid = view->jid;
	op->head.pt_index = args->pt_index;
	op->head.match_bits = args->match_bits;
	op->head.rlength = bytes;
	op->head.mlength = 0;
	op->head.offset = args->remote_offset;
	op->head.md_handle = args->md;
	op->runner = args->target_nid;
	op->md = md;
	op->link = (uint32_t)block_link_started(view->block);
	op->reserved = 0;
	op->phase = OP_WAITING;
	op->kind = kind;
	op->fail = NI_OK;
	op->begun = 0;
	*taken = op;
	return PORTALS_OK;
}

/* Fill in a request's header, field by field: clearing it first would double the cost. */
static void request(const struct process_view *view, const struct initiator_args *args,
		    uint8_t operation, uint64_t bytes, struct message *message)
{
	int is_atomic = operation == MESSAGE_ATOMIC || operation == MESSAGE_FETCH_ATOMIC;

	message->operation = operation;
	message->ack_request = ACK_NO;
	message->fail = NI_OK;
	message->atomic_operation = is_atomic ? args->atomic_operation : 0;
	message->datatype = is_atomic ? args->datatype : 0;
	message->zero[0] = message->zero[1] = message->link = 0;
	message->source = view->process;
	message->target_nid = args->target_nid;
	message->target_pid = args->target_pid;
	message->user = view->user;
	message->pt_index = args->pt_index;
	message->cookie = args->cookie;
	message->match_bits = args->match_bits;
	message->offset = args->remote_offset;
	message->length = bytes;
	message->mlength = 0;
	message->md_handle = args->md;
	message->eq_handle = EQ_NONE;
	message->op_handle = HANDLE_NONE;
	message->hdr_data = operation == MESSAGE_GET ? 0 : args->hdr_data;
	message->sequence = block_link_started(view->block);
}

/* Record SEND_START or SEND_END in the queue of the descriptor that is sent. */
static uint32_t record_send(const struct process_view *view, struct eq *eq,
			    const struct message *message, const struct md *md,
			    enum event_kind type, enum fail_type fail)
{
	struct event_head head = {
		.nid = message->source_nid, .pid = message->source_pid,
		.uid = message->uid, .jid = message->jid, .pt_index = message->pt_index,
		.match_bits = message->match_bits, .rlength = message->length,
		.mlength = message->length, .offset = message->offset,
		.md_handle = md->handle,
	};

	return eq_record(view, eq, &head, type, &md->user, message->hdr_data,
			 (uint32_t)message->sequence, fail);
}

/* Start the send of `md`: threshold, pin it until initiator_sent, SEND_START. */
static int send(struct process_view *view, struct md *md, struct eq *eq,
		const struct message *message, struct grant *grant)
{
	struct block *block = view->block;

	if (md_spend(view, md))
		return PORTALS_FAIL;
	md->pending++;
	block->started.sends++;
	block->started.operations++;
	if (eq) {
		if (!(md->user.options & MD_EVENT_END_DISABLE)) {
			eq->begun++;
			grant->begun = 1;
		}
		if (!(md->user.options & MD_EVENT_START_DISABLE)) {
			grant->events = record_send(view, eq, message, md, EVENT_SEND_START, NI_OK);
			grant_rings(view, grant, eq);
		}
	}
	return PORTALS_OK;
}

/* Whether the arguments name a valid atomic operation, datatype and length. */
static int atomic_exists(const struct initiator_args *args)
{
	return atomic_valid(args->operation, args->atomic_operation, args->datatype, args->length);
}

/* Bytes of operands: compare-and-swap has two operands for each element. */
static uint64_t operand_bytes(const struct initiator_args *args)
{
	return args->atomic_operation == ATOMIC_CSWAP ? 2 * args->length : args->length;
}

/* Flattened: the functions that it calls are shorter than their calls. */
__attribute__((flatten))
int initiator_put(struct process_view *view, const struct initiator_args *args,
		  struct message *message, struct grant *grant)
{
	int is_atomic = args->operation == MESSAGE_ATOMIC;
	uint64_t length = args->length, bytes, offset = args->local_offset;
	struct operation *op;
	struct md *md;
	struct eq *eq;
	int error;

	if (is_atomic && !atomic_exists(args))
		return PORTALS_ATOMIC_INVALID;
	md = active(view, args->md);
	if (!md)
		return PORTALS_MD_INVALID;
	if (length == LENGTH_WHOLE) {
		offset = 0;
		length = md->room;
	}
	bytes = is_atomic ? operand_bytes(args) : length;
	if (!md_has(md, offset, bytes))
		return PORTALS_MD_ILLEGAL;
	if (!names_process(args))
		return PORTALS_PROCESS_INVALID;
	error = source(view, md, offset, bytes, grant);
	if (error)
		return error;
	eq = eq_lookup(view, md->user.eq_handle);
	request(view, args, is_atomic ? MESSAGE_ATOMIC : MESSAGE_PUT, length, message);
	if (eq && args->ack == ACK_YES) {
		error = expect_answer(view, args, MESSAGE_ACK, length, NO_INDEX, &op);
		if (error)
			return error;
		op->hdr_data = message->hdr_data;
		op->eq_handle = eq->handle;
		op->reports_dropped = !!(md->user.options & MD_EVENT_DROPPED);
		message->ack_request = ACK_YES;
		message->eq_handle = eq->handle;
		message->op_handle = op->handle;
	}
	return send(view, md, eq, message, grant);
}

__attribute__((flatten)) /* as initiator_put */
int initiator_sent(struct process_view *view, const struct message *message,
		   struct grant *grant, enum fail_type fail)
{
	struct block *block = view->block;
	struct md *md = md_lookup(view, grant->md);
	struct eq *eq;

	grant->events = 0;
	grant->upcall = 0;
	if (block->started.sends > 0)
		block->started.sends--;
	if (!md)
		return DELIVER_DAMAGED;
	if (fail == NI_FAIL)
		block->started.counters[STAT_FAILED]++;
	else
		block->started.counters[STAT_BYTES_OUT] += grant->bytes;
	eq = eq_lookup(view, md->user.eq_handle);
	if (eq) {
		eq->begun -= grant->begun;
		if (!(md->user.options & MD_EVENT_END_DISABLE))
			grant->events = record_send(view, eq, message, md, EVENT_SEND_END, fail);
	}
	grant->events += md_unpin(view, md);
	grant_rings(view, grant, eq);
	return DELIVER_OK;
}

int initiator_fast_put(struct process_view *view, const struct initiator_args *args,
		       uint64_t most, struct message *message, struct grant *grant)
{
	struct block_side *started = &view->block->started;
	struct md *md = md_lookup(view, args->md);
	uint64_t offset = 0, length;
	int32_t threshold;

	if (!md || md->flags != MD_FAST || args->operation > MESSAGE_PUT || args->target_pid == ANY_ID)
		return 0;
	length = md->room;
	if (args->length != LENGTH_WHOLE) {
		offset = args->local_offset;
		length = args->length;
		if (!md_has(md, offset, length))
			return 0;
	}
	threshold = md->user.threshold;
	if (threshold == 0 || length > most)
		return 0;
	/* No descriptor of pieces is fast. If a damaged block says so, its memory is one piece. */
	if (grant_range(view, md, md->user.options & ~(uint32_t)MD_IOVEC, offset, length, 0, grant))
		return 0;
	if (message) {
		request(view, args, MESSAGE_PUT, length, message);
		if (args->ack == ACK_YES && eq_lookup(view, md->user.eq_handle)) {
			message->ack_request = ACK_YES;
			message->eq_handle = md->user.eq_handle;
		}
	}
	if (threshold > 0)
		md->user.threshold = threshold - 1;
	started->operations++;
	started->counters[STAT_BYTES_OUT] += length;
	return 1;
}

void initiator_lost(struct process_view *view, uint64_t bytes)
{
	uint64_t *counters = view->block->started.counters;

	counters[STAT_FAILED]++;
	/* An interface that was opened after the put has not counted its bytes. */
	counters[STAT_BYTES_OUT] -= bytes < counters[STAT_BYTES_OUT] ? bytes : counters[STAT_BYTES_OUT];
}

void initiator_unanswered(struct process_view *view, const struct message *message)
{
	struct operation *op = op_lookup(view, message->op_handle);

	if (op && op->phase == OP_WAITING && op->kind == MESSAGE_ACK)
		op_free(view, op);
}

/* Start the fetching half: the reply may fill `room` bytes from `offset` on in `md`. */
static int fetch(struct process_view *view, const struct initiator_args *args,
		 uint8_t operation, uint64_t length, struct md *md, uint64_t offset,
		 uint64_t room, struct message *message)
{
	struct operation *op;
	int error;

	if (!may_fill(view, md, offset, room))
		return PORTALS_SEGV;
	error = expect_answer(view, args, MESSAGE_REPLY, length, (uint32_t)(md - view->mds), &op);
	if (error)
		return error;
	op->local_offset = offset;
	op->room = room;
	request(view, args, operation, length, message);
	op->hdr_data = message->hdr_data;
	message->eq_handle = md->user.eq_handle;
	message->op_handle = op->handle;
	md->pending++;
	return PORTALS_OK;
}

int initiator_get(struct process_view *view, const struct initiator_args *args,
		  struct message *message)
{
	uint64_t length = args->length, offset = args->local_offset;
	struct md *md = active(view, args->md);
	struct grant grant;
	int error;

	if (!md)
		return PORTALS_MD_INVALID;
	if (length == LENGTH_WHOLE) {
		offset = 0;
		length = md->room;
	}
	if (!md_has(md, offset, length))
		return PORTALS_MD_ILLEGAL;
	if (!names_process(args))
		return PORTALS_PROCESS_INVALID;
	error = source(view, md, offset, length, &grant);
	if (!error)
		error = fetch(view, args, MESSAGE_GET, length, md, offset, length, message);
	if (error)
		return error;
	view->block->started.operations++;
	return PORTALS_OK;
}

int initiator_exchange(struct process_view *view, const struct initiator_args *args,
		       struct message *message, struct grant *grant)
{
	int is_atomic = args->operation == MESSAGE_FETCH_ATOMIC;
	uint64_t most = args->most ? args->most : DELIVER_INLINE_BYTES;
	uint64_t length = args->length, bytes, put_offset = args->put_offset;
	struct md *md, *put_md;
	int error;

	if (is_atomic && !atomic_exists(args))
		return PORTALS_ATOMIC_INVALID;
	md = active(view, args->md);
	put_md = active(view, args->put_md);
	if (!md || !put_md)
		return PORTALS_MD_INVALID;
	if (length == LENGTH_WHOLE) {
		put_offset = 0;
		length = put_md->room;
	}
	bytes = is_atomic ? operand_bytes(args) : length;
	if (!md_has(put_md, put_offset, bytes) ||
	    !md_has(md, args->local_offset, is_atomic ? length : 0) || length > most)
		return PORTALS_MD_ILLEGAL;
	if (!names_process(args))
		return PORTALS_PROCESS_INVALID;
	error = source(view, put_md, put_offset, bytes, grant);
	if (!error)
		error = fetch(view, args, is_atomic ? MESSAGE_FETCH_ATOMIC : MESSAGE_GETPUT, length,
			      md, args->local_offset,
			      is_atomic ? length : reply_room(md, args->local_offset, length),
			      message);
	if (error)
		return error;
	return send(view, put_md, eq_lookup(view, put_md->user.eq_handle), message, grant);
}

/* Make short payload readable at out->payload, so that the transport does not need the descriptor.
 * 0, or DELIVER_DAMAGED if the descriptor's pieces are invalid. */
static int read_payload(const struct process_view *view, struct outgoing *out)
{
	uint64_t bytes = out->grant.bytes;
	uint64_t most = out->message->operation == MESSAGE_ATOMIC ||
			out->message->operation == MESSAGE_FETCH_ATOMIC ?
			DELIVER_OPERAND_BYTES : DELIVER_INLINE_BYTES;

	if (bytes > most)
		return DELIVER_OK;
	if (out->grant.pieces) {
		out->payload = out->room;
		out->copied = (uint32_t)bytes;
		return deliver_read(view, &out->grant, 0, out->room, bytes);
	}
	/* A process may send to itself and the ranges may overlap: then use the same mapping. */
	out->payload = out->grant.offset + (out->message->target_nid == view->nid ?
					    view->memory : view->sources);
	return DELIVER_OK;
}

int initiator_start(struct process_view *view, const struct initiator_args *args,
		    struct outgoing *out)
{
	uint32_t events;
	uint8_t upcall;
	int error, damaged;

	out->payload = 0;
	out->sends = args->operation != MESSAGE_GET;
	out->sent = 0;
	out->copied = 0;
	switch (args->operation) {
	case MESSAGE_GET:
		grant_clear(&out->grant);
		return initiator_get(view, args, out->message);
	case MESSAGE_GETPUT:
	case MESSAGE_FETCH_ATOMIC:
		error = initiator_exchange(view, args, out->message, &out->grant);
		break;
	default:
		error = initiator_put(view, args, out->message, &out->grant);
	}
	if (error)
		return error;
	damaged = read_payload(view, out);
	if (!damaged && (!out->payload || out->message->ack_request == ACK_YES))
		return PORTALS_OK;
	events = out->grant.events;
	upcall = out->grant.upcall;
	initiator_sent(view, out->message, &out->grant, damaged ? NI_FAIL : NI_OK);
	out->grant.events += events;
	out->grant.upcall |= upcall;
	out->sent = 1;
	return damaged ? PORTALS_FAIL : PORTALS_OK;
}
