/*
 * The index of match entries: a long list is searched by what a message brings,
 * not entry by entry (tuple space search, as packet classifiers do it). The
 * index only proposes. Whether an entry matches, and whether its descriptor
 * accepts, is asked in match.c, as in a short list.
 *
 * Entries of a portal that ignore the same bits and the same halves of the
 * source (nid, pid, both or none) have the same mask. What a mask leaves of
 * an entry's match bits and source is the entry's key. A message has one key
 * for each mask, and only entries of that key can match it. So a search takes
 * one step per mask in use, however long the list is.
 *
 *   portal.indexed      masks in use, one bit each
 *        |
 *   view->masks         PORTAL_MASKS for each portal: bits and source that count
 *        |
 *        | number of the mask, masked bits, masked source: hashed
 *        v
 *   view->chains  --->  me <---> me <---> me      later, earlier
 *
 * A portal has MASK_REST masks of its own, which go to the first entries that
 * need one, and get free when their last entry goes. Entries that find none
 * free have mask MASK_REST, which leaves nothing: all of them are in one chain,
 * which is searched like a list. They stay there when a mask gets free.
 *
 * Several keys and portals may share a chain. The entries of one mask in it are
 * in the order of the portal's list. Each entry has an order number that grows
 * along the list. Of what the masks' chains propose, the smallest number is
 * first: the result is always that of the list search.
 *
 * A portal's entries get into the index when its list grows past INDEX_FROM,
 * and stay there until it is empty: shorter lists are searched faster as they
 * are. Only the owner's calls build and number. The message path takes entries
 * out, in constant time. Putting in takes constant time at both ends of the
 * list, next to an entry of the same chain, and where only earlier entries of the
 * list are in the chain; else the chain is walked back from its end.
 */
#ifndef NET_PORTALS_INDEX_H
#define NET_PORTALS_INDEX_H
#include "me.h"

#define INDEX_FROM    4u        /* longest list that is not indexed */
#define CHAIN_NONE    0xfffeu   /* me.chain of an entry that is in no chain */
#define PORTAL_MASKS  8u        /* of each portal: as many as portal.indexed has bits */
#define MASK_REST     7u        /* the last: of entries that find no other free */

/* 64 - log2 of the number of chains for so many entries: at least 2 chains, at
 * least one per entry up to 32768. */
static inline uint32_t index_shift(uint32_t mes)
{
	uint32_t shift = 63;

	while (shift > 64 - 15 && 1ULL << (64 - shift) < mes)
		shift--;
	return shift;
}

static inline uint32_t index_chains(uint32_t mes)
{
	return 1u << (64 - index_shift(mes));
}

#define SOURCE_NID  0x00000000ffffffffULL   /* the halves of index_source */
#define SOURCE_PID  0xffffffff00000000ULL

/* A source's part of keys. Both numbers are scattered within their halves: as they
 * are, a small one could make up for a difference in the match bits. */
static inline uint64_t index_source(uint32_t nid, uint32_t pid)
{
	return (uint64_t)(pid * 0xb5297a4du) << 32 | nid * 0x68e31da5u;
}

/* Which chain the entries of a key are in: what a mask leaves of match bits and of
 * index_source. */
static inline uint32_t index_chain(const struct process_view *view, const struct mask *mask,
				   uint64_t bits, uint64_t source)
{
	uint64_t key = (bits & mask->bits) + (source & mask->source) + mask->salt;

	return (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> view->chain_shift);
}

/* Empty all chains. */
void index_init(struct process_view *view);

/* An entry has been put into its portal's list, next to another one at
 * `position` or at an end. 0 or PORTALS_FAIL. */
int index_add(struct process_view *view, struct me *me, enum insert_pos position);

/* An entry of an indexed portal leaves its list: 0, or PORTALS_FAIL and nothing
 * has changed. */
int index_remove(struct process_view *view, struct portal *portal, const struct me *me);

#endif
