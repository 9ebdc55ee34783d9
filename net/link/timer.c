/*
 * Time: when a flow sends again, when it acknowledges, and the heap of flows
 * by the earlier of the two. A flow's place in the heap may be too early, which
 * costs a look; so times that move later, as they do with every frame, cost nothing.
 */
#include "state.h"

#define MOST_BACKOFF  6u           /* times that the timeout doubles */
#define PATIENCE      4u           /* times the timeout, where nothing need be lost */
#define STALL_NS      1000000u     /* a full card is tried again after that at the latest */

static void place(struct link *link, uint32_t at, uint16_t index)
{
	link->heap[at] = index;
	link->flows[index].heap_at = (uint16_t)at;
}

static int is_earlier(const struct link *link, uint32_t a, uint32_t b)
{
	return is_before(link->flows[link->heap[a]].timer_at,
			 link->flows[link->heap[b]].timer_at);
}

/* A flow's place, from `at` on upwards: those above that are later move down. */
static void sift_up(struct link *link, struct flow *flow, uint32_t at)
{
	for (; at > 0; at = (at - 1) / 2) {
		uint16_t above = link->heap[(at - 1) / 2];

		if (!is_before(flow->timer_at, link->flows[above].timer_at))
			break;
		place(link, at, above);
	}
	link->heap[at] = (uint16_t)flow_index(link, flow);
	flow->heap_at = (uint16_t)at;
}

static void sift_down(struct link *link, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1;
		uint16_t index = link->heap[at];

		if (child >= link->n_heap)
			return;
		if (child + 1 < link->n_heap && is_earlier(link, child + 1, child))
			child++;
		if (!is_earlier(link, child, at))
			return;
		place(link, at, link->heap[child]);
		place(link, child, index);
		at = child;
	}
}

/* The earliest in the heap is that now: its first moment in ns. */
static void set_due(struct link *link, uint32_t at)
{
	int32_t in = (int32_t)(at - units(link->now));

	link->due = ((link->now >> UNIT_SHIFT) + (uint64_t)(int64_t)in) << UNIT_SHIFT;
}

/* A flow's place, from `at` on upwards, perhaps to the first. */
__attribute__((noinline))
static void rise(struct link *link, struct flow *flow, uint32_t at)
{
	sift_up(link, flow, at);
	if (flow->heap_at == 0)
		set_due(link, flow->timer_at);
}

void timer_move(struct link *link, struct flow *flow, uint32_t at)
{
	uint32_t place = flow->heap_at;

	if (place == NO_RECORD)
		place = link->n_heap++;
	flow->timer_at = at;
	if (place > 0) {
		rise(link, flow, place);
		return;
	}
	link->heap[0] = (uint16_t)flow_index(link, flow); /* mostly: few have a timer */
	flow->heap_at = 0;
	set_due(link, at);
}

static void remove_from_heap(struct link *link, struct flow *flow)
{
	uint32_t at = flow->heap_at;

	flow->heap_at = NO_RECORD;
	if (at != --link->n_heap) {
		sift_up(link, &link->flows[link->heap[link->n_heap]], at);
		sift_down(link, at);
	}
	if (link->n_heap == 0)
		link->due = LINK_NEVER;
	else if (at == 0)
		set_due(link, link->flows[link->heap[0]].timer_at);
}

void timer_cancel(struct link *link, struct flow *flow)
{
	flow->flags &= (uint8_t)~(FLOW_RESENDS | FLOW_ACKS);
	if (flow->heap_at != NO_RECORD)
		remove_from_heap(link, flow);
}

/* The mean of round trips and of their deviation, and four deviations over the
 * mean (the shape of RFC 6298); the peer may keep its acknowledgement a while. */
void timer_measure(struct flow *flow, uint32_t trip)
{
	uint32_t sample = trip >> TRIP_SHIFT, differs;

	if (sample > UINT16_MAX)
		sample = UINT16_MAX;
	if (!(flow->flags & FLOW_MEASURED)) {
		flow->flags |= FLOW_MEASURED;
		flow->trip = (uint16_t)sample;
		flow->trip_varies = (uint16_t)(sample / 2);
		return;
	}
	differs = sample > flow->trip ? sample - flow->trip : flow->trip - sample;
	flow->trip_varies = (uint16_t)((3u * flow->trip_varies + differs + 2) / 4);
	flow->trip = (uint16_t)((7u * flow->trip + sample + 4) / 8);
}

/* Before an unlucky one doubles it. */
static inline uint32_t trip_timeout(const struct link *link, const struct flow *flow)
{
	uint32_t timeout = link->first_timeout;

	if (flow->flags & FLOW_MEASURED)
		timeout = ((flow->trip + 4u * flow->trip_varies) << TRIP_SHIFT) + link->ack_delay;
	return timeout < link->least_timeout ? link->least_timeout : timeout;
}

/* Timeouts of what is under way; a frame that never gets through has them too. */
static uint32_t tries_of(const struct flow *flow)
{
	uint32_t stuck = flow->stuck / STUCK_TRIES;

	return flow->tries > stuck ? flow->tries : stuck;
}

uint32_t timer_timeout(const struct link *link, const struct flow *flow)
{
	uint64_t timeout = trip_timeout(link, flow);
	uint32_t tries;

	if (flow->stuck) {             /* else there were no tries either */
		tries = tries_of(flow);
		timeout <<= tries < MOST_BACKOFF ? tries : MOST_BACKOFF;
	}
	return 1 + (uint32_t)(timeout < link->most_timeout ? timeout : link->most_timeout);
}

void timer_first(struct link *link, struct flow *flow, uint32_t now)
{
	uint32_t in = trip_timeout(link, flow);

	flow->resend_at = now + 1 + (in < link->most_timeout ? in : link->most_timeout);
	flow->flags |= FLOW_RESENDS;
	timer_by(link, flow, flow->resend_at);
}

void timer_resend(struct link *link, struct flow *flow, uint32_t now)
{
	uint32_t under_way = flow->next - flow->una, in = timer_timeout(link, flow);

	/* Who waits for its turn, perhaps behind many others, asks now and then whether the peer
	 * is still there. And of many frames a lost one shows by those behind it: if nothing
	 * is heard, the peer is late. */
	if (flow->acked & 1)
		in = 2 * link->first_timeout;
	else if (under_way > LATER_FRAMES && !flow->tries && !flow_has_gap(flow))
		in *= PATIENCE;
	flow->resend_at = now + in;
	flow->flags |= FLOW_RESENDS;
	timer_by(link, flow, flow->resend_at);
}

void timer_ack(struct link *link, struct flow *flow, uint32_t now, uint64_t ns)
{
	uint32_t at = now + units(ns) + 1;

	if ((flow->flags & FLOW_ACKS) && !is_before(at, flow->ack_at))
		return;
	flow->ack_at = at;
	flow->flags |= FLOW_ACKS;
	timer_by(link, flow, at);
}

void timer_give_up(struct link *link, struct flow *flow)
{
	link->doomed += !flow->doomed;
	flow->doomed = 1;
}

__attribute__((noinline))
static void lose_doomed(struct link *link)
{
	for (uint32_t i = 0; i < link->n_flows; i++)
		if (link->flows[i].doomed)
			flow_lose(link, link->flows[i].node, 1, 0);
}

/* Has a peer had its tries? One that has never been heard of may get more of them. */
static int is_lost(const struct link *link, const struct flow *flow)
{
	return tries_of(flow) >= link->config.tries &&
	       (flow->theirs || link->now >= link->config.patience);
}

/* Nothing was heard of what is under way. */
static void timeout(struct link *link, struct flow *flow, uint32_t now)
{
	uint32_t under_way = flow->next - flow->una;

	flow->flags &= (uint8_t)~FLOW_RESENDS;
	if (is_lost(link, flow)) {
		flow_lose(link, flow->node, 1, 0);
		return;
	}
	if (under_way == 0)
		return;
	if (flow->tries < link->config.tries)
		flow->tries++;
	if (flow->stuck < UINT8_MAX)
		flow->stuck++;
	flow->marked = bits(under_way) & ~flow->acked;
	flow->again = 0;
	if (flow->acked & 1) {
		/* It waits for its turn, and may do so for long: is the peer still there? */
		flow->acked &= ~1ULL;
		flow->marked |= 1;
	} else {
		count(link, LINK_TIMEOUTS);
		flow->burst = 1;
	}
	flow->flags &= (uint8_t)~FLOW_TIMED;
	timer_resend(link, flow, now);
	send_ready(link, flow);
}

/* The earlier of its times, none of which is before that in the heap. */
static int earliest(const struct flow *flow, uint32_t *at)
{
	int both = (FLOW_ACKS | FLOW_RESENDS) & flow->flags;

	*at = both == FLOW_ACKS || (both == (FLOW_ACKS | FLOW_RESENDS) &&
				    is_before(flow->ack_at, flow->resend_at)) ?
		flow->ack_at : flow->resend_at;
	return both;
}

void link_rest(struct link *link, uint64_t now)
{
	link->now = now;
	assemble_rest(link, now);
	for (uint32_t most = link->n_heap; most > 0 && link->n_heap > 0; most--) {
		struct flow *flow = &link->flows[link->heap[0]];
		int is_wanted;
		uint32_t at;

		is_wanted = earliest(flow, &at);
		if (is_wanted && at == flow->timer_at)
			break;
		if (is_wanted) {
			flow->timer_at = at;
			sift_down(link, 0);
			set_due(link, link->flows[link->heap[0]].timer_at);
		} else {
			remove_from_heap(link, flow);
		}
	}
}

void link_tick(struct link *link, uint64_t now)
{
	uint32_t at = units(now);

	link->now = now;
	if (link->doomed)
		lose_doomed(link);
	/* A flow that comes back does so later than now. */
	for (uint32_t most = link->n_heap; most > 0 && link->n_heap > 0; most--) {
		struct flow *flow = &link->flows[link->heap[0]];

		if (!is_due(flow->timer_at, at))
			break;
		remove_from_heap(link, flow);
		if ((flow->flags & FLOW_ACKS) && is_due(flow->ack_at, at))
			send_ack(link, flow, now);
		if ((flow->flags & FLOW_RESENDS) && is_due(flow->resend_at, at))
			timeout(link, flow, at);
		if (flow->flags & FLOW_RESENDS)
			timer_by(link, flow, flow->resend_at);
		if (flow->flags & FLOW_ACKS)
			timer_by(link, flow, flow->ack_at);
	}
	if (link->n_held && link->hold_until <= now)
		link_flush(link, now);
	if (link->bulk.at <= now)
		bulk_tick(link, now);
	else
		bulk_run(link, now);
	link->stalled = link->bulk.full = 0;
	send_pump(link, now);
}

uint64_t link_due(const struct link *link)
{
	return link->due;
}

int link_only_resends(const struct link *link, uint64_t at)
{
	uint32_t when;

	return at == link->due && link->n_heap == 1 && link->bulk.at == LINK_NEVER &&
	       !link->n_held && !link->ending && !link->doomed && !link->bulk.full &&
	       !(earliest(&link->flows[link->heap[0]], &when) & FLOW_ACKS);
}

uint64_t link_deadline(const struct link *link)
{
	uint64_t at = link->bulk.at < link->due ? link->bulk.at : link->due;

	if (link->n_held && link->hold_until < at)
		at = link->hold_until;
	if (link->doomed)
		return link->now;
	if ((link->ready_first != NO_RECORD || can_serve(link)) &&
	    link->now + (link->stalled ? STALL_NS : 0) < at)
		at = link->now + (link->stalled ? STALL_NS : 0);
	/* Room in the card, or the end of what it reads, shows only to who looks at it. */
	if ((link->bulk.full || link->ending) && link->now + STALL_NS < at)
		at = link->now + STALL_NS;
	return at;
}
