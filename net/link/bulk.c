/*
 * Long messages, the receiver: whose turn it is to send its parts, rooms on the
 * bulk card for them, and what is done when something else lands in a room. Data:
 * struct bulk and the assemblies' fields for parts. All rooms are those of the flow
 * whose turn it is, in the order of its parts; a part is there when its own frame
 * has landed in its room, or has come to the ordinary card. An operation ends, and a
 * peer is lost, only when no room of theirs is posted. See link.h.
 */
#include "state.h"

#define SHARE_PARTS   32u          /* of a turn, while others wait */
#define PULL_PARTS    16u          /* asked for at once on the ordinary card */
#define LEAST_ROOMS   16u          /* may be posted, however often parts go astray */
#define JUNK_ROOMS    8u           /* posted while what is astray runs out */
#define LEAST_UNTOLD  16u          /* rooms between two of which the card tells at once */
#define MOST_UNTOLD   24u          /* ... where no message ends */
#define FEW_ROOMS     8u           /* posted: time for more */
#define GRANT_TRIES   2u           /* timers, then the rooms are taken back */
#define DRAIN_TRIES   3u
#define PULL_TRIES    4u
#define FAILURE       2u           /* added for a turn that went astray */
#define MOST_FAILURES 16u
#define BAD_FAILURES  6u           /* from then on parts are pulled, which takes one off each */
#define MOST_TRIP     100000000u   /* ns */
#define MOST_PASSES   8u           /* times that the wait for another turn doubles */

static uint32_t posted(const struct bulk *bulk)
{
	return bulk->posted - bulk->filled;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static struct assembly *assembly_at(const struct link *link, uint32_t index)
{
	return record_at(&link->assemblies, index);
}

/* The flow's first message, from this one on, that lacks parts; NO_RECORD: none does. */
static uint32_t lacking(const struct link *link, uint32_t index)
{
	while (index != NO_RECORD) {
		const struct assembly *assembly = assembly_at(link, index);

		if (assembly->announced && !assembly->whole)
			break;
		index = assembly->next;
	}
	return index;
}

static uint64_t timeout_of(const struct link *link)
{
	uint64_t ns = link->config.least_timeout + 2ull * link->bulk.trip;

	ns <<= link->bulk.tries;
	return ns < link->config.most_timeout ? ns : link->config.most_timeout;
}

/* ---- who waits ---- */

void bulk_want(struct link *link, uint32_t index)
{
	struct assembly *assembly = assembly_at(link, index);
	struct bulk *bulk = &link->bulk;
	uint32_t other = link->flows[assembly->flow].assembly;

	if (bulk->state != BULK_NONE && bulk->flow == assembly->flow)
		return;
	for (; other != NO_RECORD; other = assembly_at(link, other)->next) {
		const struct assembly *first = assembly_at(link, other);

		if (first->announced && !first->whole &&
		    (first->queued ||
		     (first->passes && !is_due(first->again_at, units(link->now)))))
			return;
	}
	assembly->queued = 1;
	assembly->turn_next = NO_RECORD;
	if (bulk->first == NO_RECORD)
		bulk->first = (uint16_t)index;
	else
		assembly_at(link, bulk->last)->turn_next = (uint16_t)index;
	bulk->last = (uint16_t)index;
}

static void leave_queue(struct link *link, uint32_t index)
{
	struct bulk *bulk = &link->bulk;
	uint16_t *at = &bulk->first, before = NO_RECORD;

	while (*at != index) {
		before = *at;
		at = &assembly_at(link, before)->turn_next;
	}
	*at = assembly_at(link, index)->turn_next;
	if (bulk->last == index)
		bulk->last = before;
	assembly_at(link, index)->queued = 0;
}

/*
 * What a turn brings while others wait is acknowledged and answered when its rooms are
 * full: who gets all of that at once has to wake but once, and then announces as many
 * messages more.
 */
static void hold(struct link *link)
{
	struct flow *flow = &link->flows[link->bulk.flow];

	if (link->bulk.first != NO_RECORD && flow_lane(flow) == LINK_REQUESTS)
		link->bulk.held = flow_other(flow);
}

static void release(struct link *link)
{
	struct flow *held = link->bulk.held;

	link->bulk.held = 0;
	if (!held)
		return;
	if (flow_other(held)->unacked)
		send_ack(link, flow_other(held), link->now);
	send_ready(link, held);
}

static void end_turn(struct link *link, int again)
{
	struct bulk *bulk = &link->bulk;
	struct flow *flow = &link->flows[bulk->flow];
	uint32_t index = lacking(link, flow->assembly);

	release(link);
	bulk->state = BULK_NONE;
	bulk->at = LINK_NEVER;
	if (flow->unacked)
		timer_ack(link, flow, units(link->now), link->config.ack_delay);
	if (again && index != NO_RECORD)
		bulk_want(link, index);
}

/* Nothing comes: others first, and this flow when it has been heard of, a while later. */
static void pass(struct link *link)
{
	struct bulk *bulk = &link->bulk;
	struct assembly *assembly =
		assembly_at(link, lacking(link, link->flows[bulk->flow].assembly));

	count(link, LINK_PASSED);
	assembly->granted = assembly->received;
	assembly->again_at = units(link->now) +
		(units(link->config.least_timeout) << assembly->passes);
	assembly->passes += assembly->passes < MOST_PASSES;
	end_turn(link, 0);
}

/* ---- grants ---- */

/* Tell the flow whose turn it is; with `at` the timer of this turn begins anew. */
static void tell(struct link *link, struct wire *wire, uint64_t now)
{
	struct flow *flow = &link->flows[link->bulk.flow];

	wire->kind = WIRE_KIND_GRANT;
	wire->turn = link->bulk.turn;
	send_acknowledge(link, flow, wire);
	count(link, LINK_GRANTS_OUT);
	/* What the card does not take now goes by the timer. */
	send_bare(link, link->nic, flow->node, wire);
	link->bulk.at = now + timeout_of(link);
}

/* All rooms that are posted, and by that the parts in them. */
static void tell_rooms(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	const struct room *first = &bulk->rooms[bulk->filled % BULK_ROOMS];
	const struct room *last = &bulk->rooms[(bulk->posted - 1) % BULK_ROOMS];
	struct wire wire = { .sequence = assembly_at(link, first->assembly)->first,
			     .part = first->part, .until = last->part + 1 };

	wire.reach = assembly_at(link, last->assembly)->first - wire.sequence;
	tell(link, &wire, now);
}

/* Where a part is to be, as pieces: how many, 0 if a card cannot put it there. */
static uint32_t place(struct link *link, struct assembly *assembly, uint32_t part,
		      struct nic_piece *pieces, uint32_t *bytes)
{
	uint64_t at = (uint64_t)part * assembly->fragment;

	*bytes = assembly->length - at < assembly->fragment ?
		(uint32_t)(assembly->length - at) : assembly->fragment;
	if (!link->user.place)
		return 0;
	return link->user.place(link->context, &assembly->target, at, *bytes, pieces,
				NIC_BULK_PIECES);
}

/* Rooms that are granted at a time: many, but fewer when only few may be under way. */
static uint32_t step_of(const struct bulk *bulk)
{
	return bulk->limit < bulk->most ? bulk->limit / 4 : bulk->limit / 2;
}

static int post(struct link *link, uint32_t index)
{
	struct assembly *assembly = assembly_at(link, index);
	struct nic_piece pieces[NIC_BULK_PIECES];
	struct bulk *bulk = &link->bulk;
	uint32_t bytes, n;
	int tell;

	if (!bulk->nic || bulk->failures >= BAD_FAILURES)
		return 0;
	n = place(link, assembly, assembly->granted, pieces, &bytes);
	tell = bulk->untold + 1 >= least_of(MOST_UNTOLD, step_of(bulk)) ||
	       (bulk->untold + 1 >= least_of(LEAST_UNTOLD, step_of(bulk)) &&
		assembly->granted + 1 == assembly->parts);
	if (n == 0 || bulk->nic->ops->post(bulk->nic, pieces, n, tell) != NIC_OK)
		return 0;
	bulk->untold = tell ? 0 : bulk->untold + 1;
	bulk->rooms[bulk->posted++ % BULK_ROOMS] =
		(struct room){ (uint16_t)index, assembly->granted };
	assembly->granted++;
	bulk->spent++;
	return 1;
}

/* Parts of one message to the ordinary card: those that went astray, or the next ones. */
static void pull(struct link *link, uint32_t index, uint64_t now)
{
	struct assembly *assembly = assembly_at(link, index);
	struct wire wire = { .sequence = assembly->first, .part = assembly->received,
			     .again = 1 };
	struct bulk *bulk = &link->bulk;
	uint32_t n = assembly->parts - assembly->received;

	release(link);
	if (bulk->state != BULK_PULLED) {
		if (n > PULL_PARTS)
			n = PULL_PARTS;
		assembly->granted = assembly->received + n;
		assembly->pulled = 0;
		bulk->spent += n;
		bulk->state = BULK_PULLED;
	}
	bulk->turn++;
	wire.until = (uint32_t)bits(assembly->granted - assembly->received) & ~assembly->pulled;
	tell(link, &wire, now);
}

/* Few rooms are left. As long as parts land, what comes in between is granted together. */
static int are_few(const struct bulk *bulk, int landed)
{
	uint32_t n = posted(bulk);

	return n <= least_of(FEW_ROOMS, bulk->limit / 2) ||
	       (landed && n + least_of(step_of(bulk), bulk->level / 2) <= bulk->level);
}

/* Rooms for the flow's next parts, when few are left. 0: it has no more, or had its
 * share. */
static int extend(struct link *link, int landed, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	uint32_t before = bulk->posted, empty = posted(bulk) == 0;
	uint32_t index = lacking(link, link->flows[bulk->flow].assembly);

	if (!are_few(bulk, landed))
		return 1;
	while (index != NO_RECORD && posted(bulk) < bulk->limit) {
		if (assembly_at(link, index)->granted == assembly_at(link, index)->parts) {
			index = lacking(link, assembly_at(link, index)->next);
			continue;
		}
		if (bulk->first != NO_RECORD && bulk->spent >= SHARE_PARTS)
			break;
		if (post(link, index))
			continue;
		if (posted(bulk) == 0) {
			pull(link, index, now);
			return 1;
		}
		break;
	}
	if (bulk->posted != before) {
		bulk->level = posted(bulk);
		if (!empty)
			release(link);
		tell_rooms(link, now);
		if (empty)
			bulk->granted_at = now;
	}
	return posted(bulk) > 0;
}

static void begin_rooms(struct link *link)
{
	link->bulk.state = BULK_GRANTED;
	link->bulk.turn++;
	link->bulk.tries = 0;
}

static void run(struct link *link, int landed, uint64_t now)
{
	struct bulk *bulk = &link->bulk;

	for (;;) {
		if (bulk->state == BULK_NONE) {
			if (bulk->first == NO_RECORD)
				break;
			bulk->flow = assembly_at(link, bulk->first)->flow;
			leave_queue(link, bulk->first);
			bulk->spent = 0;
			hold(link);
			begin_rooms(link);
		}
		if (bulk->state != BULK_GRANTED || extend(link, landed, now))
			break;
		end_turn(link, 1);
	}
}

void bulk_run(struct link *link, uint64_t now)
{
	run(link, 0, now);
}

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
	bulk->at = now + timeout_of(link);
}

static void finish(struct link *link, struct assembly *assembly, uint64_t now)
{
	assembly->whole = 1;
	assemble_whole(link, &link->flows[assembly->flow], now);
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

	release(link);
	bulk->state = BULK_DRAIN;
	bulk->turn++;
	bulk->granted_at = 0;
	while (bulk->junk < JUNK_ROOMS && bulk->nic->ops->post(bulk->nic, 0, 0, 1) == NIC_OK)
		bulk->junk++;
	tell(link, &wire, now);
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
	return (kind == WIRE_KIND_BULK || kind == WIRE_KIND_MARK) &&
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
	uint32_t length, n = place(link, assembly, room->part, pieces, &length);
	struct wire wire;

	if (bytes != WIRE_HEADER + length ||
	    !is_of_turn(link, header, bytes, pieces, n, &wire) ||
	    wire.kind != WIRE_KIND_BULK || wire.sequence != assembly->first ||
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
		release(link);
}

/* While what is astray runs out. */
static void land_junk(struct link *link, const uint8_t *header, uint32_t bytes, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	struct wire wire;

	bulk->junk -= bulk->junk > 0;
	if (is_of_turn(link, header, bytes, 0, 0, &wire) && wire.kind == WIRE_KIND_MARK) {
		take_back(link);
		begin_rooms(link);
		progress(link, now);
	} else if (bulk->nic->ops->post(bulk->nic, 0, 0, 1) == NIC_OK) {
		bulk->junk++;
	}
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
	}
	run(link, 1, now);
	send_pump(link, now);
}

void bulk_pulled(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now)
{
	uint32_t index = lacking(link, flow->assembly), at, bytes;
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
	link->user.data(link->context, &assembly->target,
			(uint64_t)wire->part * assembly->fragment, wire->payload, bytes);
	progress(link, now);
	assembly->pulled |= 1u << at;
	for (; assembly->pulled & 1; assembly->pulled >>= 1)
		assembly->received++;
	if (assembly->received < assembly->granted) {
		/* The last has come, some before it have not. */
		if (wire->part + 1 == assembly->granted)
			pull(link, index, now);
		return;
	}
	bulk->failures -= bulk->failures > 0;
	begin_rooms(link);
	if (assembly->received == assembly->parts)
		finish(link, assembly, now);
}

/* ---- time, beginning and end ---- */

void bulk_tick(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;

	bulk->tries++;
	if (bulk->state == BULK_GRANTED) {
		if (bulk->tries < GRANT_TRIES && posted(bulk))
			tell_rooms(link, now);
		else
			astray(link, now);
	} else if (bulk->state == BULK_DRAIN) {
		if (bulk->tries < DRAIN_TRIES) {
			drain(link, now);
		} else {
			take_back(link);
			pass(link);
		}
	} else if (bulk->state == BULK_PULLED) {
		if (bulk->tries < PULL_TRIES)
			pull(link, lacking(link, link->flows[bulk->flow].assembly), now);
		else
			pass(link);
	}
	bulk_run(link, now);
}

void bulk_lose(struct link *link, struct flow *flow)
{
	struct bulk *bulk = &link->bulk;
	uint32_t index = flow->assembly;

	if (bulk->state != BULK_NONE && bulk->flow == flow_index(link, flow)) {
		if (bulk->state != BULK_PULLED)
			take_back(link);
		bulk->state = BULK_NONE;
		bulk->at = LINK_NEVER;
		bulk->held = 0;
	}
	for (; index != NO_RECORD; index = assembly_at(link, index)->next)
		if (assembly_at(link, index)->announced && assembly_at(link, index)->queued)
			leave_queue(link, index);
}

void bulk_open(struct link *link)
{
	link->bulk = (struct bulk){ .first = NO_RECORD, .last = NO_RECORD, .most = 1, .limit = 1,
				    .at = LINK_NEVER,
				    .serve_first = NO_RECORD, .serve_last = NO_RECORD };
}

void link_bulk(struct link *link, struct nic *nic)
{
	link->bulk.nic = nic;
	link->bulk.most = link->bulk.limit =
		(uint16_t)(nic->ring < BULK_ROOMS ? nic->ring : BULK_ROOMS);
}
