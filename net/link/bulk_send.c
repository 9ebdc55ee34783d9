/*
 * Long messages, the sender: a message is announced by one frame in its flow; then its parts are
 * sent in order, as the receiver grants them. Data: struct bulk_send, and the fields of struct
 * send for parts. A part is sent once, and again each time that a grant
 * requests that. The receiver detects lost parts. It acknowledges the announcement when all parts
 * have arrived. See docs/wire.md.
 */
#include "internal.h"

#define LEAST_PART  4096u          /* a message with shorter parts is not announced */

/* Payload bytes that are sent in parts: all but those in the announcement. */
static uint64_t length_of(const struct send *send)
{
	return send->length - send->tail;
}

static uint32_t parts_of(const struct send *send)
{
	return (uint32_t)((length_of(send) - 1) / send->fragment + 1);
}

/* Payload bytes of each part but the last, at most `fragment` (0: no limit) if a message of this
 * length is announced, or 0. Then *tail becomes the bytes that its announcement carries. */
static uint32_t part_length(const struct link *link, uint64_t length, uint32_t fragment,
			    uint16_t *tail)
{
	uint64_t most = link->bulk_send.longest, parts, even, n;

	if (fragment && fragment < most)
		most = fragment;
	if (!link->config.announce || length < link->config.announce || most < LEAST_PART)
		return 0;
	parts = (length - 1) / most + 1;
	if (parts > WIRE_MOST_FRAMES)
		return 0;
	/* All parts get the same length if possible, as after a loss a part may land in the buffer
	 * of another one. The announcement carries the remainder. */
	*tail = 0;
	for (n = parts - (parts > 1); fragment == 0 && n <= parts; n++) {
		even = length / n < most ? length / n & ~63ull : most;
		if (even && length - n * even <= WIRE_TAIL_BYTES) {
			*tail = (uint16_t)(length - n * even);
			return (uint32_t)even;
		}
	}
	even = ((length - 1) / parts + 64) & ~63ULL;
	if (most > length)
		most = length;         /* a part is not longer than the message */
	return (uint32_t)(even < most ? even : most);
}

int bulk_announce(struct link *link, struct send *send, const struct flow *flow, uint32_t fragment)
{
	send->fragment = part_length(link, send->length, fragment, &send->tail);
	if (!send->fragment)
		return 0;
	count(link, LINK_ANNOUNCED);
	send->flow = flow_index(link, flow);
	send->ordinary = 0;
	send->parts_sent = send->granted = send->again = send->again_until = 0;
	return 1;
}

/* Whether a message has parts to send: then it is in the list of those. */
static int has_parts(const struct send *send)
{
	return send->again < send->again_until || send->parts_sent < send->granted;
}

/* Where the list of messages with parts to send has this one; NO_RECORD: its end. */
static uint16_t *list_at(struct link *link, uint32_t index)
{
	uint16_t *at = &link->bulk_send.first;

	while (*at != index)
		at = &send_at(link, *at)->bulk_next;
	return at;
}

/* Whether the parts of one message are sent before those of another one in the list. Parts to be sent
 * again come first, in the order of their flow, which is that of their buffers: if a part that was
 * granted later arrived before them, the receiver would take them for lost. */
static int comes_before(const struct send *one, const struct send *other)
{
	int again = one->again < one->again_until;

	if (again != (other->again < other->again_until))
		return again;
	return again && one->flow == other->flow && is_before(one->first, other->first);
}

/* Put a message into the list. */
static void enqueue(struct link *link, uint32_t index)
{
	struct send *send = send_at(link, index);
	uint16_t *at = &link->bulk_send.first;

	while (*at != NO_RECORD && !comes_before(send, send_at(link, *at)))
		at = &send_at(link, *at)->bulk_next;
	send->bulk_next = *at;
	*at = (uint16_t)index;
}

void bulk_send_end(struct link *link, uint32_t index)
{
	if (has_parts(send_at(link, index)))
		*list_at(link, index) = send_at(link, index)->bulk_next;
}

/* Parts [first, until) of a message are granted. With AGAIN those that were sent before are to be
 * sent again. */
static void grant(struct link *link, uint32_t index, const struct wire *wire, uint32_t first,
		  uint32_t until)
{
	struct send *send = send_at(link, index);
	uint32_t sent = until < send->parts_sent ? until : send->parts_sent;
	int is_listed = has_parts(send);

	if (wire->again && first < sent) {
		/* Extend the range of parts that are still to be sent again. */
		if (send->again == send->again_until)
			send->again = send->again_until = first;
		send->again = first < send->again ? first : send->again;
		send->again_until = sent > send->again_until ? sent : send->again_until;
	}
	if (until > send->granted)
		send->granted = until;
	send->ordinary = wire->ordinary;
	if (!is_listed && has_parts(send))
		enqueue(link, index);
}

void bulk_accept_grant(struct link *link, struct flow *flow, const struct wire *wire)
{
	uint32_t last = wire->sequence + wire->reach, index = flow->tx.head;

	while (index != NO_RECORD) {
		struct send *send = send_at(link, index);

		if (!is_before(send->first, flow->tx.next) || is_before(last, send->first))
			break;
		if (send->announced && !is_before(send->first, wire->sequence)) {
			uint32_t first = send->first == wire->sequence ? wire->part : 0;
			uint32_t until = send->first == last ? first + wire->parts :
				parts_of(send);

			if (first >= until || until > parts_of(send)) {
				count(link, LINK_NONSENSE);
				return;
			}
			grant(link, index, wire, first, until);
		}
		index = send->next;
	}
}

/* How many flows come before that of this message, after that of the last part. */
static uint32_t flows_before(const struct link *link, uint32_t index)
{
	return send_at(link, index)->flow - link->bulk_send.flow - 1;
}

/* The message of the next part. Flows take turns, part by part. So a receiver that grants much or
 * often does not delay the parts for others. Within a flow the order is that of the list. */
static uint32_t next_message(const struct link *link)
{
	uint32_t next = link->bulk_send.first, index = next;

	for (; index != NO_RECORD; index = send_at(link, index)->bulk_next)
		if (flows_before(link, index) < flows_before(link, next))
			next = index;
	return next;
}

int bulk_send_part(struct link *link)
{
	struct wire wire = { .kind = WIRE_KIND_BULK };
	const struct flow *flow;
	uint32_t index, *next;
	struct send *send;
	struct nic *nic;
	uint64_t at;
	int result;

	if (!bulk_can_send(link))
		return 0;
	index = next_message(link);
	send = send_at(link, index);
	flow = &link->flows[send->flow];
	nic = send->ordinary ? link->nic : link->bulk_nic;
	wire.again = send->again < send->again_until;
	next = wire.again ? &send->again : &send->parts_sent;
	at = (uint64_t)*next * send->fragment;
	wire.lane = send->lane;
	wire.source = flow->mine;
	wire.destination = flow->theirs;
	wire.sequence = send->first;
	wire.part = *next;
	wire.bytes = length_of(send) - at < send->fragment ?
		(uint32_t)(length_of(send) - at) : send->fragment;
	result = frame_part(link, nic, index, &wire, at);
	if (result == NIC_FULL) {
		/* Only parts wait for the bulk card, but all frames for a free record. */
		link->bulk_send.full = !send->ordinary && link->transmits.free != NO_RECORD;
		return link->bulk_send.full ? 0 : NIC_FULL;
	}
	++*next;
	link->bulk_send.flow = send->flow;
	if (result == 0) {
		send->granted = send->parts_sent;
		send->again_until = send->again;
		timer_give_up(link, &link->flows[send->flow]);
	} else {
		count(link, LINK_PARTS_OUT);
	}
	if (!has_parts(send))
		*list_at(link, index) = send->bulk_next;
	return 1;
}
