/*
 * Messages out: operations that this process starts, and answers to others'.
 * Payload stays where it is until the link has it across; only short payload
 * in pieces and fetched bytes are copied, into the record. See frames.h.
 */
#include "state.h"
#include "../portals/iovec.h"
#include "../portals/op.h"
#include "../portals/range.h"
#include "../port.h"

/* ---- records ---- */

static uint32_t take(struct frames *frames, enum record_kind kind)
{
	uint32_t index = frames->free;
	struct record *record;

	if (index == NO_RECORD)
		return index;
	record = &frames->records[index];
	frames->free = record->next;
	frames->used++;
	record->kind = (uint8_t)kind;
	record->out.sends = record->out.sent = 0;
	record->out.copied = 0;
	return index;
}

static void give(struct frames *frames, uint32_t index)
{
	frames->records[index].kind = OUT_NOTE; /* its message is no longer under way */
	frames->records[index].next = frames->free;
	frames->free = (uint16_t)index;
	frames->used--;
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

uint32_t out_gather(void *context, uint64_t source, uint64_t at, uint32_t bytes,
		    struct nic_piece *pieces, uint32_t most)
{
	struct frames *frames = context;
	struct outgoing *out = &frames->records[source].out;

	if (out->copied) {
		pieces[0] = (struct nic_piece){ out->bytes + at, bytes };
		return 1;
	}
	return out_spans(frames, &out->grant, at, bytes, pieces, most);
}

/* The most payload bytes that never lie in more pieces than a frame may have
 * besides its header. What lies in two pieces more than `inner` has that many whole
 * ones within, so nothing shorter than those together can. */
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
	return (uint32_t)(least > 64 ? least & ~63ull : least);
}

/* What is short moves into the record: the application may change it when the call has
 * returned. Pieces have been gathered there already. */
static void keep_payload(struct frames *frames, struct outgoing *out)
{
	if (!out->payload)
		return;
	if (out->payload != out->bytes)
		port_copy(out->bytes, out->payload, out->grant.bytes);
	out->copied = (uint32_t)out->grant.bytes;
	frames->copied_out += out->copied;
}

/* The same of a reply, if it is in pieces: its descriptor is pinned. */
static void gather_reply(struct frames *frames, struct outgoing *out)
{
	uint64_t bytes = out->grant.bytes;

	if (!out->grant.pieces || bytes == 0 || bytes > sizeof(out->bytes) ||
	    deliver_read(frames->view, &out->grant, 0, out->bytes, bytes))
		return;
	out->copied = (uint32_t)bytes;
	frames->copied_out += bytes;
}

/* ---- ends ---- */

/* Whether the answer is still to come: it has not arrived, and block_peer_died has not
 * ended the operation. */
static int awaits_answer(const struct frames *frames, const struct message *message)
{
	const struct operation *op = op_lookup(frames->view, message->op_handle);

	return op && op->phase == OP_WAITING;
}

/* What the initiator would have heard from a target that cannot be reached. Lock held. */
static void refuse(struct frames *frames, const struct message *message, uint32_t *events,
		   int *upcall)
{
	struct message answer, none;
	struct grant grant;

	if (!awaits_answer(frames, message) || !message_refuse(message, NI_FAIL, &answer))
		return;
	deliver_inline(frames->view, &answer, 0, &grant, &none, 0);
	*events += grant.events;
	*upcall |= grant.upcall;
}

/* SEND_END, unless it is recorded: then a failure is counted, if no answer has shown that
 * the message did arrive. Lock held. */
static void report(struct frames *frames, struct outgoing *out, int fail, uint32_t *events,
		   int *upcall)
{
	if (out->sent) {
		if (fail && (out->message.op_handle == HANDLE_NONE ||
			     awaits_answer(frames, &out->message)))
			initiator_lost(frames->view, out->grant.bytes);
		return;
	}
	out->sent = 1;
	initiator_sent(frames->view, &out->message, &out->grant, fail ? NI_FAIL : NI_OK);
	*events += out->grant.events;
	*upcall |= out->grant.upcall;
}

void out_sent(void *context, uint64_t source, int fail)
{
	struct frames *frames = context;
	struct record *record;
	struct outgoing *out;
	struct message none;
	uint32_t events = 0;
	int upcall = 0;

	if (source & LINK_BRIEF) { /* it has failed, and has no record here */
		if (frames_port_lock(frames->context)) {
			initiator_lost(frames->view, source & ~LINK_BRIEF);
			frames_port_unlock(frames->context);
		}
		return;
	}
	record = &frames->records[source];
	out = &record->out;
	if (record->kind != OUT_NOTE && frames_port_lock(frames->context)) {
		if (record->kind == OUT_SEND)
			report(frames, out, fail, &events, &upcall);
		if (record->kind != OUT_REPLY && fail)
			refuse(frames, &out->message, &events, &upcall);
		if (record->kind == OUT_REPLY) {
			deliver_end(frames->view, &out->grant, fail ? NI_FAIL : NI_OK, &none);
			events += out->grant.events;
			upcall |= out->grant.upcall;
		}
		frames_port_unlock(frames->context);
	}
	give(frames, (uint32_t)source);
	if (events)
		frames_port_wake(frames->context, events, upcall);
}

int out_answered(struct frames *frames, const struct message *answer, uint32_t *events,
		 int *upcall)
{
	uint32_t op = HANDLE_INDEX(answer->op_handle), index;
	struct record *record;

	if (answer->op_handle == HANDLE_NONE || op >= frames->view->limits.ops)
		return 1;
	index = frames->by_op[op];
	if (index == NO_RECORD)
		return 1;
	record = &frames->records[index];
	if (record->kind != OUT_SEND || record->out.message.op_handle != answer->op_handle ||
	    record->out.sent || answer->fail == NI_FAIL)
		return 1;
	/* The link may still ask for the bytes: those of a descriptor in pieces could
	 * then no longer be found. */
	if (record->out.grant.pieces && !record->out.copied)
		return 0;
	report(frames, &record->out, 0, events, upcall);
	return 1;
}

/* ---- operations ---- */

/* An operation that waits for an answer leaves a record for what arrives: if all were waiting, at
 * two nodes, each would refuse for ever what the other waits for. */
static int leaves_record(struct frames *frames)
{
	struct block *block = frames->view->block;
	int leaves;

	if (!frames_port_lock(frames->context))
		return 1;              /* whoever starts it finds out */
	leaves = block->pools[POOL_OP].used + 1 < block->pools[POOL_OP].limit;
	block->delivered.counters[STAT_BUSY] += !leaves;
	frames_port_unlock(frames->context);
	return leaves;
}

static int has_room(const struct frames *frames, uint32_t node)
{
	return frames->free != NO_RECORD && frames->used + frames->reserved < frames->room &&
	       link_has_room(frames->link, node, LINK_REQUESTS);
}

/* Hand a record to the link, as frames of at most so much payload (0: any); what it does not
 * take fails at once. */
static void send(struct frames *frames, uint32_t index, enum link_lane lane, uint64_t bytes,
		 uint32_t most_payload)
{
	struct outgoing *out = &frames->records[index].out;

	if (link_send(frames->link, frames_now(frames), out->message.target_nid,
		      lane, &out->message, bytes, most_payload, index))
		out_sent(frames, index, 1);
}

int frames_start(struct frames *frames, const struct initiator_args *args)
{
	int fetches = message_fetches(args->operation), error;
	struct outgoing *out;
	uint32_t index;

	if (!has_room(frames, args->target_nid) ||
	    ((fetches || args->ack == ACK_YES) && !leaves_record(frames)))
		return FRAMES_AGAIN;
	index = take(frames, args->operation == MESSAGE_GET ? OUT_GET : OUT_SEND);
	out = &frames->records[index].out;
	if (!frames_port_lock(frames->context)) {
		give(frames, index);
		return PORTALS_FAIL;
	}
	error = initiator_start(frames->view, args, out);
	frames_port_unlock(frames->context);
	if (error) {
		give(frames, index);
		return error;
	}
	if (out->grant.events)
		frames_port_wake(frames->context, out->grant.events, out->grant.upcall);
	if (out->message.op_handle != HANDLE_NONE)
		frames->by_op[HANDLE_INDEX(out->message.op_handle)] = (uint16_t)index;
	keep_payload(frames, out);
	send(frames, index, LINK_REQUESTS, out->grant.bytes,
	     out->copied ? 0 : fragment(frames, &out->grant));
	return PORTALS_OK;
}

enum frames_brief frames_brief(struct frames *frames, const struct initiator_args *args,
			       uint64_t *due)
{
	struct link_room room = link_brief(frames->link, args->target_nid);
	struct grant grant;

	if (!room.header ||
	    !initiator_brief(frames->view, args, (struct message *)room.header, &grant))
		return FRAMES_OTHER;
	range_read(frames->view, &grant, room.header + LINK_HEADER_BYTES);
	frames->copied_out += grant.bytes;
	if (!link_brief_send(frames->link, room, frames_now(frames), (uint32_t)grant.bytes))
		return FRAMES_QUEUED;
	*due = link_due(frames->link);
	return FRAMES_SENT;
}

int frames_signal(struct frames *frames, uint32_t node, uint32_t news)
{
	const struct process_view *view = frames->view;
	uint32_t index;

	if (news == BLOCK_BARRIER_PING && link_sends_to(frames->link, node, LINK_REQUESTS))
		return PORTALS_OK;
	if (!has_room(frames, node))
		return FRAMES_AGAIN;
	index = take(frames, OUT_NOTE);
	frames->records[index].out.message = (struct message){
		.operation = MESSAGE_BARRIER,
		.source_nid = view->nid, .source_pid = view->pid,
		.target_nid = node, .target_pid = view->pid,
		.uid = view->uid, .jid = view->jid,
		.list_selector = news,
	};
	send(frames, index, LINK_REQUESTS, 0, 0);
	return PORTALS_OK;
}

void out_answer(struct frames *frames, const struct message *answer, const struct grant *grant,
		const void *payload, uint32_t bytes)
{
	uint32_t index = take(frames, grant ? OUT_REPLY : OUT_NOTE);
	struct outgoing *out = &frames->records[index].out;
	uint64_t length = bytes;

	frames->reserved--;
	link_unreserve(frames->link);
	out->message = *answer;
	if (grant) {
		out->grant = *grant;
		length = grant->bytes;
		gather_reply(frames, out);
	} else if (bytes) {
		port_copy(out->bytes, payload, bytes);
		out->copied = bytes;
	}
	send(frames, index, LINK_ANSWERS, length,
	     grant && !out->copied ? fragment(frames, grant) : 0);
}
