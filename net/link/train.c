/*
 * Trains: several frames of one node for another, one behind the other in one frame of the
 * card. Each that is short costs the machine many times what its bytes do, so what can leave at
 * once does so: answers, and announcements of long messages, each with its own sequence
 * number. They are acknowledged, lost and sent again one by one, as if they had come alone.
 */
#include "state.h"

/* A train that is made. */
struct train {
	struct transmit *transmit; /* the messages whose frames are in it */
	uint32_t n, bytes;         /* of its pieces */
	struct nic_piece pieces[NIC_PIECES];
};

/* May be in a train: the card reads it from its record. */
static int is_short(const struct send *send)
{
	return !send->brief && !send->with_card && (send->announced || send->length == 0);
}

static int is_followed(const struct link *link, const struct send *send)
{
	return send->next != NO_RECORD && is_short(send_at(link, send->next));
}

/* The next frame of the flow, if it is one for a train that has room: 1. */
static int add_next(struct link *link, struct flow *flow, struct train *train, uint64_t now)
{
	struct nic_piece pieces[NIC_PIECES];
	uint32_t n, bytes = 0;
	struct send *send;

	/* only the last one's end may be anywhere */
	if (train->transmit->messages == TRAIN_MESSAGES || train->bytes % 8 ||
	    !send_may(link, flow))
		return 0;
	send = send_at(link, flow->fresh);
	if (!is_short(send))
		return 0;
	n = send_make(link, flow, send, flow->next, send->message.frame, pieces);
	for (uint32_t i = 0; i < n; i++)
		bytes += pieces[i].length;
	if (n == 0 || train->n + n > NIC_PIECES || train->bytes + bytes > link->nic->mtu)
		return 0;
	if (link->key)
		wire_sign(link->key, send->message.frame, pieces, n);
	for (uint32_t i = 0; i < n; i++)
		train->pieces[train->n++] = pieces[i];
	train->bytes += bytes;
	train->transmit->train[train->transmit->messages++] = flow->fresh;
	send->with_card++;
	send_departed(link, flow, send, units(now));
	return 1;
}

/* The card did not take it: it has no room now, or loses it. */
static void not_taken(struct link *link, struct flow *flow, const struct transmit *transmit,
		      int result)
{
	for (uint32_t i = 0; i < transmit->messages; i++)
		send_at(link, transmit->train[i])->with_card--;
	if (result != NIC_FULL)
		return;
	flow->next -= transmit->messages;
	flow->fresh = transmit->train[0];
	if (!is_before(flow->timed, flow->next))
		flow->flags &= (uint8_t)~FLOW_TIMED;
}

int train_send(struct link *link, struct flow *flow, uint64_t now)
{
	const struct send *first = send_at(link, flow->fresh);
	struct train train = { .n = 0 };
	uint32_t index;
	int result;

	if (!is_short(first) || !is_followed(link, first))
		return 0;
	index = send_transmit(link, NO_RECORD);
	if (index == NO_RECORD)
		return NIC_FULL;
	train.transmit = record_at(&link->transmits, index);
	while (add_next(link, flow, &train, now))
		continue;
	if (train.n == 0) {
		record_give(&link->transmits, index);
		return 0;
	}
	result = link->nic->ops->send(link->nic, train.pieces, train.n, index);
	if (result == NIC_OK) {
		count(link, LINK_FRAMES_OUT);
		count(link, LINK_DATA_OUT);
		link->counters[LINK_TRAINS] += train.transmit->messages > 1;
		link->counters[LINK_TRAINED] += train.transmit->messages - 1u;
		return 1;
	}
	not_taken(link, flow, train.transmit, result);
	record_give(&link->transmits, index);
	return result == NIC_FULL ? NIC_FULL : 1;
}
