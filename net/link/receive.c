/*
 * Frames from the card. This file checks that a frame belongs to this job and to the present
 * incarnations of both nodes; then its acknowledgement goes to ack.c and its messages to
 * reassemble.c. The fast path handles the most frequent frames completely. A frame may contain
 * anything. See the table of incarnations in docs/wire.md. link_transmitted, for frames that the
 * card has read, is here, too.
 */
#include "internal.h"

/* The counters of invalid frames have the order of enum wire_result: */
#define COUNTER_OF(result)  ((uint32_t)LINK_SHORT + (uint32_t)(result) - (uint32_t)WIRE_SHORT)
_Static_assert(COUNTER_OF(WIRE_FOREIGN) == LINK_FOREIGN &&
	       COUNTER_OF(WIRE_DAMAGED) == LINK_DAMAGED && COUNTER_OF(WIRE_FORGED) == LINK_FORGED &&
	       COUNTER_OF(WIRE_NONSENSE) == LINK_NONSENSE, "as in link.h");

/* At the start of an epoch, count the senders anew: their number decides on the ring's shares. */
static void begin_epoch(struct link *link)
{
	uint16_t epoch = (uint16_t)(link->now >> EPOCH_SHIFT);
	uint32_t senders = 1;

	if (epoch == link->epoch)
		return;
	if ((uint16_t)(epoch - link->epoch) == 1 && link->senders)
		senders = link->senders;
	link->senders = 0;
	link->epoch = epoch;
	if (senders != link->sharers)
		flow_share(link, senders);
}

/* In the next functions `pair` is a peer's two flows, indexed by lane. */

/* The peer's incarnation is now known. */
static void learn(struct flow *pair, uint32_t theirs)
{
	for (uint32_t lane = 0; lane < LINK_LANES; lane++) {
		pair[lane].theirs = theirs;
		pair[lane].tx.timeouts = 0;
	}
}

/* Retransmit all that is under way: the peer has dropped it, as it did not name the peer's
 * incarnation. */
static void send_all_again(struct link *link, struct flow *pair)
{
	for (uint32_t lane = 0; lane < LINK_LANES; lane++) {
		struct flow *flow = pair + lane;

		if (flow->tx.next == flow->tx.una)
			continue;
		flow->tx.lost = bits(flow->tx.next - flow->tx.una) & ~flow->tx.sacked;
		flow->tx.resent = 0;
		flow_ready(link, flow);
	}
}

/* RESET: an earlier frame was for another incarnation of the peer, which now says its present
 * one. `known` is the peer's pair of flows, or null. */
static void handle_reset(struct link *link, struct flow *known, const struct wire *wire)
{
	if (!known || wire->destination != known->mine ||
	    (known->theirs && !is_before(known->theirs, wire->source))) {
		count(link, LINK_GHOSTS);
		return;
	}
	if (known->theirs || wire->over) {
		peer_lose(link, wire->node, wire->source);
		return;
	}
	learn(known, wire->source);
	send_all_again(link, known);
}

/* Whether the frame is for this incarnation of this node. */
static int is_mine(const struct link *link, const struct wire *wire, uint32_t mine)
{
	return wire->destination == mine ||
	       (wire->destination == 0 && !link->config.strict &&
		mine == link->config.incarnation);
}

/* Process a frame whose incarnations are right. `pair`: the peer's flows, or null. */
static void dispatch(struct link *link, struct flow *pair, const struct wire *wire)
{
	struct flow *flow;

	if (!pair && wire->messages) {
		pair = flow_open(link, wire->node, LINK_REQUESTS);
		learn(pair, wire->source);
	}
	if (!pair) {
		count(link, LINK_NONSENSE);
		return;
	}
	flow = pair + wire->lane;
	if (wire->kind == WIRE_KIND_BULK) {
		bulk_accept_part(link, flow, wire);
		return;
	}
	if (!ack_receive(link, flow, wire)) {
		count(link, LINK_NONSENSE);
		return;
	}
	if (wire->messages)
		reassemble(link, flow, wire);
	else if (wire->kind == WIRE_KIND_GRANT)
		bulk_accept_grant(link, flow, wire);
}

/* Process one frame: 1, or 0 if it is invalid. */
static int receive(struct link *link, const uint8_t *frame, uint32_t bytes)
{
	enum wire_result result;
	struct flow *known;
	struct wire wire;
	uint32_t mine, theirs;

	result = wire_read(frame, bytes, link->config.node, link->key, &wire);
	if (result) {
		count(link, COUNTER_OF(result));
		return 0;
	}
	if (wire.node >= link->config.nodes || wire.node == link->config.node) {
		count(link, LINK_FOREIGN);
		return 0;
	}
	known = flow_find(link, wire.node, LINK_REQUESTS);
	mine = known ? known->mine : link->config.incarnation;
	theirs = known ? known->theirs : 0;
	if (theirs && is_before(wire.source, theirs)) {
		count(link, LINK_GHOSTS);
		return 1;
	}
	if (wire.kind == WIRE_KIND_RESET) {
		handle_reset(link, known, &wire);
		return 1;
	}
	if (!is_mine(link, &wire, mine)) {
		count(link, LINK_GHOSTS);
		frame_reset(link, &wire, mine, mine != link->config.incarnation);
		return 1;
	}
	if (known && theirs == 0)
		learn(known, wire.source);
	else if (known && theirs != wire.source)
		peer_lose(link, wire.node, wire.source);
	dispatch(link, known, &wire);
	return 1;
}

/* Process a frame or an aggregate, whose frames are processed as if each had come alone. After an
 * invalid frame the rest is dropped, as only that frame's length says where the next begins. */
__attribute__((noinline))
static void receive_any(struct link *link, const uint8_t *frames, uint32_t bytes)
{
	uint32_t at = 0, n;

	do {
		if (at && !wire_follows(frames, frames + at, bytes - at)) {
			count(link, link->key ? LINK_FORGED : LINK_NONSENSE);
			return;
		}
		n = wire_first(frames + at, bytes - at);
		if (!receive(link, frames + at, n))
			return;
		at += n;
	} while (at < bytes);
}

/* ---- the fast path ---- */

/* Deliver a short message that arrives in order. */
static inline void handle_short(struct link *link, struct flow *flow, const uint8_t *frame,
				uint32_t header, uint32_t payload)
{
	const uint8_t *message = frame + LINK_FRAME_BYTES;

	flow_count_sender(link, flow);
	bulk_note_data(link, flow, payload);
	if (header == WIRE_PUT_DATA) {
		link_port_put(link->context, flow->node, message, frame + header, payload);
	} else if (link_port_whole(link->context, flow->node, flow_lane(flow), message,
				   frame + header, payload) == LINK_BUSY) {
		count(link, LINK_REFUSED);
		reassemble_refuse(link, flow, flow->rx.expected);
		return;
	}
	count(link, LINK_MESSAGES_IN);
	flow->rx.begun++;
	flow->rx.expected++;
	flow->rx.window--;
	flow->rx.unacked++;
	if (payload > LINK_FAST_BYTES)
		flow->rx.flags |= RX_WAITER;
	reassemble_acknowledge(link, flow);
}

/* The most frequent frames: a short message in order, or a bare acknowledgement, from a known
 * peer, without gaps in either direction. 0: another kind of frame, and nothing has changed.
 * `header` is a constant, so that the compiler specialises this for each length. */
static inline int handle_fast(struct link *link, const uint8_t *frame,
			      uint32_t bytes, uint32_t header)
{
	struct wire_fast fast;
	struct flow *flow;
	uint32_t node, lane;

	if (!wire_fast_source(&link->prefix, frame, header, &node, &lane))
		return 0;
	flow = flow_find(link, node, lane);
	if (!flow || !wire_fast_is_sealed(link->key, frame, bytes, header) ||
	    !wire_fast_read(frame, header, bytes - header, &fast))
		return 0;
	if (header != WIRE_HEADER &&
	    (fast.sequence != flow->rx.expected || fast.sequence != flow->rx.begun ||
	     flow->rx.arrived | flow->rx.refused || !flow->rx.window))
		return 0;
	if (fast.incarnations != flow->incarnations || !flow->theirs ||
	    !ack_cumulative(link, flow, fast.ack, fast.window))
		return 0;
	ack_other(link, flow, fast.other_ack, fast.other_window);
	if (header != WIRE_HEADER)
		handle_short(link, flow, frame, header, bytes - header);
	return 1;
}

static inline int receive_fast(struct link *link, const uint8_t *frame, uint32_t bytes)
{
	if (bytes == WIRE_HEADER)
		return handle_fast(link, frame, bytes, WIRE_HEADER);
	if (bytes > WIRE_HEADER && frame[WIRE_KIND] & WIRE_PUTS)
		return bytes >= WIRE_PUT_DATA && bytes - WIRE_PUT_DATA <= LINK_FAST_BYTES &&
		       handle_fast(link, frame, bytes, WIRE_PUT_DATA);
	return bytes >= WIRE_DATA && bytes - WIRE_DATA <= LINK_WHOLE_BYTES &&
	       handle_fast(link, frame, bytes, WIRE_DATA);
}

__attribute__((flatten))
void link_receive(struct link *link, uint64_t now, const uint8_t *frame, uint32_t bytes)
{
	link->now = now;
	link->transmitting = 1;       /* answers leave below, and so acknowledge what they answer */
	begin_epoch(link);
	count(link, LINK_FRAMES_IN);
	if (!receive_fast(link, frame, bytes))
		receive_any(link, frame, bytes);
	if (link->bulk.first != NO_RECORD || link->bulk.flow != NO_FLOW)
		bulk_run(link, 0);
	link->transmitting = 0;
	transmit(link);
}

/* ---- frames that the card has read ---- */

/* link_transmitted for any frame. */
__attribute__((noinline))
static void any_transmitted(struct link *link, uint64_t cookie)
{
	uint32_t message = (uint16_t)cookie;

	if (!(cookie & IN_RECORD)) {
		struct transmit *transmit = transmit_at(link, (uint32_t)cookie);

		message = transmit->send;
		if (transmit->part) {
			link->bulk_send.parts_out--;
			link->bulk_send.full = 0;
		}
		for (uint32_t i = 0; i < transmit->messages; i++)
			send_card_done(link, transmit->frames[i]);
		record_free(&link->transmits, (uint32_t)cookie);
	}
	if (message != NO_RECORD)
		send_card_done(link, message);
}

void link_transmitted(struct link *link, uint64_t now, uint64_t cookie)
{
	link->now = now;
	link->stalled = 0;
	if (cookie & IN_RECORD && !send_at(link, (uint16_t)cookie)->ended)
		send_at(link, (uint16_t)cookie)->with_card--; /* usual: not acknowledged yet */
	else
		any_transmitted(link, cookie);
	transmit(link);
}
