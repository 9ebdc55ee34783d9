/*
 * Flows: finding and making them, and the list of those that have something to send. A flow
 * is made at the first frame to or from a node. It is never freed, as its sequence numbers
 * distinguish old frames from new ones. See link.h, flow.h.
 */
#include "internal.h"

void flow_share(struct link *link, uint32_t senders)
{
	uint32_t share;

	link->sharers = senders;
	share = link->nic->ring / senders;
	link->ring_share = share < 2 ? 2 :
		share > LINK_MOST_WINDOW ? LINK_MOST_WINDOW : (uint8_t)share;
}

struct flow *flow_find(const struct link *link, uint32_t node, enum link_lane lane)
{
	uint16_t peer = node < link->config.nodes ? link->peers[node] : NO_RECORD;

	return peer == NO_RECORD ? 0 : &link->flows[peer * LINK_LANES + lane];
}

void flow_reset(struct flow *flow)
{
	flow->tx.una = flow->tx.next = flow->tx.after_resend = 0;
	flow->rx.expected = flow->rx.begun = 0;
	flow->tx.sacked = flow->tx.lost = flow->tx.resent = flow->rx.arrived = flow->rx.refused = 0;
	flow->tx.head = flow->tx.tail = flow->tx.unsent = NO_RECORD;
	flow->rx.assembly = flow->rx.stash = NO_RECORD;
	flow->tx.sends = 0;
	flow->tx.timeouts = 0;
	flow->rx.unacked = 0;
	flow->tx.window = flow->rx.window = LINK_FIRST_WINDOW;
	flow->tx.cwnd = LINK_MOST_WINDOW;
	flow->flags &= FLOW_LANE | FLOW_READY | FLOW_TIMED;
	flow->tx.flags = flow->rx.flags = 0;
}

struct flow *flow_open(struct link *link, uint32_t node, enum link_lane lane)
{
	struct flow *flow = flow_find(link, node, lane);
	uint32_t peer = link->n_flows / LINK_LANES;

	if (flow)
		return flow;
	for (uint32_t i = 0; i < LINK_LANES; i++) {
		flow = &link->flows[link->n_flows + i];
		*flow = (struct flow){ .node = (uint16_t)node, .flags = i ? FLOW_LANE : 0,
				       .mine = link->config.incarnation,
				       .epoch = (uint8_t)(link->epoch - 2) };
		flow_reset(flow);
	}
	link->peers[node] = (uint16_t)peer;
	link->n_flows += LINK_LANES;
	return &link->flows[peer * LINK_LANES + lane];
}

void flow_ready(struct link *link, struct flow *flow)
{
	uint32_t index = flow_index(link, flow);

	if (flow->flags & FLOW_READY)
		return;
	flow->flags |= FLOW_READY;
	flow->ready_next = NO_FLOW;
	if (link->ready_first == NO_FLOW)
		link->ready_first = index;
	else
		link->flows[link->ready_last].ready_next = index;
	link->ready_last = index;
}
