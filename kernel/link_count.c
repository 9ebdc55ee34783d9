/*
 * What the link of frames has counted, as the node's counters (link_frames_count of
 * link_frames.h). Data: the copied bytes that are among them already.
 */
#include "link_frames.h"
#include "node.h"

static uint64_t counted[2];        /* copied bytes, out and in, that are in node.counters */

void link_frames_count(void)
{
	static const struct { enum counter counter; enum link_counter from; } shown[] = {
		{ COUNTER_RETRANSMISSIONS, LINK_RESENT },
		{ COUNTER_ACKS, LINK_ACKS_OUT },
		{ COUNTER_BUNDLES, LINK_BUNDLES },
		{ COUNTER_BUNDLED, LINK_BUNDLED },
		{ COUNTER_TRAINS, LINK_TRAINS },
		{ COUNTER_TRAINED, LINK_TRAINED },
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
		{ COUNTER_PARTS_PULLED, LINK_PULLED },
		{ COUNTER_PARTS_ASTRAY, LINK_ASTRAY },
	};
	const struct link *link;
	uint64_t out, in;

	if (!link_frames)
		return;
	link = frames_link(link_frames);
	for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		node.counters[shown[i].counter] = link_counter(link, shown[i].from);
	node.counters[COUNTER_FRAMES_BAD] = link_counter(link, LINK_SHORT) +
		link_counter(link, LINK_FOREIGN) + link_counter(link, LINK_NONSENSE) +
		link_counter(link, LINK_OUTSIDE) + frames_counter(link_frames, FRAMES_BAD);
	node.counters[COUNTER_POOL_SENDS_HIGH] = link_pool_high(link, LINK_POOL_SENDS);
	node.counters[COUNTER_POOL_PARTS_HIGH] = link_pool_high(link, LINK_POOL_ASSEMBLIES);
	node.counters[COUNTER_POOL_EARLY_HIGH] = link_pool_high(link, LINK_POOL_STASHES);
	node.counters[COUNTER_PEER_BYTES] = 0;
	for (uint32_t nid = 0; nid < node.size; nid++)
		node.counters[COUNTER_PEER_BYTES] += link_peer_bytes(link, nid);
	out = frames_counter(link_frames, FRAMES_COPIED_OUT);
	in = frames_counter(link_frames, FRAMES_COPIED_IN);
	count(COUNTER_COPIED_BYTES, out - counted[0] + in - counted[1]);
	counted[0] = node.counters[COUNTER_COPIED_OUT] = out;
	counted[1] = node.counters[COUNTER_COPIED_IN] = in;
}
