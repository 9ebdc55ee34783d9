/*
 * Long messages, the receiver: what lands in the buffers that are granted, repair when that is
 * not what belongs there, and the timer of a turn. Data: struct bulk and the assemblies' fields
 * for parts. See link.h.
 *
 * The card fills buffers in the order in which they were posted; so behind a lost frame each part
 * lands in the buffer of the one before it. Frames name their part. At first all buffers are taken
 * back, and posted anew such that no two share memory (`lossy`). From then on a part that is
 * misplaced stays where it landed until its own buffer is no longer posted; then it is moved
 * there. A lost part is granted again when a later one arrives, and lands in the last of the
 * buffers that were posted by then. With it all of them are filled, each holds the part of
 * another, and all move, one behind the other, the last one by way of memory that is set aside.
 * What lands and is no part that is awaited leaves its buffer free: that holds the part
 * that belongs there, if it has arrived, else it is posted again.
 */
#include "bulk.h"
#include "../port.h"

#define RESEND_TRIES  2u           /* timeouts before parts that were sent are sent again */
#define MOST_TRIES    5u           /* then the turn is over */
#define LOSSY_PARTS   512u         /* that land in their place before buffers may share memory */
#define MOST_TRIP     100000000u   /* ns */
#define NO_PART       BULK_BUFFERS

/* Something new of this turn has come. */
static void progress(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;

	if (bulk->granted_at) {
		uint64_t sample = now - bulk->granted_at;

		if (sample > MOST_TRIP)
			sample = MOST_TRIP;
		bulk->trip = bulk->trip ? (uint32_t)((7ull * bulk->trip + sample) / 8) :
			(uint32_t)sample;
		bulk->granted_at = 0;
	}
	bulk->tries = 0;
	bulk->at = now + bulk_timeout(link);
}

/* Parts that are in their place, and all before them, count; messages end. */
static void advance(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;

	while (granted(bulk)) {
		uint32_t index = bulk->oldest % BULK_BUFFERS;
		struct assembly *assembly = assembly_at(link, bulk->buffers[index].assembly);

		if (bulk->buffers[index].at != index)
			return;
		bulk->oldest++;
		if (++assembly->received == assembly->parts) {
			assembly->whole = 1;
			reassemble_payload_whole(link, &link->flows[assembly->flow], now);
		}
	}
}

/* No buffer is posted any more; what is not in its place is missing. */
static void take_back(struct link *link)
{
	struct bulk *bulk = &link->bulk;

	if (posted(bulk)) {
		count(link, LINK_TAKEN_BACK);
		bulk->nic->ops->take_back(bulk->nic);
	}
	bulk->filled = bulk->posted;
	for (; granted(bulk); bulk->oldest++) {
		struct assembly *assembly =
			assembly_at(link, buffer_of(bulk, bulk->oldest)->assembly);

		assembly->granted = assembly->received;
	}
}

/* Grant once more what is missing. With `again`: of that the parts that were sent before the one
 * with number `than`, as far as is known. */
static void grant_again(struct link *link, uint32_t than, int again)
{
	struct bulk *bulk = &link->bulk;
	uint32_t from = bulk->oldest, number = from;

	for (; number != bulk->next; number++) {
		struct buffer *buffer = buffer_of(bulk, number);

		if (buffer->at == PART_MISSING && !is_before(than, buffer->after)) {
			if (again)
				buffer->after = bulk->next;
			continue;
		}
		if (from != number)
			bulk_send_grant(link, from, number, again);
		from = number + 1;
	}
	if (from != number)
		bulk_send_grant(link, from, number, again);
}

/* ---- moves ---- */

/* The part of this buffer comes to its place, from where it lies. */
static void move(struct link *link, struct buffer *buffer)
{
	struct assembly *assembly = assembly_at(link, buffer->assembly);
	uint32_t left = part_bytes(assembly, buffer->part);
	uint64_t at = (uint64_t)buffer->part * assembly->fragment;
	struct nic_piece pieces[NIC_BULK_PIECES] = { { link->bulk.aside, left } };
	uint32_t n = 1;

	if (buffer->at != PART_ASIDE)
		n = bulk_place(link, &link->bulk.buffers[buffer->at], pieces);
	for (uint32_t i = 0; i < n && left; i++) {
		uint32_t bytes = pieces[i].length < left ? pieces[i].length : left;

		link_port_data(link->context, &assembly->target, at, pieces[i].bytes, bytes);
		at += bytes;
		left -= bytes;
	}
	count(link, LINK_MOVED);
}

static void set_aside(struct link *link, struct buffer *buffer)
{
	struct nic_piece pieces[NIC_BULK_PIECES];
	uint32_t n = bulk_place(link, &link->bulk.buffers[buffer->at], pieces), at = 0;

	for (uint32_t i = 0; i < n; at += pieces[i++].length)
		port_copy(link->bulk.aside + at, pieces[i].bytes, pieces[i].length);
	buffer->at = PART_ASIDE;
}

/* Nothing lies in this buffer: what belongs there comes, then to where that was, and so on. */
static void fill(struct link *link, uint32_t index)
{
	struct bulk *bulk = &link->bulk;

	for (;;) {
		struct buffer *buffer = &bulk->buffers[index];
		uint32_t from = buffer->at;

		buffer->holds = BUFFER_FREE;
		if (from == PART_MISSING) {
			bulk_post(link, buffer, 1);    /* or else by the timer */
			return;
		}
		move(link, buffer);
		buffer->at = buffer->holds = (uint8_t)index;
		if (from == PART_ASIDE)
			return;
		index = from;
	}
}

/* Each of these buffers holds the part of another, and none is posted. */
static int is_circle(const struct bulk *bulk, uint32_t index)
{
	uint32_t at = index;

	do
		at = bulk->buffers[at].holds;
	while (at != index && at < BULK_BUFFERS);
	return at == index;
}

/* ---- what lands ---- */

/* Of which buffer this frame brings the part; NO_PART: it is none that is awaited. */
static uint32_t find(struct link *link, const struct wire *wire)
{
	struct bulk *bulk = &link->bulk;

	for (uint32_t number = bulk->oldest; number != bulk->next; number++) {
		const struct buffer *buffer = buffer_of(bulk, number);
		const struct assembly *assembly = assembly_at(link, buffer->assembly);

		if (buffer->at == PART_MISSING && assembly->first == wire->sequence &&
		    buffer->part == wire->part &&
		    wire->bytes == part_bytes(assembly, buffer->part))
			return number % BULK_BUFFERS;
	}
	return NO_PART;
}

/* The same of a frame in the buffer at `index`, once it is known to be one of the flow's. */
static uint32_t find_landed(struct link *link, const uint8_t *header, uint32_t bytes,
			    uint32_t index, struct wire *wire)
{
	const struct flow *flow = &link->flows[link->bulk.flow];
	struct nic_piece pieces[NIC_BULK_PIECES];
	uint32_t all = bulk_place(link, &link->bulk.buffers[index], pieces), n = 0, left;

	/* Of other kinds there may be more header than there is here. */
	if (bytes < WIRE_HEADER || (header[WIRE_KIND] & WIRE_KIND_MASK) != WIRE_KIND_BULK)
		return NO_PART;
	for (left = bytes - WIRE_HEADER; n < all && left; left -= pieces[n++].length)
		if (pieces[n].length > left)
			pieces[n].length = left;
	if (left || wire_read_apart(header, bytes, link->config.node, link->key, pieces, n,
				    wire) != WIRE_OK)
		return NO_PART;
	return wire->node == flow->node && wire->lane == flow_lane(flow) &&
	       wire->source == flow->theirs && wire->destination == flow->mine ?
		find(link, wire) : NO_PART;
}

/* This part has arrived in its turn, or an earlier one sent before it is lost. */
static void arrive(struct link *link, uint32_t part, int again, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	uint32_t number = bulk->oldest + (part - bulk->oldest) % BULK_BUFFERS;

	if (!again && number != bulk->oldest)
		grant_again(link, number, 1);
	progress(link, now);
}

static void land(struct link *link, const uint8_t *header, uint32_t bytes, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	uint32_t index = bulk->ring[bulk->filled % BULK_POSTED], part;
	struct buffer *buffer = &bulk->buffers[index];
	struct wire wire;

	part = find_landed(link, header, bytes, index, &wire);
	count(link, part == index ? LINK_PLACED : LINK_MISPLACED);
	if (part != index && !bulk->lossy) {
		take_back(link);
		bulk->lossy = LOSSY_PARTS;
		return;
	}
	if (part != index)
		bulk->lossy = LOSSY_PARTS;
	else if (bulk->lossy && index == bulk->oldest % BULK_BUFFERS)
		bulk->lossy--;
	bulk->filled++;
	buffer->holds = (uint8_t)part;
	if (part == NO_PART) {
		fill(link, index);
	} else {
		bulk->buffers[part].at = (uint8_t)index;
		if (part != index && is_circle(bulk, index)) {
			set_aside(link, &bulk->buffers[part]);
			fill(link, index);
		}
		arrive(link, part, wire.again, now);
	}
	advance(link, now);
}

void link_landed(struct link *link, uint64_t now, const uint8_t *header, uint32_t bytes)
{
	link->now = now;
	if (!header)
		take_back(link);               /* the card has reset itself */
	else if (posted(&link->bulk))
		land(link, header, bytes, now);
	else
		count(link, LINK_MISPLACED);
	bulk_run_landed(link, now);
	transmit(link, now);
}

void bulk_pulled(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	uint32_t part = NO_PART;
	struct buffer *buffer;

	if (bulk->state != BULK_NONE && bulk->copied && granted(bulk) &&
	    bulk->flow == flow_index(link, flow))
		part = find(link, wire);
	if (part == NO_PART) {
		count(link, LINK_DUPLICATES);
		return;
	}
	count(link, LINK_PULLED);
	buffer = &bulk->buffers[part];
	link_port_data(link->context, &assembly_at(link, buffer->assembly)->target,
		       (uint64_t)wire->part * assembly_at(link, buffer->assembly)->fragment,
		       wire->payload, wire->bytes);
	buffer->at = (uint8_t)part;
	arrive(link, part, wire->again, now);
	advance(link, now);
}

/* ---- time, and the end of a peer ---- */

void bulk_tick(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;

	if (++bulk->tries == MOST_TRIES) {
		take_back(link);
		bulk_pass(link);
	} else {
		for (uint32_t number = bulk->oldest; number != bulk->next; number++)
			if (!bulk->copied && buffer_of(bulk, number)->holds == BUFFER_FREE)
				fill(link, number % BULK_BUFFERS);
		grant_again(link, bulk->next, bulk->tries >= RESEND_TRIES);
		bulk->at = now + bulk_timeout(link);
		bulk->granted_at = 0;
	}
	bulk_run(link, now);
}

void bulk_lose(struct link *link, struct flow *flow)
{
	struct bulk *bulk = &link->bulk;
	uint32_t index = flow->rx.assembly;

	if (bulk->state != BULK_NONE && bulk->flow == flow_index(link, flow)) {
		take_back(link);
		bulk->state = BULK_NONE;
		bulk->at = LINK_NEVER;
		bulk->deferred = 0;
	}
	for (; index != NO_RECORD; index = assembly_at(link, index)->next)
		if (assembly_at(link, index)->announced && assembly_at(link, index)->queued)
			bulk_leave_queue(link, index);
}
