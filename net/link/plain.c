/*
 * What most frames are: a short message in its turn, or an acknowledgement, from a peer that
 * is known and has lost nothing. Here such a frame is compared with what it must be, word by
 * word; what is anything else goes the long way through accept.c, ack.c and assemble.c, which
 * this only shortens. No state. Called by link_receive for every frame.
 */
#include "state.h"
#include "../port.h"

/* In the order of the wire, little-endian. */
#define NODE_SHIFT 16              /* in the word at 8: source's end, type, version, kind */
#define LANE_BIT   ((uint64_t)WIRE_LANE << 56)
#define NODE_BITS  (0xffffull << NODE_SHIFT)

/* What a plain frame says of what was sent: the word at WIRE_OTHER_ACK, and one before it. */
struct said {
	uint32_t ack, other_ack;
	uint8_t window, other_window;
};

/* Where a plain frame comes from, or null: the first two words. */
static inline struct flow *flow_of(const struct link *link, const uint8_t *frame)
{
	uint64_t start = wire_get(frame + WIRE_SOURCE + 2, 8);
	struct flow *pair;

	if (((start ^ link->plain_from) & ~(NODE_BITS | LANE_BIT)) ||
	    wire_get(frame, 8) != link->plain_here)
		return 0;
	pair = flow_find(link, __builtin_bswap16((uint16_t)(start >> NODE_SHIFT)), LINK_REQUESTS);
	return pair && start & LANE_BIT ? pair + 1 : pair;
}

/* What is behind it, and what it says. */
static inline uint32_t read_said(const uint8_t *frame, struct said *said)
{
	uint64_t word = wire_get(frame + WIRE_OTHER_ACK, 8);

	said->ack = (uint32_t)wire_get(frame + WIRE_ACK, 4);
	said->other_ack = (uint32_t)word;
	said->window = (uint8_t)(word >> 32);
	said->other_window = (uint8_t)(word >> 40);
	return (uint32_t)(word >> 48);
}

/* It is of this life and of its sender's, and acknowledges what can be. */
static inline int is_of_both_lives(struct flow *flow, const uint8_t *frame,
				   const struct said *said)
{
	return wire_get(frame + WIRE_SOURCE_INCARNATION, 8) ==
		(flow->theirs | (uint64_t)flow->mine << 32) && flow->theirs && said->window &&
	       ack_can_be(flow, said->ack) &&
	       ack_of_other_can_be(flow, said->other_ack, said->other_window);
}

static inline void take_acks(struct link *link, struct flow *flow, const struct said *said,
			     uint64_t now)
{
	flow->tries = flow_other(flow)->tries = 0;
	ack_plain(link, flow, said->ack, said->window, now);
	ack_of_other(link, flow, said->other_ack, said->other_window, now);
}

/* The checksum is right, and there is none of the payload. This is asked first, and what is
 * compared afterwards is read again: the registers would not hold all of it meanwhile. */
static inline int is_whole(const uint8_t *frame, uint32_t bytes)
{
	uint32_t sum = wire_checksum(frame, bytes);

	__asm__("" : : : "memory");
	return sum == wire_get(frame + WIRE_CHECKSUM, 8);
}

/* An acknowledgement by itself, which says nothing but how far. */
static inline int take_bare(struct link *link, uint64_t now, const uint8_t *frame)
{
	struct flow *flow = flow_of(link, frame);
	struct said said;

	if (!flow || !is_whole(frame, WIRE_HEADER) || read_said(frame, &said) ||
	    wire_get(frame + WIRE_SEQUENCE, 4) || wire_get(frame + WIRE_SELECTIVE, 8) ||
	    wire_get(frame + WIRE_REFUSED, 8) || !is_of_both_lives(flow, frame, &said))
		return 0;
	take_acks(link, flow, &said, now);
	return 1;
}

int plain_take(struct link *link, uint64_t now, const uint8_t *frame, uint32_t bytes)
{
	uint32_t payload = bytes - WIRE_DATA, sequence;
	struct flow *flow;
	struct said said;

	if (link->no_plain)
		return 0;
	if (bytes == WIRE_HEADER)
		return take_bare(link, now, frame);
	if (bytes < WIRE_DATA || payload > LINK_WHOLE_BYTES)
		return 0;
	flow = flow_of(link, frame);
	if (!flow || !is_whole(frame, WIRE_DATA) ||
	    read_said(frame, &said) != bytes - WIRE_HEADER ||
	    wire_get(frame + WIRE_SELECTIVE, 8) || wire_get(frame + WIRE_MESSAGES, 8) != 1 ||
	    wire_get(frame + WIRE_LENGTH, 8) != payload || wire_get(frame + WIRE_OFFSET, 8))
		return 0;
	sequence = (uint32_t)wire_get(frame + WIRE_SEQUENCE, 4);
	if (sequence != flow->expected || sequence != flow->begun ||
	    flow->arrived | flow->refused || !flow->granted ||
	    !is_of_both_lives(flow, frame, &said))
		return 0;

	take_acks(link, flow, &said, now);
	flow_heard(link, flow);
	if (link_port_whole(link->context, flow->node, flow_lane(flow),
			     frame + LINK_FRAME_BYTES, frame + WIRE_DATA, payload) == LINK_BUSY) {
		count(link, LINK_REFUSED);
		assemble_refuse(link, flow, sequence, now);
		return 1;
	}
	count(link, LINK_MESSAGES_IN);
	flow->begun++;
	flow->expected++;
	flow->granted--;
	flow->unacked++;
	assemble_acknowledge(link, flow, now);
	if (payload > LINK_BRIEF_BYTES)
		assemble_owe(link, flow);
	return 1;
}
