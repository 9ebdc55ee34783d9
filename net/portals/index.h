/*
 * The index of match entries: a long list is searched by hashing (tuple space search, as in packet
 * classifiers), not entry by entry. The index only finds candidates. match.c checks whether an
 * entry matches and its descriptor accepts, as in a short list.
 *
 * Entries of a portal that ignore the same match bits and the same parts of the source (nid, pid,
 * both or none) have the same mask. An entry's key is its match bits and source, masked. A message
 * has one key for each mask, and only entries with that key can match it. So a search takes one
 * step per mask in use, however long the list is.
 *
 *   portal.indexed      masks in use, one bit each
 *        |
 *   view->masks         PORTAL_MASKS for each portal: bits and source that count
 *        |
 *        | number of the mask, masked bits, masked source: hashed
 *        v
 *   view->chains  --->  me <---> me <---> me      later, earlier
 *
 * A portal has MASK_REST masks for its first different kinds of entries. A mask becomes free when
 * its last entry is removed. Entries that find no free mask get the mask MASK_REST, which ignores
 * everything: all of them are in one chain, which is searched like a list. They stay there when
 * another mask becomes free.
 *
 * Several keys and portals may share a chain. In a chain the entries of one mask are in the order
 * of the portal's list. Each entry has an order number that grows along the list. Among the
 * candidates of all masks the one with the smallest number is chosen, so the result is always that
 * of a list search. If all entries of a mask are behind a candidate, the mask is not searched. So the
 * entries at the end of a list that match everything cost nothing while others match.
 *
 * A portal's entries enter the index when its list becomes longer than INDEX_FROM, and stay there
 * until the list is empty. Shorter lists are searched faster without it. Only the owner's calls
 * insert and number entries. The message path removes entries, in constant time. Insertion takes
 * constant time at both ends of the list, next to an entry of the same chain, and if all entries of
 * the chain are earlier in the list; otherwise the chain is walked back from its end.
 */
#ifndef NET_PORTALS_INDEX_H
#define NET_PORTALS_INDEX_H
#include "me.h"

#define INDEX_FROM    4u        /* longest list that is not indexed */
#define CHAIN_NONE    0xfffeu   /* me.chain of an entry that is in no chain */
#define MASK_REST     7u        /* the last mask: for entries that find no other one free */
#define MASK_NONE     0xffu     /* portal.recent: none */

/* 64 - log2 of the number of chains for `mes` entries: at least 2 chains, and at least one per
 * entry up to 32768. */
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

/* The source's part of a key. Both ids are multiplied to spread their bits; otherwise a small
 * difference of ids could cancel one of match bits in the sum. */
static inline uint64_t index_source(uint32_t nid, uint32_t pid)
{
	return (uint64_t)(pid * 0xb5297a4du) << 32 | nid * 0x68e31da5u;
}

/* The chain of a key: hash of match bits and index_source, masked, and of the mask's number, so that
 * equal keys of different masks differ. */
static inline uint32_t index_chain(const struct process_view *view, uint32_t number,
				   uint64_t bits, uint64_t source)
{
	const struct mask *mask = &view->masks[number];
	uint64_t key = (bits & mask->bits) + (source & mask->source) +
		       number * 0xa0761d6478bd642fULL;

	return (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> view->chain_shift);
}

/* Empty all chains. */
void index_init(struct process_view *view);

/* Where an entry was inserted: order numbers of its neighbours in the list. */
struct index_gap {
	uint64_t low;               /* 0 at the start of the list */
	uint64_t high;              /* ~0 at its end */
	enum insert_pos position;   /* before or after another entry, unless at an end */
};

/* Add the entry of this slot to the index, in which the portal's other entries may be already. The gap
 * counts only if they are. 0 or PORTALS_FAIL. */
int index_insert(struct process_view *view, const struct me_slot *slot,
		 const struct index_gap *gap);

/* An entry was made in this slot: add it to the index if necessary. 0 or PORTALS_FAIL. */
static inline int index_add(struct process_view *view, const struct me_slot *slot,
			    const struct index_gap *gap)
{
	if (slot->portal->indexed || slot->portal->count > INDEX_FROM)
		return index_insert(view, slot, gap);
	view->mes[slot->index].chain = CHAIN_NONE;
	return PORTALS_OK;
}

/* Remove an entry of an indexed portal: 0, or PORTALS_FAIL and nothing has changed. */
int index_remove(struct process_view *view, struct portal *portal, const struct me *me);

#endif
