/*
 * Long messages, the receiver: whose turn it is to send its parts, and rooms on the
 * bulk card for them, which are granted. Data: struct bulk and the assemblies' fields
 * for parts. All rooms are those of the flow whose turn it is, in the order of its
 * parts. An operation ends, and a peer is lost, only when no room of theirs is posted.
 * What lands in the rooms: bulk_land.c. See link.h.
 */
#include "bulk.h"

#define SHARE_PARTS   32u          /* of a turn, while others wait */
#define PULL_PARTS    16u          /* asked for at once on the ordinary card */
/* The card interrupts when a room is filled that a message ends in, if so many were posted since
 * the last of which it does; in the middle of a message after MOST_UNTOLD. */
#define LEAST_UNTOLD  16u
#define SHARE_UNTOLD  4u           /* while others wait: their turn begins sooner */
#define MOST_UNTOLD   24u
#define FEW_ROOMS     8u           /* posted: time for more */
#define BAD_FAILURES  6u           /* from then on parts are pulled, which takes one off each */
#define MOST_PASSES   8u           /* times that the wait for another turn doubles */

uint64_t bulk_timeout(const struct link *link)
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
	uint32_t other = link->flows[assembly->flow].rx.assembly;

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

void bulk_leave_queue(struct link *link, uint32_t index)
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

void bulk_release(struct link *link)
{
	struct flow *held = link->bulk.held;

	link->bulk.held = 0;
	if (!held)
		return;
	/* The answers first: they take the acknowledgement along. */
	flow_ready(link, held);
	if (flow_other(held)->rx.unacked) {
		flow_other(held)->rx.flags |= RX_ACK_NOW;
		flow_ready(link, flow_other(held));
	}
}

static void end_turn(struct link *link, int again)
{
	struct bulk *bulk = &link->bulk;
	struct flow *flow = &link->flows[bulk->flow];
	uint32_t index = lacking(link, flow->rx.assembly);

	bulk_release(link);
	bulk->state = BULK_NONE;
	bulk->at = LINK_NEVER;
	if (flow->rx.unacked)
		timer_ack(link, flow, units(link->now), link->config.ack_delay);
	if (again && index != NO_RECORD)
		bulk_want(link, index);
}

void bulk_pass(struct link *link)
{
	struct bulk *bulk = &link->bulk;
	struct assembly *assembly =
		assembly_at(link, lacking(link, link->flows[bulk->flow].rx.assembly));

	count(link, LINK_PASSED);
	assembly->granted = assembly->received;
	assembly->again_at = units(link->now) +
		(units(link->config.least_timeout) << assembly->passes);
	assembly->passes += assembly->passes < MOST_PASSES;
	end_turn(link, 0);
}

/* ---- grants ---- */

void bulk_tell(struct link *link, struct wire *wire, uint64_t now)
{
	struct flow *flow = &link->flows[link->bulk.flow];

	wire->kind = WIRE_KIND_GRANT;
	wire->turn = link->bulk.turn;
	frame_acknowledge(link, flow, wire);
	count(link, LINK_GRANTS_OUT);
	/* What the card does not take now goes by the timer. */
	frame_bare(link, link->nic, flow->node, wire);
	link->bulk.at = now + bulk_timeout(link);
}

void bulk_tell_rooms(struct link *link, uint64_t now)
{
	struct bulk *bulk = &link->bulk;
	const struct room *first = &bulk->rooms[bulk->filled % BULK_ROOMS];
	const struct room *last = &bulk->rooms[(bulk->posted - 1) % BULK_ROOMS];
	struct wire wire = { .sequence = assembly_at(link, first->assembly)->first,
			     .part = first->part, .until = last->part + 1 };

	wire.reach = assembly_at(link, last->assembly)->first - wire.sequence;
	bulk_tell(link, &wire, now);
}

uint32_t bulk_place(struct link *link, struct assembly *assembly, uint32_t part,
		    struct nic_piece *pieces, uint32_t *bytes)
{
	uint64_t at = (uint64_t)part * assembly->fragment;

	*bytes = assembly->length - at < assembly->fragment ?
		(uint32_t)(assembly->length - at) : assembly->fragment;
	return link_port_place(link->context, &assembly->target, at, *bytes, pieces,
				NIC_BULK_PIECES);
}

/* Rooms that are granted at a time: many, but fewer when only few may be under way. */
static uint32_t step_of(const struct bulk *bulk)
{
	return bulk->limit < bulk->most ? bulk->limit / 4 : bulk->limit / 2;
}

/* A room for the next part of this message: 1, or 0 if there can be none: no card, no place,
 * or too many turns went astray. */
static int post(struct link *link, uint32_t index)
{
	struct assembly *assembly = assembly_at(link, index);
	struct nic_piece pieces[NIC_BULK_PIECES];
	struct bulk *bulk = &link->bulk;
	uint32_t bytes, least, n;
	int tell;

	if (!bulk->nic || bulk->failures >= BAD_FAILURES)
		return 0;
	n = bulk_place(link, assembly, assembly->granted, pieces, &bytes);
	least = bulk->first == NO_RECORD ? LEAST_UNTOLD : SHARE_UNTOLD;
	tell = bulk->untold + 1 >= least_of(MOST_UNTOLD, step_of(bulk)) ||
	       (bulk->untold + 1 >= least_of(least, step_of(bulk)) &&
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

void bulk_pull(struct link *link, uint32_t index, uint64_t now)
{
	struct assembly *assembly = assembly_at(link, index);
	struct wire wire = { .sequence = assembly->first, .part = assembly->received,
			     .again = 1 };
	struct bulk *bulk = &link->bulk;
	uint32_t n = assembly->parts - assembly->received;

	bulk_release(link);
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
	bulk_tell(link, &wire, now);
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
	uint32_t index = lacking(link, link->flows[bulk->flow].rx.assembly);

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
			bulk_pull(link, index, now);
			return 1;
		}
		break;
	}
	if (bulk->posted != before) {
		bulk->level = posted(bulk);
		if (!empty)
			bulk_release(link);
		bulk_tell_rooms(link, now);
		if (empty)
			bulk->granted_at = now;
	}
	return posted(bulk) > 0;
}

void bulk_begin_rooms(struct link *link)
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
			bulk_leave_queue(link, bulk->first);
			bulk->spent = 0;
			hold(link);
			bulk_begin_rooms(link);
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

void bulk_run_landed(struct link *link, uint64_t now)
{
	run(link, 1, now);
}

int link_bulk_is_idle(const struct link *link)
{
	return link->bulk.state == BULK_NONE && link->transmits.used == 0;
}

void bulk_open(struct link *link)
{
	link->bulk = (struct bulk){ .first = NO_RECORD, .last = NO_RECORD, .most = 1, .limit = 1,
				    .at = LINK_NEVER,
				    .serve_first = NO_RECORD, .serve_last = NO_RECORD };
}

void link_bulk(struct link *link, struct nic *nic)
{
	uint32_t rooms = nic->ring;

	link->bulk.nic = nic;
	link->bulk.most = link->bulk.limit = (uint16_t)(rooms < BULK_ROOMS ? rooms : BULK_ROOMS);
}
