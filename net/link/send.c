/*
 * The sending half: choosing frames of the messages that are queued (queue.c) and giving
 * them to the card, flow by flow in turn, so that no message holds up another node's. It
 * copies nothing but headers. See link.h for the states of a flow.
 */
#include "state.h"
#include "../port.h"

#define SHORT_BYTES  4096u         /* a window of such messages is no large burst */
#define WAITING_WINDOW 32u         /* frames, while the first of them waits for its payload */

/* ---- frames ---- */

/* Frames that the peer may send while the first of them waits for its payload: what is behind it
 * may begin, but not end, so there must be records for all. */
static uint8_t waiting_share(const struct link *link)
{
	uint32_t most = link->assemblies.limit / (2u * link->sharers + 2);

	if (most > WAITING_WINDOW)
		most = WAITING_WINDOW;
	if (most < 2)
		most = 2;
	return (uint8_t)(link->share < most ? link->share : most);
}

void send_acknowledge(struct link *link, struct flow *flow, struct wire *wire)
{
	struct flow *other = flow_other(flow);
	uint8_t flags = flow->flags;

	wire->waits = (uint8_t)assemble_waits(link, flow);
	ack_ride(flow, wire->waits ? waiting_share(link) : link->share);
	if ((flags & FLOW_REFUSED) && (wire->kind != WIRE_KIND_MSG || wire->messages))
		flow->flags = flags;   /* only a MSG without messages says that */
	wire->lane = (uint8_t)flow_lane(flow);
	wire->source = flow->mine;
	wire->destination = flow->theirs;
	wire->ack = flow->expected;
	wire->selective = flow->arrived;
	wire->window = flow->granted;
	if (!ack_is_plain(link, other))
		return;
	ack_ride(other, link->share);
	wire->other_ack = other->expected;
	wire->other_window = other->granted;
}

/* Give a frame of a message, or of none, to the card. It is known by its struct transmit,
 * or by its message's record where its header is there. NIC_FULL: nothing happened. */
static inline int give(struct link *link, struct nic *nic, uint32_t cookie, struct send *send,
		       const struct nic_piece *pieces, uint32_t n)
{
	int result;

	if (send)
		send->with_card++;
	if (link->key)
		wire_sign(link->key, (uint8_t *)pieces[0].bytes, pieces, n);
	result = nic->ops->send(nic, pieces, n, cookie);
	if (result == NIC_OK) {
		count(link, LINK_FRAMES_OUT);
		return NIC_OK;
	}
	if (!(cookie & IN_RECORD))
		record_give(&link->transmits, cookie);
	if (send)
		send->with_card--;
	return result;
}

uint32_t send_transmit(struct link *link, uint32_t message)
{
	uint32_t index = record_take(&link->transmits);

	if (index != NO_RECORD) {
		struct transmit *transmit = record_at(&link->transmits, index);

		transmit->send = (uint16_t)message;
		transmit->part = transmit->messages = 0;
	}
	return index;
}

int send_bare(struct link *link, struct nic *nic, uint32_t node, const struct wire *wire)
{
	uint32_t index = send_transmit(link, NO_RECORD);
	struct nic_piece piece = { .length = wire->kind == WIRE_KIND_GRANT ? WIRE_GRANT :
				  WIRE_HEADER };
	struct transmit *transmit;

	if (index == NO_RECORD)
		return NIC_FULL;
	transmit = record_at(&link->transmits, index);
	send_header(nic, transmit->header, node, wire);
	piece.bytes = transmit->header;
	return give(link, nic, index, 0, &piece, 1);
}

void send_ack(struct link *link, struct flow *flow, uint64_t now)
{
	struct wire wire = { .kind = WIRE_KIND_MSG, .again = !!(flow->flags & FLOW_REFUSED) };

	link->now = now;
	if (wire.again)
		wire.refused = flow->refused;
	send_acknowledge(link, flow, &wire);
	if (send_bare(link, link->nic, flow->node, &wire) == NIC_FULL) {
		flow->flags |= FLOW_ACK_NOW;
		send_ready(link, flow);
		return;
	}
	flow->flags &= (uint8_t)~FLOW_REFUSED;
	flow->refused = 0;
	count(link, LINK_ACKS_OUT);
}

void send_reset(struct link *link, const struct wire *to, uint32_t mine, int over)
{
	struct wire wire = { .kind = WIRE_KIND_RESET, .lane = to->lane, .over = (uint8_t)over,
			     .source = mine, .destination = to->source };

	/* If there is no room, the peer's next frame asks again. */
	if (send_bare(link, link->nic, to->node, &wire) == NIC_OK)
		count(link, LINK_RESETS_OUT);
}

/* The message that a frame under way is of. */
static uint32_t message_of(const struct link *link, const struct flow *flow, uint32_t sequence)
{
	uint32_t index = flow->head;

	while (index != NO_RECORD) {
		const struct send *send = record_at(&link->sends, index);

		if (sequence - send->first < send->frames)
			break;
		index = send->next;
	}
	return index;
}

/* Payload from `at` on, as the frame wants it, in the pieces behind the header's:
 * returns how many pieces, or -1: the user cannot. */
static int gather(struct link *link, const struct send *send, uint64_t at, struct wire *wire,
		  struct nic_piece *pieces)
{
	uint32_t total = 0, n;

	if (!wire->bytes)
		return 0;
	pieces[1] = (struct nic_piece){ send->message.payload, wire->bytes };
	n = send->is_here ? 1 : link_port_gather(link->context, &send->message, at, wire->bytes,
						  pieces + 1, NIC_PIECES - 1);
	if (n > NIC_PIECES - 1)
		return -1;
	for (uint32_t i = 1; i <= n; i++) {
		total += pieces[i].length;
		if (link->config.check_payload && !link->key)
			wire->payload_crc = port_crc32c(wire->payload_crc, pieces[i].bytes,
							pieces[i].length);
	}
	return total == wire->bytes ? (int)n : -1;
}

uint32_t send_make(struct link *link, struct flow *flow, const struct send *send,
		   uint32_t sequence, uint8_t *header, struct nic_piece *pieces)
{
	struct wire wire = { .kind = WIRE_KIND_MSG, .messages = 1, .sequence = sequence,
			     .length = send->length };
	int n = 0;

	if (send->announced) {
		wire.announce = 1;
		wire.offset = send->fragment;
		wire.bytes = send->tail;
		n = gather(link, send, send->length - send->tail, &wire, pieces);
	} else if (send->brief == BRIEF_BUNDLE) {
		n = (int)bundle_pieces(link, send, &wire, pieces + 1);
	} else {
		wire.offset = (uint64_t)(sequence - send->first) * send->fragment;
		wire.bytes = send->length - wire.offset < send->fragment ?
			(uint32_t)(send->length - wire.offset) : send->fragment;
		n = gather(link, send, wire.offset, &wire, pieces);
	}
	if (n < 0)
		return 0;
	send_acknowledge(link, flow, &wire);
	if (header != send->message.frame)
		port_copy(header + LINK_FRAME_BYTES, send->message.header, LINK_HEADER_BYTES);
	send_header(link->nic, header, flow->node, &wire);
	pieces[0] = (struct nic_piece){ header, WIRE_DATA };
	if (n == 1 && pieces[1].bytes == header + WIRE_DATA) { /* right behind it: one piece */
		pieces[0].length += wire.bytes;
		n = 0;
	}
	if (wire.messages > 1)
		wire_sum_bundle(header, pieces, (uint32_t)n + 1);
	return (uint32_t)n + 1;
}

int send_part(struct link *link, struct nic *nic, uint32_t index, struct wire *wire, uint64_t at)
{
	struct send *send = record_at(&link->sends, index);
	uint32_t free = send_transmit(link, index);
	struct nic_piece pieces[NIC_PIECES];
	struct transmit *transmit;
	int n, result;

	if (free == NO_RECORD)
		return NIC_FULL;
	transmit = record_at(&link->transmits, free);
	transmit->part = 1;
	n = gather(link, send, at, wire, pieces);
	if (n < 0) {
		record_give(&link->transmits, free);
		return 0;
	}
	send_header(nic, transmit->header, link->flows[send->flow].node, wire);
	pieces[0] = (struct nic_piece){ transmit->header, WIRE_HEADER };
	link->bulk.parts_out++;
	result = give(link, nic, free, send, pieces, (uint32_t)n + 1);
	link->bulk.parts_out -= result != NIC_OK;
	return result == NIC_FULL ? NIC_FULL : 1;
}

/* Whether the next frame is one of those that the bytes under way are limited for. */
static int is_long(const struct link *link, const struct flow *flow)
{
	return flow->marked ||
	       (flow->fresh != NO_RECORD && send_at(link, flow->fresh)->length > SHORT_BYTES);
}

int send_may(const struct link *link, const struct flow *flow)
{
	uint32_t under_way = flow->next - flow->una;
	uint64_t not_out = flow->acked | flow->marked;
	uint32_t out = under_way;

	if (not_out) {
		/* what is behind the maps was dropped */
		out = out < MAPPED ? out : MAPPED;
		out -= (uint32_t)__builtin_popcountll(not_out);
	}
	if (out >= flow->burst || flow->doomed || flow == link->bulk.held ||
	    (out >= link->most_burst && is_long(link, flow)))
		return 0;
	return flow->marked || (flow->fresh != NO_RECORD && under_way < flow_window(flow) &&
				!bundle_is_held(link, flow));
}

/* Frame `sequence` has left once more. */
static void departed_again(struct link *link, struct flow *flow, uint32_t sequence, uint32_t now)
{
	uint64_t bit = 1ULL << (sequence - flow->una);

	flow->marked &= ~bit;
	flow->again |= bit;
	flow->recover = flow->next;
	if ((flow->flags & FLOW_TIMED) && flow->timed == sequence)
		flow->flags &= (uint8_t)~FLOW_TIMED;
	count(link, LINK_RESENT);
	/* The oldest has its time anew. */
	if (sequence == flow->una)
		timer_resend(link, flow, now);
}

void send_departed(struct link *link, struct flow *flow, const struct send *send, uint32_t now)
{
	if (!(flow->flags & FLOW_TIMED)) {
		flow->flags |= FLOW_TIMED;
		flow->timed = flow->next;
		flow->timed_at = now;
	}
	flow->next++;
	if (flow->next == send->first + send->frames)
		flow->fresh = send->next;
	/* With so many it is more patient. */
	if (!(flow->flags & FLOW_RESENDS) || flow->next - flow->una == LATER_FRAMES + 1)
		timer_resend(link, flow, now);
}

/* Room for the header of a frame of this message: in its record, unless the card still reads
 * another one there. `cookie`: that frame's. Null: there is none. */
static uint8_t *header_room(struct link *link, uint32_t message, uint32_t *cookie)
{
	struct send *send = send_at(link, message);

	*cookie = IN_RECORD | message;
	if (!send->with_card)
		return send->message.frame;
	*cookie = send_transmit(link, message);
	if (*cookie == NO_RECORD)
		return 0;
	return ((struct transmit *)record_at(&link->transmits, *cookie))->header;
}

/* Send one frame: 1 if it left, 0 if there was none, NIC_FULL. */
static int send_frame(struct link *link, struct flow *flow, uint64_t now)
{
	uint32_t sequence = flow->next, message = flow->fresh, cookie, n;
	struct nic_piece pieces[NIC_PIECES];
	int again = flow->marked != 0, result;
	struct send *send;
	uint8_t *header;

	if (!send_may(link, flow))
		return 0;
	if (again) {
		sequence = flow->una + (uint32_t)__builtin_ctzll(flow->marked);
		message = message_of(link, flow, sequence);
	} else {
		result = train_send(link, flow, now);
		if (result)
			return result;
	}
	header = header_room(link, message, &cookie);
	if (!header)
		return NIC_FULL;
	send = send_at(link, message);
	n = send_make(link, flow, send, sequence, header, pieces);
	if (n == 0) {
		if (!(cookie & IN_RECORD))
			record_give(&link->transmits, cookie);
		timer_give_up(link, flow);
		return 0;
	}
	result = give(link, link->nic, cookie, send, pieces, n);
	if (result == NIC_FULL)
		return NIC_FULL;
	count(link, LINK_DATA_OUT);
	if (again)
		departed_again(link, flow, sequence, units(now));
	else
		send_departed(link, flow, send, units(now));
	return 1;
}

/* ---- turns ---- */

void send_ready(struct link *link, struct flow *flow)
{
	uint16_t index = (uint16_t)flow_index(link, flow);

	if (flow->flags & FLOW_READY)
		return;
	flow->flags |= FLOW_READY;
	flow->ready_next = NO_RECORD;
	if (link->ready_first == NO_RECORD)
		link->ready_first = index;
	else
		link->flows[link->ready_last].ready_next = index;
	link->ready_last = index;
}

/* The first flow's turn: 1, 0 or NIC_FULL as send_frame. A flow that finds the card full stays
 * the first: behind the others, which fill the few places that become free, it would find the
 * card full each time. */
static int pump_flow(struct link *link, uint64_t now)
{
	struct flow *flow = &link->flows[link->ready_first];
	int result = NIC_FULL;

	if (flow->flags & FLOW_ACK_NOW)
		send_ack(link, flow, now);
	if (!(flow->flags & FLOW_ACK_NOW))
		result = send_frame(link, flow, now);
	if (result == NIC_FULL)
		return result;
	link->ready_first = flow->ready_next;
	flow->flags &= (uint8_t)~FLOW_READY;
	if (result)
		send_ready(link, flow);
	return result;
}

void send_turns(struct link *link, uint64_t now)
{
	link->pumping = 1;
	for (uint32_t most = link->config.transmits; most > 0; most--) {
		int result = 0;

		if (link->ready_first == NO_RECORD && !can_serve(link))
			break;
		if (link->ready_first != NO_RECORD)
			result = pump_flow(link, now);
		if (result != NIC_FULL)
			result = serve(link);
		if (result == NIC_FULL) {
			link->stalled = 1;
			count(link, LINK_CARD_FULL);
			break;
		}
	}
	link->pumping = 0;
}
