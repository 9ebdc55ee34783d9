/*
 * Memory that moves with a thread: a list of regions, each of some slots of the node on which it
 * was allocated. Free blocks are in a list by address, and merged with free neighbours. Memory
 * above the last block in use is not sent.
 *
 *   region | block | block | free | block |  ... top    never sent ... | end of the slots
 */
#include "inner.h"

#define USED     0x15075ed0b10c5ULL
#define UNUSED   0x1507f2eeb10c5ULL
#define LEAST    32u                    /* smallest block: head and list pointer */
#define UNIT     16u

struct block {
	size_t bytes;                   /* including this head */
	uint64_t mark;                  /* USED or UNUSED */
	struct block *next;             /* free: the next one by address. Else memory begins here */
};

#define HEAD     16u

struct region {
	struct region *next;
	struct block *free;
	uint64_t top;                   /* bytes from here that are or were in use */
	uint32_t slots;
	uint32_t blocks;                /* in use */
	struct message message;         /* to return the slots to another node */
};

#define FIRST    ((sizeof(struct region) + UNIT - 1) / UNIT * UNIT)

static void *use(struct region *region, struct block *block)
{
	block->mark = USED;
	region->blocks++;
	return (char *)block + HEAD;
}

static void *take_free(struct region *region, size_t bytes)
{
	for (struct block **link = &region->free; *link; link = &(*link)->next) {
		struct block *block = *link;

		if (block->bytes < bytes)
			continue;
		if (block->bytes - bytes >= LEAST) {
			struct block *rest = (struct block *)((char *)block + bytes);

			*rest = (struct block){ block->bytes - bytes, UNUSED, block->next };
			block->bytes = bytes;
			*link = rest;
		} else {
			*link = block->next;
		}
		return use(region, block);
	}
	return 0;
}

static void *take_top(struct region *region, size_t bytes)
{
	struct block *block = (struct block *)((char *)region + region->top);

	if ((uint64_t)region->slots * PM2_SLOT - region->top < bytes)
		return 0;
	region->top += bytes;
	block->bytes = bytes;
	return use(region, block);
}

static struct region *new_region(size_t bytes)
{
	uint64_t slots = (bytes + FIRST + PM2_SLOT - 1) / PM2_SLOT;
	struct region *region = slots < 1u << 14 ? pm2_slots_take((uint32_t)slots) : 0;

	if (region)
		*region = (struct region){ .next = pm2.current->heap, .top = FIRST,
					   .slots = (uint32_t)slots };
	return region;
}

void *pm2_isomalloc(size_t bytes)
{
	void *memory = 0;

	if (!pm2_may() || pm2.current->flags & MAIN || bytes > pm2.area_slots * PM2_SLOT)
		return 0;
	bytes = (bytes + HEAD + UNIT - 1) / UNIT * UNIT;
	if (bytes < LEAST)
		bytes = LEAST;
	pm2_enter();
	for (struct region *at = pm2.current->heap; at && !memory; at = at->next) {
		memory = take_free(at, bytes);
		if (!memory)
			memory = take_top(at, bytes);
	}
	if (!memory) {
		struct region *region = new_region(bytes);

		if (region) {
			pm2.current->heap = region;
			memory = take_top(region, bytes);
		}
	}
	pm2_leave();
	return memory;
}

/* ---- free ---- */

/* Returns slots to the node that owns them. */
static void give(struct region *region)
{
	int owner = pm2_owner(region);
	uint64_t slots = region->slots;

	if (owner == pm2.self) {
		pm2_slots_give(region, region->slots);
		return;
	}
	region->message = (struct message){ .bits = KIND_FREE,
					    .header = (uintptr_t)region | slots };
	pm2_send(owner, &region->message);
}

/* Merges a free block with the one after it. */
static void join(struct block *block)
{
	struct block *next = block->next;

	if (next && (char *)block + block->bytes == (char *)next) {
		block->bytes += next->bytes;
		block->next = next->next;
	}
}

/* Drops a free block at the end of the region's blocks. */
static void lower(struct region *region)
{
	struct block **link = &region->free;

	while (*link && (*link)->next)
		link = &(*link)->next;
	if (*link && (char *)*link + (*link)->bytes == (char *)region + region->top) {
		region->top -= (*link)->bytes;
		*link = 0;
	}
}

static void release(struct region *region, struct block *block)
{
	struct block *before = 0, **link = &region->free;

	while (*link && *link < block) {
		before = *link;
		link = &before->next;
	}
	block->mark = UNUSED;
	block->next = *link;
	*link = block;
	join(block);
	if (before)
		join(before);
	lower(region);
	region->blocks--;
}

int pm2_isofree(void *memory)
{
	struct block *block = (struct block *)((char *)memory - HEAD);
	struct region **link;
	int result = PM2_ENOTOWNER;

	if (!pm2_may())
		return PM2_ESTATE;
	if (!memory)
		return PM2_OK;
	pm2_enter();
	for (link = &pm2.current->heap; *link; link = &(*link)->next)
		if ((char *)block >= (char *)*link + FIRST &&
		    (char *)block < (char *)*link + (*link)->top)
			break;
	if (*link && (uintptr_t)block % UNIT == 0 && block->mark == USED) {
		struct region *region = *link;

		release(region, block);
		if (!region->blocks) {
			*link = region->next;
			give(region);
		}
		result = PM2_OK;
	}
	pm2_leave();
	return result;
}

void pm2_heap_free(struct pm2_thread *thread)
{
	struct region *region = thread->heap;

	thread->heap = 0;
	while (region) {
		struct region *next = region->next;

		give(region);
		region = next;
	}
}

void pm2_heap_send(struct pm2_thread *thread, int node)
{
	for (struct region *at = thread->heap; at; at = at->next)
		pm2_copy(node, at, at->top);
}
