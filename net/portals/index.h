/*
 * The index of match entries: long lists are searched by what a message brings
 * instead of entry by entry. It only proposes: who asks whether an entry
 * matches, and whether its descriptor accepts, is match.c, for short lists too.
 *
 * Entries are of three classes, by what they want:
 *   exact        ignore_bits 0, one nid, one pid     chain of (portal, nid, pid, bits)
 *   any source   ignore_bits 0, both wildcards       chain of (portal, any, any, bits)
 *   others       ignored bits, half a wildcard       one chain per portal
 * So a message can match entries of three chains only. Chains are hashed:
 * entries of other keys and portals may be in them, but those of one portal
 * stand in the order of its list. Every entry has an order number that grows
 * along the list, and of what three chains propose the smallest number is
 * first: the result is always that of the list search.
 *
 * A portal's entries get into the index when its list grows past INDEX_FROM,
 * and stay there until it is empty: shorter lists are searched faster as they
 * are. Only the owner's calls build and number; the message path takes entries
 * out, in constant time.
 */
#ifndef NET_PORTALS_INDEX_H
#define NET_PORTALS_INDEX_H
#include "me.h"

#define INDEX_FROM  4u        /* longest list that is not indexed */
#define CHAIN_NONE  0xfffeu   /* me.chain of an entry that is in no chain */

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

/* Which chain entries of this key are in. ANY_ID, ANY_ID: the any-source class. */
static inline uint32_t index_chain(const struct process_view *view, uint32_t pt_index,
				   uint32_t nid, uint32_t pid, uint64_t bits)
{
	uint64_t key = bits + ((uint64_t)pid << 32 | nid) * 0xd6e8feb86659fd93ULL +
		       pt_index * 0xa0761d6478bd642fULL;

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
