/*
 * The self-test `costs`: picoseconds for single instructions, for an interrupt,
 * a new page table and a doorbell (docs/measurements.md has the figures). Called
 * by selftest.c before the application starts. Data: the page that is touched.
 *
 * An instruction is repeated in a row, so that the loop around it does not count; the cost of
 * calling an empty row is subtracted. The interrupts raised here appear in the node's counters, and
 * afterwards the emulator's translation cache may be smaller (tcg_tlb.c): measure nothing else in
 * the same run.
 */
#include "selftest_costs.h"

#include "drivers/ivshmem.h"
#include "kernel/base/node.h"
#include "kernel/base/x86.h"
#include "kernel/cpu/vectors.h"
#include "kernel/devices/apic.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"

#define ROW       100u             /* repetitions of an instruction without a loop */
#define ROUNDS    20000u           /* of a row */
#define EVENTS    5000u            /* rounds of slow events */
#define PAGES     256u             /* touched after a new page table */
#define LOCKED    1000000u         /* contended increments of each node */
#define IN_A_ROW(instruction) ".rept 100\n\t" instruction "\n\t.endr\n\t"
#define PS_PER_NS 1000u

/* Ten calls within 64 bytes, looped: for each page of code the emulator looks up the target of a
 * ret in a cache of 64 entries. */
#define CALLS 10u
#define CALLS_IN_A_ROW(instruction) ".balign 64\n3:\t.rept 10\n\t" instruction \
	"\n\t.endr\n\tdec %0\n\tjnz 3b\n\tjmp 2f\n1:\tret\n2:"

static uint64_t word;

/* ---- rows ---- */

static void row_empty(void)
{
	__asm__ volatile("" : : : "memory");
}

static void row_add(void)
{
	uint64_t sum = 0;

	__asm__ volatile(IN_A_ROW("add %1, %0") : "+r"(sum) : "r"(word));
}

static void row_call(void)
{
	uint64_t rounds = ROW / CALLS;

	__asm__ volatile(CALLS_IN_A_ROW("call 1f") : "+r"(rounds) : : "memory");
}

static void row_call_indirect(void)
{
	uint64_t rounds = ROW / CALLS;

	__asm__ volatile("lea 1f(%%rip), %%rax\n\t" CALLS_IN_A_ROW("call *%%rax")
	                 : "+r"(rounds) : : "rax", "memory");
}

static void row_load(void)
{
	uint64_t value;

	__asm__ volatile(IN_A_ROW("mov %1, %0") : "=&r"(value) : "m"(word));
}

static void row_store(void)
{
	__asm__ volatile(IN_A_ROW("mov %1, %0") : "=m"(word) : "r"(0UL));
}

static void row_locked(void)
{
	__asm__ volatile(IN_A_ROW("lock incq %0") : "+m"(word));
}

/* The emulator merges fences with nothing between them. */
static void row_store_mfence(void)
{
	__asm__ volatile(IN_A_ROW("mov %1, %0\n\tmfence") : "=m"(word) : "r"(0UL) : "memory");
}

static void row_pause(void)
{
	__asm__ volatile(IN_A_ROW("pause") : : : "memory");
}

static void row_rdtsc(void)
{
	__asm__ volatile(IN_A_ROW("rdtsc") : : : "rax", "rdx");
}

/* ---- events ---- */

static void page_table(void)
{
	WRITE_CR(3, READ_CR(3));
}

static void touch_pages(void)
{
	const volatile uint8_t *pages = this_process()->segment.alias;

	for (uint32_t i = 0; i < PAGES; i++)
		(void)pages[i * PAGE_BYTES];
}

static void page_table_and_pages(void)
{
	page_table();
	touch_pages();
}

/* A register of the local APIC that does nothing: nothing is in service. */
static void apic_write(void)
{
	apic_end();
}

static void interrupt_self(void)
{
	apic_interrupt_self(VECTOR_TIMER);
	__asm__ volatile("sti; nop; cli" : : : "memory");
}

/* ---- */

/* Picoseconds per call. The first calls let the emulator translate the code. */
static uint64_t time_calls(void (*call)(void), uint32_t rounds)
{
	uint64_t start;

	call();
	call();
	start = now_ns();
	for (uint32_t i = 0; i < rounds; i++)
		call();
	return (now_ns() - start) * PS_PER_NS / rounds;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Page tables first: the emulator shrinks its translation cache at the first new one that comes 100
 * ms or more after boot. */
static void say_events(costs_say *say)
{
	uint64_t one = time_calls(page_table, EVENTS);
	uint64_t both = time_calls(page_table_and_pages, EVENTS);
	uint64_t pages = time_calls(touch_pages, EVENTS);
	uint64_t before;

	say("costs_mov_cr3_ps", one);
	say("costs_page_again_ps", difference(both, one + pages) / PAGES);
	say("costs_page_ps", pages / PAGES);
	say("costs_apic_write_ps", time_calls(apic_write, EVENTS));
	before = node.counters[COUNTER_TIMER];
	say("costs_interrupt_ps", time_calls(interrupt_self, EVENTS));
	say("costs_interrupts_missed", EVENTS + 2 - (node.counters[COUNTER_TIMER] - before));
}

void costs_alone(costs_say *say)
{
	static const struct { const char *name; void (*row)(void); } rows[] = {
		{ "costs_add_ps", row_add },
		{ "costs_call_ps", row_call },
		{ "costs_call_indirect_ps", row_call_indirect },
		{ "costs_load_ps", row_load },
		{ "costs_store_ps", row_store },
		{ "costs_store_mfence_ps", row_store_mfence },
		{ "costs_lock_inc_ps", row_locked },
		{ "costs_pause_ps", row_pause },
		{ "costs_rdtsc_ps", row_rdtsc },
	};
	uint64_t empty;

	say_events(say);
	empty = time_calls(row_empty, ROUNDS);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		say(rows[i].name, difference(time_calls(rows[i].row, ROUNDS), empty) / ROW);
}

void costs_contended(_Atomic uint64_t *shared, costs_say *say)
{
	uint64_t start = now_ns();

	for (uint32_t i = 0; i < LOCKED; i++)
		atomic_fetch_add(shared, 1);
	say("costs_lock_inc_contended_ps", (now_ns() - start) * PS_PER_NS / LOCKED);
}

void costs_doorbell(uint32_t peer, costs_say *say)
{
	uint64_t start = now_ns();

	for (uint32_t i = 0; i < EVENTS; i++)
		ivshmem_ring(peer);
	say("costs_doorbell_ps", (now_ns() - start) * PS_PER_NS / EVENTS);
}
