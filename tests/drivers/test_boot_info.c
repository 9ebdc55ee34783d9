/*
 * Memory maps as a loader might give them: ranges that overlap, wrap, or are too many. Data: the
 * loader's structure, below 4 GiB, where its address has 32 bits.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/host/check.h"
#include "kernel/loader/boot_info.h"
#include "kernel/loader/multiboot2.h"
#include "kernel/loader/multiboot.h"

#define MIB    0x100000UL
#define GIB    0x40000000UL

enum { LOADED_BYTES = 16384, RESERVED = 2 };

uint8_t margay_kernel_start[1], margay_bss_end[1];

_Noreturn void panic(const char *format, ...);
_Noreturn void panic(const char *format, ...)
{
	(void)format;
	abort();
}

static struct {
	struct multiboot2_info info;
	struct multiboot2_map map;
	struct multiboot2_range range[];
} *loaded;
static uint32_t ranges;

static void begin(void)
{
	if (!loaded)
		loaded = mmap(0, LOADED_BYTES, PROT_READ | PROT_WRITE,
		              MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if ((void *)loaded == MAP_FAILED)
		abort();
	memset(&boot_info, 0, sizeof(boot_info));
	ranges = 0;
}

static void range(uint64_t start, uint64_t end, uint32_t kind)
{
	loaded->range[ranges++] = (struct multiboot2_range){ start, end - start, kind, 0 };
}

static void read(void)
{
	uint32_t bytes = (uint32_t)(sizeof(loaded->map) + ranges * sizeof(loaded->range[0]));

	loaded->map = (struct multiboot2_map){ { MULTIBOOT2_MAP, bytes },
	                                       sizeof(loaded->range[0]), 0 };
	loaded->info.bytes = (uint32_t)sizeof(loaded->info) + bytes;
	boot_info_read(MULTIBOOT2_LOADED, (uint32_t)(uint64_t)loaded);
}

static uint64_t all_free(void)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < boot_info.ranges; i++)
		bytes += boot_info.free[i].end - boot_info.free[i].start;
	return bytes;
}

/* Whether any byte of a range is free. */
static bool is_free(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < boot_info.ranges; i++)
		if (boot_info.free[i].start < boot_info.free[i].end &&
		    boot_info.free[i].start < end && start < boot_info.free[i].end)
			return true;
	return false;
}

TEST(boot_memory_that_is_also_reserved_is_not_free)
{
	for (int first = 0; first < 2; first++) {
		begin();
		if (!first)
			range(MIB, 64 * MIB, MULTIBOOT_MAP_FREE);
		range(16 * MIB + 100, 17 * MIB - 100, RESERVED);
		range(63 * MIB, 70 * MIB, RESERVED);
		range(0, 2 * MIB, RESERVED);
		if (first)
			range(MIB, 64 * MIB, MULTIBOOT_MAP_FREE);
		read();
		CHECK(!is_free(16 * MIB, 17 * MIB));
		CHECK(!is_free(63 * MIB, 64 * MIB));
		CHECK(!is_free(0, 2 * MIB));
		CHECK_IS(all_free(), 60 * MIB);
	}
}

TEST(boot_ranges_that_wrap_or_hold_no_page_count_as_nothing)
{
	begin();
	range(MIB, 64 * MIB, MULTIBOOT_MAP_FREE);
	range(UINT64_MAX - 100, UINT64_MAX - 50, MULTIBOOT_MAP_FREE);
	range(80 * MIB + 1, 80 * MIB + 4096, MULTIBOOT_MAP_FREE);
	range(90 * MIB + 1, 90 * MIB + 8191, MULTIBOOT_MAP_FREE);
	range(5 * GIB, 4 * GIB, RESERVED);
	read();
	CHECK_IS(all_free(), 63 * MIB);
}

/* On boards the largest range is often the last one, above 4 GiB. */
TEST(boot_of_too_many_ranges_the_largest_are_used)
{
	begin();
	for (uint32_t i = 0; i < 2 * BOOT_RANGES; i++)
		range((i + 1) * MIB, (i + 1) * MIB + 4096, MULTIBOOT_MAP_FREE);
	range(256 * MIB, GIB, MULTIBOOT_MAP_FREE);
	range(4 * GIB, 64 * GIB, MULTIBOOT_MAP_FREE);
	read();
	CHECK_IS(boot_info.ranges, BOOT_RANGES);
	CHECK(is_free(256 * MIB, GIB));
	CHECK(is_free(4 * GIB, 64 * GIB));
}
