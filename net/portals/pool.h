/*
 * Functions of all pools: allocating and freeing entries, and their handles. Private to the
 * objects' files; the block's lock is held.
 *
 * The handle field of a free entry has its next generation in a handle's generation bits, and kind
 * and index 0. Before the entry's first use it is 0. Entries from pool->fresh on have not been used
 * since block_init and are not in the free list. So the cost of a pool in memory and time depends
 * on the entries used, not on its size.
 */
#ifndef NET_PORTALS_POOL_H
#define NET_PORTALS_POOL_H
#include "process.h"

#define GENERATION_MASK  (~(HANDLE_KIND_MASK | HANDLE_INDEX_MASK))

/* The handle of an entry that is allocated now. */
static inline handle_t handle_in_use(handle_t free, enum handle_kind kind, uint32_t index)
{
	return (uint64_t)kind << HANDLE_KIND_SHIFT | (free & GENERATION_MASK) | index;
}

/*
 * The first generation of an entry. It depends on the block's secret seed, so that an attacker
 * outside the job cannot guess the handle of an object. (The mixing steps of splitmix64: each bit
 * of the input affects all bits of the result.)
 */
static inline handle_t handle_first(const struct block *block, enum handle_kind kind,
				    uint32_t index)
{
	uint64_t x = block->seed + ((uint64_t)kind << 32 | index) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x ^ x >> 31) & GENERATION_MASK;
}

/* The value of an entry's handle field after it is freed or formatted. */
static inline handle_t handle_free(handle_t handle)
{
	if (HANDLE_KIND(handle) != KIND_FREE)
		handle += HANDLE_NEXT;
	return handle & GENERATION_MASK;
}

/* The same for an entry that is allocated for the first time since block_init. Its handle field is
 * 0 if it was never used before. */
static inline handle_t handle_fresh(const struct block *block, handle_t handle,
				    enum handle_kind kind, uint32_t index)
{
	return handle ? handle_free(handle) : handle_first(block, kind, index);
}

/*
 * The entry to be allocated next, one of `count`. PORTALS_NO_SPACE if all granted ones are in use,
 * PORTALS_FAIL. *fresh is 1 if it was not used since block_init: use handle_fresh then.
 */
static inline int pool_next(const struct pool *pool, uint32_t count, uint32_t *index, int *fresh)
{
	*fresh = 0;
	*index = pool->free;
	if (__builtin_expect(*index != NO_INDEX, 1)) /* always, apart from the first objects */
		return *index < count ? PORTALS_OK : PORTALS_FAIL;
	*fresh = 1;
	*index = pool->fresh;
	return *index < count && *index < pool->limit ? PORTALS_OK : PORTALS_NO_SPACE;
}

/* The entry of pool_next is allocated. `next`: the entry behind it in the free list; unused if it
 * is fresh. */
static inline void pool_taken(struct pool *pool, int fresh, uint32_t next)
{
	if (__builtin_expect(fresh, 0))
		pool->fresh++;
	else
		pool->free = next;
	pool->used++;
}

/* Entry `index` is freed; the caller has linked it to the former pool->free. */
static inline void pool_given(struct pool *pool, uint32_t index)
{
	pool->free = index;
	pool->used--;
}

#endif
