/*
 * Adds the far transport's counters to the node's. Data: the copied bytes that have been added.
 */
#include "link_count.h"

#include "kernel/base/node.h"
#include "link_frames.h"

static uint64_t counted;           /* copied bytes that are in COUNTER_COPIED_BYTES */

void link_frames_count(void)
{
	static const struct { enum counter counter; enum link_counter from; } shown[] = {
		{ COUNTER_RETRANSMISSIONS, LINK_RESENT },
		{ COUNTER_ACKS, LINK_ACKS_OUT },
		{ COUNTER_BATCHES, LINK_BATCHES },
		{ COUNTER_BATCHED, LINK_BATCHED },
		{ COUNTER_AGGREGATES, LINK_AGGREGATES },
		{ COUNTER_AGGREGATED, LINK_AGGREGATED },
		{ COUNTER_DUPLICATES, LINK_DUPLICATES },
		{ COUNTER_DAMAGED, LINK_DAMAGED },
		{ COUNTER_FORGED, LINK_FORGED },
		{ COUNTER_GHOSTS, LINK_GHOSTS },
		{ COUNTER_FRAMES_EARLY, LINK_EARLY },
		{ COUNTER_FRAMES_REFUSED, LINK_REFUSED },
		{ COUNTER_TIMEOUTS, LINK_TIMEOUTS },
		{ COUNTER_CARD_FULL, LINK_CARD_FULL },
		{ COUNTER_PEERS_LOST, LINK_LOST },
		{ COUNTER_PARTS_PLACED, LINK_PLACED },
		{ COUNTER_PARTS_PULLED, LINK_COPIED },
		{ COUNTER_PARTS_MOVED, LINK_MOVED },
		{ COUNTER_PARTS_MISPLACED, LINK_MISPLACED },
	};
	struct frames_figures figures;
	uint64_t copied;

	if (!link_frames)
		return;
	figures = frames_figures(link_frames);
	for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		node.counters[shown[i].counter] = figures.link.counters[shown[i].from];
	node.counters[COUNTER_FRAMES_BAD] = figures.bad + figures.link.counters[LINK_SHORT] +
		figures.link.counters[LINK_FOREIGN] + figures.link.counters[LINK_NONSENSE] +
		figures.link.counters[LINK_OUTSIDE];
	node.counters[COUNTER_POOL_SENDS_HIGH] = figures.link.sends_high;
	node.counters[COUNTER_POOL_PARTS_HIGH] = figures.link.parts_high;
	node.counters[COUNTER_POOL_EARLY_HIGH] = figures.link.early_high;
	node.counters[COUNTER_PEER_BYTES] = figures.link.peer_bytes;
	node.counters[COUNTER_COPIED_OUT] = figures.copied_out;
	node.counters[COUNTER_COPIED_IN] = figures.copied_in;
	copied = figures.copied_out + figures.copied_in;
	count(COUNTER_COPIED_BYTES, copied - counted);
	counted = copied;
}
