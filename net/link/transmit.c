/*
 * The sending half: selects frames of the queued messages (message.c) and gives them to the card.
 * Flows take turns, so that a long message does not block those to other nodes. Only headers are
 * copied. flow_state.h has the states of a flow.
 */
#include "internal.h"

#define SHORT_BYTES  4096u         /* messages of this length are not limited by long_window */

/* The message to which a frame under way belongs. */
static uint32_t message_of(const struct link *link, const struct flow *flow, uint32_t sequence)
{
	uint32_t index = flow->tx.head;

	while (index != NO_RECORD) {
		const struct send *send = send_at(link, index);

		if (sequence - send->first < send->frames)
			break;
		index = send->next;
	}
	return index;
}

/* The number of frames that count as under way: neither arrived nor lost. */
static uint32_t frames_out(const struct flow *flow)
{
	uint32_t under_way = flow->tx.next - flow->tx.una;
	uint64_t not_out = flow->tx.sacked | flow->tx.lost;

	if (!not_out)
		return under_way;
	/* the receiver has dropped the frames behind the maps */
	return (under_way < MAPPED ? under_way : MAPPED) -
	       (uint32_t)__builtin_popcountll(not_out);
}

/* Whether this flow may send a frame now: a retransmission in REPAIR, a new frame in OPEN. */
static int may_send(const struct link *link, const struct flow *flow)
{
	uint32_t out = frames_out(flow);

	if (out >= flow->tx.cwnd || flow == link->bulk.deferred)
		return 0;
	switch (flow_state(flow)) {
	case FLOW_REPAIR:
		return out < link->long_window;
	case FLOW_OPEN:
		return flow->tx.unsent != NO_RECORD &&
		       flow->tx.next - flow->tx.una < flow_window(flow) &&
		       (out < link->long_window ||
			send_at(link, flow->tx.unsent)->length <= SHORT_BYTES) &&
		       !batch_is_delayed(flow);
	default:
		return 0;
	}
}

/* Frame `sequence` was retransmitted. */
static void note_resent(struct link *link, struct flow *flow, uint32_t sequence)
{
	uint64_t bit = 1ULL << (sequence - flow->tx.una);

	flow->tx.lost &= ~bit;
	flow->tx.resent |= bit;
	flow->tx.after_resend = flow->tx.next;
	if ((flow->tx.flags & TX_SAMPLING) && flow->tx.sample == (uint16_t)sequence)
		flow->tx.flags &= (uint8_t)~TX_SAMPLING;
	count(link, LINK_RESENT);
	/* The timer is that of the oldest frame. */
	if (sequence == flow->tx.una)
		timer_resend(link, flow);
}

/* Frame `next`, which belongs to `send`, was sent for the first time. */
static void note_sent(struct link *link, struct flow *flow, const struct send *send)
{
	if (!(flow->tx.flags & TX_SAMPLING)) {
		flow->tx.flags |= TX_SAMPLING;
		flow->tx.sample = (uint16_t)flow->tx.next;
		flow->tx.sampled_at = units(link->now);
	}
	flow->tx.next++;
	if (flow->tx.next == send->first + send->frames)
		flow->tx.unsent = send->next;
	/* With this many frames under way the timeout is longer (LATE_FACTOR in timer.c). */
	if (!(flow->tx.flags & TX_TIMER) || flow->tx.next - flow->tx.una == DUP_THRESHOLD + 1)
		timer_resend(link, flow);
}

/* Memory for the header of a frame of this message, and the frame's cookie. It is in the message's
 * record, unless the card has still to read another frame from there. Null: no memory. */
static uint8_t *header_room(struct link *link, uint32_t message, uint32_t *cookie)
{
	struct send *send = send_at(link, message);

	*cookie = IN_RECORD | message;
	if (!send->with_card)
		return send_frame_at(send);
	*cookie = frame_record(link, message);
	return *cookie == NO_RECORD ? 0 : transmit_at(link, *cookie)->header;
}

/*
 * ---- aggregates ----
 *
 * An aggregate is one frame of the card that holds several consecutive frames from one node to
 * another. The cost of a short frame is mostly per frame, not per byte. So messages without
 * payload (most answers) and announcements that can leave together do so. Each of these frames
 * keeps its own sequence number, and is acknowledged and retransmitted on its own.
 */

/* An aggregate under construction. */
struct aggregate {
	struct transmit *transmit; /* lists the messages whose frames are in it */
	uint32_t n, bytes;         /* number of pieces, and their length together */
	struct nic_piece pieces[NIC_PIECES];
};

/* Whether the frame of a message may go into an aggregate. Its header must be in its record, so
 * the card must not be reading another one there. */
static int is_short(const struct send *send)
{
	return !send->unsignalled && !send->with_card && (send->announced || send->length == 0);
}

/* Add the flow's next frame to the aggregate: 1, or 0 if it is of another kind, there is no room,
 * or the flow may send nothing now. */
static int add_next(struct link *link, struct flow *flow, struct aggregate *aggregate)
{
	struct nic_piece pieces[NIC_PIECES];
	uint32_t n, bytes = 0;
	struct send *send;

	/* every frame but the last has a length that is a multiple of 8 */
	if (aggregate->transmit->messages == AGGREGATE_FRAMES || aggregate->bytes % 8 ||
	    !may_send(link, flow))
		return 0;
	send = send_at(link, flow->tx.unsent);
	if (!is_short(send))
		return 0;
	n = frame_make(link, flow, send, flow->tx.next, send->message.frame, pieces);
	for (uint32_t i = 0; i < n; i++)
		bytes += pieces[i].length;
	if (n == 0 || aggregate->n + n > NIC_PIECES || aggregate->bytes + bytes > link->nic->mtu)
		return 0;
	wire_seal(link->key, link->config.check_payload, pieces, n);
	for (uint32_t i = 0; i < n; i++)
		aggregate->pieces[aggregate->n++] = pieces[i];
	aggregate->bytes += bytes;
	aggregate->transmit->frames[aggregate->transmit->messages++] = flow->tx.unsent;
	send->with_card++;
	note_sent(link, flow, send);
	return 1;
}

/* The card did not accept an aggregate. If its ring is full the frames will be sent again as new
 * ones; otherwise they count as sent, and lost. */
static void send_failed(struct link *link, struct flow *flow, const struct transmit *transmit,
			int result)
{
	for (uint32_t i = 0; i < transmit->messages; i++)
		send_at(link, transmit->frames[i])->with_card--;
	if (result != NIC_FULL)
		return;
	flow->tx.next -= transmit->messages;
	flow->tx.unsent = transmit->frames[0];
	if ((int16_t)(flow->tx.sample - flow->tx.next) >= 0)
		flow->tx.flags &= (uint8_t)~TX_SAMPLING;
}

/* Send an aggregate of the flow's next frames: 1 if it left, NIC_FULL, or 0 if they do not make
 * one. */
static int send_aggregate(struct link *link, struct flow *flow)
{
	const struct send *first = send_at(link, flow->tx.unsent);
	struct aggregate aggregate = { .n = 0 };
	uint32_t index;
	int result;

	if (!is_short(first) || first->next == NO_RECORD || !is_short(send_at(link, first->next)))
		return 0;
	index = frame_record(link, NO_RECORD);
	if (index == NO_RECORD)
		return NIC_FULL;
	aggregate.transmit = transmit_at(link, index);
	while (add_next(link, flow, &aggregate))
		continue;
	if (aggregate.n == 0) {
		record_free(&link->transmits, index);
		return 0;
	}
	result = link->nic->ops->send(link->nic, aggregate.pieces, aggregate.n, index);
	if (result == NIC_OK) {
		count(link, LINK_FRAMES_OUT);
		count(link, LINK_DATA_OUT);
		link->counters[LINK_AGGREGATES] += aggregate.transmit->messages > 1;
		link->counters[LINK_AGGREGATED] += aggregate.transmit->messages - 1u;
		return 1;
	}
	send_failed(link, flow, aggregate.transmit, result);
	record_free(&link->transmits, index);
	return result == NIC_FULL ? NIC_FULL : 1;
}

/* ---- one frame ---- */

/* Send one frame of the flow: 1 if it left, 0 if there was none, or NIC_FULL. */
static int send_frame(struct link *link, struct flow *flow)
{
	uint32_t sequence = flow->tx.next, message = flow->tx.unsent, cookie, n;
	struct nic_piece pieces[NIC_PIECES];
	int again = flow_state(flow) == FLOW_REPAIR, result;
	struct send *send;
	uint8_t *header;

	if (!may_send(link, flow))
		return 0;
	if (again) {
		sequence = flow->tx.una + (uint32_t)__builtin_ctzll(flow->tx.lost);
		message = message_of(link, flow, sequence);
	} else {
		result = send_aggregate(link, flow);
		if (result)
			return result;
	}
	header = header_room(link, message, &cookie);
	if (!header)
		return NIC_FULL;
	send = send_at(link, message);
	n = frame_make(link, flow, send, sequence, header, pieces);
	if (n == 0) {
		if (!(cookie & IN_RECORD))
			record_free(&link->transmits, cookie);
		timer_give_up(link, flow);
		return 0;
	}
	result = frame_send(link, link->nic, cookie, send, pieces, n);
	if (result == NIC_FULL)
		return NIC_FULL;
	link->counters[LINK_DATA_OUT] += result == NIC_OK;
	if (again)
		note_resent(link, flow, sequence);
	else
		note_sent(link, flow, send);
	return 1;
}

/* ---- turns ---- */

/* Let the first ready flow send one frame; returns as send_frame does. A flow that finds the card
 * full keeps its place at the head of the list. At the tail it could find the card full each
 * time, as the others fill the few slots that become free. */
static int pump_flow(struct link *link)
{
	struct flow *flow = &link->flows[link->ready_first];
	int result = NIC_FULL;

	if (flow->rx.flags & RX_ACK_NOW)
		frame_ack(link, flow);
	if (!(flow->rx.flags & RX_ACK_NOW))
		result = send_frame(link, flow);
	if (result == NIC_FULL)
		return result;
	link->ready_first = flow->ready_next;
	flow->flags &= (uint8_t)~FLOW_READY;
	if (result)
		flow_ready(link, flow);
	return result;
}

void transmit_turns(struct link *link)
{
	link->transmitting = 1;
	for (uint32_t most = link->config.transmits; most > 0; most--) {
		int result = 0;

		if (link->ready_first == NO_FLOW && !bulk_can_send(link))
			break;
		if (link->ready_first != NO_FLOW)
			result = pump_flow(link);
		if (result != NIC_FULL)
			result = bulk_send_part(link);
		if (result == NIC_FULL) {
			link->stalled = 1;
			count(link, LINK_CARD_FULL);
			break;
		}
	}
	link->transmitting = 0;
}
