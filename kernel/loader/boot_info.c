/*
 * What the loader told, by either protocol. Data: boot_info. Runs at boot on
 * the first page tables, which map the lowest 4 GiB, where a multiboot loader puts
 * everything.
 */
#include "boot_info.h"

#include "kernel/base/image.h"
#include "kernel/base/layout.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "multiboot2.h"
#include "multiboot.h"

#define LOW_MEMORY_END 0x100000UL

struct boot_info boot_info;

/* If there are too many ranges, the smallest are left out. */
static void add_range(uint64_t start, uint64_t end)
{
	struct boot_range *to = boot_info.free;

	if (start < LOW_MEMORY_END)
		start = LOW_MEMORY_END;
	end &= -PAGE_BYTES;
	if (start >= end || end - start < PAGE_BYTES)
		return;
	start = (start + PAGE_BYTES - 1) & -PAGE_BYTES;
	if (boot_info.ranges < BOOT_RANGES)
		to = &boot_info.free[boot_info.ranges++];
	else
		for (uint32_t i = 1; i < BOOT_RANGES; i++)
			if (boot_info.free[i].end - boot_info.free[i].start < to->end - to->start)
				to = &boot_info.free[i];
	if (end - start > to->end - to->start)
		*to = (struct boot_range){ start, end };
}

void boot_info_memory(uint64_t start, uint64_t bytes, bool is_free)
{
	uint64_t end = start + bytes < start ? UINT64_MAX : start + bytes;

	if (is_free)
		add_range(start, end);
	else
		boot_info_reserve(start, end);
}

void boot_info_reserve(uint64_t start, uint64_t end)
{
	uint32_t known = boot_info.ranges;

	for (uint32_t i = 0; i < known; i++) {
		struct boot_range *range = &boot_info.free[i];
		uint64_t range_end = range->end;

		if (start >= range_end || end <= range->start)
			continue;
		range->end = start > range->start ? start & -PAGE_BYTES : range->start;
		add_range(end, range_end);
	}
}

void boot_info_module(uint64_t start, uint64_t end, const char *name)
{
	struct boot_module *to = &boot_info.module[boot_info.modules];

	if (boot_info.modules == BOOT_MODULES)
		panic("more than %u modules", BOOT_MODULES);
	boot_info.modules++;
	to->range = (struct boot_range){ start, end };
	for (uint32_t n = 0; name[n] && name[n] != ' ' && n + 1 < BOOT_NAME; n++)
		to->name[n] = name[n];
}

void boot_info_command(const char *text)
{
	size_t bytes = strlen(text) + 1;

	if (bytes > sizeof(boot_info.command))
		panic("the command line has %lu bytes, at most %u are possible", bytes - 1,
		      BOOT_COMMAND - 1);
	memcpy(boot_info.command, text, bytes);
}

void boot_info_read(uint32_t loader, uint32_t told)
{
	if (loader == MULTIBOOT2_LOADED)
		multiboot2_read(told);
	else
		multiboot_read(told);
	if (!boot_info.ranges)
		panic("the loader told of no memory above 1 MiB");
	boot_info_reserve((uint64_t)margay_kernel_start, (uint64_t)margay_bss_end);
	for (uint32_t i = 0; i < boot_info.modules; i++)
		boot_info_reserve(boot_info.module[i].range.start, boot_info.module[i].range.end);
}
