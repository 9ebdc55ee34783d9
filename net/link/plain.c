/*
 * What most frames are: a short message in its turn, from a peer that is known and has
 * lost nothing. Here such a frame is compared with what it must be, word by word; what is
 * anything else goes the long way through accept.c, ack.c and assemble.c, which this only
 * shortens. No state. Called by link_receive for every frame.
 */
#include "state.h"
#include "../port.h"

/* In the order of the wire, little-endian. */
#define NODE_SHIFT 16              /* in the word at 8: source's end, type, version, kind */
#define LANE_BIT   ((uint64_t)WIRE_LANE << 56)

int plain_take(struct link *link, uint64_t now, const uint8_t *frame, uint32_t bytes)
{
	uint32_t payload = bytes - WIRE_DATA;
	uint64_t start;
	struct flow *pair, *flow;
	struct wire wire;
	int verdict;

	if (bytes < WIRE_DATA || payload > LINK_WHOLE_BYTES || link->is_odd)
		return 0;
	start = wire_get(frame + WIRE_SOURCE + 2, 8);
	if (((start ^ link->plain_from) & ~(0xffffull << NODE_SHIFT | LANE_BIT)) ||
	    wire_get(frame, 8) != link->plain_here ||
	    wire_get(frame + WIRE_PAYLOAD_CRC, 4) || wire_get(frame + WIRE_SELECTIVE, 8) ||
	    wire_get(frame + WIRE_PAYLOAD, 6) != payload ||         /* all of it, from 0 on */
	    wire_get(frame + WIRE_OFFSET + 4, 8) != (uint64_t)payload << 16)
		return 0;
	wire.node = __builtin_bswap16((uint16_t)(start >> NODE_SHIFT));
	wire.lane = !!(start & LANE_BIT);
	wire.sequence = (uint32_t)wire_get(frame + WIRE_SEQUENCE, 4);
	wire.ack = (uint32_t)wire_get(frame + WIRE_ACK, 4);
	wire.window = (uint32_t)wire_get(frame + WIRE_WINDOW, 2);
	wire.selective = wire.refused = wire.waits = 0;
	pair = flow_find(link, wire.node, LINK_REQUESTS);
	if (!pair)
		return 0;
	flow = pair + wire.lane;
	if (wire_get(frame + WIRE_SOURCE_INCARNATION, 8) !=
	    (flow->theirs | (uint64_t)flow->mine << 32) || !flow->theirs ||
	    wire.sequence != flow->expected || wire.sequence != flow->begun ||
	    flow->arrived | flow->refused || !flow->granted ||
	    wire.ack - flow->una > flow->next - flow->una ||
	    wire_checksum(frame, WIRE_DATA) != wire_get(frame + WIRE_CHECKSUM, 4))
		return 0;

	pair[LINK_REQUESTS].tries = pair[LINK_ANSWERS].tries = 0;
	ack_take(link, flow, &wire, now);
	if (flow->epoch != link->epoch) {
		flow->epoch = link->epoch;
		link->senders++;
		flow_share(link);
	}
	verdict = link->user.whole(link->context, wire.node, wire.lane, frame + WIRE_HEADER,
				   frame + WIRE_DATA, payload);
	if (verdict == LINK_BUSY) {
		count(link, LINK_REFUSED);
		assemble_refuse(link, flow, wire.sequence, now);
		return 1;
	}
	count(link, LINK_MESSAGES_IN);
	flow->begun++;
	flow->expected++;
	flow->granted--;
	flow->unacked++;
	assemble_acknowledge(link, flow, now);
	return 1;
}
