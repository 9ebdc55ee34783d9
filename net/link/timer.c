/*
 * Timers: when a flow retransmits, and when it sends a bare acknowledgement. The flows that have
 * one are in a list, and link->due is the earliest time. With every frame these times move to
 * later ones, which changes neither. When link->due has come, clock.c looks at all flows in the
 * list, acts, and computes it anew.
 */
#include "internal.h"

#define MOST_BACKOFF  6u           /* times that the timeout doubles */
#define LATE_FACTOR   4u           /* longer timeout where a loss would show in other ways */

void timer_by(struct link *link, struct flow *flow, uint32_t at)
{
	if (link->timed == NO_FLOW || is_before(at, link->due))
		link->due = at;
	if (!(flow->flags & FLOW_TIMED)) {
		flow->flags |= FLOW_TIMED;
		flow->timed_next = link->timed;
		link->timed = flow_index(link, flow);
	}
}

/* Update the smoothed round trip and its deviation, as in RFC 6298. */
void timer_measure(struct flow *flow, uint32_t trip)
{
	uint32_t sample = trip >> TRIP_SHIFT, differs;

	sample = sample < 1 ? 1 : sample > UINT16_MAX ? UINT16_MAX : sample;
	if (!flow->tx.srtt) {
		flow->tx.srtt = (uint16_t)sample;
		flow->tx.rttvar = (uint16_t)(sample / 2);
		return;
	}
	differs = sample > flow->tx.srtt ? sample - flow->tx.srtt : flow->tx.srtt - sample;
	flow->tx.rttvar = (uint16_t)((3u * flow->tx.rttvar + differs + 2) / 4);
	flow->tx.srtt = (uint16_t)((7u * flow->tx.srtt + sample + 4) / 8);
}

/* The retransmission timeout in units: the smoothed round trip, four deviations (RFC 6298), and the
 * time for which the peer may delay its acknowledgement; doubled with each timeout. */
static uint32_t timeout_of(const struct flow *flow)
{
	uint32_t timeout = units(LINK_FIRST_TIMEOUT);

	if (flow->tx.srtt)
		timeout = ((flow->tx.srtt + 4u * flow->tx.rttvar) << TRIP_SHIFT) +
			  units(LINK_ACK_DELAY);
	if (timeout < units(LINK_LEAST_TIMEOUT))
		timeout = units(LINK_LEAST_TIMEOUT);
	timeout <<= flow->tx.timeouts < MOST_BACKOFF ? flow->tx.timeouts : MOST_BACKOFF;
	return 1 + (timeout < units(LINK_MOST_TIMEOUT) ? timeout : units(LINK_MOST_TIMEOUT));
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
