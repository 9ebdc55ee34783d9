/*
 * The iso-address area: which slots of this node's share are in use, and by which thread. Owns the
 * area.
 *
 *   area:  places of all slots | share of node 0 | share of node 1 | ...
 *
 * A thread's home is the node that owns its slots. There `places` has the thread's node. Any node
 * that sends the thread on stores the new node in the home's memory, as the maximum of a number
 * that grows with each hop, so the order of arrival does not matter.
 *
 *   name of a thread:  serial number, 32 bits | slots, 12 bits | first slot, 20 bits
 *   place:             serial, 20 bits | hops, 28 bits | node that sent it, 8 bits | node, 8 bits
 */
#include "inner.h"
#include <stdlib.h>
#include <string.h>

#define SLOT_BITS   20
#define COUNT_BITS  12
#define SLOTS_MOST  (1u << SLOT_BITS)
#define COUNT_MOST  ((1u << COUNT_BITS) - 1)
#define ALIGNMENT   65536u
#define NODE_BITS   8
#define NODE_MASK   (NODES_MOST - 1u)

_Static_assert(NODES_MOST == 1 << NODE_BITS, "a node fits");

int pm2_slots_open(size_t bytes)
{
	uint64_t slots = bytes / PM2_SLOT, tables;

	if (slots > SLOTS_MOST)
		slots = SLOTS_MOST;
	tables = (slots * sizeof(*pm2.places) + PM2_SLOT - 1) / PM2_SLOT;
	if (slots < tables + (uint64_t)pm2.nodes)
		return PM2_EINVAL;
	pm2.area_slots = slots;
	pm2.share = (slots - tables) / (uint64_t)pm2.nodes;
	pm2.first = tables + pm2.share * (uint64_t)pm2.self;
	pm2.area = aligned_alloc(ALIGNMENT, slots * PM2_SLOT);
	pm2.records = calloc(pm2.share, sizeof(*pm2.records));
	pm2.used = calloc(pm2.share / 64 + 1, sizeof(*pm2.used));
	if (!pm2.area || !pm2.records || !pm2.used)
		return PM2_ENOMEM;
	pm2.places = (uint64_t *)pm2.area;
	memset(pm2.places, 0, tables * PM2_SLOT);
	for (uint64_t i = pm2.share; i < (pm2.share / 64 + 1) * 64; i++)
		pm2.used[i / 64] |= 1ULL << i % 64;
	pm2.hint = 0;
	return PM2_OK;
}

void pm2_slots_close(void)
{
	free(pm2.area);
	free(pm2.records);
	free(pm2.used);
	pm2.area = 0;
	pm2.records = 0;
	pm2.used = 0;
}

/* ---- slots ---- */

static int is_used(uint64_t slot)
{
	return pm2.used[slot / 64] >> slot % 64 & 1;
}

/* The lowest run of `count` free slots, or the share's end. */
static uint64_t find(uint32_t count)
{
	uint64_t words = pm2.share / 64 + 1, run = 0;

	while (pm2.hint < words && pm2.used[pm2.hint] == ~0ULL)
		pm2.hint++;
	if (pm2.hint == words)
		return pm2.share;
	if (count == 1)
		return pm2.hint * 64 + (uint64_t)__builtin_ctzll(~pm2.used[pm2.hint]);
	for (uint64_t slot = pm2.hint * 64; slot < pm2.share; slot++) {
		run = is_used(slot) ? 0 : run + 1;
		if (run == count)
			return slot + 1 - count;
	}
	return pm2.share;
}

void *pm2_slots_take(uint32_t count)
{
	uint64_t slot = find(count);

	if (slot == pm2.share)
		return 0;
	for (uint64_t i = slot; i < slot + count; i++) {
		pm2.used[i / 64] |= 1ULL << i % 64;
		pm2.records[i].use = PART;
	}
	return pm2.area + (pm2.first + slot) * PM2_SLOT;
}

static uint64_t index_of(const void *slots)
{
	return (uint64_t)((const char *)slots - pm2.area) / PM2_SLOT;
}

void pm2_slots_give(void *slots, uint32_t count)
{
	uint64_t slot = index_of(slots) - pm2.first;

	for (uint64_t i = slot; i < slot + count && i < pm2.share; i++) {
		pm2.used[i / 64] &= ~(1ULL << i % 64);
		pm2.records[i].use = FREE;
	}
	if (slot / 64 < pm2.hint)
		pm2.hint = slot / 64;
}

static int owner_of(uint64_t slot)
{
	uint64_t tables = pm2.first - pm2.share * (uint64_t)pm2.self;

	if (slot < tables || slot >= tables + pm2.share * (uint64_t)pm2.nodes)
		return -1;
	return (int)((slot - tables) / pm2.share);
}

int pm2_owner(const void *address)
{
	uint64_t offset = (uint64_t)((const char *)address - pm2.area);

	return offset < pm2.area_slots * PM2_SLOT ? owner_of(offset / PM2_SLOT) : -1;
}

/* ---- names ---- */

static uint64_t first_of(pm2_thread_t name)
{
	return name & (SLOTS_MOST - 1);
}

static uint32_t count_of(pm2_thread_t name)
{
	return (uint32_t)(name >> SLOT_BITS) & COUNT_MOST;
}

int pm2_home(pm2_thread_t name)
{
	uint64_t first = first_of(name);
	uint32_t count = count_of(name);
	int home = owner_of(first);

	return count && name >> 32 && owner_of(first + count - 1) == home ? home : -1;
}

struct record *pm2_record(pm2_thread_t name)
{
	struct record *record;

	if (pm2_home(name) != pm2.self)
		return 0;
	record = &pm2.records[first_of(name) - pm2.first];
	if (record->serial != (uint32_t)(name >> 32) || record->use < LIVES)
		return 0;
	return record;
}

struct record *pm2_record_of(const struct pm2_thread *thread)
{
	return &pm2.records[first_of(thread->name) - pm2.first];
}

struct pm2_thread *pm2_thread_of(pm2_thread_t name)
{
	return (struct pm2_thread *)(pm2.area + (first_of(name) + count_of(name)) * PM2_SLOT) - 1;
}

/* ---- places ---- */

static uint64_t place(const struct pm2_thread *thread, int node)
{
	return thread->name >> 32 << 44 | (uint64_t)thread->hops << 16 |
	       (uint64_t)pm2.self << NODE_BITS | (uint64_t)node;
}

void pm2_place(const struct pm2_thread *thread, int node)
{
	static uint64_t sent[NODES_MOST];       /* last value sent to each home */
	int home = pm2_home(thread->name);
	uint64_t *where = &pm2.places[first_of(thread->name)];

	if (home == pm2.self) {
		*where = place(thread, node);
	} else if (home != node) {
		sent[home] = place(thread, node);
		PtlAtomic(pm2.plain, (uintptr_t)&sent[home], sizeof(sent[home]), PTL_NOACK_REQ,
			  pm2.peers[home].process, PM2_PORTAL, 0, PM2_SILENT, (uintptr_t)where, 0,
			  PTL_MAX, PTL_UINT64_T);
	}
}

int pm2_place_of(pm2_thread_t name)
{
	return (int)(pm2.places[first_of(name)] & NODE_MASK);
}

int pm2_sender_of(pm2_thread_t name)
{
	return (int)(pm2.places[first_of(name)] >> NODE_BITS & NODE_MASK);
}

/* ---- threads ---- */

struct pm2_thread *pm2_thread_new(uint32_t slots)
{
	struct pm2_thread *thread;
	struct record *record;
	char *base;

	base = slots <= COUNT_MOST ? pm2_slots_take(slots) : 0;
	if (!base)
		return 0;
	record = &pm2.records[index_of(base) - pm2.first];
	*record = (struct record){ .serial = record->serial + 1, .use = LIVES,
				   .slots = (uint16_t)slots };
	if (!record->serial)
		record->serial = 1;
	thread = (struct pm2_thread *)(base + (uint64_t)slots * PM2_SLOT) - 1;
	*thread = (struct pm2_thread){
		.name = (uint64_t)record->serial << 32 | (uint64_t)slots << SLOT_BITS |
			index_of(base),
		.canary = (uint64_t *)base, .slots = (uint16_t)slots,
	};
	*thread->canary = CANARY;
	pm2_place(thread, pm2.self);
	return thread;
}
