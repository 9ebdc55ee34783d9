/*
 * What all pools share: taking and giving back entries, and their handles.
 * Private to the objects' files; block's lock held.
 *
 * A free entry's handle field holds its next generation in a handle's
 * generation bits, and kind and index 0.
 */
#ifndef NET_PORTALS_POOL_H
#define NET_PORTALS_POOL_H
#include "process.h"

#define GENERATION_ONE   (1ULL << HANDLE_INDEX_BITS)
#define GENERATION_MASK  (((1ULL << HANDLE_KIND_SHIFT) - 1) & ~HANDLE_INDEX_MASK)

/* The handle of the entry that now gets in use. */
static inline handle_t handle_in_use(handle_t free, enum handle_kind kind, uint32_t index)
{
	return (uint64_t)kind << HANDLE_KIND_SHIFT | (free & GENERATION_MASK) | index;
}

/* What to leave in an entry's handle when it gets free, or is formatted. */
static inline handle_t handle_free(handle_t handle)
{
	if (HANDLE_KIND(handle) != KIND_FREE)
		handle += GENERATION_ONE;
	return handle & GENERATION_MASK;
}

/* Entry pool->free has been taken; `next` was chained to it. */
static inline void pool_taken(struct pool *pool, uint32_t next)
{
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
