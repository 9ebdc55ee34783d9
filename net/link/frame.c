/*
 * Making frames and giving them to a card: frames of messages, parts of long messages, and bare
 * ones. Copies only headers. Other files (transmit.c, bulk.c, clock.c and others) decide what is
 * sent when. No state.
 */
#include "internal.h"
#include "../port.h"

#define WAITING_WINDOW 32u         /* most frames of the window that waiting_share computes */

/* The receive window while frame `expected` is an announcement that waits for its payload. Messages
 * behind it may begin but not end, so there must be records for all of them. */
static uint8_t waiting_share(const struct link *link)
{
	uint32_t most = link->assemblies.limit / (2u * link->sharers + 2);

	most = most < 2 ? 2 : most > WAITING_WINDOW ? WAITING_WINDOW : most;
	return (uint8_t)(link->ring_share < most ? link->ring_share : most);
}

void frame_acknowledge(struct link *link, struct flow *flow, struct wire *wire)
{
	struct flow *other = flow_other(flow);
	uint8_t flags = flow->rx.flags;

	flow_piggyback(flow, flow_waits(flow) ? waiting_share(link) : link->ring_share);
	if (flow->rx.refused && (wire->kind != WIRE_KIND_MSG || wire->messages))
		flow->rx.flags = flags;   /* only a MSG without messages can say AGAIN */
	wire->lane = (uint8_t)flow_lane(flow);
	wire->source = flow->mine;
	wire->destination = flow->theirs;
	wire->ack = flow->rx.expected;
	wire->selective = flow->rx.arrived;
	wire->window = flow->rx.window;
	if (!flow_is_cumulative(other))
		return;
	flow_piggyback(other, link->ring_share);
	wire->other_ack = other->rx.expected;
	wire->other_window = other->rx.window;
}

int frame_send(struct link *link, struct nic *nic, uint32_t cookie, struct send *send,
	       const struct nic_piece *pieces, uint32_t n)
{
	int result;

	if (send)
		send->with_card++;
	wire_seal(link->key, link->config.check_payload, pieces, n);
	result = nic->ops->send(nic, pieces, n, cookie);
	if (result == NIC_OK) {
		count(link, LINK_FRAMES_OUT);
		return NIC_OK;
	}
	if (!(cookie & IN_RECORD))
		record_free(&link->transmits, cookie);
	if (send)
		send->with_card--;
	return result;
}

uint32_t frame_record(struct link *link, uint32_t message)
{
	uint32_t index = record_alloc(&link->transmits);

	if (index != NO_RECORD) {
		struct transmit *transmit = transmit_at(link, index);

		transmit->send = (uint16_t)message;
		transmit->part = transmit->messages = 0;
	}
	return index;
}

int frame_bare(struct link *link, struct nic *nic, uint32_t node, const struct wire *wire)
{
	uint32_t index = frame_record(link, NO_RECORD);
	struct nic_piece piece = { .length = WIRE_HEADER };
	struct transmit *transmit;

	if (index == NO_RECORD)
		return NIC_FULL;
	transmit = transmit_at(link, index);
	frame_header(nic, transmit->header, node, wire);
	piece.bytes = transmit->header;
	return frame_send(link, nic, index, 0, &piece, 1);
}

void frame_ack(struct link *link, struct flow *flow)
{
	struct wire wire = { .kind = WIRE_KIND_MSG, .again = flow->rx.refused != 0,
			     .refused = flow->rx.refused };

	frame_acknowledge(link, flow, &wire);
	if (frame_bare(link, link->nic, flow->node, &wire) == NIC_FULL) {
		flow->rx.flags |= RX_ACK_NOW;
		flow_ready(link, flow);
		return;
	}
	flow->rx.refused = 0;
	count(link, LINK_ACKS_OUT);
}

void frame_reset(struct link *link, const struct wire *to, uint32_t mine, int over)
{
	struct wire wire = { .kind = WIRE_KIND_RESET, .lane = to->lane, .over = (uint8_t)over,
			     .source = mine, .destination = to->source };

	/* If the card is full, the peer's next frame causes another RESET. */
	if (frame_bare(link, link->nic, to->node, &wire) == NIC_OK)
		count(link, LINK_RESETS_OUT);
}

/* Set pieces[1] and following to `bytes` bytes of payload from `at` on. Returns the number of
 * pieces, or -1 if the user cannot show them. */
static int gather(struct link *link, const struct send *send, uint64_t at, uint32_t bytes,
		  struct nic_piece *pieces)
{
	uint32_t total = 0, n;

	if (!bytes)
		return 0;
	pieces[1] = (struct nic_piece){ send->message.payload, bytes };
	n = send->is_inline ? 1 : link_port_gather(link->context, &send->message, at, bytes,
						   pieces + 1, NIC_PIECES - 1);
	if (n > NIC_PIECES - 1)
		return -1;
	for (uint32_t i = 1; i <= n; i++)
		total += pieces[i].length;
	return total == bytes ? (int)n : -1;
}

uint32_t frame_make(struct link *link, struct flow *flow, const struct send *send,
		    uint32_t sequence, uint8_t *header, struct nic_piece *pieces)
{
	struct wire wire = { .kind = WIRE_KIND_MSG, .messages = 1, .sequence = sequence,
			     .length = send->length, .puts = !!send->unsignalled };
	uint32_t data = send->unsignalled ? WIRE_PUT_DATA : WIRE_DATA;
	const uint8_t *own = send_frame_at(send);
	int n = 0;

	if (send->announced) {
		wire.announce = 1;
		wire.offset = send->fragment;
		wire.bytes = send->tail;
		n = gather(link, send, send->length - send->tail, wire.bytes, pieces);
	} else if (send->unsignalled == UNSIGNALLED_BATCH) {
		pieces[1] = batch_payload(link, send, &wire);
		n = 1;
	} else {
		wire.offset = (uint64_t)(sequence - send->first) * send->fragment;
		wire.bytes = send->length - wire.offset < send->fragment ?
			(uint32_t)(send->length - wire.offset) : send->fragment;
		n = gather(link, send, wire.offset, wire.bytes, pieces);
	}
	if (n < 0)
		return 0;
	frame_acknowledge(link, flow, &wire);
	if (header != own)
		port_copy(header + LINK_FRAME_BYTES, own + LINK_FRAME_BYTES, data - LINK_FRAME_BYTES);
	frame_header(link->nic, header, flow->node, &wire);
	pieces[0] = (struct nic_piece){ header, data };
	if (n == 1 && pieces[1].bytes == header + data) { /* adjacent: one piece */
		pieces[0].length += wire.bytes;
		n = 0;
	}
	return (uint32_t)n + 1;
}

int frame_part(struct link *link, struct nic *nic, uint32_t index, struct wire *wire, uint64_t at)
{
	struct send *send = send_at(link, index);
	uint32_t free = frame_record(link, index);
	struct nic_piece pieces[NIC_PIECES];
	struct transmit *transmit;
	int n, result;

	if (free == NO_RECORD)
		return NIC_FULL;
	transmit = transmit_at(link, free);
	transmit->part = 1;
	n = gather(link, send, at, wire->bytes, pieces);
	if (n < 0) {
		record_free(&link->transmits, free);
		return 0;
	}
	frame_header(nic, transmit->header, link->flows[send->flow].node, wire);
	pieces[0] = (struct nic_piece){ transmit->header, WIRE_HEADER };
	link->bulk_send.parts_out++;
	result = frame_send(link, nic, free, send, pieces, (uint32_t)n + 1);
	link->bulk_send.parts_out -= result != NIC_OK;
	return result == NIC_FULL ? NIC_FULL : 1;
}
