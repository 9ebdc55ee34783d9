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
#define AN_ACK     ((uint64_t)(WIRE_KIND_DATA ^ WIRE_KIND_ACK) << 56) /* where DATA would be */

/* Where a plain frame comes from, or null: the first two words of any kind. */
static inline struct flow *flow_of(const struct link *link, const uint8_t *frame, uint64_t kind)
{
	uint64_t start = wire_get(frame + WIRE_SOURCE + 2, 8);
	struct flow *pair;

	if (((start ^ link->plain_from ^ kind) & ~(NODE_BITS | LANE_BIT)) ||
	    wire_get(frame, 8) != link->plain_here)
		return 0;
	pair = flow_find(link, __builtin_bswap16((uint16_t)(start >> NODE_SHIFT)), LINK_REQUESTS);
	return pair && start & LANE_BIT ? pair + 1 : pair;
}

/* It is of this life and of its sender's, and acknowledges what can be. */
static inline int is_of_both_lives(const struct flow *flow, const uint8_t *frame, uint32_t ack)
{
	return wire_get(frame + WIRE_SOURCE_INCARNATION, 8) ==
		(flow->theirs | (uint64_t)flow->mine << 32) && flow->theirs &&
	       ack - flow->una <= flow->next - flow->una;
}

/* What it says of what was sent. */
static inline void take_ack(struct link *link, struct flow *flow, uint32_t ack, uint32_t window,
			    uint64_t now)
{
	struct wire wire = { .ack = ack, .window = window };

	flow->tries = flow_other(flow)->tries = 0;
	ack_take(link, flow, &wire, now);
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
	struct flow *flow = flow_of(link, frame, AN_ACK);
	uint64_t window;
	uint32_t ack;

	if (!flow || !is_whole(frame, WIRE_HEADER))
		return 0;
	ack = (uint32_t)wire_get(frame + WIRE_ACK, 4);
	window = wire_get(frame + WIRE_WINDOW, 8);              /* with two fields that are 0 */
	if (wire_get(frame + WIRE_SEQUENCE, 4) || wire_get(frame + WIRE_SELECTIVE, 8) ||
	    (window - 1) >> 16 || wire_get(frame + WIRE_OFFSET + 4, 8) ||
	    !is_of_both_lives(flow, frame, ack))
		return 0;
	take_ack(link, flow, ack, (uint32_t)window, now);
	return 1;
}

int plain_take(struct link *link, uint64_t now, const uint8_t *frame, uint32_t bytes)
{
	uint32_t payload = bytes - WIRE_DATA, sequence, ack;
	struct flow *flow;
	uint64_t window;

	if (link->no_plain)
		return 0;
	if (bytes == WIRE_HEADER)
		return take_bare(link, now, frame);
	if (bytes < WIRE_DATA || payload > LINK_WHOLE_BYTES)
		return 0;
	flow = flow_of(link, frame, 0);
	if (!flow || !is_whole(frame, WIRE_DATA))
		return 0;
	window = wire_get(frame + WIRE_WINDOW, 8);
	if (wire_get(frame + WIRE_SELECTIVE, 8) ||
	    window >> 16 != payload || !(uint16_t)window ||         /* all of it, from 0 on */
	    wire_get(frame + WIRE_OFFSET + 4, 8) != (uint64_t)payload << 16)
		return 0;
	sequence = (uint32_t)wire_get(frame + WIRE_SEQUENCE, 4);
	ack = (uint32_t)wire_get(frame + WIRE_ACK, 4);
	if (sequence != flow->expected || sequence != flow->begun ||
	    flow->arrived | flow->refused || !flow->granted ||
	    !is_of_both_lives(flow, frame, ack))
		return 0;

	take_ack(link, flow, ack, (uint16_t)window, now);
	flow_heard(link, flow);
	if (link->user.whole(link->context, flow->node, flow_lane(flow), frame + WIRE_HEADER,
			     frame + WIRE_DATA, payload) == LINK_BUSY) {
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
