/*
 * Long messages, the receiver: parts that land in the granted buffers, repair when another part
 * landed there, and the timer of a turn. Data: struct bulk, and the fields of struct assembly for
 * parts. See docs/wire.md.
 *
 * The card fills buffers in the order in which they were posted. So after a lost frame each part
 * lands in the buffer of the part before it. A frame says which part it carries. If buffers share
 * memory, the first misplaced part withdraws all of them; then they are posted again, so that no two
 * do (`lossy`). A misplaced part stays where it landed until its own buffer is no longer posted, and
 * is then moved there. A lost part is granted again when a later one arrives.
 * It lands in the last buffer that was posted by then. Now these buffers form a circle: each holds
 * the part of another one. The part that landed last is copied to memory that is set aside, which
 * breaks the circle. Then the others are moved, one after the other.
 * What another node writes meanwhile may go to memory of the message in which a misplaced part lies: a
 * move would carry it to a place where nothing but the part belongs. So if another node has written
 * anything since the buffer was posted, nothing is moved: all buffers are withdrawn, and the parts
 * come again.
 * A lost part that is longer than the last posted buffer would be cut there, and lost again. Then, too,
 * all buffers are withdrawn, and the parts come again in order.
 * A frame that is not an expected part leaves its buffer free. If the buffer's own part has arrived
 * in another buffer, it is moved here; otherwise the buffer is posted again.
 */
#include "bulk.h"
#include "../port.h"

#define RESEND_TRIES  2u           /* timeouts before parts that were sent are sent again */
#define MOST_TRIES    5u           /* timeouts that end the turn */
#define LOSSY_PARTS   512u         /* parts to land in place before buffers may share memory */
#define MOST_TRIP     100000000u   /* ns: longest trip or gap that is measured */
#define NO_PART       BULK_BUFFERS /* in place of a buffer's index: not an expected part */

/* An average after one more sample, which counts an eighth; 0: there was none before. */
static uint32_t smoothed(uint32_t ns, uint64_t sample)
{
	if (sample > MOST_TRIP)
		sample = MOST_TRIP;
	return ns ? (uint32_t)((7ull * ns + sample) / 8) : (uint32_t)sample;
}

/* A new part of this turn has arrived: measure, and restart the timer. The first part after a grant
 * measures the trip, if it was sent once (Karn's rule). After a timeout the time of a lost grant may
 * be included: that counts only if no trip is known. */
static void progress(struct link *link, int again)
{
	struct bulk *bulk = &link->bulk;

	if (!bulk->granted_at)
		bulk->gap = smoothed(bulk->gap, link->now - bulk->landed_at);
	else if (!again && (bulk->tries == 0 || bulk->trip == 0))
		bulk->trip = smoothed(bulk->trip, link->now - bulk->granted_at);
	bulk->granted_at = 0;
	bulk->landed_at = link->now;
	bulk->tries = 0;
	bulk->at = link->now + bulk_timeout(link);
}

/* Free the oldest buffers, as far as their parts are in place, and end complete messages. */
static void advance(struct link *link)
{
	struct bulk *bulk = &link->bulk;

	while (granted(bulk)) {
		uint32_t index = bulk->oldest % BULK_BUFFERS;
		struct assembly *assembly = assembly_at(link, bulk->buffers[index].assembly);

		if (bulk->buffers[index].at != index)
			return;
		bulk->oldest++;
		if (++assembly->received == assembly->parts)
			reassemble_payload_whole(link, &link->flows[assembly->flow]);
	}
}

/* Withdraw all buffers. Parts that were not counted by advance() will be granted again. `sent`: the
 * sender may have sent some of them, so their next grant says AGAIN. */
static void withdraw(struct link *link, int sent)
{
	struct bulk *bulk = &link->bulk;

	if (posted(bulk)) {
		count(link, LINK_WITHDRAWN);
		link->bulk_nic->ops->withdraw(link->bulk_nic);
	}
	bulk->filled = bulk->posted;
	for (; granted(bulk); bulk->oldest++) {
		struct assembly *assembly =
			assembly_at(link, buffer_of(bulk, bulk->oldest)->assembly);

		if (sent && assembly->sent < assembly->granted)
			assembly->sent = assembly->granted;
		assembly->granted = assembly->received;
	}
}

static uint32_t buffer_bytes(const struct link *link, const struct buffer *buffer)
{
	return part_bytes(assembly_at(link, buffer->assembly), buffer->part);
}

/* Whether one of the last `n` posted buffers is too short for the part of this one. */
static int is_too_long(const struct link *link, const struct buffer *buffer, uint32_t n)
{
	const struct bulk *bulk = &link->bulk;
	uint32_t bytes = buffer_bytes(link, buffer);

	for (uint32_t i = bulk->posted - n; i != bulk->posted; i++)
		if (buffer_bytes(link, &bulk->buffers[bulk->ring[i % BULK_POSTED]]) < bytes)
			return 1;
	return 0;
}

/* Do without the parts that are not in place, or behind one that is not: all come again. */
static void give_back(struct link *link)
{
	advance(link);
	withdraw(link, 1);
	link->bulk.lossy = LOSSY_PARTS;
}

/* Grant missing parts again: those known to have been sent before the part of buffer number
 * `than`. `again`: the sender shall also send parts that it has sent before. If one of them is too
 * long for the last posted buffer, where it may land, all buffers are given back instead. */
static void grant_again(struct link *link, uint32_t than, int again)
{
	struct bulk *bulk = &link->bulk;
	uint32_t from = bulk->oldest, number = from;

	for (; number != bulk->next; number++) {
		struct buffer *buffer = buffer_of(bulk, number);

		if (buffer->at == PART_MISSING && !is_before(than, buffer->after)) {
			if (again && is_too_long(link, buffer, posted(bulk) ? 1 : 0)) {
				give_back(link);
				return;
			}
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

/* Grant all missing parts again: `after` is at most BULK_BUFFERS beyond `next`. */
static void grant_all_again(struct link *link, int again)
{
	grant_again(link, link->bulk.next + BULK_BUFFERS, again);
}

/* Let the first missing part be sent again. */
static void resend_first(struct link *link)
{
	struct bulk *bulk = &link->bulk;
	uint32_t number = first_missing(bulk);

	if (number == bulk->next)
		return;
	if (is_too_long(link, buffer_of(bulk, number), posted(bulk)))
		give_back(link);
	else
		bulk_send_grant(link, number, number + 1, 1);
}

/* ---- moves ---- */

/* Copy the part of this buffer to its place, from where it is now. */
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

/* Copy the part of this buffer to the memory that is set aside. */
static void set_aside(struct link *link, struct buffer *buffer)
{
	struct nic_piece pieces[NIC_BULK_PIECES];
	uint32_t n = bulk_place(link, &link->bulk.buffers[buffer->at], pieces), at = 0;

	for (uint32_t i = 0; i < n; at += pieces[i++].length)
		port_copy(link->bulk.aside + at, pieces[i].bytes, pieces[i].length);
	buffer->at = PART_ASIDE;
}

/* This buffer is free. Move its own part there, which frees another buffer. Continue with that
 * one. If a buffer's part has not arrived, post the buffer again; if that fails withdraw all. */
static void fill(struct link *link, uint32_t index)
{
	struct bulk *bulk = &link->bulk;

	for (;;) {
		struct buffer *buffer = &bulk->buffers[index];
		uint32_t from = buffer->at;

		if (from == PART_MISSING) {
			if (!bulk_post(link, buffer, 1))
				withdraw(link, 1);
			return;
		}
		move(link, buffer);
		buffer->at = (uint8_t)index;
		if (from == PART_ASIDE)
			return;
		index = from;
	}
}

/* Whether this buffer is one of a circle: the part of each is in the next, and none is posted. */
static int is_circle(const struct bulk *bulk, uint32_t index)
{
	uint32_t at = index;

	do
		at = bulk->buffers[at].at;
	while (at != index && at < BULK_BUFFERS);
	return at == index;
}

/* Whether other nodes may have written to a buffer while it held the part of another one. */
static int is_spoilt(const struct bulk *bulk)
{
	for (uint32_t number = bulk->oldest; number != bulk->next; number++) {
		uint32_t index = number % BULK_BUFFERS, at = bulk->buffers[index].at;

		if (at != index && at < BULK_BUFFERS && bulk->buffers[at].others != bulk->others)
			return 1;
	}
	return 0;
}

/* ---- what lands ---- */

/* The index of the buffer for this frame's part; NO_PART: the part is not expected. */
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

/* The same for a frame that landed in buffer `index`. It must be a valid frame of the flow that has
 * the turn. */
static uint32_t find_landed(struct link *link, const uint8_t *header, uint32_t bytes,
			    uint32_t index, struct wire *wire)
{
	const struct flow *flow = &link->flows[link->bulk.flow];
	struct nic_piece pieces[NIC_BULK_PIECES];
	uint32_t all = bulk_place(link, &link->bulk.buffers[index], pieces), n = 0, left;

	/* Frames of other kinds may have longer headers than `header` holds. */
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

/* The part of a buffer has arrived. `again`: it was sent more than once. If it was sent once and is
 * not the oldest missing part, earlier ones that were sent before it are lost. If a timeout has
 * requested it, all other missing parts were sent before it, and are lost. */
static void arrive(struct link *link, uint32_t part, int again)
{
	struct bulk *bulk = &link->bulk;
	uint32_t number = bulk->oldest + (part - bulk->oldest) % BULK_BUFFERS;

	if (!again && number != bulk->oldest)
		grant_again(link, number, 1);
	else if (again && bulk->tries >= RESEND_TRIES)
		grant_all_again(link, 1);
	progress(link, again);
}

/* The card has filled the oldest posted buffer. */
static void land(struct link *link, const uint8_t *header, uint32_t bytes)
{
	struct bulk *bulk = &link->bulk;
	uint32_t index = bulk->ring[bulk->filled % BULK_POSTED], part;
	struct buffer *buffer = &bulk->buffers[index];
	struct wire wire;

	part = find_landed(link, header, bytes, index, &wire);
	count(link, part == index ? LINK_PLACED : LINK_MISPLACED);
	if (part != index && !bulk->lossy && bulk_memory_is_shared(link)) {
		/* once a part has come the others may be under way */
		withdraw(link, part != NO_PART || !bulk->granted_at);
		bulk->lossy = LOSSY_PARTS;
		return;
	}
	if (is_spoilt(bulk) || (part != index && part != NO_PART && buffer->others != bulk->others)) {
		give_back(link);
		return;
	}
	if (part != index)
		bulk->lossy = LOSSY_PARTS;
	else if (bulk->lossy && index == bulk->oldest % BULK_BUFFERS)
		bulk->lossy--;
	bulk->filled++;
	if (part == NO_PART) {
		fill(link, index);
	} else {
		bulk->buffers[part].at = (uint8_t)index;
		if (part != index && is_circle(bulk, index)) {
			set_aside(link, &bulk->buffers[part]);
			fill(link, index);
		}
		arrive(link, part, wire.again);
	}
	advance(link);
}

void link_landed(struct link *link, uint64_t now, const uint8_t *header, uint32_t bytes)
{
	link->now = now;
	link->transmitting = 1;               /* as in link_receive */
	if (!header)
		withdraw(link, 1);            /* the card has reset itself */
	else if (posted(&link->bulk))
		land(link, header, bytes);
	else
		count(link, LINK_MISPLACED);
	bulk_run(link, 1);
	link->transmitting = 0;
	transmit(link);
}

void bulk_accept_part(struct link *link, struct flow *flow, const struct wire *wire)
{
	struct bulk *bulk = &link->bulk;
	uint32_t part = NO_PART;
	struct buffer *buffer;

	if (bulk->flow == flow_index(link, flow) && bulk->copied)
		part = find(link, wire);
	if (part == NO_PART) {
		count(link, LINK_DUPLICATES);
		return;
	}
	count(link, LINK_COPIED);
	buffer = &bulk->buffers[part];
	link_port_data(link->context, &assembly_at(link, buffer->assembly)->target,
		       (uint64_t)wire->part * assembly_at(link, buffer->assembly)->fragment,
		       wire->payload, wire->bytes);
	buffer->at = (uint8_t)part;
	arrive(link, part, wire->again);
	advance(link);
}

/* ---- time, and the end of a peer ---- */

/* Each part that lands restarts the timer. So a peer that sends few and late could keep its turn:
 * while others wait, a timeout ends a turn that takes long. */
static int is_slow(const struct link *link)
{
	const struct bulk *bulk = &link->bulk;

	return bulk->first != NO_RECORD &&
	       link->now - bulk->shared_from >= LINK_MOST_TIMEOUT << bulk->backoff;
}

void bulk_tick(struct link *link)
{
	struct bulk *bulk = &link->bulk;

	if (++bulk->tries == MOST_TRIES || is_slow(link)) {
		withdraw(link, 1);
		bulk_pass(link);
	} else if (is_spoilt(bulk)) {
		give_back(link);
		bulk->at = link->now + bulk_timeout(link);
	} else {
		/* Nothing later shows the loss of a part that waits alone, and to send it again
		 * costs little. */
		if (bulk->tries >= RESEND_TRIES || posted(bulk) == 1)
			resend_first(link);
		else
			grant_all_again(link, 0);
		bulk->at = link->now + bulk_timeout(link);
	}
	bulk_run(link, 0);
}

void bulk_lose(struct link *link, struct flow *flow)
{
	struct bulk *bulk = &link->bulk;
	uint32_t index = flow->rx.assembly;

	if (bulk->flow == flow_index(link, flow)) {
		withdraw(link, 0);
		bulk->flow = NO_FLOW;
		bulk->at = LINK_NEVER;
		bulk->deferred = 0;
	}
	for (; index != NO_RECORD; index = assembly_at(link, index)->next)
		if (assembly_at(link, index)->queued)
			bulk_leave_queue(link, index);
}
