/*
 * Timeouts: retransmissions, bare acknowledgements, peers that are given up, and when the link
 * must be called for these. The heap of timers is in timer.c.
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
	flow->tx.flags &= (uint8_t)~TX_TIMED;
	timer_resend(link, flow);
	flow_ready(link, flow);
}

void link_before_halt(struct link *link, uint64_t now)
{
	link->now = now;
	reassemble_ack_waiters(link);
	timer_refresh(link);
}

void link_tick(struct link *link, uint64_t now)
{
	uint32_t at = units(now), next;

	link->now = now;
	/* A flow that is put back into the heap is due later than now. */
	for (uint32_t most = link->n_heap; most > 0 && link->n_heap > 0; most--) {
		struct flow *flow = &link->flows[link->heap[0]];

		if (!is_due(flow->timer_at, at))
			break;
		timer_remove(link, flow);
		if ((flow->rx.flags & RX_ACK_TIMER) && is_due(flow->rx.ack_at, at))
			frame_ack(link, flow);
		if (flow->flags & FLOW_GIVE_UP ||
		    ((flow->tx.flags & TX_TIMER) && is_due(flow->tx.resend_at, at)))
			timeout(link, flow);
		if (timer_earliest(flow, &next))
			timer_by(link, flow, next);
	}
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
	return link->due;
}

int link_only_retransmits(const struct link *link, uint64_t at)
{
	return at == link->due && link->n_heap == 1 && link->bulk.at == LINK_NEVER &&
	       !link->n_delayed && !link->ended_with_card && !link->bulk_send.full &&
	       !(link->flows[link->heap[0]].rx.flags & RX_ACK_TIMER) &&
	       !(link->flows[link->heap[0]].flags & FLOW_GIVE_UP);
}

uint64_t link_deadline(const struct link *link)
{
	uint64_t at = link->bulk.at < link->due ? link->bulk.at : link->due;

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
