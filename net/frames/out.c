/*
 * Outgoing messages: operations that this process starts, and answers to those of others. Long
 * payload is not copied: the card reads it in place until the message has ended. Short payload and
 * fetched bytes are copied into the message's record. See frames.h.
 */
#include "state.h"
#include "../portals/iovec.h"
#include "../portals/op.h"
#include "../portals/range.h"
#include "../port.h"

static inline struct sending *sending_of(const struct link_message *message)
{
	return (struct sending *)message->user;
}

static inline struct message *header_of(const struct link_message *message)
{
	return (struct message *)message->header;
}

/* ---- payload ---- */

uint32_t out_spans(struct frames *frames, const struct grant *grant, uint64_t at, uint32_t bytes,
		   struct nic_piece *pieces, uint32_t most)
{
	uint32_t n = 0;

	while (bytes && n < most) {
		struct span span;

		if (deliver_span(frames->view, grant, at, &span) || span.bytes == 0)
			return 0;
		if (span.bytes > bytes)
			span.bytes = bytes;
		pieces[n].bytes = frames->view->memory + span.offset;
		pieces[n++].length = (uint32_t)span.bytes;
		at += span.bytes;
		bytes -= (uint32_t)span.bytes;
	}
	return bytes ? 0 : n;
}

uint32_t link_port_gather(void *context, const struct link_message *message, uint64_t at,
			  uint32_t bytes, struct nic_piece *pieces, uint32_t most)
{
	return out_spans(context, &sending_of(message)->grant, at, bytes, pieces, most);
}

/* The most payload bytes that never need more pieces than a frame may have besides its header
 * (NIC_PIECES - 1 = INNER + 1), wherever they begin; 0: no limit. A range in INNER + 2 pieces
 * contains INNER whole ones. So a range that is not longer than the shortest INNER consecutive
 * pieces together needs at most INNER + 1. */
static uint32_t fragment(const struct frames *frames, const struct grant *grant)
{
	enum { INNER = NIC_PIECES - 1 - 1 };
	uint64_t lengths[INNER], sum = 0, least = UINT32_MAX, at = 0;
	uint32_t n = 0;
	struct span span;

	if (!grant->pieces)
		return 0;
	while (at < grant->bytes) {
		if (deliver_span(frames->view, grant, at, &span) || span.bytes == 0)
			return 0;
		at += span.bytes;
		if (n >= INNER)
			sum -= lengths[n % INNER];
		lengths[n++ % INNER] = span.bytes;
		sum += span.bytes;
		if (n >= INNER && sum < least)
			least = sum;
	}
	/* A frame divides no element of an atomic operation: INNER pieces have 8 bytes or more. */
	return (uint32_t)(least > 64 ? least & ~63ull : least & ~7ull);
}

/* Gather the payload of a short reply from several pieces into the record: 1 if that was done. */
static uint8_t gather_reply(struct frames *frames, const struct grant *grant, uint8_t *room)
{
	if (!grant->pieces || grant->bytes == 0 || grant->bytes > LINK_ROOM_BYTES ||
	    deliver_read(frames->view, grant, 0, room, grant->bytes))
		return 0;
	frames->copied_out += grant->bytes;
	return 1;
}

/* ---- ends ---- */

/* Whether the operation still waits for its answer: it has not arrived, and block_peer_died has
 * not ended the operation. */
static int awaits_answer(const struct frames *frames, const struct message *message)
{
	const struct operation *op = op_lookup(frames->view, message->op_handle);

	return op && op->phase == OP_WAITING;
}

/* The target cannot be reached: deliver the answer that says so, if one is awaited. Lock held. */
static void refuse(struct frames *frames, const struct message *message)
{
	struct message answer, none;
	struct grant grant;

	if (!awaits_answer(frames, message) || !message_refuse(message, NI_FAIL, &answer))
		return;
	deliver_inline(frames->view, &answer, 0, &grant, &none, 0);
	note_upcall(frames, &grant);
}

/* Record SEND_END. If it was recorded before, only count a failure, unless an answer has shown that
 * the message did arrive. Lock held. */
static void report(struct frames *frames, struct link_message *message, int fail)
{
	struct sending *sending = sending_of(message);

	if (sending->sent) {
		if (fail && (header_of(message)->op_handle == HANDLE_NONE ||
			     awaits_answer(frames, header_of(message))))
			initiator_lost(frames->view, sending->grant.bytes);
		return;
	}
	sending->sent = 1;
	initiator_sent(frames->view, header_of(message), &sending->grant, fail ? NI_FAIL : NI_OK);
	note_upcall(frames, &sending->grant);
}

void link_port_failed(void *context, uint32_t bytes)
{
	struct frames *frames = context;

	if (frames_port_lock(frames->context)) {
		initiator_lost(frames->view, bytes);
		frames_port_unlock(frames->context);
	}
}

void link_port_sent(void *context, struct link_message *message, int fail)
{
	struct sending *sending = sending_of(message);
	struct frames *frames = context;
	struct message none;

	if (sending->kind != OUT_NOTE && frames_port_lock(frames->context)) {
		if (sending->kind == OUT_SEND)
			report(frames, message, fail);
		if (sending->kind == OUT_REPLY) {
			deliver_end(frames->view, &sending->grant, fail ? NI_FAIL : NI_OK, &none);
			note_upcall(frames, &sending->grant);
		} else if (fail) {
			refuse(frames, header_of(message));
		}
		unlock(frames);
	}
	sending->kind = OUT_NOTE;      /* it has ended: an answer has nothing to do here */
}

/* The send that awaits the answer with this record, if its SEND_END is not recorded; or null. */
static struct link_message *unended(const struct frames *frames, handle_t op_handle)
{
	uint32_t op = HANDLE_INDEX(op_handle);
	struct link_message *message;

	if (op_handle == HANDLE_NONE || op >= frames->view->limits.ops)
		return 0;
	/* A plain put may use the record now: then its kind is OUT_NOTE. */
	message = frames->by_op[op];
	if (!message || header_of(message)->op_handle != op_handle ||
	    sending_of(message)->kind != OUT_SEND || sending_of(message)->sent)
		return 0;
	return message;
}

int out_answered(struct frames *frames, const struct message *answer)
{
	struct link_message *message = unended(frames, answer->op_handle);
	const struct sending *sending;

	if (!message)
		return 1;
	/* The link may still ask for the payload, which could not be found after an iovec
	 * descriptor is gone. */
	sending = sending_of(message);
	if (sending->grant.pieces && !sending->is_inline)
		return 0;
	report(frames, message, 0);
	return 1;
}

void out_lost(struct frames *frames, uint32_t node)
{
	struct process_view *view = frames->view;

	for (uint32_t i = 0; i < view->limits.ops; i++) {
		struct operation *op = &view->ops[i];

		if (op->phase == OP_WAITING && op->runner == node && unended(frames, op->handle))
			op->runner = view->nid;
	}
}

/* ---- operations ---- */

/* Whether an operation that awaits an answer would leave an operation record for requests that
 * arrive. If all records of two nodes awaited answers, each node would refuse the other's requests
 * for ever (deadlock). */
static int leaves_record(struct frames *frames)
{
	struct block *block = frames->view->block;
	int leaves;

	if (!frames_port_lock(frames->context))
		return 1;              /* frames_start fails for the same reason */
	leaves = block->pools[POOL_OP].used + 1 < block->pools[POOL_OP].limit;
	block->delivered.counters[STAT_BUSY] += !leaves;
	frames_port_unlock(frames->context);
	return leaves;
}

/* Send the message in the link's next record. If the link does not accept it, it fails at once. */
static void send(struct frames *frames, struct link_message *message, enum link_lane lane,
		 uint64_t bytes)
{
	const struct sending *sending = sending_of(message);
	int is_range = sending->kind != OUT_GET && sending->kind != OUT_NOTE && !sending->is_inline;

	if (link_send(frames->link, frames_now(frames), header_of(message)->target_nid, lane,
		      bytes, sending->is_inline, is_range ? fragment(frames, &sending->grant) : 0))
		link_port_sent(frames, message, 1);
}

int frames_start(struct frames *frames, const struct initiator_args *args)
{
	int fetches = message_fetches(args->operation), error;
	struct link_message *message;
	struct sending *sending;
	struct outgoing out;

	if (!link_has_room(frames->link, args->target_nid, LINK_REQUESTS) ||
	    ((fetches || args->ack == ACK_YES) && !leaves_record(frames)))
		return FRAMES_AGAIN;
	message = link_message(frames->link);
	out.message = header_of(message);
	out.room = message->payload;
	if (!frames_port_lock(frames->context))
		return PORTALS_FAIL;
	error = initiator_start(frames->view, args, &out);
	frames_port_unlock(frames->context);
	if (error)
		return error;
	if (out.message->op_handle != HANDLE_NONE)
		frames->by_op[HANDLE_INDEX(out.message->op_handle)] = message;
	sending = sending_of(message);
	sending->grant = out.grant;
	sending->kind = out.sends ? OUT_SEND : OUT_GET;
	sending->sent = out.sent;
	sending->is_inline = out.payload != 0;
	if (out.payload) {
		/* The application may change short payload when the call has returned. Several
		 * pieces were gathered in the record already. */
		if (out.payload != out.room)
			port_copy(out.room, out.payload, out.grant.bytes);
		frames->copied_out += out.grant.bytes;
	}
	send(frames, message, LINK_REQUESTS, out.grant.bytes);
	if (out.grant.upcall)
		frames_port_upcall(frames->context);
	return PORTALS_OK;
}

enum frames_fast frames_fast_put(struct frames *frames, const struct initiator_args *args,
				 uint64_t *due)
{
	struct link_room room = link_fast_room(frames->link, args->target_nid);
	struct grant grant;

	if (!room.header || args->ack == ACK_YES || args->target_pid != frames->view->pid ||
	    !initiator_fast_put(frames->view, args, LINK_FAST_BYTES, 0, &grant))
		return FRAMES_OTHER;
	*(struct plain_put *)room.header = (struct plain_put){
		.pt_index = args->pt_index, .cookie = args->cookie,
		.match_bits = args->match_bits, .offset = args->remote_offset,
		.hdr_data = args->hdr_data,
	};
	range_read(frames->view, &grant, room.header + LINK_PUT_BYTES);
	frames->copied_out += grant.bytes;
	if (!link_fast_send(frames->link, room, frames_now(frames), (uint32_t)grant.bytes))
		return FRAMES_QUEUED;
	*due = link_due(frames->link);
	return FRAMES_SENT;
}

int frames_signal(struct frames *frames, uint32_t node, uint32_t news)
{
	const struct process_view *view = frames->view;
	struct link_message *message;

	if (news == BLOCK_BARRIER_PING && link_sends_to(frames->link, node, LINK_REQUESTS))
		return PORTALS_OK;
	if (!link_has_room(frames->link, node, LINK_REQUESTS))
		return FRAMES_AGAIN;
	message = link_message(frames->link);
	sending_of(message)->kind = OUT_NOTE;
	sending_of(message)->is_inline = 1;
	*header_of(message) = (struct message){
		.operation = MESSAGE_BARRIER,
		.source_nid = view->nid, .source_pid = view->pid,
		.target_nid = node, .target_pid = view->pid,
		.uid = view->uid, .jid = view->jid,
		.pt_index = news,
	};
	send(frames, message, LINK_REQUESTS, 0);
	return PORTALS_OK;
}

void out_answer(struct frames *frames, const struct message *answer, const struct grant *grant,
		const void *payload)
{
	struct link_message *message = link_message(frames->link);
	struct sending *sending = sending_of(message);
	uint64_t bytes = message_payload(answer);

	link_unreserve(frames->link);
	*header_of(message) = *answer;
	sending->kind = grant ? OUT_REPLY : OUT_NOTE;
	sending->is_inline = 1;
	if (grant) {
		sending->grant = *grant;
		sending->is_inline = gather_reply(frames, grant, message->payload);
	} else if (bytes) {
		port_copy(message->payload, payload, bytes);
	}
	send(frames, message, LINK_ANSWERS, bytes);
}
