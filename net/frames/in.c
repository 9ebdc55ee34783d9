/*
 * Incoming messages: from the link to the engine. Headers come from the wire. A message is
 * counted and dropped if its header names the wrong node or contradicts the payload. See
 * frames.h.
 */
#include "state.h"
#include "../portals/answer.h"
#include "../port.h"

static int is_answer(uint8_t operation)
{
	return operation == MESSAGE_ACK || operation == MESSAGE_REPLY;
}

/* Whether a header is valid: source, target and lane are right, and the payload has this length. */
static int is_proper(struct frames *frames, const struct message *message, uint32_t node,
		     uint32_t lane, uint64_t bytes)
{
	if (message->operation > MESSAGE_NONE && message->operation < MESSAGE_OPERATIONS &&
	    message->source_nid == node && message->target_nid == frames->view->nid &&
	    (lane == LINK_ANSWERS) == is_answer(message->operation) &&
	    message->fail <= NI_DROPPED && message->ack_request <= ACK_YES &&
	    bytes == message_payload(message))
		return 1;
	frames->bad++;
	return 0;
}

/* Reserve a record for the answer, if there will be one. 0: no record is free. */
static int reserve(struct frames *frames, const struct message *message)
{
	return !message_is_answered(message) || link_reserve(frames->link, message->source_nid);
}

static void unreserve(struct frames *frames, const struct message *message)
{
	if (message_is_answered(message))
		link_unreserve(frames->link);
}

/* After deliver_begin or deliver_inline of a request: send its answer, if there is one. A REPLY
 * carries `payload`. */
static void answer(struct frames *frames, const struct message *request, int result,
		   const struct grant *grant, struct message *made, const void *payload)
{
	if (!message_is_answered(request))
		return;
	if (result == DELIVER_DAMAGED) {
		message_refuse(request, NI_FAIL, made);
	} else if (!grant->answers) {
		message_refuse(request, NI_OK, made);
		made->link = FRAMES_NO_ACK;
	}
	out_answer(frames, made, 0, payload);
}

/* 1: refuse this answer for now, as SEND_END must be recorded first and cannot yet. Only an answer
 * that is awaited may end a send; the engine discards any other. Lock held. */
static int is_early(struct frames *frames, const struct message *message)
{
	return is_answer(message->operation) && answer_is_awaited(frames->view, message) &&
	       !out_answered(frames, message);
}

/* ---- messages in one frame ---- */

/* Whether deliver_inline accepts a message. */
static int is_short(const struct message *message)
{
	if (message->operation == MESSAGE_REPLY)
		return message->mlength <= DELIVER_INLINE_BYTES;
	return message->operation == MESSAGE_ACK || message->length <= DELIVER_INLINE_BYTES;
}

/* A message that deliver_inline carries out in one step. */
static int handle_short(struct frames *frames, const struct message *message, const void *payload)
{
	uint8_t operands[DELIVER_OPERAND_BYTES], result[DELIVER_INLINE_BYTES];
	struct grant grant = { .op = HANDLE_NONE };
	struct message made;
	int done;

	if (!reserve(frames, message))
		return LINK_BUSY;
	/* Copy the operands, as they must be aligned for their type. */
	if (message_payload(message))
		port_copy(operands, payload, message_payload(message));
	if (!frames_port_lock(frames->context)) {
		unreserve(frames, message);
		return LINK_DROP;
	}
	if (message->operation == MESSAGE_ACK && message->link == FRAMES_NO_ACK)
		done = answer_none(frames->view, message);
	else if (is_early(frames, message))
		done = DELIVER_BUSY;
	else
		done = deliver_inline(frames->view, message, operands, &grant, &made, result);
	note_upcall(frames, &grant);
	unlock(frames);
	if (done == DELIVER_BUSY)
		return LINK_BUSY;
	if (done == DELIVER_OK && message_payload(message))
		frames->copied_in += grant.bytes;
	answer(frames, message, done, &grant, &made, result);
	return LINK_TAKE;
}

/* Begin a longer message, with a valid header: as link_port_begin. */
static int begin(struct frames *frames, const struct message *message, struct incoming *incoming)
{
	int done = DELIVER_DAMAGED;

	if (!reserve(frames, message))
		return LINK_BUSY;
	incoming->failed = 0;
	incoming->is_atomic = message->operation == MESSAGE_ATOMIC;
	incoming->operation = message->atomic_operation;
	incoming->datatype = message->datatype;
	incoming->grant = (struct grant){ .op = HANDLE_NONE };
	if (frames_port_lock(frames->context)) {
		done = is_early(frames, message) ? DELIVER_BUSY :
			deliver_begin(frames->view, message, message->source_nid,
				      &incoming->grant, &incoming->answer);
		note_upcall(frames, &incoming->grant);
		unlock(frames);
	}
	if (done == DELIVER_BUSY) {
		unreserve(frames, message);
		return LINK_BUSY;
	}
	if (done == DELIVER_OK && message->operation == MESSAGE_GET) {
		out_answer(frames, &incoming->answer, &incoming->grant, 0);
		return LINK_DROP;      /* it has no payload, and out.c ends it */
	}
	incoming->reserved = done == DELIVER_OK && incoming->grant.ack;
	if (!incoming->reserved)       /* otherwise link_port_end sends it */
		answer(frames, message, done, &incoming->grant, &incoming->answer, 0);
	if (done != DELIVER_OK)
		return LINK_DROP;
	return incoming->grant.bytes ? LINK_TAKE : LINK_HEADER;
}

/* Messages with a long header. Not inlined: most have a short one. */
__attribute__((noinline))
int link_port_whole(void *context, uint32_t node, uint32_t lane, const void *header,
		    const void *payload, uint32_t bytes)
{
	struct frames *frames = context;
	struct link_target target;
	struct message message;
	int result;

	port_copy(&message, header, sizeof(message));
	if (!is_proper(frames, &message, node, lane, bytes))
		return LINK_DROP;
	if (is_short(&message))
		return handle_short(frames, &message, payload);
	result = begin(frames, &message, (struct incoming *)&target);
	if (result == LINK_TAKE)
		link_port_data(frames, &target, 0, payload, bytes);
	if (result == LINK_TAKE || result == LINK_HEADER)
		link_port_end(frames, &target, 0);
	return result;
}

/* A header in a frame, which may be at any multiple of 4. */
typedef struct plain_put in_frame __attribute__((aligned(4)));

/* This does what handle_short does. deliver_inline is inlined here, and the compiler drops its code
 * for all but puts. */
__attribute__((flatten))
void link_port_put(void *context, uint32_t node, const void *header, const void *payload,
		   uint32_t bytes)
{
	struct frames *frames = context;
	const struct process_view *view = frames->view;
	const in_frame *put = header;
	struct message message = {
		.operation = MESSAGE_PUT, .ack_request = ACK_NO,
		.source_nid = node, .source_pid = view->pid,
		.target_nid = view->nid, .target_pid = view->pid, .user = view->user,
		.pt_index = put->pt_index, .cookie = put->cookie,
		.match_bits = put->match_bits, .offset = put->offset,
		.hdr_data = put->hdr_data, .length = bytes,
	};
	struct message none;
	struct grant grant;

	if (!frames_port_lock(frames->context))
		return;
	if (deliver_inline(frames->view, &message, payload, &grant, &none, 0) == DELIVER_OK)
		frames->copied_in += grant.bytes;
	frames_port_unlock(frames->context);
	if (grant.upcall)
		frames_port_upcall(frames->context);
}

/* ---- messages in several frames ---- */

int link_port_begin(void *context, uint32_t node, uint32_t lane, const void *header,
		    uint64_t length, struct link_target *target)
{
	struct frames *frames = context;
	struct message message;

	port_copy(&message, header, sizeof(message));
	if (!is_proper(frames, &message, node, lane, length))
		return LINK_DROP;
	return begin(frames, &message, (struct incoming *)target);
}

/* Apply the operands in a frame, step by step. The lock is free between the steps. */
static void apply(struct frames *frames, struct incoming *incoming, uint64_t at,
		  const uint8_t *operands, uint32_t bytes)
{
	uint32_t step;

	for (uint32_t done = 0; done < bytes && !incoming->failed; done += step) {
		step = bytes - done < DELIVER_STEP_BYTES ? bytes - done : DELIVER_STEP_BYTES;
		if (!frames_port_lock(frames->context)) {
			incoming->failed = 1;
			return;
		}
		incoming->failed = !!deliver_apply(frames->view, &incoming->grant,
						   incoming->operation, incoming->datatype,
						   at + done, operands + done, step);
		frames_port_unlock(frames->context);
	}
}

void link_port_data(void *context, struct link_target *target, uint64_t at,
		    const void *payload, uint32_t bytes)
{
	struct incoming *incoming = (struct incoming *)target;
	struct frames *frames = context;

	if (incoming->is_atomic)
		apply(frames, incoming, at, payload, bytes);
	else
		deliver_data(frames->view, &incoming->grant, at, payload, bytes);
	if (at < incoming->grant.bytes)
		frames->copied_in += incoming->grant.bytes - at < bytes ?
			incoming->grant.bytes - at : bytes;
}

uint32_t link_port_place(void *context, struct link_target *target, uint64_t at, uint32_t bytes,
			 struct nic_piece *pieces, uint32_t most)
{
	const struct incoming *incoming = (const struct incoming *)target;
	struct frames *frames = context;

	/* The card must not write outside the granted range. It cannot apply operands. */
	if (incoming->is_atomic || at + bytes > incoming->grant.bytes)
		return 0;
	return out_spans(frames, &incoming->grant, at, bytes, pieces, most);
}

void link_port_end(void *context, struct link_target *target, int fail)
{
	struct incoming *incoming = (struct incoming *)target;
	struct frames *frames = context;

	if (frames_port_lock(frames->context)) {
		deliver_end(frames->view, &incoming->grant,
			    fail || incoming->failed ? NI_FAIL : NI_OK, &incoming->answer);
		note_upcall(frames, &incoming->grant);
		unlock(frames);
	}
	if (!incoming->reserved)
		return;
	if (fail || !incoming->grant.answers) {
		link_unreserve(frames->link);
		return;
	}
	out_answer(frames, &incoming->answer, 0, 0);
}

void link_port_lost(void *context, uint32_t node)
{
	struct frames *frames = context;

	if (frames_port_lock(frames->context)) {
		out_lost(frames, node);
		block_peer_died(frames->view, node, 0);
		frames_port_unlock(frames->context);
	}
	frames_port_upcall(frames->context);  /* one of the events may be for a handler */
	frames_port_lost(frames->context, node);
}
