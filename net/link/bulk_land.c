/*
 * Long messages, the receiver: what lands in the rooms that are granted, repair when
 * that is something else, and the timer of a turn. A part is there when its own
 * frame has landed in its room, or has come to the ordinary card (bulk_pulled). When
 * another frame has landed, or none, all rooms are taken back, and what is under way
 * lands where it does no harm up to a mark; then what is missing is granted again. Data:
 * struct bulk and the assemblies' fields for parts. See link.h.
 */
#include "bulk.h"

#define LEAST_ROOMS   16u          /* may be posted, however often parts go astray */
#define JUNK_ROOMS    8u           /* posted while what is astray runs out */
#define GRANT_TRIES   2u           /* timers, then the rooms are taken back */
#define DRAIN_TRIES   3u
#define PULL_TRIES    4u
#define FAILURE       2u           /* added for a turn that went astray */
#define MOST_FAILURES 16u
#define MOST_TRIP     100000000u   /* ns */

/* ---- what lands ---- */

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

static void finish(struct link *link, struct assembly *assembly, uint64_t now)
{
	assembly->whole = 1;
	reassemble_payload_whole(link, &link->flows[assembly->flow], now);
}

/* The rooms are no longer posted; what was to land in them is missing. */
static void forget_rooms(struct link *link)
{
	struct bulk *bulk = &link->bulk;

	for (; posted(bulk) && bulk->state == BULK_GRANTED; bulk->filled++) {
		struct assembly *assembly =
			assembly_at(link, bulk->rooms[bulk->filled % BULK_ROOMS].assembly);

		assembly->granted = assembly->received;
	}
	bulk->junk = 0;
}

static void take_back(struct link *link)
{
	count(link, LINK_TAKEN_BACK);
	link->bulk.nic->ops->take_back(link->bulk.nic);
	forget_rooms(link);
}

/* What is under way to the bulk card shall land where it does no harm, up to a mark. */
static void drain(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	struct wire wire = { .over = 1 };

	bulk_release(link);
	bulk->state = BULK_DRAIN;
	bulk->turn++;
	bulk->granted_at = 0;
	while (bulk->junk < JUNK_ROOMS && bulk->nic->ops->post(bulk->nic, 0, 0, 1) == NIC_OK)
		bulk->junk++;
	bulk_tell(link, &wire, now);
}

/* A room is lost to a frame that is not its own, or its own does not come. */
static void astray(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;

	take_back(link);
	bulk->failures = bulk->failures + FAILURE < MOST_FAILURES ?
		(uint8_t)(bulk->failures + FAILURE) : (uint8_t)MOST_FAILURES;
	bulk->limit = bulk->limit / 2 > LEAST_ROOMS ? bulk->limit / 2 :
		least_of(LEAST_ROOMS, bulk->most);
	bulk->landed = 0;
	bulk->tries = 0;
	drain(link, now);
}

/* Whether a frame of the bulk card is of this turn and of the flow that has it. */
static int is_of_turn(const struct link *link, const uint8_t *header, uint32_t bytes,
		      const struct nic_piece *pieces, uint32_t n, struct wire *wire)
{
	const struct flow *flow = &link->flows[link->bulk.flow];
	uint32_t kind = bytes < WIRE_HEADER ? 0 : header[WIRE_KIND] & WIRE_KIND_MASK;

	/* Of other kinds there may be more header than there is here. */
	return kind == WIRE_KIND_BULK &&
	       wire_read_apart(header, bytes, link->config.node, link->key, pieces, n,
			       wire) == WIRE_OK &&
	       wire->node == flow->node && wire->lane == flow_lane(flow) &&
	       wire->source == flow->theirs && wire->destination == flow->mine &&
	       wire->turn == link->bulk.turn;
}

static void land(struct link *link, const uint8_t *header, uint32_t bytes, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	const struct room *room = &bulk->rooms[bulk->filled % BULK_ROOMS];
	struct assembly *assembly = assembly_at(link, room->assembly);
	struct nic_piece pieces[NIC_BULK_PIECES];
	uint32_t length, n = bulk_place(link, assembly, room->part, pieces, &length);
	struct wire wire;

	if (bytes != WIRE_HEADER + length ||
	    !is_of_turn(link, header, bytes, pieces, n, &wire) ||
	    wire.over || wire.sequence != assembly->first ||
	    wire.part != room->part) {
		count(link, LINK_ASTRAY);
		astray(link, now);
		return;
	}
	count(link, LINK_PLACED);
	bulk->filled++;
	if (bulk->limit < bulk->most && ++bulk->landed >= bulk->limit) {
		bulk->limit++;
		bulk->landed = 0;
	}
	assembly->received++;
	progress(link, now);
	if (assembly->received == assembly->parts) {
		bulk->failures -= bulk->failures > 0;
		finish(link, assembly, now);
	}
	if (posted(bulk) == 0)
		bulk_release(link);
}

/* While what is astray runs out. */
static void land_junk(struct link *link, const uint8_t *header, uint32_t bytes, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	struct wire wire;

	bulk->junk -= bulk->junk > 0;
	if (is_of_turn(link, header, bytes, 0, 0, &wire) && wire.over) {
		take_back(link);
		bulk_begin_rooms(link);
		progress(link, now);
		return;
	}
	count(link, LINK_ASTRAY);
	if (bulk->nic->ops->post(bulk->nic, 0, 0, 1) == NIC_OK)
		bulk->junk++;
}

void link_landed(struct link *link, uint64_t now, const uint8_t *header, uint32_t bytes)
{
	struct bulk *bulk = &link->bulk;

	link->now = now;
	if (bulk->state == BULK_GRANTED && posted(bulk)) {
		if (header)
			land(link, header, bytes, now);
		else
			astray(link, now);
	} else if (bulk->state == BULK_DRAIN) {
		if (header)
			land_junk(link, header, bytes, now);
		else
			bulk->junk = 0;  /* the timer posts others */
	} else if (header) {
		count(link, LINK_ASTRAY);
	}
	bulk_run_landed(link, now);
	transmit(link, now);
}

void bulk_pulled(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now)
{
	uint32_t index = lacking(link, flow->rx.assembly), at, bytes;
	struct assembly *assembly;
	struct bulk *bulk = &link->bulk;

	if (bulk->state != BULK_PULLED || bulk->flow != flow_index(link, flow) ||
	    index == NO_RECORD) {
		count(link, LINK_DUPLICATES);
		return;
	}
	assembly = assembly_at(link, index);
	at = wire->part - assembly->received;
	if (wire->sequence != assembly->first || at >= assembly->granted - assembly->received ||
	    assembly->pulled >> at & 1) {
		count(link, LINK_DUPLICATES);
		return;
	}
	bytes = wire->part + 1 < assembly->parts ? assembly->fragment :
		(uint32_t)(assembly->length - (uint64_t)wire->part * assembly->fragment);
	if (wire->bytes != bytes) {
		count(link, LINK_NONSENSE);
		return;
	}
	count(link, LINK_PULLED);
	link_port_data(link->context, &assembly->target,
			(uint64_t)wire->part * assembly->fragment, wire->payload, bytes);
	progress(link, now);
	assembly->pulled |= 1u << at;
	for (; assembly->pulled & 1; assembly->pulled >>= 1)
		assembly->received++;
	if (assembly->received < assembly->granted) {
		/* The last has come, some before it have not. */
		if (wire->part + 1 == assembly->granted)
			bulk_pull(link, index, now);
		return;
	}
	bulk->failures -= bulk->failures > 0;
	bulk_begin_rooms(link);
	if (assembly->received == assembly->parts)
		finish(link, assembly, now);
}

/* ---- time, and the end of a peer ---- */

void bulk_tick(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;

	bulk->tries++;
	if (bulk->state == BULK_GRANTED) {
		if (bulk->tries < GRANT_TRIES && posted(bulk))
			bulk_tell_rooms(link, now);
		else
			astray(link, now);
	} else if (bulk->state == BULK_DRAIN) {
		if (bulk->tries < DRAIN_TRIES) {
			drain(link, now);
		} else {
			take_back(link);
			bulk_pass(link);
		}
	} else if (bulk->state == BULK_PULLED) {
		if (bulk->tries < PULL_TRIES)
			bulk_pull(link, lacking(link, link->flows[bulk->flow].rx.assembly), now);
		else
			bulk_pass(link);
	}
	bulk_run(link, now);
}

void bulk_lose(struct link *link, struct flow *flow)
{
	struct bulk *bulk = &link->bulk;
	uint32_t index = flow->rx.assembly;

	if (bulk->state != BULK_NONE && bulk->flow == flow_index(link, flow)) {
		if (bulk->state != BULK_PULLED)
			take_back(link);
		bulk->state = BULK_NONE;
		bulk->at = LINK_NEVER;
		bulk->held = 0;
	}
	for (; index != NO_RECORD; index = assembly_at(link, index)->next)
		if (assembly_at(link, index)->announced && assembly_at(link, index)->queued)
			bulk_leave_queue(link, index);
}
