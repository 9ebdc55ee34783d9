/*
 * The self-test `damage`: the last node writes into the shared region what a faulty kernel might
 * write there. Numbers from a seed, random and structured, go into the header, the node table, the
 * console rings, standard input's ring, the file table, the locks and the blocks of the other
 * nodes, which meanwhile run an application (tests/apps/damaged.c). `selftest=damage-SEED-COUNT`
 * does so for COUNT seeds in a row.
 *
 * Then it checks whether any kernel has written outside its own memory: into the segment of this
 * node, to which no application of the test sends, into the gaps between the parts of slices, or
 * after the last slice. It ends with a panic, which says how many words were changed.
 *
 * The self-tests `pinned`, `unsent`, `unrung` and `retracted` do only one thing while node 0 runs
 * (tests/apps/ptl_pinned.c). The last node writes into node 0's descriptors that operations on them
 * are pending, or into its block that sends are under way, which never end, or, once node 0 waits in
 * a barrier, into the node table that the last node was restarted. `retracted` does so while nodes
 * 0 and 1 wait in a barrier, rings node 0 only, and restores the value once node 0 has ended.
 *
 * Data: the state of the random numbers.
 */
#include "selftest_damage.h"

#include <stdatomic.h>
#include <stdint.h>

#include "drivers/ivshmem.h"
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/transport/wait.h"
#include "net/portals/block.h"
#include "net/portals/md.h"
#include "net/shm/lock.h"
#include "net/shm/region.h"

#define PAUSE_NS      5000000UL    /* between seeds: the others work with the damage */
#define START_NS      60000000000UL
#define BEHIND_BYTES  (1UL << 20)  /* checked after the last slice */
#define MOST_WRITES   12u          /* writes of a seed */
#define POOL_BYTES    4096u        /* of each pool: its used entries */
#define PINS          1000u        /* operations that do not exist */
#define PIN_NS        100000UL

static uint64_t state;

/* splitmix64 */
static uint64_t random(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15UL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9UL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebUL;
	return x ^ x >> 31;
}

static uint64_t below(uint64_t limit)
{
	return random() % limit;
}

/* Random values, the ends of the range, and values that are almost right. */
static uint64_t damaged(uint64_t value)
{
	switch (below(8)) {
	case 0:  return random();
	case 1:  return ~0UL;
	case 2:  return 0;
	case 3:  return value ^ 1UL << below(64);
	case 4:  return below(70);
	case 5:  return value + below(17) - 8;
	case 6:  return 1UL << below(64);
	default: return value << 32 | (uint32_t)random();
	}
}

static void scribble(uint8_t *from, uint64_t bytes)
{
	if (below(2)) {
		_Atomic uint32_t *word = (_Atomic uint32_t *)(from + below(bytes / 4) * 4);

		atomic_store(word, (uint32_t)damaged(atomic_load(word)));
	} else {
		_Atomic uint64_t *word = (_Atomic uint64_t *)(from + below(bytes / 8) * 8);

		atomic_store(word, damaged(atomic_load(word)));
	}
}

/* ---- places ---- */

/* Another node than this one, which is the last. */
static uint32_t victim(void)
{
	return (uint32_t)below(node.id);
}

static uint8_t *block_of(uint32_t nid)
{
	return region_slice(node.region, nid) + node.region->block_offset;
}

static void header(void)
{
	scribble((uint8_t *)node.region->shared, sizeof(struct region_header));
}

/* Never how a node ended: the launcher trusts that, and would end the job. */
static void entry(void)
{
	struct region_node *entry = region_node(node.region, victim());
	uint32_t before = atomic_load(&entry->state);

	scribble((uint8_t *)entry, sizeof(*entry));
	if (below(8))
		atomic_store(&entry->state, before);
}

/* Sleep flag, requests and the like: what each wait relies on. */
static void flags(void)
{
	struct region_node *entry = region_node(node.region, victim());
	_Atomic uint32_t *words[] = { &entry->sleeping, &entry->console_waits, &entry->upcall,
	                              &entry->stdin_wanted, &entry->requests, &entry->restarts };

	atomic_store(words[below(sizeof(words) / sizeof(words[0]))], (uint32_t)below(4));
}

static void console(void)
{
	uint8_t *ring = region_slice(node.region, victim()) + node.region->console_offset;

	scribble(ring, below(4) ? sizeof(struct region_ring) : node.region->console_bytes);
}

static void input(void)
{
	scribble(region_at(node.region, node.region->stdin_ring), sizeof(struct region_ring));
}

static void files(void)
{
	if (node.region->files)
		scribble(region_at(node.region, node.region->file_table),
		         node.region->files * sizeof(struct region_file));
}

/* Mostly the name of a living node. */
static void lock(void)
{
	struct shm_lock *lock = (struct shm_lock *)((struct block *)block_of(victim()))->lock;

	if (below(4))
		atomic_store(&lock->owner, 1 + victim());
	else
		scribble((uint8_t *)lock, sizeof(*lock));
}

static void block(void)
{
	uint8_t *block = block_of(victim());
	struct block_layout layout;

	block_layout(&own_view()->limits, &layout);
	const uint64_t parts[] = { layout.portals, layout.acs, layout.mes, layout.mds, layout.eqs,
	                           layout.ops, layout.pieces, layout.chains, layout.slots };

	if (below(3) == 0)
		scribble(block + sizeof(struct shm_lock), sizeof(struct block) -
		                                          sizeof(struct shm_lock));
	else
		scribble(block + parts[below(sizeof(parts) / sizeof(parts[0]))], POOL_BYTES);
}

static void seed(uint64_t seed)
{
	static void (*const places[])(void) = { header, entry, flags, console, input, files, lock,
	                                        block, block };
	void (*place)(void);
	uint64_t writes;

	state = seed;
	place = places[below(sizeof(places) / sizeof(places[0]))];
	writes = 1 + below(MOST_WRITES);
	for (uint64_t i = 0; i < writes; i++)
		place();
}

/* ---- memory that must not change ---- */

static uint64_t sum_of(const uint8_t *from, uint64_t bytes)
{
	const volatile uint64_t *word = (const volatile uint64_t *)from;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < bytes / 8; i++)
		sum = (sum << 1 | sum >> 63) ^ word[i];
	return sum;
}

/* Words that are not zero. */
static uint64_t written_in(const uint8_t *from, const uint8_t *end)
{
	uint64_t written = 0;

	for (; from + 8 <= end; from += 8)
		written += *(const volatile uint64_t *)from != 0;
	return written;
}

static uint64_t written_between(void)
{
	const struct region *r = node.region;
	uint64_t behind = r->slices + r->nodes * r->slice_bytes, written = 0;
	uint64_t end = r->bytes - behind < BEHIND_BYTES ? r->bytes : behind + BEHIND_BYTES;

	for (uint32_t nid = 0; nid < r->nodes; nid++) {
		const uint8_t *slice = region_slice(r, nid);

		written += written_in(slice + r->console_offset + r->console_bytes,
		                      slice + r->segment_offset);
	}
	return written + written_in(region_at(r, behind), region_at(r, end));
}

/* ---- the tests ---- */

static bool all_run(void *unused)
{
	(void)unused;
	for (uint32_t nid = 0; nid < node.id; nid++)
		if (atomic_load(&region_node(node.region, nid)->state) < NODE_RUNNING)
			return false;
	return true;
}

/* "-SEED-COUNT": the two numbers. */
static bool read_numbers(const char *text, uint64_t numbers[2])
{
	for (int i = 0; i < 2; i++) {
		if (*text++ != '-' || *text < '0' || *text > '9')
			return false;
		for (numbers[i] = 0; *text >= '0' && *text <= '9'; text++)
			numbers[i] = numbers[i] * 10 + (uint64_t)(*text - '0');
	}
	return !*text;
}

bool damage_test(const char *words)
{
	const struct segment *s = &this_process()->segment;
	uint64_t numbers[2], sum, until = deadline_in(START_NS);

	if (!node.region || node.size < 3 || !read_numbers(words, numbers))
		return false;
	if (node.id != node.size - 1)
		return true;
	sum = sum_of(s->alias, s->bytes);
	while (!all_run(0) && now_ns() < until)
		wait_time(deadline_in(PAUSE_NS), "the other nodes to run");
	for (uint64_t i = 0; i < numbers[1]; i++) {
		seed(numbers[0] + i);
		wait_time(deadline_in(PAUSE_NS), "the other nodes to work");
	}
	panic("damage: %lu seeds from %lu on; %lu words written outside, own segment %s",
	      numbers[1], numbers[0], written_between(),
	      sum_of(s->alias, s->bytes) == sum ? "whole" : "changed");
}

static bool has_ended(void *unused)
{
	(void)unused;
	return atomic_load(&region_node(node.region, 0)->state) >= NODE_EXITED;
}

static void pin_descriptors(void)
{
	struct block_layout layout;
	struct md *mds;

	block_layout(&own_view()->limits, &layout);
	mds = (struct md *)(block_of(0) + layout.mds);
	for (unsigned i = 0; i < POOL_BYTES / sizeof(*mds); i++)
		if (HANDLE_KIND(__atomic_load_n(&mds[i].handle, __ATOMIC_RELAXED)) == KIND_MD)
			__atomic_store_n(&mds[i].pending, PINS, __ATOMIC_RELAXED);
}

static void claim_sends(void)
{
	struct block *block = (struct block *)block_of(0);

	__atomic_store_n(&block->started.sends, PINS, __ATOMIC_RELAXED);
}

static void claim_restart(void)
{
	if (atomic_load(&node.region->shared->barriers) &&
	    atomic_load(&region_node(node.region, 0)->sleeping))
		atomic_store(&node.own->restarts, 1);
}

static bool have_both_ended(void *unused)
{
	return has_ended(unused) &&
	       atomic_load(&region_node(node.region, 1)->state) >= NODE_EXITED;
}

static bool do_both_wait(void *unused)
{
	(void)unused;
	return atomic_load(&node.region->shared->barriers) == 2 &&
	       atomic_load(&region_node(node.region, 0)->sleeping) &&
	       atomic_load(&region_node(node.region, 1)->sleeping);
}

static bool pin(void (*write)(void))
{
	if (!node.region || node.size < 2)
		return false;
	if (node.id != node.size - 1)
		return true;
	while (!wait_until(has_ended, 0, deadline_in(PIN_NS), "node 0 to end"))
		write();
	return true;
}

bool pinned_test(void)
{
	return pin(pin_descriptors);
}

bool unsent_test(void)
{
	return pin(claim_sends);
}

bool unrung_test(void)
{
	return pin(claim_restart);
}

bool retracted_test(void)
{
	if (!node.region || node.size < 3)
		return false;
	if (node.id != node.size - 1)
		return true;
	while (!wait_until(do_both_wait, 0, deadline_in(PIN_NS), "nodes 0 and 1 to wait"))
		continue;
	atomic_store(&node.own->restarts, 1);
	ivshmem_ring(0);
	while (!wait_until(has_ended, 0, deadline_in(PIN_NS), "node 0 to end"))
		continue;
	atomic_store(&node.own->restarts, 0);
	while (!wait_until(have_both_ended, 0, deadline_in(PIN_NS), "node 1 to end"))
		continue;
	return true;
}
