/*
 * The kernel's page tables and its own memory. Data: the top table; the pool
 * that memory_take takes from, which grows upwards in the first piece of free
 * memory behind the image. Runs at boot, interrupts off.
 */
#include "memory.h"

#include <margay/abi.h>

#include "kernel/base/image.h"
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "kernel/loader/boot_info.h"
#include "kernel/process/process.h"

#define P_PRESENT  0x1UL
#define P_WRITE    0x2UL
#define P_USER     0x4UL
#define P_GATHER   0x08UL          /* the page attribute table's entry 1, see PAT */
#define P_UNCACHED 0x18UL          /* its entry 3 */
#define P_LARGE    0x80UL
#define P_NX       0x8000000000000000UL
#define P_ADDRESS  0x000ffffffffff000UL
#define P_TABLE    (P_PRESENT | P_WRITE | P_USER) /* the last level's rights decide */

/* The reset value, but entry 1 is write combining (SDM vol. 3, 12.12.4). */
#define PAT        0x0007040600070106UL

#define ENTRIES    512u
#define FIRMWARE_END 0x100000UL

/* Reserved for the tables of a segment without a region: three of level 2 for each GiB, and some
 * more. */
#define TABLES_SHARE 0x10000UL
#define TABLES_SPARE 0x20000UL

#define SHIFTED_TABLES 512u        /* most tables: they map 1 GiB of the shifted alias at a time */

static uint64_t *top;              /* level 4; NULL until memory_start */
static uint64_t pool_first, pool_next, pool_end;
static uint64_t pool_mapped;       /* the pool is mapped up to here */
static bool huge_pages;            /* the processor has 1 GiB pages */
static uint64_t high;              /* physical address at DIRECT_HIGH; 0: not known yet */

/* The shifted alias needs a table for each 2 MiB: made when first touched. */
static struct {
	uint64_t *pool;            /* `tables` of them, one after the other */
	uint64_t tables;
	uint64_t next;             /* next to use, perhaps again */
	uint64_t *owner[SHIFTED_TABLES]; /* the entry that points at each, or NULL */
} shifted;

static uint64_t up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & -align;
}

static uint64_t *table_of(uint64_t entry)
{
	return (uint64_t *)(entry & P_ADDRESS);
}

/* How much one entry of a level maps. */
static uint64_t level_bytes(int level)
{
	return PAGE_BYTES << 9 * (level - 1);
}

static uint64_t *new_table(void)
{
	return memory_take(PAGE_BYTES, PAGE_BYTES);
}

/* The entry for an address, of `level` or of a larger page above it. */
static uint64_t *entry_for(uint64_t address, int level)
{
	uint64_t *table = top;

	for (int at = 4;; at--) {
		uint64_t *entry = &table[address / level_bytes(at) % ENTRIES];

		if (at == level || *entry & P_LARGE)
			return entry;
		if (!*entry)
			*entry = (uint64_t)new_table() | P_TABLE;
		table = table_of(*entry);
	}
}

/* The largest page that can map the start of a range: its level. */
static int page_level(uint64_t address, uint64_t physical, uint64_t bytes)
{
	uint64_t bits = address | physical;

	if (huge_pages && !(bits % HUGE_BYTES) && bytes >= HUGE_BYTES)
		return 3;
	return !(bits % LARGE_BYTES) && bytes >= LARGE_BYTES ? 2 : 1;
}

/* Maps a range with the largest pages that fit. Existing mappings stay. */
static void map(uint64_t address, uint64_t physical, uint64_t bytes, uint64_t rights)
{
	while (bytes) {
		int level = page_level(address, physical, bytes);
		uint64_t *entry = entry_for(address, level), step;

		while (level > 1 && *entry && !(*entry & P_LARGE))
			entry = entry_for(address, --level);  /* a table is there already */
		step = level_bytes(level);
		do {
			if (!*entry)
				*entry = physical | rights | P_PRESENT | (level > 1 ? P_LARGE : 0);
			else if (*entry & P_LARGE)
				entry--;   /* stays: this entry maps the next step too */
			entry++;
			address += step;
			physical += step;
			bytes -= step;
		} while (level == 1 && bytes && address % LARGE_BYTES);
	}
}

/* The supervisor address of physical memory. Devices may lie in the last quarter of a processor's
 * physical addresses, of up to 52 bits, and close to each other. */
static uint64_t direct(uint64_t physical)
{
	uint64_t above = physical & -DIRECT_HALF;

	if (!above)
		return DIRECT_BASE + physical;
	if (high && above != high)
		panic("devices at %lx and %lx are too far apart", high, physical);
	high = above;
	return DIRECT_HIGH + (physical - above);
}

bool memory_is_addressable(uint64_t physical, uint64_t bytes)
{
	uint64_t end = 1UL << (cpuid(CPUID_ADDRESS_BITS, 0).eax & 0xff);

	if (end > DIRECT_HALF)
		end = DIRECT_HALF;
	return physical < end && bytes <= end - physical;
}

void *map_physical(uint64_t physical, uint64_t bytes, enum map_kind kind)
{
	static const uint64_t caching[] = {
		[MAP_MEMORY] = 0, [MAP_DEVICE] = P_UNCACHED, [MAP_PIXELS] = P_GATHER,
	};
	uint64_t start = physical & -PAGE_BYTES, end = up(physical + bytes, PAGE_BYTES);

	map(direct(start), start, end - start, P_WRITE | P_NX | caching[kind]);
	return (void *)direct(physical);
}

/* The table for the pool's pages exists since memory_start: the pool ends below APP_EVENTS, so one
 * table of level 2 covers it and the image. */
static void map_pool(void)
{
	for (; pool_mapped < pool_next; pool_mapped += LARGE_BYTES)
		map(pool_mapped, pool_mapped, LARGE_BYTES, P_WRITE | P_NX);
}

static void *take(uint64_t bytes, uint64_t align)
{
	uint64_t start = up(pool_next, align);

	if (start + bytes > pool_end)
		panic("%lu bytes of memory for the kernel are missing: give the node more memory",
		      start + bytes - pool_end);
	pool_next = start + bytes;
	map_pool();
	return (void *)start;
}

void *memory_take(uint64_t bytes, uint64_t align)
{
	bytes = up(bytes, PAGE_BYTES);
	count(COUNTER_KERNEL_BYTES, bytes);
	return memset(take(bytes, align), 0, bytes);
}

void *memory_take_unset(uint64_t bytes)
{
	return take(up(bytes, PAGE_BYTES), PAGE_BYTES);
}

void *memory_take_twice(uint64_t bytes, uint64_t *physical)
{
	static uint64_t next = TWICE_BASE;
	uint64_t address = next;

	*physical = (uint64_t)memory_take(bytes, PAGE_BYTES);
	next += 2 * bytes;
	map(address, *physical, bytes, P_WRITE | P_NX);
	map(address + bytes, *physical, bytes, P_WRITE | P_NX);
	return (void *)address;
}

uint64_t memory_physical(const void *pointer)
{
	uint64_t address = (uint64_t)pointer;

	if (address < APP_EVENTS)
		return address;
	if (address - DIRECT_BASE < DIRECT_HALF)
		return address - DIRECT_BASE;
	if (address - DIRECT_HIGH < DIRECT_HALF)
		return address - DIRECT_HIGH + high;
	if (address - APP_BASE < this_process()->segment.bytes)
		return this_process()->segment.physical + (address - APP_BASE);
	if (address - SHIFTED_BASE < this_process()->segment.bytes)
		return this_process()->segment.physical + (address - SHIFTED_BASE);
	panic("no device may use the address %016lx", address);
}

static void choose_pool(void)
{
	for (uint32_t i = 0; i < boot_info.ranges; i++) {
		struct boot_range range = boot_info.free[i];

		if (range.end > APP_EVENTS)
			range.end = APP_EVENTS;
		if (range.start < range.end && range.end - range.start > pool_end - pool_next) {
			pool_next = range.start;
			pool_end = range.end;
		}
	}
}

static void map_image(void)
{
	uint64_t start = (uint64_t)margay_kernel_start;
	uint64_t text_end = (uint64_t)margay_kernel_text_end;
	uint64_t rodata_end = (uint64_t)margay_kernel_rodata_end;
	uint64_t data_end = (uint64_t)margay_kernel_data_end;
	uint64_t bss = (uint64_t)margay_kernel_bss_start;
	uint64_t bss_end = (uint64_t)margay_bss_end;
	uint64_t guard = (uint64_t)kernel_stack - PAGE_BYTES;

	map(PAGE_BYTES, PAGE_BYTES, FIRMWARE_END - PAGE_BYTES, P_NX);
	map(start, start, text_end - start, 0);
	map(text_end, text_end, rodata_end - text_end, P_NX);
	map(rodata_end, rodata_end, data_end - rodata_end, P_WRITE | P_NX);
	map(data_end, data_end, bss - data_end, P_NX);
	map(bss, bss, guard - bss, P_WRITE | P_NX);
	guard += PAGE_BYTES;
	map(guard, guard, bss_end - guard, P_WRITE | P_NX);
}

void memory_start(void)
{
	uint64_t piece_end;

	wrmsr(MSR_PAT, PAT);
	choose_pool();
	huge_pages = cpuid(0x80000000, 0).eax >= 0x80000001 &&
	             cpuid(0x80000001, 0).edx & CPUIDX1_EDX_1GB;
	pool_first = pool_next;
	pool_mapped = UINT64_MAX;  /* nothing needs it before cr3 is loaded */
	top = new_table();
	map_image();
	piece_end = up(pool_first, LARGE_BYTES);
	map(pool_first, pool_first, piece_end - pool_first, P_WRITE | P_NX);
	pool_mapped = piece_end;
	map_pool();
	WRITE_CR(3, (uint64_t)top);
}

void memory_map_events(uint64_t physical, uint64_t bytes)
{
	map(APP_EVENTS, physical, bytes, P_USER | P_NX);
}

/* Tables of the shifted alias; if all SHIFTED_TABLES are in use, the oldest is reused. */
static uint64_t shifted_tables(uint64_t bytes)
{
	uint64_t all = bytes / LARGE_BYTES + 2;

	return all < SHIFTED_TABLES ? all : SHIFTED_TABLES;
}

bool memory_map_shifted(uint64_t address)
{
	uint64_t offset = address - SHIFTED_BASE, physical, *entry, *table;

	if (address < SHIFTED_BASE || offset >= this_process()->segment.bytes || !shifted.tables)
		return false;
	entry = entry_for(address, 2);
	if (*entry)
		return false;
	if (shifted.owner[shifted.next]) {
		*shifted.owner[shifted.next] = 0;
		WRITE_CR(3, (uint64_t)top);
	}
	shifted.owner[shifted.next] = entry;
	table = shifted.pool + shifted.next * ENTRIES;
	shifted.next = (shifted.next + 1) % shifted.tables;

	/* The table's range may begin before the segment, or end after it. */
	address &= -LARGE_BYTES;
	physical = this_process()->segment.physical + address - SHIFTED_BASE;
	for (uint32_t i = 0; i < ENTRIES; i++, address += PAGE_BYTES, physical += PAGE_BYTES)
		table[i] = address - SHIFTED_BASE < this_process()->segment.bytes ?
		           physical | P_PRESENT | P_WRITE | P_NX : 0;
	*entry = (uint64_t)table | P_TABLE;
	return true;
}

void memory_map_segment(void)
{
	struct segment *s = &this_process()->segment;

	s->alias = map_physical(s->physical, s->bytes, MAP_MEMORY);
	s->shifted = (uint8_t *)SHIFTED_BASE;
	shifted.tables = shifted_tables(s->bytes);
	shifted.pool = memory_take(shifted.tables * PAGE_BYTES, PAGE_BYTES);
	for (uint64_t at = 0; at <= s->bytes; at += HUGE_BYTES)
		entry_for(SHIFTED_BASE + at, 2);
	entry_for(SHIFTED_BASE + s->bytes - 1, 2);

	map(APP_BASE, s->physical, s->rodata_offset, P_USER);
	map(APP_BASE + s->rodata_offset, s->physical + s->rodata_offset,
	    s->data_offset - s->rodata_offset, P_USER | P_NX);
	map(APP_BASE + s->data_offset, s->physical + s->data_offset,
	    s->guard_offset - s->data_offset, P_USER | P_WRITE | P_NX);
	map(APP_BASE + s->stack_offset, s->physical + s->stack_offset,
	    s->bytes - s->stack_offset, P_USER | P_WRITE | (s->code_on_stack ? 0 : P_NX));
}

const volatile uint8_t *memory_repeat_page(uint64_t times)
{
	uint64_t page = (uint64_t)memory_take(PAGE_BYTES, PAGE_BYTES), *table = new_table();

	for (uint32_t i = 0; i < ENTRIES; i++)
		table[i] = page | P_PRESENT | P_USER | P_NX;
	for (uint64_t i = 0; i < times / ENTRIES; i++) {
		*entry_for(REPEATED_BASE + i * LARGE_BYTES, 2) = (uint64_t)table | P_PRESENT;
		*entry_for(APP_PAGES + i * LARGE_BYTES, 2) = (uint64_t)table | P_PRESENT | P_USER;
	}
	return (const volatile uint8_t *)REPEATED_BASE;
}

static struct boot_range largest_range(void)
{
	struct boot_range best = { 0, 0 };

	for (uint32_t i = 0; i < boot_info.ranges; i++) {
		struct boot_range range = boot_info.free[i];

		range.start = up(range.start, LARGE_BYTES);
		if (range.start < range.end && range.end - range.start > best.end - best.start)
			best = range;
	}
	return best;
}

void memory_largest(uint64_t *physical, uint64_t *bytes)
{
	struct boot_range best = largest_range();
	uint64_t bytes_best = best.end - best.start;
	uint64_t tables = shifted_tables(bytes_best) * PAGE_BYTES + bytes_best / TABLES_SHARE +
	                  TABLES_SPARE;

	if (pool_end - pool_next > tables)
		pool_end = up(pool_next + tables, PAGE_BYTES);
	boot_info_reserve(pool_first, pool_end);
	best = largest_range();
	*physical = best.start;
	*bytes = best.end - best.start;
}
