/*
 * Self-tests and raw limits of a machine of two nodes, for tests/ and
 * tests/bench/bench.py: `selftest=NAME` on the kernel's command line runs one on
 * both nodes before the application starts. They work on the region's scratch
 * bytes and on the middle of the segments, which they leave zero, as they found it.
 * Lines "NAME_FIGURE VALUE" go to node 0's standard output.
 *
 *   locks      locked increments from both nodes, and store-fence-load rounds:
 *              what the shared-memory link relies on (docs/machine.md, Sleep)
 *   pingpong   a flag in shared memory, polled: the lower limit of latency
 *   doorbell   the same, but the waiting node is halted and rung
 *   copy       the copy routine from segment to segment: the limit of bandwidth,
 *              and the other copy loops that were tried
 *   costs      of single instructions and events (selftest_costs.c); also on one node
 *   stray      interrupts without a handler are counted and harm nothing; also on
 *              one node
 *   frames     raw frames between the network cards (selftest_frames.c); of these,
 *              framesizes measures nothing, framehalves latency, framestreams streams
 *   incast     raw frames from all nodes to one (selftest_incast.c); 3 nodes or more
 *   damage-SEED-COUNT  the last node damages the region (selftest_damage.c); 3 or more
 *   pinned     the last node pins node 0's descriptors for ever (also there); 2 or more
 *   unsent     the last node says for ever that node 0 has sends under way; likewise
 *   unrung     the last node says that it was restarted, and rings no node; likewise
 *   retracted  the same, but it rings node 0, and takes the restart back later; 3 or more
 */
#include "selftest.h"

#include <stdatomic.h>

#include "drivers/ivshmem.h"
#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/base/x86.h"
#include "kernel/console/console.h"
#include "kernel/cpu/vectors.h"
#include "kernel/devices/apic.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/transport/cards.h"
#include "net/port.h"
#include "net/shm/region.h"
#include "selftest_costs.h"
#include "selftest_damage.h"
#include "selftest_frames.h"
#include "selftest_incast.h"
#include "selftest_places.h"

enum { INCREMENTS = 1000000, ROUNDS = 20000, TRIPS = 100000, BELLS = 20000 };

/* A test with turns by polling ends after this time, with the rounds done so far. Where both nodes
 * share one processor, each turn may take a time slice of the host. */
#define MOST_NS 2000000000UL

struct scratch {
	_Atomic uint64_t arrived[2];
	_Atomic uint64_t sum;
	_Atomic uint64_t flag[2];
	_Atomic uint64_t seen[2];
	_Atomic uint64_t is_late;      /* said by node 0 */
	struct frames_shared frames;
};
_Static_assert(sizeof(struct scratch) <= REGION_NODES - REGION_SCRATCH, "fits the scratch bytes");

static struct scratch *scratch;
static uint64_t step;              /* barriers passed with the other node */

/* Waits until the other node has come here too, if there is one. */
static void node_barrier(void)
{
	if (!scratch)
		return;
	atomic_store(&scratch->arrived[node.id], ++step);
	while (atomic_load_explicit(&scratch->arrived[1 - node.id], memory_order_acquire) < step)
		;
}

/* Node 0 prints "NAME VALUE", or "NAME_SIZE VALUE" if there is a size. */
static void say(const char *name, uint64_t size, uint64_t value)
{
	char line[80];
	size_t bytes;

	if (node.id != 0)
		return;
	if (size)
		bytes = format_text(line, sizeof(line), "%s_%lu %lu\n", name, size, value);
	else
		bytes = format_text(line, sizeof(line), "%s %lu\n", name, value);
	console_write(STREAM_STDOUT, line, bytes);
}

/* ---- locks ---- */

/* Both write, fence, and read the other's: at least one must see the other. */
static uint64_t store_fence_load(void)
{
	uint64_t missed = 0, start = now_ns();

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		uint64_t other;

		if (node.id == 0)
			atomic_store(&scratch->is_late, now_ns() - start > MOST_NS);
		node_barrier();
		if (atomic_load(&scratch->is_late))
			break;
		atomic_store_explicit(&scratch->flag[node.id], round, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
		other = atomic_load_explicit(&scratch->flag[1 - node.id], memory_order_relaxed);
		atomic_store(&scratch->seen[node.id], other == round);
		node_barrier();
		if (!atomic_load(&scratch->seen[0]) && !atomic_load(&scratch->seen[1]))
			missed++;
	}
	return missed;
}

static bool locks(void)
{
	uint64_t sum, missed;

	node_barrier();
	for (int i = 0; i < INCREMENTS; i++)
		atomic_fetch_add(&scratch->sum, 1);
	node_barrier();
	sum = atomic_load(&scratch->sum);
	missed = store_fence_load();
	say("locks_increments", 0, sum);
	say("locks_missed", 0, missed);
	return sum == 2 * INCREMENTS && missed == 0;
}

/* ---- pingpong, doorbell ---- */

/* Waits until the other's flag is at least `least`. A doorbell before the halt stays pending:
 * interrupts are off until then. */
static uint64_t await_flag(uint64_t least, bool halted)
{
	uint64_t value;

	while ((value = atomic_load_explicit(&scratch->flag[1 - node.id],
	                                     memory_order_acquire)) < least)
		if (halted)
			cpu_halt();
	return value;
}

static void set_flag(uint64_t value, bool halted)
{
	atomic_store_explicit(&scratch->flag[node.id], value, memory_order_release);
	if (halted)
		ivshmem_ring(1 - node.id);
}

/* Node 1 sends back each flag except the last. */
static void send_back(bool halted)
{
	for (uint64_t i = 1; await_flag(i, halted) != UINT64_MAX; i++)
		set_flag(i, halted);
}

/* Sends a flag back and forth; the waiting node polls, or halts until a doorbell. Returns, on node
 * 0, the time of half a round trip. */
static uint64_t ping_pong(uint64_t trips, bool halted)
{
	uint64_t start, took, done = 0;

	node_barrier();
	if (node.id == 1) {
		send_back(halted);
		return 0;
	}
	start = now_ns();
	do {
		set_flag(++done, halted);
		await_flag(done, halted);
	} while (done < trips && (done % 64 || now_ns() - start < MOST_NS));
	took = now_ns() - start;
	set_flag(UINT64_MAX, halted);
	return took * 1000 / done / 2;
}

static bool pingpong(void)
{
	say("pingpong_half_rtt_ps", 0, ping_pong(TRIPS, false));
	node_barrier();
	return true;
}

static bool doorbell(void)
{
	say("doorbell_half_rtt_ps", 0, ping_pong(BELLS, true));
	node_barrier();
	return true;
}

/* ---- copy ---- */

static void copy_movsb(void *to, const void *from, uint64_t bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static void copy_movsq(void *to, const void *from, uint64_t bytes)
{
	bytes /= 8;
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static void measure(const char *name, void (*copy)(void *, const void *, uint64_t),
                    uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	uint64_t rounds = (64 << 20) / bytes, start;

	copy(to, from, bytes);
	start = now_ns();
	for (uint64_t i = 0; i < rounds; i++)
		copy(to, from, bytes);
	say(name, bytes, rounds * bytes * 1000 / (now_ns() - start));
}

/* Node 0 copies to node 1's segment, from addresses that do not collide. */
static bool copy(void)
{
	static const uint64_t sizes[] = { 4096, 65536, 1048576 };
	const struct segment *segment = &this_process()->segment;
	uint64_t middle = places_middle(0x200000);

	if (!middle) {
		say("copy_needs_more_memory", 0, segment->bytes);
		return false;
	}
	if (node.id == 0) {
		uint8_t *to = region_slice(node.region, 1) + node.region->segment_offset + middle;

		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			const uint8_t *same = segment->alias + middle;
			const uint8_t *apart = segment->shifted + middle;

			measure("copy_MBps", port_copy, to, apart, sizes[i]);
			measure("copy_colliding_MBps", port_copy, to, same, sizes[i]);
			measure("copy_movsb_MBps", copy_movsb, to, apart, sizes[i]);
			measure("copy_movsq_MBps", copy_movsq, to, apart, sizes[i]);
		}
	}
	node_barrier();
	return true;
}

/* ---- costs ---- */

static void say_cost(const char *name, uint64_t picoseconds)
{
	say(name, 0, picoseconds);
}

static bool costs(void)
{
	node_barrier();
	if (node.id == 0)
		costs_alone(say_cost);
	node_barrier();
	if (scratch) {
		costs_contended(&scratch->sum, say_cost);
		node_barrier();
		if (node.id == 0)
			costs_doorbell(1, say_cost);
	}
	return true;
}

/* ---- interrupts without a handler ---- */

#define STRAY_VECTOR 200u

/* Raises two interrupts of no device, and one of a card that the node does not have. The next one,
 * of a lower priority, must still come: otherwise this halts for ever. */
static bool stray(void)
{
	uint64_t before = node.counters[COUNTER_SPURIOUS];

	apic_interrupt_self(STRAY_VECTOR);
	cpu_halt();
	apic_interrupt_self(VECTOR_STRAY - 1); /* of the same priority as those in use */
	cpu_halt();
	apic_interrupt_self(VECTOR_CARD_STATE + CARDS_MOST - 1);
	cpu_halt();
	apic_interrupt_self(VECTOR_TIMER);
	cpu_halt();
	return node.counters[COUNTER_SPURIOUS] == before + 3;
}

/* ---- frames ---- */

static bool frames(void)
{
	return selftest_frames(&scratch->frames, node_barrier,
	                       FRAMES_SIZES | FRAMES_HALVES | FRAMES_STREAMS);
}

static bool frame_sizes(void)
{
	return selftest_frames(&scratch->frames, node_barrier, FRAMES_SIZES);
}

static bool frame_halves(void)
{
	return selftest_frames(&scratch->frames, node_barrier, FRAMES_HALVES);
}

static bool frame_streams(void)
{
	return selftest_frames(&scratch->frames, node_barrier, FRAMES_STREAMS);
}

bool selftest(const char *name)
{
	static const struct { const char *name; bool (*run)(void); bool one_will_do; } tests[] = {
		{ "locks", locks, false }, { "pingpong", pingpong, false },
		{ "doorbell", doorbell, false },
		{ "copy", copy, false }, { "costs", costs, true }, { "stray", stray, true },
		{ "frames", frames, false }, { "framesizes", frame_sizes, false },
		{ "framehalves", frame_halves, false }, { "framestreams", frame_streams, false },
	};
	static const struct { const char *name; bool (*run)(void); } with_own_checks[] = {
		{ "incast", incast_test }, { "pinned", pinned_test }, { "unsent", unsent_test },
		{ "unrung", unrung_test }, { "retracted", retracted_test },
	};

	for (unsigned i = 0; i < sizeof(with_own_checks) / sizeof(with_own_checks[0]); i++)
		if (!strcmp(name, with_own_checks[i].name))
			return with_own_checks[i].run();
	if (strlen(name) > strlen("damage") && !memcmp(name, "damage", strlen("damage")))
		return damage_test(name + strlen("damage"));

	if (node.region && node.region->nodes == 2)
		scratch = region_at(node.region, REGION_SCRATCH);
	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!strcmp(name, tests[i].name)) {
			bool good;

			if (!scratch && !(tests[i].one_will_do && node.size == 1)) {
				console_line("selftest: needs a machine of 2 nodes");
				return false;
			}
			good = tests[i].run();
			node_barrier();
			return good;
		}
	}
	console_line("selftest: no test \"%s\"; there are:", name);
	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		console_line("selftest:   %s", tests[i].name);
	for (unsigned i = 0; i < sizeof(with_own_checks) / sizeof(with_own_checks[0]); i++)
		console_line("selftest:   %s", with_own_checks[i].name);
	console_line("selftest:   damage-SEED-COUNT");
	return false;
}
