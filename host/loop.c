/*
 * The link within one process: see loop.h. It follows the call sequences in
 * net/portals/deliver.h.
 */
#include "loop.h"

static struct process_view *target_of(struct loop *loop, uint32_t nid)
{
	if (nid >= loop->nodes || loop->dead >> nid & 1)
		return 0;
	return &loop->views[nid];
}

/* Whether a message that could go either way is delivered in one step. */
static int is_short(const struct loop *loop, const struct message *message)
{
	return !loop->split && message->length <= DELIVER_INLINE_BYTES;
}

/* An answer arrives at its initiator, with the payload of a reply. */
static void answered(struct loop *loop, const struct message *answer,
		     const struct process_view *source, const struct grant *from)
{
	struct process_view *me = &loop->views[answer->target_nid];
	struct message none;
	struct grant to;
	int failed;

	if (deliver_begin(me, answer, answer->target_nid, &to, &none))
		return;
	failed = to.bytes && deliver_copy(me, &to, source, from);
	deliver_end(me, &to, failed ? NI_FAIL : NI_OK, &none);
}

/* The same in one step: the reply's payload is at hand. */
static void answered_short(struct loop *loop, const struct message *answer,
			   const uint8_t *payload)
{
	struct process_view *me = &loop->views[answer->target_nid];
	struct message none;
	struct grant grant;

	deliver_inline(me, answer, payload, &grant, &none, 0);
}

/* A message's way to its target and through it, in one step. */
static int carry_short(struct process_view *me, struct process_view *peer,
		       const struct message *message, const struct grant *source,
		       struct grant *to, struct message *answer, uint8_t *result)
{
	uint8_t payload[DELIVER_OPERAND_BYTES];

	if (!peer)
		return DELIVER_DAMAGED;
	if (source)
		deliver_read(me, source, 0, payload, source->bytes);
	return deliver_inline(peer, message, payload, to, answer, result);
}

/* A put's way to its target, its payload, and its end there. */
static int carry_put(struct process_view *me, struct process_view *peer,
		     const struct message *message, const struct grant *source,
		     struct grant *to, struct message *answer)
{
	int result = peer ? deliver_begin(peer, message, me->nid, to, answer) : DELIVER_DAMAGED;

	if (result != DELIVER_OK)
		return result;
	deliver_end(peer, to, deliver_copy(peer, to, me, source) ? NI_FAIL : NI_OK, answer);
	return result;
}

int loop_put(struct loop *loop, uint32_t from, const struct initiator_args *args)
{
	struct process_view *me = &loop->views[from];
	struct process_view *peer = target_of(loop, args->target_nid);
	struct message message, answer;
	struct grant source, to = { 0 };
	int result;

	result = initiator_put(me, args, &message, &source);
	if (result)
		return result;
	if (message.operation == MESSAGE_ATOMIC || is_short(loop, &message))
		result = carry_short(me, peer, &message, &source, &to, &answer, 0);
	else
		result = carry_put(me, peer, &message, &source, &to, &answer);
	if (result == DELIVER_DAMAGED || result == DELIVER_BUSY) {
		initiator_sent(me, &message, &source, NI_FAIL);
		to.answers = (uint8_t)message_refuse(&message, NI_FAIL, &answer);
	} else {
		initiator_sent(me, &message, &source, NI_OK);
	}
	if (to.answers)
		answered(loop, &answer, me, &source);
	else
		initiator_unanswered(me, &message);
	return result == DELIVER_BUSY ? PORTALS_NO_SPACE : PORTALS_OK;
}

int loop_get(struct loop *loop, uint32_t from, const struct initiator_args *args)
{
	struct process_view *me = &loop->views[from];
	struct process_view *peer = target_of(loop, args->target_nid);
	struct message message, answer, none;
	uint8_t bytes[DELIVER_INLINE_BYTES];
	struct grant source = { 0 };
	int result;

	result = initiator_get(me, args, &message);
	if (result)
		return result;
	if (is_short(loop, &message)) {
		if (carry_short(me, peer, &message, 0, &source, &answer, bytes) == DELIVER_DAMAGED)
			message_refuse(&message, NI_FAIL, &answer);
		answered_short(loop, &answer, bytes);
		return PORTALS_OK;
	}
	result = peer ? deliver_begin(peer, &message, from, &source, &answer) : DELIVER_DAMAGED;
	if (!source.answers)
		message_refuse(&message, NI_FAIL, &answer);
	answered(loop, &answer, peer, &source);
	if (result == DELIVER_OK)
		deliver_end(peer, &source, NI_OK, &none);
	return result == DELIVER_BUSY ? PORTALS_NO_SPACE : PORTALS_OK;
}

int loop_exchange(struct loop *loop, uint32_t from, const struct initiator_args *args)
{
	struct process_view *me = &loop->views[from];
	struct process_view *peer = target_of(loop, args->target_nid);
	uint8_t bytes[DELIVER_INLINE_BYTES];
	struct message message, answer;
	struct grant source, to;
	int result;

	result = initiator_exchange(me, args, &message, &source);
	if (result)
		return result;
	result = carry_short(me, peer, &message, &source, &to, &answer, bytes);
	if (result == DELIVER_DAMAGED)
		message_refuse(&message, NI_FAIL, &answer);
	initiator_sent(me, &message, &source, result == DELIVER_DAMAGED ? NI_FAIL : NI_OK);
	answered_short(loop, &answer, bytes);
	return PORTALS_OK;
}
