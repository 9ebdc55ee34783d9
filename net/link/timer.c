/*
 * Timers: when a flow retransmits, when it sends a bare acknowledgement, and the heap of flows by
 * the earlier of both. With every frame these times move to later ones. That does not update the
 * heap, so a flow's key there may be too early. When the key is due, the flow is put back with
 * its true time.
 */
#include "internal.h"

#define MOST_BACKOFF  6u           /* times that the timeout doubles */
#define LATE_FACTOR   4u           /* longer timeout where a loss would show in other ways */

static void place(struct link *link, uint32_t at, uint32_t index)
{
	link->heap[at] = index;
	link->flows[index].heap_at = at;
}

static int is_earlier(const struct link *link, uint32_t a, uint32_t b)
{
	return is_before(link->flows[link->heap[a]].timer_at,
			 link->flows[link->heap[b]].timer_at);
}

/* Put a flow into the heap at place `at` or above it; later flows on that path move down. */
static void sift_up(struct link *link, struct flow *flow, uint32_t at)
{
	for (; at > 0; at = (at - 1) / 2) {
		uint32_t above = link->heap[(at - 1) / 2];

		if (!is_before(flow->timer_at, link->flows[above].timer_at))
			break;
		place(link, at, above);
	}
	link->heap[at] = flow_index(link, flow);
	flow->heap_at = at;
}

static void sift_down(struct link *link, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1;
		uint32_t index = link->heap[at];

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

/* The first flow in the heap is due at `at` units: set link->due to that time in ns. */
static void set_due(struct link *link, uint32_t at)
{
	int32_t in = (int32_t)(at - units(link->now));

	link->due = ((link->now >> UNIT_SHIFT) + (uint64_t)(int64_t)in) << UNIT_SHIFT;
}

/* As sift_up, and sets link->due if the flow becomes the first. */
__attribute__((noinline))
static void rise(struct link *link, struct flow *flow, uint32_t at)
{
	sift_up(link, flow, at);
	if (flow->heap_at == 0)
		set_due(link, flow->timer_at);
}

void timer_move(struct link *link, struct flow *flow, uint32_t at)
{
	uint32_t slot = flow->heap_at;

	if (slot == NO_FLOW)
		slot = link->n_heap++;
	flow->timer_at = at;
	if (slot > 0) {
		rise(link, flow, slot);
		return;
	}
	link->heap[0] = flow_index(link, flow); /* usual: few flows have a timer */
	flow->heap_at = 0;
	set_due(link, at);
}

void timer_remove(struct link *link, struct flow *flow)
{
	uint32_t at = flow->heap_at;

	flow->heap_at = NO_FLOW;
	if (at != --link->n_heap) {
		sift_up(link, &link->flows[link->heap[link->n_heap]], at);
		sift_down(link, at);
	}
	if (link->n_heap == 0)
		link->due = LINK_NEVER;
	else if (at == 0)
		set_due(link, link->flows[link->heap[0]].timer_at);
}

int timer_earliest(const struct flow *flow, uint32_t *at)
{
	int acks = flow->rx.flags & RX_ACK_TIMER, resends = flow->tx.flags & TX_TIMER;

	if (flow->flags & FLOW_GIVE_UP) {
		*at = flow->timer_at;  /* past already */
		return 1;
	}
	*at = acks && (!resends || is_before(flow->rx.ack_at, flow->tx.resend_at)) ?
		flow->rx.ack_at : flow->tx.resend_at;
	return acks || resends;
}

void timer_refresh(struct link *link)
{
	for (uint32_t most = link->n_heap; most > 0 && link->n_heap > 0; most--) {
		struct flow *flow = &link->flows[link->heap[0]];
		int is_wanted;
		uint32_t at;

		is_wanted = timer_earliest(flow, &at);
		if (is_wanted && at == flow->timer_at)
			break;
		if (is_wanted) {
			flow->timer_at = at;
			sift_down(link, 0);
			set_due(link, link->flows[link->heap[0]].timer_at);
		} else {
			timer_remove(link, flow);
		}
	}
}

void timer_cancel(struct link *link, struct flow *flow)
{
	flow->tx.flags &= (uint8_t)~TX_TIMER;
	flow->rx.flags &= (uint8_t)~RX_ACK_TIMER;
	if (flow->heap_at != NO_FLOW)
		timer_remove(link, flow);
}

/* Update the smoothed round trip and its deviation, as in RFC 6298. */
void timer_measure(struct flow *flow, uint32_t trip)
{
	uint32_t sample = trip >> TRIP_SHIFT, differs;

	if (sample > UINT16_MAX)
		sample = UINT16_MAX;
	if (!(flow->tx.flags & TX_MEASURED)) {
		flow->tx.flags |= TX_MEASURED;
		flow->tx.srtt = (uint16_t)sample;
		flow->tx.rttvar = (uint16_t)(sample / 2);
		return;
	}
	differs = sample > flow->tx.srtt ? sample - flow->tx.srtt : flow->tx.srtt - sample;
	flow->tx.rttvar = (uint16_t)((3u * flow->tx.rttvar + differs + 2) / 4);
	flow->tx.srtt = (uint16_t)((7u * flow->tx.srtt + sample + 4) / 8);
}

/* The retransmission timeout without backoff: the smoothed round trip, four deviations (RFC 6298),
 * and the time for which the peer may delay its acknowledgement. */
static inline uint32_t trip_timeout(const struct flow *flow)
{
	uint32_t timeout = units(LINK_FIRST_TIMEOUT);

	if (flow->tx.flags & TX_MEASURED)
		timeout = ((flow->tx.srtt + 4u * flow->tx.rttvar) << TRIP_SHIFT) +
			  units(LINK_ACK_DELAY);
	return timeout < units(LINK_LEAST_TIMEOUT) ? units(LINK_LEAST_TIMEOUT) : timeout;
}

/* The retransmission timeout in units; it doubles with each timeout (backoff). */
static uint32_t timeout_of(const struct flow *flow)
{
	uint32_t backoff = flow->tx.timeouts < MOST_BACKOFF ? flow->tx.timeouts : MOST_BACKOFF;
	uint32_t timeout = trip_timeout(flow) << backoff;

	return 1 + (timeout < units(LINK_MOST_TIMEOUT) ? timeout : units(LINK_MOST_TIMEOUT));
}

void timer_first(struct link *link, struct flow *flow)
{
	uint32_t in = trip_timeout(flow);

	if (in > units(LINK_MOST_TIMEOUT))
		in = units(LINK_MOST_TIMEOUT);
	flow->tx.resend_at = units(link->now) + 1 + in;
	flow->tx.flags |= TX_TIMER;
	timer_by(link, flow, flow->tx.resend_at);
}

void timer_resend(struct link *link, struct flow *flow)
{
	uint32_t under_way = flow->tx.next - flow->tx.una, in = timeout_of(flow);

	/* An announcement that waits for its turn is retransmitted at long intervals, to find out
	 * whether the peer still lives. With several frames under way and no known gap, the loss of
	 * one would show by the acknowledgements of later ones. If there are none, the peer is
	 * probably just slow, so the timeout is longer. */
	if (flow->tx.sacked & 1)
		in = 2 * units(LINK_FIRST_TIMEOUT);
	else if (under_way > DUP_THRESHOLD && !flow->tx.timeouts && !flow_has_gap(flow))
		in *= LATE_FACTOR;
	flow->tx.resend_at = units(link->now) + in;
	flow->tx.flags |= TX_TIMER;
	timer_by(link, flow, flow->tx.resend_at);
}

void timer_ack(struct link *link, struct flow *flow, uint64_t ns)
{
	uint32_t at = units(link->now) + units(ns) + 1;

	if ((flow->rx.flags & RX_ACK_TIMER) && !is_before(at, flow->rx.ack_at))
		return;
	flow->rx.ack_at = at;
	flow->rx.flags |= RX_ACK_TIMER;
	timer_by(link, flow, at);
}

void timer_give_up(struct link *link, struct flow *flow)
{
	flow->flags |= FLOW_GIVE_UP;
	timer_by(link, flow, units(link->now));
}
