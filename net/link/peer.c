/*
 * Losing a peer, because it has restarted or is given up: all that was under way with it fails.
 * Called when a frame of a new incarnation arrives (receive.c), after the last timeout (clock.c),
 * and when the user reports it. See link.h.
 */
#include "internal.h"

void peer_lose(struct link *link, uint32_t node, uint32_t theirs)
{
	uint32_t assembly[LINK_LANES], stash[LINK_LANES], send[LINK_LANES];
	struct flow *pair = flow_find(link, node, LINK_REQUESTS);

	/* First reset both lanes. The user may send from within link_port_* below, and those
	 * messages belong to the new incarnation. */
	for (uint32_t lane = 0; lane < LINK_LANES; lane++) {
		struct flow *flow = pair + lane;

		bulk_lose(link, flow);
		batch_release(link, flow);
		assembly[lane] = flow->rx.assembly;
		stash[lane] = flow->rx.stash;
		send[lane] = flow->tx.head;
		flow_reset(flow);
		flow->mine += !theirs;
		flow->mine += flow->mine == 0;
		if (theirs)
			flow->theirs = theirs;
	}
	count(link, LINK_LOST);
	for (uint32_t lane = 0; lane < LINK_LANES; lane++) {
		reassemble_lose(link, assembly[lane], stash[lane]);
		while (send[lane] != NO_RECORD) {
			uint32_t next = send_at(link, send[lane])->next;

			send_end(link, send[lane], 1);
			send[lane] = next;
		}
	}
	link_port_lost(link->context, node);
}

void link_ended(struct link *link, uint64_t now, uint32_t node, uint32_t next)
{
	const struct flow *flow = flow_find(link, node, LINK_REQUESTS);

	if (!flow || (next && flow->theirs && !is_before(flow->theirs, next)))
		return;
	link->now = now;
	peer_lose(link, node, next);
	bulk_run(link, 0);
	transmit(link);
}
