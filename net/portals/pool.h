/*
 * What all pools share: taking and giving back entries, and their handles.
 * Private to the objects' files; block's lock held.
 *
 * A free entry's handle field holds its next generation in a handle's
 * generation bits, and kind and index 0; or all 0, before its first use. Entries from pool->fresh on have not
 * been used since block_init and are on no chain: so a pool costs memory and
 * time for what is used of it, not for its size.
 */
#ifndef NET_PORTALS_POOL_H
#define NET_PORTALS_POOL_H
#include "process.h"

#define GENERATION_MASK  (~(HANDLE_KIND_MASK | HANDLE_INDEX_MASK))

/* The handle of the entry that now gets in use. */
static inline handle_t handle_in_use(handle_t free, enum handle_kind kind, uint32_t index)
{
	return (uint64_t)kind << HANDLE_KIND_SHIFT | (free & GENERATION_MASK) | index;
}

/*
 * The first generation of an entry: known where the block's seed is known, so that
 * nothing from outside the job can name an object without having seen its handle.
 * (splitmix64's steps: each bit of the seed and the place changes each of the result.)
 */
static inline handle_t handle_first(const struct block *block, enum handle_kind kind,
				    uint32_t index)
{
	uint64_t x = block->seed + ((uint64_t)kind << 32 | index) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x ^ x >> 31) & GENERATION_MASK;
}

/* What to leave in an entry's handle when it gets free, or is formatted. */
static inline handle_t handle_free(handle_t handle)
{
	if (HANDLE_KIND(handle) != KIND_FREE)
		handle += HANDLE_NEXT;
	return handle & GENERATION_MASK;
}

/* The same for an entry that is taken for the first time since block_init: one that
 * was never used, in no life of the block, has 0. */
static inline handle_t handle_fresh(const struct block *block, handle_t handle,
				    enum handle_kind kind, uint32_t index)
{
	return handle ? handle_free(handle) : handle_first(block, kind, index);
}

/*
 * The entry that would be taken next, one of `count`. PORTALS_NO_SPACE if all
 * that were granted are in use, PORTALS_FAIL. *fresh is 1 for one that was
 * never used: then its handle says nothing but its generation.
 */
static inline int pool_next(const struct pool *pool, uint32_t count, uint32_t *index, int *fresh)
{
	*fresh = 0;
	*index = pool->free;
	if (__builtin_expect(*index != NO_INDEX, 1)) /* but for the first objects of a run */
		return *index < count ? PORTALS_OK : PORTALS_FAIL;
	*fresh = 1;
	*index = pool->fresh;
	return *index < count && *index < pool->limit ? PORTALS_OK : PORTALS_NO_SPACE;
}

/* It has been taken; `next` was chained to it, which counts if it was not fresh. */
static inline void pool_taken(struct pool *pool, int fresh, uint32_t next)
{
	if (fresh)
		pool->fresh++;
	else
		pool->free = next;
	pool->used++;
	if (pool->used > pool->high)
		pool->high = pool->used;
}

/* Entry `index` is free; the caller has chained it to what pool->free was. */
static inline void pool_given(struct pool *pool, uint32_t index)
{
	pool->free = index;
	pool->used--;
}

#endif
