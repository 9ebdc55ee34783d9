/*
 * The sending half: queueing messages, choosing frames and giving them to the
 * card, flow by flow in turn, so that no message holds up another node's. It
 * copies nothing but headers. See link.h for the states of a flow.
 */
#include "state.h"
#include "../port.h"

#define MOST_FRAMES  (1u << 30)    /* of one message */
#define SHORT_BYTES  4096u         /* a window of such messages is no large burst */
#define WAITING_WINDOW 32u         /* frames, while the first of them waits for its payload */

/* ---- messages ---- */

/* Records that this lane may still take. */
static uint32_t left(const struct link *link, enum link_lane lane)
{
	const struct link_config *config = &link->config;
	uint32_t most = lane == LINK_ANSWERS ? config->answers : config->sends - config->answers;
	uint32_t used = link->sends_used[lane] + (lane == LINK_ANSWERS ? link->reserved : 0u);

	return used < most ? most - used : 0;
}

static int has_room(const struct link *link, const struct flow *flow, enum link_lane lane)
{
	uint32_t free = left(link, lane);

	return free > 0 && (!flow || flow->sends <= free);
}

int link_has_room(const struct link *link, uint32_t node, enum link_lane lane)
{
	return has_room(link, flow_find(link, node, lane), lane);
}

/* A record for the last message of a flow; there is one. */
static inline struct send *queue(struct link *link, struct flow *flow, enum link_lane lane,
				 uint32_t frames)
{
	uint32_t index = record_take(&link->sends);
	struct send *send = record_at(&link->sends, index);

	link->sends_used[lane]++;
	send->next = NO_RECORD;
	send->with_card = 0;
	send->lane = (uint8_t)lane;
	send->over = send->fail = send->brief = 0;
	send->announced = send->serving = 0;
	send->first = flow->next;
	send->frames = frames;
	if (flow->tail != NO_RECORD) {
		struct send *last = record_at(&link->sends, flow->tail);

		last->next = (uint16_t)index;
		send->first = last->first + last->frames;
	} else {
		flow->head = (uint16_t)index;
	}
	flow->tail = (uint16_t)index;
	if (flow->fresh == NO_RECORD)
		flow->fresh = (uint16_t)index;
	flow->sends++;
	return send;
}

int link_send(struct link *link, uint64_t now, uint32_t node, enum link_lane lane,
	      const void *header, uint64_t length, uint32_t fragment, uint64_t source)
{
	uint32_t tail = 0;
	uint64_t frames;
	struct send *send;
	struct flow *flow;
	int is_busy, joins, announced = serve_announces(link, length, &fragment, &tail);

	link->now = now;
	if (!announced && (fragment == 0 || fragment > link->fragment))
		fragment = link->fragment;
	frames = length && !announced ? (length - 1) / fragment + 1 : 1;
	if (node >= link->config.nodes || node == link->config.node ||
	    (uint32_t)lane >= LINK_LANES || frames > MOST_FRAMES ||
	    length > WIRE_MOST_LENGTH || (length <= LINK_WHOLE_BYTES && frames > 1))
		return LINK_WRONG;
	flow = flow_find(link, node, lane);
	if (lane == LINK_REQUESTS ? !has_room(link, flow, lane) : left(link, lane) == 0) {
		count(link, LINK_NO_RECORD);
		return LINK_FULL;
	}
	if (!flow)
		flow = flow_open(link, node, lane);
	if (!flow) {
		count(link, LINK_NO_PEER);
		return LINK_FULL;
	}
	/* Whoever has just got several answers mostly asks as many times again. */
	is_busy = (flow->next != flow->una || flow_other(flow)->unacked > 1) &&
		lane == LINK_REQUESTS;
	joins = announced && train_joins(link, flow);
	if (!joins)
		bundle_leave(link, flow);
	send = queue(link, flow, lane, (uint32_t)frames);
	send->fragment = fragment;
	send->length = length;
	send->source = source;
	send->announced = (uint8_t)announced;
	send->tail = (uint16_t)tail;
	if (announced)
		serve_open(link, send, flow);
	port_copy(send->frame + WIRE_HEADER, header, LINK_HEADER_BYTES);
	if (joins && train_is_full(link, flow))
		bundle_leave(link, flow);
	else if (!joins && !(announced && is_busy && bundle_hold(link, flow, now)))
		send_ready(link, flow);
	send_pump(link, now);
	return LINK_OK;
}

int send_brief(struct link *link, struct link_room room, uint64_t now, uint32_t bytes)
{
	struct flow *flow = room.flow;
	int is_busy = flow->next != flow->una, joins =
		room.header != send_at(link, link->sends.free)->frame + WIRE_HEADER;
	struct send *send;

	if (joins) {
		joins = bundle_add(link, flow, bytes);
	} else {
		bundle_leave(link, flow);
		send = queue(link, flow, LINK_REQUESTS, 1);
		send->brief = BRIEF_ALONE;
		send->fragment = link->fragment;
		send->length = bytes;
		if (!is_busy || !bundle_hold(link, flow, now))
			send_ready(link, flow);
	}
	send_pump(link, now);
	return joins;
}

static void release(struct link *link, uint32_t index)
{
	struct send *send = record_at(&link->sends, index);
	int fail = send->fail, is_brief = send->brief;
	uint64_t source = is_brief ? LINK_BRIEF | send->length : send->source;
	uint32_t bundle = is_brief == BRIEF_BUNDLE ? send->bundle : NO_RECORD;

	link->sends_used[send->lane]--;
	record_give(&link->sends, index);
	count(link, fail ? LINK_FAILED_OUT : LINK_MESSAGES_OUT);
	if (!is_brief || fail)
		link->user.sent(link->context, source, fail);
	if (bundle != NO_RECORD)
		bundle_end(link, bundle, fail);
}

void send_end(struct link *link, uint32_t index, int fail)
{
	struct send *send = record_at(&link->sends, index);

	send->over = 1;
	send->fail = (uint8_t)fail;
	if (send->serving)
		serve_forget(link, index);
	if (send->with_card == 0)
		release(link, index);
	else
		link->ending++;
}

/* ---- frames ---- */

void send_drop(struct link *link, uint32_t index)
{
	struct send *send = send_at(link, index);

	if (--send->with_card == 0 && send->over) {
		link->ending--;
		release(link, index);
	}
}

/* What this flow has received, as every frame says it. With every word of it
 * the peer may send as much as its share of the card's ring is. */
void send_acknowledge(struct link *link, struct flow *flow, struct wire *wire)
{
	uint8_t share = link->share;

	wire->waits = (uint8_t)assemble_waits(link, flow);
	if (wire->waits) {
		/* What is behind it may begin, but not end: there must be records for all. */
		uint32_t most = link->assemblies.limit / (2u * link->sharers + 2);

		if (most > WAITING_WINDOW)
			most = WAITING_WINDOW;
		if (most < 2)
			most = 2;
		if (share > most)
			share = (uint8_t)most;
	}
	if (flow->granted < share)
		flow->granted = share;
	wire->lane = (uint8_t)flow_lane(flow);
	wire->source = flow->mine;
	wire->destination = flow->theirs;
	wire->ack = flow->expected;
	wire->selective = flow->arrived;
	wire->window = flow->granted;
	flow->unacked = 0;
	if (!(flow->flags & FLOW_REFUSED) || wire->kind == WIRE_KIND_ACK)
		flow->flags &= (uint8_t)~(FLOW_ACKS | FLOW_ACK_NOW);
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
	struct nic_piece piece = { .length = WIRE_HEADER };
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
	struct wire wire = { .kind = WIRE_KIND_ACK, .again = !!(flow->flags & FLOW_REFUSED) };

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
	pieces[1] = (struct nic_piece){ send->frame + WIRE_DATA, wire->bytes };
	n = send->brief ? 1 : link->user.gather(link->context, send->source, at, wire->bytes,
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
	struct wire wire = { .kind = WIRE_KIND_DATA, .sequence = sequence,
			     .length = send->length };
	int n = 0;

	if (send->announced) {
		wire.kind = WIRE_KIND_ANNOUNCE;
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
	if (header != send->frame)
		port_copy(header + WIRE_HEADER, send->frame + WIRE_HEADER, LINK_HEADER_BYTES);
	send_header(link->nic, header, flow->node, &wire);
	pieces[0] = (struct nic_piece){ header, WIRE_DATA };
	if (wire.kind == WIRE_KIND_BUNDLE)
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

/* Whether the window lets the next message's frame go, one more than so many. */
static int is_in_window(const struct link *link, const struct flow *flow, uint32_t under_way)
{
	const struct send *send = send_at(link, flow->fresh);
	uint32_t slots = send->length > SHORT_BYTES && !send->announced ? link->config.slots : 1;

	return under_way * slots < flow_window(flow);
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
	if (out >= flow->burst || flow->tries == UINT8_MAX || flow == link->bulk.held ||
	    (out >= link->most_burst && is_long(link, flow)))
		return 0;
	return flow->marked || (flow->fresh != NO_RECORD && is_in_window(link, flow, under_way) &&
				!bundle_is_held(link, flow));
}

/* Frame `sequence` has left. */
static void left_again(struct link *link, struct flow *flow, uint32_t sequence, uint32_t now)
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

void send_left(struct link *link, struct flow *flow, const struct send *send, uint32_t now)
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

/* Send one frame: 1 if it left, 0 if there was none, NIC_FULL. */
static int send_frame(struct link *link, struct flow *flow, uint64_t now)
{
	struct nic_piece pieces[NIC_PIECES];
	uint32_t sequence = flow->next, message = flow->fresh, cookie, n;
	uint8_t *header;
	struct send *send;
	int first = 1, result;

	if (!send_may(link, flow))
		return 0;
	if (flow->marked) {
		first = 0;
		sequence = flow->una + (uint32_t)__builtin_ctzll(flow->marked);
		message = message_of(link, flow, sequence);
	} else if (flow->una == flow->next && (flow->flags & FLOW_MEASURED) &&
		   units(now) - flow->timed_at > timer_timeout(link, flow) &&
		   flow->burst > LINK_FIRST_WINDOW) {
		/* After a pause the network may have changed, and so may who else sends. */
		flow->burst = LINK_FIRST_WINDOW;
	}
	if (first) {
		result = train_send(link, flow, now);
		if (result)
			return result;
	}
	send = record_at(&link->sends, message);
	header = send->frame;
	cookie = IN_RECORD | message;
	if (send->with_card) {
		struct transmit *transmit;

		cookie = send_transmit(link, message);
		if (cookie == NO_RECORD)
			return NIC_FULL;
		transmit = record_at(&link->transmits, cookie);
		header = transmit->header;
	}
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
	if (first)
		send_left(link, flow, send, units(now));
	else
		left_again(link, flow, sequence, units(now));
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

/* The first flow's turn: 1, 0 or NIC_FULL as send_frame. Who finds the card full stays the
 * first: behind the others it would find it so each time, if they fill the one place that is
 * free. */
static int pump_flow(struct link *link, uint64_t now)
{
	struct flow *flow = &link->flows[link->ready_first];
	int result;

	if (flow->flags & FLOW_ACK_NOW)
		send_ack(link, flow, now);
	result = flow->flags & FLOW_ACK_NOW ? NIC_FULL : send_frame(link, flow, now);
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
