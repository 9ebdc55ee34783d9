/*
 * The link within one process: see loop.h. It follows the call sequence in
 * net/portals/deliver.h.
 */
#include "loop.h"

static struct process_view *target_of(struct loop *loop, uint32_t nid)
{
	if (nid >= loop->nodes || loop->dead >> nid & 1)
		return 0;
	return &loop->views[nid];
}

/* An answer arrives at its initiator, with the payload of a reply. */
static void answered(struct loop *loop, const struct message *answer,
		     const struct process_view *source, const struct grant *from)
{
	struct process_view *me = &loop->views[answer->target_nid];
	struct message none;
	struct grant to;

	if (deliver_begin(me, answer, answer->target_nid, &to, &none))
		return;
	if (to.bytes && source == me)
		deliver_move(me, &to, from->offset);
	else if (to.bytes)
		deliver_data(me, &to, 0, source->memory + from->offset, from->bytes);
	deliver_end(me, &to, NI_OK, &none);
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
	result = peer ? deliver_begin(peer, &message, from, &to, &answer) : DELIVER_DAMAGED;
	if (result == DELIVER_OK) {
		if (peer == me)
			deliver_move(peer, &to, source.offset);
		else
			deliver_data(peer, &to, 0, me->memory + source.offset, source.bytes);
		deliver_end(peer, &to, NI_OK, &answer);
	}
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
	struct grant source = { 0 };
	int result;

	result = initiator_get(me, args, &message);
	if (result)
		return result;
	result = peer ? deliver_begin(peer, &message, from, &source, &answer) : DELIVER_DAMAGED;
	if (!source.answers)
		message_refuse(&message, NI_FAIL, &answer);
	answered(loop, &answer, peer, &source);
	if (result == DELIVER_OK)
		deliver_end(peer, &source, NI_OK, &none);
	return result == DELIVER_BUSY ? PORTALS_NO_SPACE : PORTALS_OK;
}
