/*
 * The receiving half: from frames to messages. Fragments of a message that has begun are placed
 * in any order; messages begin and end in order. A frame's fields are checked against those of
 * the frame with which its message began. See docs/wire.md.
 */
#include "internal.h"
#include "../port.h"

enum placed { ACCEPTED, REFUSED, NONSENSE };

/* Allocate a record for a flow that has `has` of them already. A flow gets no more records than
 * it leaves free. */
static uint32_t alloc_share(struct record_pool *records, uint32_t has)
{
	return has <= (uint32_t)(records->limit - records->used) ? record_alloc(records) : NO_RECORD;
}

/* ---- messages in one frame ---- */

/* Deliver a message, or a batch, that is in order. It needs no record, so it is accepted even if
 * other nodes use all records. */
static int deliver(struct link *link, struct flow *flow, const struct wire *wire)
{
	bulk_note_data(link, flow, wire->bytes);
	if (wire->messages > 1) {
		batch_deliver(link, flow, wire);
	} else if (wire->puts) {
		link_port_put(link->context, flow->node, wire->message, wire->payload, wire->bytes);
	} else if (link_port_whole(link->context, flow->node, flow_lane(flow), wire->message,
				   wire->payload, wire->bytes) == LINK_BUSY) {
		count(link, LINK_REFUSED);
		return REFUSED;
	}
	link->counters[LINK_MESSAGES_IN] += wire->messages;
	flow->rx.begun++;
	return ACCEPTED;
}

static void stash_free(struct link *link, uint32_t index)
{
	struct stash *stash = stash_at(link, index);

	if (stash->batch != NO_RECORD)
		record_free(&link->batches, stash->batch);
	record_free(&link->stashes, index);
}

/* A frame with a short message or a batch: deliver it, or keep it in the stash if it is early. */
static int place_short(struct link *link, struct flow *flow, const struct wire *wire)
{
	int is_batch = wire->messages > 1;
	uint32_t index, n = 0, batch = NO_RECORD;
	struct stash *stash;
	uint8_t *payload;

	if (!is_batch && (wire->offset || wire->bytes != wire->length))
		return NONSENSE;
	if (wire->sequence == flow->rx.expected)
		return deliver(link, flow, wire);
	for (index = flow->rx.stash; index != NO_RECORD; n++)
		index = stash_at(link, index)->next;
	index = alloc_share(&link->stashes, n);
	if (index != NO_RECORD && is_batch) {
		batch = alloc_share(&link->batches, n);
		if (batch == NO_RECORD) {
			record_free(&link->stashes, index);
			index = NO_RECORD;
		}
	}
	if (index == NO_RECORD) {
		count(link, LINK_EARLY);
		return REFUSED;
	}
	count(link, LINK_STASHED);
	stash = stash_at(link, index);
	stash->next = flow->rx.stash;
	stash->batch = (uint16_t)batch;
	payload = is_batch ? batch_at(link, batch)->room : stash->payload;
	port_copy(stash->header, wire->message, wire->puts ? LINK_PUT_BYTES : LINK_HEADER_BYTES);
	port_copy(payload, wire->payload, wire->bytes);
	stash->wire = *wire;
	stash->wire.message = stash->header;
	stash->wire.payload = payload;
	flow->rx.stash = (uint16_t)index;
	return ACCEPTED;
}

/* Deliver frame `expected` from the stash. REFUSED: it is not there, or the user is busy. */
static int unstash(struct link *link, struct flow *flow)
{
	uint16_t *link_to = &flow->rx.stash;
	struct stash *stash;
	uint32_t index;
	int result;

	for (;;) {
		index = *link_to;
		if (index == NO_RECORD)
			return REFUSED;
		stash = stash_at(link, index);
		if (stash->wire.sequence == flow->rx.expected)
			break;
		link_to = &stash->next;
	}
	*link_to = stash->next;
	result = deliver(link, flow, &stash->wire);
	stash_free(link, index);
	return result;
}

/* ---- messages in several frames ---- */

/* Whether a message has begun, but its announcement was refused and must come again. */
static int is_unannounced(const struct assembly *assembly)
{
	return assembly->announced && assembly->taken && assembly->parts == 0;
}

/* Whether all bytes of a message that has begun are written. */
static int is_written(const struct assembly *assembly)
{
	return !assembly->taken || (assembly->announced && !assembly_waits(assembly));
}

/* Whether payload bytes [at, at + bytes) of a begun message may be written now: no earlier message
 * will write to this memory. If it is announced its parts follow at any time, but behind those of
 * earlier messages; so they must only stay clear of messages that come in frames. */
static int may_write(struct link *link, const struct flow *flow, struct assembly *assembly,
		     uint64_t at, uint64_t bytes)
{
	const struct assembly *earlier = assembly_at(link, flow->rx.assembly);
	struct memory written = { 0, 0 };

	if (earlier != assembly && bytes)
		written = bulk_memory(link, assembly, at, bytes);
	for (; earlier != assembly; earlier = assembly_at(link, earlier->next)) {
		if (is_unannounced(earlier))
			return 0;
		if (is_written(earlier))
			continue;
		if (memory_is_shared(&written, &earlier->memory))
			return 0;
		if (assembly->announced && !earlier->announced &&
		    memory_is_shared(&assembly->memory, &earlier->memory))
			return 0;
	}
	return 1;
}

/* Write the payload of a frame of a begun message. REFUSED: it must wait. */
static int write(struct link *link, const struct flow *flow, struct assembly *assembly,
		 const struct wire *wire)
{
	uint64_t at = assembly->announced ? assembly->length : wire->offset;

	if (!assembly->taken)
		return ACCEPTED;
	if (!may_write(link, flow, assembly, at, wire->bytes)) {
		count(link, LINK_EARLY);
		return REFUSED;
	}
	bulk_note_data(link, flow, wire->bytes);
	if (wire->bytes)
		link_port_data(link->context, &assembly->target, at, wire->payload, wire->bytes);
	return ACCEPTED;
}

/* The announcement of a message that has begun: write what it carries, and request the parts. */
static int place_announced(struct link *link, struct flow *flow, uint32_t index,
			   const struct wire *wire)
{
	struct assembly *assembly = assembly_at(link, index);
	int placed = write(link, flow, assembly, wire);

	if (placed == ACCEPTED && assembly->taken) {
		assembly->parts = (uint32_t)((assembly->length - 1) / assembly->fragment + 1);
		bulk_request_turn(link, index);
	}
	return placed;
}

/* A frame of a message that has begun. */
static int place_fragment(struct link *link, struct flow *flow, const struct wire *wire)
{
	uint32_t index = flow->rx.assembly;

	while (index != NO_RECORD) {
		struct assembly *assembly = assembly_at(link, index);
		uint32_t at = wire->sequence - assembly->first;

		if (at >= assembly->frames) {
			index = assembly->next;
			continue;
		}
		if (is_unannounced(assembly) && wire->announce &&
		    wire->length - wire->bytes == assembly->length &&
		    wire->offset == assembly->fragment)
			return place_announced(link, flow, index, wire);
		if (wire->length != assembly->length || assembly->announced ||
		    wire->announce || wire->messages != 1 ||
		    wire->offset != (uint64_t)at * assembly->fragment ||
		    wire->bytes != (at + 1 < assembly->frames ? assembly->fragment :
				    assembly->length - wire->offset))
			return NONSENSE;
		return write(link, flow, assembly, wire);
	}
	return NONSENSE;
}

/* Find the first frame of this frame's message, and the number of its frames: 1. A last fragment
 * does not say the length of the others, so the first frame is unknown: 0. */
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
	return at < WIRE_MOST_FRAMES && *frames <= WIRE_MOST_FRAMES;
}

/* Whether one of these frames is in the stash: then they are not one message. */
static int is_stashed(const struct link *link, const struct flow *flow, uint32_t first,
		      uint64_t frames)
{
	uint32_t index = flow->rx.stash;

	while (index != NO_RECORD) {
		const struct stash *stash = stash_at(link, index);

		if (stash->wire.sequence - first < frames)
			return 1;
		index = stash->next;
	}
	return 0;
}

/* A frame of a longer message that has not begun. */
static int place_first(struct link *link, struct flow *flow, const struct wire *wire)
{
	uint32_t first, index, n = 0;
	struct assembly *assembly;
	uint16_t *tail;
	uint64_t frames;
	int verdict;

	if (!locate(wire, &first, &frames) || first != flow->rx.begun) {
		count(link, LINK_EARLY);
		return REFUSED;
	}
	if (is_stashed(link, flow, first, frames))
		return NONSENSE;
	if (frames == 1 && first == flow->rx.expected && !wire->announce)
		return deliver(link, flow, wire);
	for (tail = &flow->rx.assembly; *tail != NO_RECORD; n++)
		tail = &assembly_at(link, *tail)->next;
	index = alloc_share(&link->assemblies, n);
	if (index == NO_RECORD) {
		count(link, LINK_REFUSED);
		return REFUSED;
	}
	assembly = assembly_at(link, index);
	verdict = link_port_begin(link->context, flow->node, flow_lane(flow), wire->message,
				   wire->length, &assembly->target);
	if (verdict == LINK_BUSY) {
		record_free(&link->assemblies, index);
		count(link, LINK_REFUSED);
		return REFUSED;
	}
	assembly->next = NO_RECORD;
	assembly->taken = verdict == LINK_TAKE;
	assembly->dropped = verdict == LINK_DROP;
	assembly->first = first;
	assembly->frames = (uint32_t)frames;
	assembly->fragment = wire->announce ? (uint32_t)wire->offset : wire->bytes;
	assembly->length = wire->announce ? wire->length - wire->bytes : wire->length;
	assembly->announced = wire->announce;
	assembly->flow = flow_index(link, flow);
	assembly->parts = assembly->received = assembly->granted = assembly->sent = 0;
	assembly->queued = assembly->passes = 0;
	if (assembly->taken)
		assembly->memory = bulk_memory(link, assembly, 0, assembly->length);
	*tail = (uint16_t)index;
	flow->rx.begun += (uint32_t)frames;
	return assembly->announced ? place_announced(link, flow, index, wire) :
		write(link, flow, assembly, wire);
}

/* Set bit 0 of the map of arrived frames: whether frame `expected` waits for its payload. */
static int set_waits(struct link *link, struct flow *flow)
{
	uint32_t index = flow->rx.assembly;
	int waits = index != NO_RECORD && assembly_waits(assembly_at(link, index)) &&
		assembly_at(link, index)->first == flow->rx.expected;

	flow->rx.arrived = (flow->rx.arrived & ~1ULL) | (uint64_t)waits;
	return waits;
}

/* `expected` has moved: end the flow's first message if it is complete now. */
static void end_first(struct link *link, struct flow *flow)
{
	uint32_t index = flow->rx.assembly;
	struct assembly *assembly;

	if (index == NO_RECORD)
		return;
	assembly = assembly_at(link, index);
	if (is_before(flow->rx.expected, assembly->first + assembly->frames))
		return;
	flow->rx.assembly = assembly->next;
	set_waits(link, flow);         /* link_port_end may send frames */
	count(link, LINK_MESSAGES_IN);
	if (!assembly->dropped)
		link_port_end(link->context, &assembly->target, 0);
	record_free(&link->assemblies, index);
}

void reassemble_lose(struct link *link, uint32_t index, uint32_t stash)
{
	while (index != NO_RECORD) {
		struct assembly *assembly = assembly_at(link, index);
		uint32_t next = assembly->next;

		if (!assembly->dropped)
			link_port_end(link->context, &assembly->target, 1);
		record_free(&link->assemblies, index);
		index = next;
	}
	while (stash != NO_RECORD) {
		uint32_t next = stash_at(link, stash)->next;

		stash_free(link, stash);
		stash = next;
	}
}

/* ---- frames ---- */

/* While an announced message waits for its payload, refused frames are not requested again. */
void reassemble_refuse(struct link *link, struct flow *flow, uint32_t sequence)
{
	flow->rx.refused |= 1ULL << (sequence - flow->rx.expected);
	/* During a turn records become free only as long messages end, which takes longer. */
	if (!flow_waits(flow))
		timer_ack(link, flow, link->bulk.flow == NO_FLOW ?
			  LINK_AGAIN_DELAY : LINK_LEAST_TIMEOUT);
}

/* Frame `expected` has arrived: move `expected` to the next missing frame, at most by a window, and
 * end messages. Returns REFUSED if the user was busy for a message from the stash. */
static int advance(struct link *link, struct flow *flow)
{
	while (!set_waits(link, flow)) {
		int more = flow->rx.arrived >> 1 & 1;

		flow->rx.arrived = flow->rx.arrived >> 1 & ~1ULL;
		flow->rx.refused >>= 1;
		flow->rx.expected++;
		flow->rx.window--;
		end_first(link, flow);
		if (!more)
			return ACCEPTED;
		/* This frame has arrived but its message has not begun: it is in the stash. If it
		 * is refused now, it counts as not arrived, and the peer sends it again. */
		if (flow->rx.expected == flow->rx.begun && unstash(link, flow) == REFUSED)
			return REFUSED;
	}
	return ACCEPTED;
}

/* A frame has been accepted, and is in the map: advance if it is the expected one, and acknowledge
 * it. */
static void accept_frame(struct link *link, struct flow *flow)
{
	int is_refused = flow->rx.arrived & 1 && advance(link, flow) == REFUSED;

	if (is_refused)
		reassemble_refuse(link, flow, flow->rx.expected);
	/* Refused frames may come now: request them at once. A gap, too, is reported at once. */
	if ((!is_refused && flow->rx.refused && !flow_waits(flow)) ||
	    flow->rx.arrived & (flow->rx.arrived + 1))
		frame_ack(link, flow);
	else
		reassemble_acknowledge(link, flow);
}

void reassemble_payload_whole(struct link *link, struct flow *flow)
{
	if (!flow_waits(flow) || assembly_waits(assembly_at(link, flow->rx.assembly)))
		return;
	flow->rx.unacked++;
	flow->rx.flags |= RX_WAITER;
	accept_frame(link, flow);
}

void reassemble(struct link *link, struct flow *flow, const struct wire *wire)
{
	uint32_t at = wire->sequence - flow->rx.expected;
	int placed;

	if (is_before(wire->sequence, flow->rx.expected) ||
	    (at < MAPPED && flow->rx.arrived >> at & 1)) {
		count(link, LINK_DUPLICATES);
		if (flow_waits(flow))
			bulk_request_turn(link, flow->rx.assembly);
		frame_ack(link, flow);
		return;
	}
	if (at >= flow->rx.window) {
		count(link, LINK_OUTSIDE);
		return;
	}
	if (at >= MAPPED) {
		count(link, LINK_EARLY);
		return;
	}
	flow_count_sender(link, flow);
	if (is_before(wire->sequence, flow->rx.begun))
		placed = place_fragment(link, flow, wire);
	else if (wire->length <= LINK_WHOLE_BYTES) /* also in each batch */
		placed = place_short(link, flow, wire);
	else
		placed = place_first(link, flow, wire);

	if (placed == NONSENSE) {
		count(link, LINK_NONSENSE);
		return;
	}
	if (placed == REFUSED) {
		reassemble_refuse(link, flow, wire->sequence);
		return;
	}
	flow->rx.unacked += !wire->announce; /* an announcement counts when its payload is there */
	flow->rx.arrived |= 1ULL << at;
	if (wire->messages == 1 && !wire->announce && wire->bytes > LINK_FAST_BYTES)
		flow->rx.flags |= RX_WAITER;
	accept_frame(link, flow);
}
