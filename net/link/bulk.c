/*
 * Long messages, the receiver: which flow has the turn to send its parts, posting buffers for them
 * to the bulk card, and granting them. Data: struct bulk, and the fields of struct assembly for
 * parts. All buffers belong to the flow that has the turn, in the order of its parts. Before an
 * operation ends or a peer is lost, its buffers are filled or withdrawn, so no card writes to
 * memory that is in use again. bulk_land.c handles parts that land in the buffers. See
 * docs/wire.md.
 */
#include "bulk.h"

#define SHARE_PARTS   32u          /* parts granted in a turn, while other flows wait */
#define COPIED_PARTS  16u          /* parts granted at once for the ordinary card */
/* Interrupt moderation: the card interrupts for a buffer that ends a message if LEAST_UNREPORTED
 * buffers were posted since the last one that interrupts, and for any buffer after
 * MOST_UNREPORTED. */
#define LEAST_UNREPORTED  16u
#define SHARE_UNREPORTED  4u       /* LEAST_UNREPORTED while other flows wait for a turn */
#define MOST_UNREPORTED   24u
#define LOSSY_UNREPORTED  4u       /* MOST_UNREPORTED after a loss: behind a lost frame the last
                                      buffer, which interrupts, is not filled */
#define LOSSY_POSTED  16u          /* most buffers posted after a loss: a lost part is sent again
                                      behind those that were granted, and all these are moved */
#define FEW_POSTED    8u           /* buffers posted at which more are posted and granted */
#define TURN_BACKOFF  3u           /* most doublings of the timeouts of a turn, one for each turn
                                      in which nothing arrived */

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint64_t bulk_timeout(const struct link *link)
{
	const struct bulk *bulk = &link->bulk;
	uint64_t most = LINK_MOST_TIMEOUT << bulk->backoff;
	uint64_t ns = bulk->trip ? LINK_LEAST_TIMEOUT + 2ull * bulk->trip : LINK_FIRST_TIMEOUT;

	ns <<= bulk->tries + bulk->backoff;
	return ns < most ? ns : most;
}

/* ---- flows that wait for a turn ---- */

/* A flow has at most one message in the queue. */
void bulk_request_turn(struct link *link, uint32_t index)
{
	struct assembly *assembly = assembly_at(link, index);
	struct bulk *bulk = &link->bulk;
	uint32_t other = link->flows[assembly->flow].rx.assembly;

	if (bulk->flow == assembly->flow)
		return;
	for (; other != NO_RECORD; other = assembly_at(link, other)->next)
		if (assembly_at(link, other)->queued)
			return;
	assembly->queued = 1;
	assembly->turn_next = NO_RECORD;
	if (bulk->first == NO_RECORD)
		bulk->shared_from = link->now;
	*bulk->end = (uint16_t)index;
	bulk->end = &assembly->turn_next;
}

void bulk_leave_queue(struct link *link, uint32_t index)
{
	struct assembly *assembly = assembly_at(link, index);
	uint16_t *at = &link->bulk.first;

	while (*at != index)
		at = &assembly_at(link, *at)->turn_next;
	*at = assembly->turn_next;
	if (*at == NO_RECORD)
		link->bulk.end = at;
	assembly->queued = 0;
}

/*
 * While other flows wait, acknowledgements and answers to the flow that has the turn are deferred
 * until the second grant of its turn. The sender receives all of them at once. So it wakes only once,
 * and then announces as many new messages.
 */
static void defer_answers(struct link *link)
{
	struct flow *flow = &link->flows[link->bulk.flow];

	if (link->bulk.first != NO_RECORD && flow_lane(flow) == LINK_REQUESTS)
		link->bulk.deferred = flow_other(flow);
}

static void release_answers(struct link *link)
{
	struct flow *deferred = link->bulk.deferred;

	link->bulk.deferred = 0;
	if (!deferred)
		return;
	/* The answers first: they carry the acknowledgement. */
	flow_ready(link, deferred);
	if (flow_other(deferred)->rx.unacked) {
		flow_other(deferred)->rx.flags |= RX_ACK_NOW;
		flow_ready(link, flow_other(deferred));
	}
}

/* End the present turn. `again`: the flow goes to the end of the queue if it has more parts. */
static void end_turn(struct link *link, int again)
{
	struct bulk *bulk = &link->bulk;
	uint32_t index = first_incomplete(link, link->flows[bulk->flow].rx.assembly);

	release_answers(link);
	bulk->flow = NO_FLOW;
	bulk->at = LINK_NEVER;
	if (again && index != NO_RECORD)
		bulk_request_turn(link, index);
}

void bulk_pass(struct link *link)
{
	struct bulk *bulk = &link->bulk;
	struct assembly *assembly =
		assembly_at(link, first_incomplete(link, link->flows[bulk->flow].rx.assembly));

	count(link, LINK_PASSED);
	assembly->passes += assembly->passes < TURN_BACKOFF;
	end_turn(link, 0);
}

/* ---- grants ---- */

void bulk_send_grant(struct link *link, uint32_t from, uint32_t until, int again)
{
	struct bulk *bulk = &link->bulk;
	const struct buffer *first = buffer_of(bulk, from), *last = buffer_of(bulk, until - 1);
	struct flow *flow = &link->flows[bulk->flow];
	struct wire wire = { .kind = WIRE_KIND_GRANT, .again = !!again, .ordinary = bulk->copied,
			     .sequence = assembly_at(link, first->assembly)->first,
			     .part = first->part };

	/* Buffers have consecutive parts: of each message but the first, those from part 0 on. */
	wire.reach = (uint16_t)(assembly_at(link, last->assembly)->first - wire.sequence);
	wire.parts = (uint16_t)(last->part + 1 - (wire.reach ? 0 : wire.part));
	frame_acknowledge(link, flow, &wire);
	count(link, LINK_GRANTS_OUT);
	/* If the card is full, the turn's timer sends the grant again. */
	frame_bare(link, link->nic, flow->node, &wire);
}

uint32_t bulk_place(struct link *link, const struct buffer *buffer, struct nic_piece *pieces)
{
	struct assembly *assembly = assembly_at(link, buffer->assembly);

	return link_port_place(link->context, &assembly->target,
			       (uint64_t)buffer->part * assembly->fragment,
			       part_bytes(assembly, buffer->part), pieces, NIC_BULK_PIECES);
}

int bulk_post(struct link *link, struct buffer *buffer, int interrupt)
{
	struct nic_piece pieces[NIC_BULK_PIECES];
	struct bulk *bulk = &link->bulk;
	uint32_t n;

	if (!link->bulk_nic)
		return 0;
	n = bulk_place(link, buffer, pieces);
	if (n == 0 || link->bulk_nic->ops->post(link->bulk_nic, pieces, n, interrupt) != NIC_OK)
		return 0;
	bulk->ring[bulk->posted++ % BULK_POSTED] = (uint8_t)(buffer - bulk->buffers);
	buffer->others = bulk->others;
	return 1;
}

static struct memory memory_of(const struct nic_piece *pieces, uint32_t n)
{
	struct memory memory = { UINTPTR_MAX, 0 };

	for (uint32_t i = 0; i < n; i++) {
		uintptr_t low = (uintptr_t)pieces[i].bytes, high = low + pieces[i].length;

		memory.low = low < memory.low ? low : memory.low;
		memory.high = high > memory.high ? high : memory.high;
	}
	return memory;
}

struct memory bulk_memory(struct link *link, struct assembly *assembly, uint64_t at,
			  uint64_t bytes)
{
	struct nic_piece pieces[NIC_BULK_PIECES];
	uint32_t n = bytes > UINT32_MAX ? 0 :
		link_port_place(link->context, &assembly->target, at, (uint32_t)bytes, pieces,
				NIC_BULK_PIECES);

	return n ? memory_of(pieces, n) : (struct memory){ 0, UINTPTR_MAX };
}

/* Whether a buffer shares memory with an earlier one in use, as two messages to the same address
 * do. After a loss parts arrive out of order and are moved, so then no two buffers may do so. */
static int shares_memory(struct link *link, uint32_t number)
{
	struct nic_piece pieces[NIC_BULK_PIECES];
	struct bulk *bulk = &link->bulk;
	struct buffer *buffer = buffer_of(bulk, number);

	buffer->memory = memory_of(pieces, bulk_place(link, buffer, pieces));
	for (uint32_t earlier = bulk->oldest; earlier != number; earlier++)
		if (memory_is_shared(&buffer->memory, &buffer_of(bulk, earlier)->memory))
			return 1;
	return 0;
}

int bulk_memory_is_shared(struct link *link)
{
	uint32_t number = link->bulk.oldest;

	while (number != link->bulk.next && !shares_memory(link, number))
		number++;
	return number != link->bulk.next;
}

/* Whether the next part of this message may have been sent before buffers were withdrawn. */
static int is_sent(const struct assembly *assembly)
{
	return assembly->granted < assembly->sent;
}

/* The most buffers to post now. The parts under way need less than the longest timeout to arrive:
 * on a slow link more of them would delay all other frames beyond their timeouts. */
static uint32_t most_posted(const struct link *link)
{
	const struct bulk *bulk = &link->bulk;
	uint32_t most = bulk->lossy ? least_of(LOSSY_POSTED, bulk->most) : bulk->most;

	return least_of(most, 1 + (uint32_t)(LINK_MOST_TIMEOUT / (bulk->gap + 1)));
}

/* Post a buffer for the next part of this message: 1, or 0 if that is not possible now. If no
 * buffer at all can be posted, parts of one message are granted for the ordinary card instead. */
static int add(struct link *link, uint32_t index)
{
	struct assembly *assembly = assembly_at(link, index);
	struct bulk *bulk = &link->bulk;
	struct buffer *buffer = buffer_of(bulk, bulk->next);
	uint32_t least = bulk->first == NO_RECORD ? LEAST_UNREPORTED : SHARE_UNREPORTED;
	uint32_t most = bulk->lossy ? LOSSY_UNREPORTED : MOST_UNREPORTED;
	int interrupt = bulk->unreported + 1 >= least_of(most, bulk->most / 2) ||
		(bulk->unreported + 1 >= least_of(least, bulk->most / 2) &&
		 assembly->granted + 1 == assembly->parts);

	if (granted(bulk) == BULK_BUFFERS || posted(bulk) >= most_posted(link))
		return 0;
	*buffer = (struct buffer){ .assembly = (uint16_t)index, .part = assembly->granted,
				   .at = PART_MISSING, .after = bulk->next + 1 };
	/* The first part that was not sent before shows the loss of those that were. */
	if (is_sent(assembly))
		buffer->after += assembly->sent - assembly->granted - 1;
	if (granted(bulk) == 0)
		bulk->copied = 0;
	if (bulk->copied) {
		if (granted(bulk) == COPIED_PARTS || assembly->granted == 0)
			return 0;
	} else if ((bulk->lossy && shares_memory(link, bulk->next)) ||
		   !bulk_post(link, buffer, interrupt)) {
		if (granted(bulk) > 0)
			return 0;
		bulk->copied = 1;
	} else {
		bulk->unreported = interrupt ? 0 : bulk->unreported + 1;
	}
	bulk->next++;
	assembly->granted++;
	bulk->spent++;
	return 1;
}

/* Whether it is time to post more buffers: few are left or, when a part has `landed`, about half
 * of those after the last grant. So one grant covers many parts. After a loss there may be only a
 * message's buffers, fewer than a round trip takes: then a quarter of them is granted at once. */
static int are_few(const struct link *link, int landed)
{
	const struct bulk *bulk = &link->bulk;
	uint32_t n = posted(bulk), share = bulk->lossy ? 4 : 2;

	if (bulk->copied && granted(bulk) > 0)
		return 0;
	return n <= least_of(FEW_POSTED, most_posted(link) / 2) ||
	       (landed && n + least_of(bulk->most, bulk->level) / share <= bulk->level);
}

/* The next message to grant behind this one, or NO_RECORD. The sender takes a grant for all long
 * messages in its range. So a grant ends before one with payload that the user does not take. */
static uint32_t next_to_grant(const struct link *link, uint32_t index)
{
	for (index = assembly_at(link, index)->next; index != NO_RECORD;
	     index = assembly_at(link, index)->next) {
		const struct assembly *assembly = assembly_at(link, index);

		if (assembly_waits(assembly))
			break;
		if (assembly->announced && !assembly->taken)
			return NO_RECORD;
	}
	return index;
}

/* If few buffers are left, post and grant more for the next parts of the flow that has the turn.
 * 0: the turn is over, as all parts are in place and the flow has no more or has had its share. */
static int extend(struct link *link, int landed)
{
	struct bulk *bulk = &link->bulk;
	uint32_t before = bulk->next, spent = bulk->spent;
	int was_empty = granted(bulk) == 0, again = 0;
	uint32_t index = first_incomplete(link, link->flows[bulk->flow].rx.assembly);

	if (!are_few(link, landed))
		return 1;
	while (index != NO_RECORD && !(bulk->first != NO_RECORD && bulk->spent >= SHARE_PARTS)) {
		const struct assembly *assembly = assembly_at(link, index);
		int was_sent = is_sent(assembly);

		if (assembly->granted == assembly->parts)
			index = next_to_grant(link, index);
		else if (add(link, index))
			again |= was_sent;
		else
			break;
	}
	if (bulk->next != before) {
		bulk->level = posted(bulk);
		if (spent > 0)
			release_answers(link);
		bulk_send_grant(link, again ? before : first_missing(bulk), bulk->next, again);
		bulk->at = link->now + bulk_timeout(link);
		if (was_empty)
			bulk->granted_at = link->now;
	}
	return granted(bulk) > 0;
}

void bulk_run(struct link *link, int landed)
{
	struct bulk *bulk = &link->bulk;
	const struct assembly *first;

	for (;;) {
		if (bulk->flow == NO_FLOW) {
			if (bulk->first == NO_RECORD)
				break;
			first = assembly_at(link, bulk->first);
			bulk->flow = first->flow;
			bulk->backoff = first->passes;
			bulk_leave_queue(link, bulk->first);
			bulk->spent = bulk->tries = 0;
			bulk->shared_from = link->now;
			defer_answers(link);
		}
		if (extend(link, landed))
			break;
		end_turn(link, 1);
	}
}

void link_note_writes(struct link *link)
{
	if (link->bulk.flow != NO_FLOW)
		link->bulk.others++;
}

int link_bulk_is_idle(const struct link *link)
{
	return link->bulk.flow == NO_FLOW && link->transmits.used == 0;
}

void bulk_open(struct link *link, struct nic *nic, uint8_t *aside)
{
	/* A part must fit either card: those without a buffer go to the ordinary one. */
	uint32_t fits = nic ? least_of(link->nic->mtu, nic->mtu) - WIRE_HEADER : 0;

	link->bulk_nic = nic;
	link->bulk = (struct bulk){ .flow = NO_FLOW, .first = NO_RECORD, .end = &link->bulk.first,
				    .at = LINK_NEVER, .aside = aside,
				    .most = nic ? (uint16_t)least_of(nic->ring, BULK_POSTED) : 1 };
	link->bulk_send = (struct bulk_send){
		.first = NO_RECORD, .flow = NO_FLOW,
		.longest = least_of(fits & ~63u, WIRE_MOST_PAYLOAD),
	};
}
