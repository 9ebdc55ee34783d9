/*
 * The receiving half: from frames to messages. Fragments of a message that has
 * begun go to their place in any order; messages begin and end in order. The
 * frame's fields are checked against what the message's first fragment said.
 * See the table in link.h.
 */
#include "state.h"
#include "../port.h"

enum placed { ACCEPTED, REFUSED, NONSENSE };

/* A record for a flow that holds this many: one flow gets no more than it leaves. */
static uint32_t take_share(struct records *records, uint32_t held)
{
	return held <= (uint32_t)(records->limit - records->used) ? record_take(records) : NO_RECORD;
}

/* ---- short messages ---- */

/* A short message, or a bundle of them, in its turn. */
static int whole(struct link *link, struct flow *flow, const struct wire *wire)
{
	int is_bundle = wire->messages > 1;
	int verdict = is_bundle ? bundle_take(link, flow, wire) :
		link->user.whole(link->context, flow->node, flow_lane(flow), wire->message,
				 wire->payload, wire->bytes);

	if (verdict == LINK_BUSY) {
		count(link, LINK_REFUSED);
		return REFUSED;
	}
	link->counters[LINK_MESSAGES_IN] += !is_bundle;
	flow->begun++;
	return ACCEPTED;
}

static void stash_give(struct link *link, uint32_t index)
{
	struct stash *stash = record_at(&link->stashes, index);

	if (stash->bundle != NO_RECORD)
		record_give(&link->bundles, stash->bundle);
	record_give(&link->stashes, index);
}

static uint8_t *stash_payload(const struct link *link, struct stash *stash)
{
	return stash->bundle == NO_RECORD ? stash->payload :
		((struct bundle *)record_at(&link->bundles, stash->bundle))->room;
}

static int place_short(struct link *link, struct flow *flow, const struct wire *wire)
{
	int is_bundle = wire->messages > 1;
	uint32_t index, held = 0, bundle = NO_RECORD;
	struct stash *stash;

	if (!is_bundle && (wire->offset || wire->bytes != wire->length))
		return NONSENSE;
	if (wire->sequence == flow->expected)
		return whole(link, flow, wire);
	for (index = flow->stash; index != NO_RECORD; held++)
		index = ((struct stash *)record_at(&link->stashes, index))->next;
	index = take_share(&link->stashes, held);
	if (index != NO_RECORD && is_bundle) {
		bundle = take_share(&link->bundles, held);
		if (bundle == NO_RECORD) {
			record_give(&link->stashes, index);
			index = NO_RECORD;
		}
	}
	if (index == NO_RECORD) {
		count(link, LINK_EARLY);
		return REFUSED;
	}
	count(link, LINK_STASHED);
	stash = record_at(&link->stashes, index);
	stash->next = flow->stash;
	stash->sequence = wire->sequence;
	stash->bytes = (uint16_t)wire->bytes;
	stash->length = (uint16_t)wire->length;
	stash->bundle = (uint16_t)bundle;
	port_copy(stash->header, wire->message, LINK_HEADER_BYTES);
	port_copy(stash_payload(link, stash), wire->payload, wire->bytes);
	flow->stash = (uint16_t)index;
	return ACCEPTED;
}

/* The turn of a short message that came early. */
static int unstash(struct link *link, struct flow *flow)
{
	uint16_t *link_to = &flow->stash;
	struct stash *stash;
	struct wire wire;
	uint32_t index;
	int result;

	for (;;) {
		index = *link_to;
		if (index == NO_RECORD)
			return REFUSED;
		stash = record_at(&link->stashes, index);
		if (stash->sequence == flow->expected)
			break;
		link_to = &stash->next;
	}
	*link_to = stash->next;
	wire.messages = stash->bundle == NO_RECORD ? 1 : 2; /* or more */
	wire.message = stash->header;
	wire.payload = stash_payload(link, stash);
	wire.bytes = stash->bytes;
	wire.length = stash->length;
	wire.offset = 0;
	result = whole(link, flow, &wire);
	stash_give(link, index);
	return result;
}

/* ---- messages in parts ---- */

static int place_fragment(struct link *link, struct flow *flow, const struct wire *wire)
{
	uint32_t index = flow->assembly;

	while (index != NO_RECORD) {
		struct assembly *assembly = record_at(&link->assemblies, index);
		uint32_t at = wire->sequence - assembly->first;

		if (at >= assembly->frames) {
			index = assembly->next;
			continue;
		}
		if (wire->length != assembly->length || assembly->announced ||
		    wire->announce || wire->messages != 1 ||
		    wire->offset != (uint64_t)at * assembly->fragment ||
		    wire->bytes != (at + 1 < assembly->frames ? assembly->fragment :
				    assembly->length - wire->offset))
			return NONSENSE;
		if (assembly->taken)
			link->user.data(link->context, &assembly->target, wire->offset,
					wire->payload, wire->bytes);
		return ACCEPTED;
	}
	return NONSENSE;
}

/* Where the frame's message begins, and its frames: 1. The last fragment alone does
 * not tell, as the others' length is not known: 0. */
static int locate(const struct wire *wire, uint32_t *first, uint64_t *frames)
{
	uint64_t at;

	if (wire->bytes == wire->length || wire->announce) {
		*first = wire->sequence;
		*frames = 1;
		return 1;
	}
	if (wire->offset + wire->bytes == wire->length || wire->offset % wire->bytes)
		return 0;
	at = wire->offset / wire->bytes;
	*frames = (wire->length - 1) / wire->bytes + 1;
	*first = wire->sequence - (uint32_t)at;
	return at < MOST_FRAMES && *frames <= MOST_FRAMES;
}

/* Whether one of these frames is in the stash, so that they cannot be of one message. */
static int is_stashed(const struct link *link, const struct flow *flow, uint32_t first,
		      uint64_t frames)
{
	uint32_t index = flow->stash;

	while (index != NO_RECORD) {
		const struct stash *stash = record_at(&link->stashes, index);

		if (stash->sequence - first < frames)
			return 1;
		index = stash->next;
	}
	return 0;
}

/* A message in one frame, in its turn: without a record. */
static int place_at_once(struct link *link, struct flow *flow, const struct wire *wire)
{
	struct link_target target;
	int verdict = link->user.begin(link->context, flow->node, flow_lane(flow), wire->message,
				       wire->length, &target);

	if (verdict == LINK_BUSY) {
		count(link, LINK_REFUSED);
		return REFUSED;
	}
	flow->begun++;
	count(link, LINK_MESSAGES_IN);
	if (verdict == LINK_TAKE) {
		link->user.data(link->context, &target, 0, wire->payload, wire->bytes);
		link->user.end(link->context, &target, 0);
	}
	return ACCEPTED;
}

/* An announced message has begun; what nobody wants is whole at once. */
static void announce(struct link *link, struct flow *flow, uint32_t index, uint32_t part)
{
	struct assembly *assembly = record_at(&link->assemblies, index);

	assembly->fragment = part;
	assembly->parts = (uint32_t)((assembly->length - 1) / part + 1);
	assembly->flow = (uint16_t)flow_index(link, flow);
	assembly->whole = !assembly->taken;
	assembly->queued = assembly->passes = 0;
	assembly->received = assembly->granted = 0;
	if (!assembly->whole)
		bulk_want(link, index);
}

/* A frame of a message that has not begun. */
static int place_first(struct link *link, struct flow *flow, const struct wire *wire)
{
	uint32_t first, index, held = 0;
	struct assembly *assembly;
	uint16_t *tail;
	uint64_t frames;
	int verdict;

	if (!locate(wire, &first, &frames) || first != flow->begun) {
		count(link, LINK_EARLY);
		return REFUSED;
	}
	if (is_stashed(link, flow, first, frames))
		return NONSENSE;
	if (frames == 1 && first == flow->expected && !wire->announce)
		return place_at_once(link, flow, wire);
	for (tail = &flow->assembly; *tail != NO_RECORD; held++)
		tail = &((struct assembly *)record_at(&link->assemblies, *tail))->next;
	index = take_share(&link->assemblies, held);
	if (index == NO_RECORD) {
		count(link, LINK_REFUSED);
		return REFUSED;
	}
	assembly = record_at(&link->assemblies, index);
	verdict = link->user.begin(link->context, flow->node, flow_lane(flow), wire->message,
				   wire->length, &assembly->target);
	if (verdict == LINK_BUSY) {
		record_give(&link->assemblies, index);
		count(link, LINK_REFUSED);
		return REFUSED;
	}
	assembly->next = NO_RECORD;
	assembly->taken = verdict == LINK_TAKE;
	assembly->first = first;
	assembly->frames = (uint32_t)frames;
	assembly->fragment = frames == 1 ? (uint32_t)wire->length : wire->bytes;
	assembly->length = wire->length;
	assembly->announced = wire->announce;
	*tail = (uint16_t)index;
	flow->begun += (uint32_t)frames;
	if (assembly->announced)
		assembly->length -= wire->bytes;
	if (assembly->taken && wire->bytes)
		link->user.data(link->context, &assembly->target,
				assembly->announced ? assembly->length : wire->offset,
				wire->payload, wire->bytes);
	if (assembly->announced)
		announce(link, flow, index, (uint32_t)wire->offset);
	return ACCEPTED;
}

/* The first message of the flow is whole. */
static void end_first(struct link *link, struct flow *flow)
{
	uint32_t index = flow->assembly;
	struct assembly *assembly;

	if (index == NO_RECORD)
		return;
	assembly = record_at(&link->assemblies, index);
	if (is_before(flow->expected, assembly->first + assembly->frames))
		return;
	flow->assembly = assembly->next;
	count(link, LINK_MESSAGES_IN);
	if (assembly->taken)
		link->user.end(link->context, &assembly->target, 0);
	record_give(&link->assemblies, index);
}

void assemble_lose(struct link *link, uint32_t index, uint32_t stash)
{
	while (index != NO_RECORD) {
		struct assembly *assembly = record_at(&link->assemblies, index);
		uint32_t next = assembly->next;

		if (assembly->taken)
			link->user.end(link->context, &assembly->target, 1);
		record_give(&link->assemblies, index);
		count(link, LINK_FAILED_IN);
		index = next;
	}
	while (stash != NO_RECORD) {
		uint32_t next = ((struct stash *)record_at(&link->stashes, stash))->next;

		stash_give(link, stash);
		stash = next;
	}
}

/* ---- frames ---- */

/* While a message waits for its payload, what was refused waits with it. */
void assemble_refuse(struct link *link, struct flow *flow, uint32_t sequence, uint64_t now)
{
	flow->refused |= 1ULL << (sequence - flow->expected);
	flow->flags |= FLOW_REFUSED;
	/* Room comes free at the pace of whole messages. */
	if (!assemble_waits(link, flow))
		timer_ack(link, flow, units(now), link->bulk.state == BULK_NONE ?
			  link->config.again_delay : link->config.least_timeout);
}

/* Nothing is missing between what waits for its payload and the last that has arrived. */
static int is_gapless(const struct link *link, const struct flow *flow)
{
	return (flow->arrived & (flow->arrived + 1)) == 0 && assemble_waits(link, flow);
}

/* Frame `expected` is there, and perhaps more behind it. At most a window's
 * turns. Returns REFUSED if an early message found the user busy. */
static int advance(struct link *link, struct flow *flow)
{
	while (!assemble_waits(link, flow)) {
		int more = flow->arrived & 1;

		flow->arrived >>= 1;
		flow->refused >>= 1;
		flow->expected++;
		flow->granted--;
		end_first(link, flow);
		if (!more)
			return ACCEPTED;
		/* Not begun, yet arrived: it is in the stash. If it must wait, it
		 * has not arrived after all, and the peer sends it again. */
		if (flow->expected == flow->begun && unstash(link, flow) == REFUSED)
			return REFUSED;
	}
	return ACCEPTED;
}

/* A frame has arrived, `in_order` or behind the one that is expected: it is acknowledged. */
static void settle(struct link *link, struct flow *flow, uint64_t now, int in_order)
{
	int is_refused = in_order && advance(link, flow) == REFUSED;

	if (is_refused)
		assemble_refuse(link, flow, flow->expected, now);
	/* What was refused before may come now, and shall before anything new: say so at once. */
	if ((in_order && !is_refused && flow->refused && !assemble_waits(link, flow)) ||
	    (flow->arrived && !is_gapless(link, flow)))
		send_ack(link, flow, now);
	else
		assemble_acknowledge(link, flow, now);
}

void assemble_owe(struct link *link, const struct flow *flow)
{
	uint16_t index = (uint16_t)flow_index(link, flow);

	for (uint32_t i = 0; i < link->n_owed; i++)
		if (link->owed[i] == index)
			return;
	if (link->n_owed < MOST_OWED)
		link->owed[link->n_owed++] = index;
}

void assemble_rest(struct link *link, uint64_t now)
{
	for (uint32_t i = 0; i < link->n_owed; i++) {
		struct flow *flow = &link->flows[link->owed[i]];

		if (flow->unacked && flow->assembly == NO_RECORD &&
		    !(flow->flags & FLOW_REFUSED))
			send_ack(link, flow, now);
	}
	link->n_owed = 0;
}

void assemble_whole(struct link *link, struct flow *flow, uint64_t now)
{
	const struct assembly *first = record_at(&link->assemblies, flow->assembly);

	if (first->first != flow->expected || !first->announced || !first->whole)
		return;
	flow->unacked++;
	settle(link, flow, now, 1);
}

void assemble(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now)
{
	uint32_t at = wire->sequence - flow->expected;
	int placed;

	if (is_before(wire->sequence, flow->expected) ||
	    (at > 0 && at < flow->granted && at < MAPPED && flow->arrived >> (at - 1) & 1) ||
	    (at == 0 && assemble_waits(link, flow))) {
		count(link, LINK_DUPLICATES);
		if (assemble_waits(link, flow))
			bulk_want(link, flow->assembly);
		send_ack(link, flow, now);
		return;
	}
	if (at >= flow->granted) {
		count(link, LINK_OUTSIDE);
		return;
	}
	if (at >= MAPPED) {
		count(link, LINK_EARLY);
		return;
	}
	flow_heard(link, flow);
	if (is_before(wire->sequence, flow->begun))
		placed = place_fragment(link, flow, wire);
	else if (wire->length <= LINK_WHOLE_BYTES) /* a bundle's first one's, too */
		placed = place_short(link, flow, wire);
	else
		placed = place_first(link, flow, wire);

	if (placed == NONSENSE) {
		count(link, LINK_NONSENSE);
		return;
	}
	if (placed == REFUSED) {
		assemble_refuse(link, flow, wire->sequence, now);
		return;
	}
	flow->unacked += !wire->announce; /* it counts when it is whole */
	if (at > 0)
		flow->arrived |= 1ULL << (at - 1);
	settle(link, flow, now, at == 0);
	if (wire->messages == 1 && !wire->announce && wire->bytes > LINK_BRIEF_BYTES)
		assemble_owe(link, flow);
}
