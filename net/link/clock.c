/*
 * Timeouts: retransmissions, bare acknowledgements, peers that are given up, and when the link
 * must be called for these. The list of flows with a timer is in timer.c.
 */
#include "internal.h"

#define STALL_NS      1000000u     /* longest time before a full card is tried again */

/* Whether the peer is to be given up: its tries are used up. A peer that was never heard from gets
 * more of them until config.boot_deadline. */
static int is_lost(const struct link *link, const struct flow *flow)
{
	return flow->tx.timeouts >= link->config.tries &&
	       (flow->theirs || link->now >= link->config.boot_deadline);
}

/* The retransmission timer has expired, or the peer is to be given up. */
static void timeout(struct link *link, struct flow *flow)
{
	uint32_t under_way = flow->tx.next - flow->tx.una;

	flow->tx.flags &= (uint8_t)~TX_TIMER;
	if (flow->flags & FLOW_GIVE_UP || is_lost(link, flow)) {
		peer_lose(link, flow->node, 0);
		return;
	}
	if (under_way == 0)
		return;
	if (flow->tx.timeouts < UINT8_MAX)
		flow->tx.timeouts++;
	flow->tx.lost = bits(under_way) & ~flow->tx.sacked;
	flow->tx.resent = 0;
	if (flow->tx.sacked & 1) {
		/* The oldest frame is an announcement that waits for its turn, perhaps for a long
		 * time. Send it again to find out whether the peer still lives. */
		flow->tx.sacked &= ~1ULL;
		flow->tx.lost |= 1;
	} else {
		count(link, LINK_TIMEOUTS);
		flow->tx.cwnd = 1;
	}
	flow->tx.flags &= (uint8_t)~TX_SAMPLING;
	timer_resend(link, flow);
	flow_ready(link, flow);
}

/* Whether the sender waits for an acknowledgement that nothing delays: no message of the flow is
 * incomplete or refused. */
static int is_waiter(const struct flow *flow)
{
	return flow->rx.flags & RX_WAITER && flow->rx.assembly == NO_RECORD && !flow->rx.refused;
}

/* Look at all flows that have a timer: send the acknowledgements that are due and retransmit, and
 * set link->due to the earliest time that is left. With `halts` waiting senders get
 * acknowledgements too, as no frame could carry them, and nothing is retransmitted. */
static void run_timers(struct link *link, int halts)
{
	uint32_t index = link->timed, now = units(link->now);

	link->timed = NO_FLOW;
	while (index != NO_FLOW) {
		struct flow *flow = &link->flows[index];

		index = flow->timed_next;
		flow->flags &= (uint8_t)~FLOW_TIMED;
		if (flow->rx.flags & RX_ACK_TIMER &&
		    (is_due(flow->rx.ack_at, now) || (halts && is_waiter(flow))))
			frame_ack(link, flow);
		if (!halts && (flow->flags & FLOW_GIVE_UP ||
			       (flow->tx.flags & TX_TIMER && is_due(flow->tx.resend_at, now))))
			timeout(link, flow);
		if (flow->flags & FLOW_GIVE_UP)
			timer_by(link, flow, now);
		if (flow->rx.flags & RX_ACK_TIMER)
			timer_by(link, flow, flow->rx.ack_at);
		if (flow->tx.flags & TX_TIMER)
			timer_by(link, flow, flow->tx.resend_at);
	}
}

void link_before_halt(struct link *link, uint64_t now)
{
	link->now = now;
	run_timers(link, 1);
}

void link_tick(struct link *link, uint64_t now)
{
	link->now = now;
	if (link->timed != NO_FLOW && is_due(link->due, units(now)))
		run_timers(link, 0);
	if (link->n_delayed && link->delayed_until <= now)
		link_flush(link, now);
	if (link->bulk.at <= now)
		bulk_tick(link);
	else
		bulk_run(link, 0);
	link->stalled = link->bulk_send.full = 0;
	transmit(link);
}

uint64_t link_due(const struct link *link)
{
	int32_t in = (int32_t)(link->due - units(link->now));

	if (link->timed == NO_FLOW)
		return LINK_NEVER;
	return ((link->now >> UNIT_SHIFT) + (uint64_t)(int64_t)in) << UNIT_SHIFT;
}

int link_only_retransmits(const struct link *link, uint64_t at)
{
	const struct flow *flow;

	if (at != link_due(link) || link->timed == NO_FLOW)
		return 0;
	flow = &link->flows[link->timed];
	return flow->timed_next == NO_FLOW &&
	       !(flow->rx.flags & RX_ACK_TIMER) && !(flow->flags & FLOW_GIVE_UP) &&
	       link->bulk.at == LINK_NEVER && !link->n_delayed && !link->ended_with_card &&
	       !link->bulk_send.full;
}

uint64_t link_deadline(const struct link *link)
{
	uint64_t at = link_due(link);

	if (link->bulk.at < at)
		at = link->bulk.at;
	if (link->n_delayed && link->delayed_until < at)
		at = link->delayed_until;
	if ((link->ready_first != NO_FLOW || bulk_can_send(link)) &&
	    link->now + (link->stalled ? STALL_NS : 0) < at)
		at = link->now + (link->stalled ? STALL_NS : 0);
	/* Only a poll shows that a card has room again, or has read the frames of ended
	 * messages. */
	if ((link->bulk_send.full || link->ended_with_card) && link->now + STALL_NS < at)
		at = link->now + STALL_NS;
	return at;
}
