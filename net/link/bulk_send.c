/*
 * Long messages, the sender: one announcement each in the flow, then parts of
 * the payload as the receiver grants them, in the order of its rooms. Data: the
 * sends' fields for turns, and the list of those that have parts to send. A part is
 * sent once per turn; whether it has arrived is the receiver's to find out, and
 * the acknowledgement of the announcement says that all have. See link.h.
 */
#include "internal.h"

#define LEAST_PART  4096u          /* shorter parts of a long message are not worth a grant */

/* Payload that goes in parts: all but what the announcement has brought. */
static uint64_t length_of(const struct send *send)
{
	return send->length - send->tail;
}

static uint32_t parts_of(const struct send *send)
{
	return (uint32_t)((length_of(send) - 1) / send->fragment + 1);
}

int serve_announces(const struct link *link, uint64_t length, uint32_t *fragment,
		    uint32_t *tail)
{
	uint64_t most = *fragment ? *fragment : WIRE_MOST_PAYLOAD, parts, even;
	uint32_t fits = link->nic->mtu;

	if (!link->config.announce || length < link->config.announce || !link->bulk.nic)
		return 0;
	/* On either card: what goes astray is sent again by the ordinary one. */
	if (fits > link->bulk.nic->mtu)
		fits = link->bulk.nic->mtu;
	fits = (fits - WIRE_HEADER) & ~63u;
	if (most > fits)
		most = fits;
	if (most > WIRE_MOST_PAYLOAD)
		most = WIRE_MOST_PAYLOAD;
	if (most < LEAST_PART)
		return 0;
	*tail = *fragment == 0 && length > most && length % most <= WIRE_TAIL_BYTES ?
		(uint32_t)(length % most) : 0;
	length -= *tail;
	parts = (length - 1) / most + 1;
	even = ((length - 1) / parts + 64) & ~63ULL;
	if (parts > MOST_FRAMES)
		return 0;
	if (most > length)
		most = length;         /* one part: not longer than the message */
	*fragment = (uint32_t)(even < most ? even : most);
	return 1;
}

void serve_open(struct link *link, struct send *send, const struct flow *flow)
{
	count(link, LINK_ANNOUNCED);
	send->flow = (uint16_t)flow_index(link, flow);
	send->turned = send->pulled = 0;
	send->served = send->granted = send->wanted = 0;
}

static int has_parts(const struct send *send)
{
	return !send->ended && (send->pulled ? send->wanted != 0 : send->served < send->granted);
}

static void enqueue(struct link *link, uint32_t index)
{
	struct send *send = record_at(&link->sends, index);
	struct bulk *bulk = &link->bulk;

	if (send->serving || !has_parts(send))
		return;
	send->serving = 1;
	send->with_card++;
	send->serve_next = NO_RECORD;
	if (bulk->serve_first == NO_RECORD)
		bulk->serve_first = (uint16_t)index;
	else
		((struct send *)record_at(&link->sends, bulk->serve_last))->serve_next =
			(uint16_t)index;
	bulk->serve_last = (uint16_t)index;
}

void serve_forget(struct link *link, uint32_t index)
{
	struct send *send = record_at(&link->sends, index);
	struct bulk *bulk = &link->bulk;
	uint16_t *at = &bulk->serve_first, before = NO_RECORD;

	while (*at != index) {
		before = *at;
		at = &((struct send *)record_at(&link->sends, before))->serve_next;
	}
	*at = send->serve_next;
	if (bulk->serve_last == index)
		bulk->serve_last = before;
	send->serving = 0;
	send->with_card--;
}

/* Of one message, parts [first, until), or with AGAIN those in the map. */
static void grant(struct link *link, uint32_t index, const struct wire *wire, uint32_t first,
		  uint32_t until)
{
	struct send *send = record_at(&link->sends, index);

	if (send->turned && is_before(wire->turn, send->turn))
		return;
	if (!send->turned || wire->turn != send->turn) {
		send->turned = 1;
		send->turn = wire->turn;
		send->pulled = wire->again;
		send->served = send->granted = first;
		send->wanted = 0;
		if (wire->again)
			send->wanted = wire->until &
				(uint32_t)bits(until - first < 32 ? until - first : 32);
	}
	if (!send->pulled && until > send->granted)
		send->granted = until;
	enqueue(link, index);
}

/* Nothing of this turn and the ones before leaves any more, and this is the last of it. */
static void take_back(struct link *link, struct flow *flow, const struct wire *wire)
{
	struct wire mark = { .kind = WIRE_KIND_BULK, .over = 1, .lane = (uint8_t)flow_lane(flow),
			     .source = flow->mine, .destination = flow->theirs,
			     .turn = wire->turn };
	uint32_t index = flow->tx.head;

	while (index != NO_RECORD) {
		struct send *send = record_at(&link->sends, index);

		if (!is_before(send->first, flow->tx.next))
			break;
		if (send->announced && !(send->turned && is_before(wire->turn, send->turn))) {
			send->turned = 1;
			send->pulled = 0;
			send->turn = wire->turn;
			send->granted = send->served;
		}
		index = send->next;
	}
	/* If there is no room, the receiver asks again. */
	if (link->bulk.nic)
		frame_bare(link, link->bulk.nic, flow->node, &mark);
}

void serve_grant(struct link *link, struct flow *flow, const struct wire *wire)
{
	uint32_t last = wire->sequence + wire->reach, index = flow->tx.head;

	if (wire->over) {
		take_back(link, flow, wire);
		return;
	}
	while (index != NO_RECORD) {
		struct send *send = record_at(&link->sends, index);
		uint32_t first = 0, until;

		if (!is_before(send->first, flow->tx.next) || is_before(last, send->first))
			break;
		if (send->announced && !is_before(send->first, wire->sequence)) {
			until = parts_of(send);
			if (send->first == wire->sequence)
				first = wire->part;
			if (send->first == last && !wire->again)
				until = wire->until;
			if (first >= until || until > parts_of(send)) {
				count(link, LINK_NONSENSE);
				return;
			}
			grant(link, index, wire, first, until);
		}
		index = send->next;
	}
}

int serve(struct link *link)
{
	struct bulk *bulk = &link->bulk;
	uint32_t index = bulk->serve_first, part;
	struct wire wire = { .kind = WIRE_KIND_BULK };
	struct send *send;
	uint64_t at;
	int result;

	if (!can_serve(link))
		return 0;
	send = record_at(&link->sends, index);
	if (has_parts(send)) {
		const struct flow *flow = &link->flows[send->flow];
		struct nic *nic = send->pulled ? link->nic : bulk->nic;

		part = send->served;
		if (send->pulled)
			part += (uint32_t)__builtin_ctz(send->wanted);
		at = (uint64_t)part * send->fragment;
		wire.lane = send->lane;
		wire.source = flow->mine;
		wire.destination = flow->theirs;
		wire.sequence = send->first;
		wire.turn = send->turn;
		wire.part = part;
		wire.bytes = length_of(send) - at < send->fragment ?
			(uint32_t)(length_of(send) - at) : send->fragment;
		result = frame_part(link, nic, index, &wire, at);
		if (result == NIC_FULL && !send->pulled) {
			bulk->full = 1;
			return 0;
		}
		if (result == NIC_FULL)
			return NIC_FULL;
		if (send->pulled)
			send->wanted &= send->wanted - 1;
		else
			send->served++;
		if (result == 0) {
			send->wanted = 0;
			send->granted = send->served;
			timer_give_up(link, &link->flows[send->flow]);
		} else {
			count(link, LINK_PARTS_OUT);
		}
	}
	if (!has_parts(send))
		serve_forget(link, index);
	return 1;
}
