/*
 * Short requests that nobody needs to look after. Where nothing is under way to their node
 * and the card is free, which is mostly so, they take a straight way to it: the user writes
 * the message where the card reads it, and here is the rest of its frame, word by word, as
 * plain.c reads it. What is anything else goes the long way through send.c, which this only
 * shortens. No state. Called by whoever starts operations.
 */
#include "state.h"
#include "../port.h"

#define SAMPLE_UNITS 1000u         /* from one round trip that is measured to the next */

struct link_room link_brief(struct link *link, uint32_t node)
{
	struct flow *flow = flow_find(link, node, LINK_REQUESTS);
	uint32_t room = link->most_requests - (uint32_t)link->sends_used[LINK_REQUESTS];

	if (flow && flow->head != NO_RECORD) {
		uint8_t *joins = bundle_room(link, flow);

		if (joins)
			return (struct link_room){ joins, flow };
		if (flow->sends > room)
			return (struct link_room){ 0, 0 };
	}
	if (!flow || room == 0)
		return (struct link_room){ 0, 0 };
	return (struct link_room){ link_message(link)->header, flow };
}

/* Nothing is under way there, nothing is to be said but that all has arrived, and nothing
 * else waits for the card. */
static inline int is_quiet(const struct link *link, const struct flow *flow)
{
	return flow->head == NO_RECORD && flow->credit && flow->assembly == NO_RECORD &&
	       !(flow->arrived | flow->refused) && !(flow->flags & FLOW_REFUSED) &&
	       link->ready_first == NO_RECORD &&
	       !link->pumping && !link->stalled && !link->no_plain;
}

/* The whole header. `other`: what it says of the other lane, in the word at WIRE_OTHER_ACK. */
static inline void write_plain(const struct link *link, const struct flow *flow, uint64_t other,
			       uint8_t *frame, uint32_t bytes)
{
	wire_put(frame + WIRE_DESTINATION,
		 link->plain_to | (uint64_t)__builtin_bswap16(flow->node) << 32, 8);
	wire_put(frame + WIRE_SOURCE + 2, link->plain_from, 8);
	wire_put(frame + WIRE_PAYLOAD_CRC, 0, 4);
	wire_put(frame + WIRE_SOURCE_INCARNATION, flow->mine | (uint64_t)flow->theirs << 32, 8);
	wire_put(frame + WIRE_SEQUENCE, flow->next | (uint64_t)flow->expected << 32, 8);
	wire_put(frame + WIRE_SELECTIVE, 0, 8);
	wire_put(frame + WIRE_OTHER_ACK, other | (uint64_t)flow->granted << 32 |
		 (uint64_t)(WIRE_DATA - WIRE_HEADER + bytes) << 48, 8);
	wire_put(frame + WIRE_MESSAGES, 1, 8);
	wire_put(frame + WIRE_LENGTH, bytes, 8);
	wire_put(frame + WIRE_OFFSET, 0, 8);
	wire_put(frame + WIRE_CHECKSUM, wire_checksum(frame, WIRE_DATA), 4);
}

/* The card did not take it: it has no room now, or loses it. */
__attribute__((noinline, cold))
static void not_taken(struct link *link, struct flow *flow, uint32_t index, int result)
{
	send_at(link, index)->with_card--;
	if (result != NIC_FULL) {
		count(link, LINK_DATA_OUT);
		return;
	}
	count(link, LINK_CARD_FULL);
	link->stalled = 1;
	flow->next--;
	flow->fresh = (uint16_t)index;
	flow->flags &= (uint8_t)~FLOW_TIMED;
	send_ready(link, flow);
}

int link_brief_send(struct link *link, struct link_room room, uint64_t now, uint32_t bytes)
{
	struct send *send = (struct send *)(room.header - offsetof(struct send, message.header));
	struct nic_piece piece = { room.header - LINK_FRAME_BYTES, WIRE_DATA + bytes };
	uint32_t index = link->sends.free, at = units(now);
	struct flow *flow = room.flow;
	struct nic *nic = link->nic;
	uint64_t other = 0;
	int result;

	link->now = now;
	if (!is_quiet(link, flow))
		return send_brief(link, room, now, bytes);
	link->sends.free = send->next;
	record_count(&link->sends);
	link->sends_used[LINK_REQUESTS]++;
	send->next = NO_RECORD;
	send->with_card = 1;
	send->lane = LINK_REQUESTS;
	send->over = send->fail = send->told = 0;
	send->brief = BRIEF_ALONE;
	send->is_here = 1;
	send->first = flow->next;
	send->frames = 1;
	send->fragment = bytes;
	send->announced = send->serving = 0;
	send->length = bytes;
	flow->head = flow->tail = (uint16_t)index;
	flow->sends = 1;
	ack_ride(flow, link->share);
	if (flow[1].unacked && ack_is_plain(link, flow + 1)) { /* it is news */
		ack_ride(flow + 1, link->share);
		other = (uint64_t)flow[1].granted << 40 | flow[1].expected;
	}
	write_plain(link, flow, other, send->message.frame, bytes);

	/* It has left, or will be as if. */
	flow->flags &= (uint8_t)~FLOW_TIMED;
	if (at - flow->timed_at >= SAMPLE_UNITS) {
		flow->flags |= FLOW_TIMED;
		flow->timed = flow->next;
		flow->timed_at = at;
	}
	flow->next++;
	if (!(flow->flags & FLOW_RESENDS))
		timer_first(link, flow, at);
	link->pumping = 1;
	result = nic->ops->send(nic, &piece, 1, IN_RECORD | index);
	link->pumping = 0;
	if (result != NIC_OK) {
		not_taken(link, flow, index, result);
		return 0;
	}
	count(link, LINK_FRAMES_OUT);
	count(link, LINK_DATA_OUT);
	return 1;
}
