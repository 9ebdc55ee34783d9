/*
 * Reading the multiboot information. Data: boot_info. Runs at boot on the first
 * page tables, which map the lowest 4 GiB, where a multiboot loader puts
 * everything.
 */
#include "boot_info.h"

#include "image.h"
#include "memory.h"
#include "multiboot.h"
#include "panic.h"
#include "string.h"

#define LOW_MEMORY_END 0x100000UL

struct boot_info boot_info;

static const void *at(uint32_t address)
{
	return (const void *)(uint64_t)address;
}

static void add_range(uint64_t start, uint64_t end)
{
	start = (start + PAGE_BYTES - 1) & -PAGE_BYTES;
	end &= -PAGE_BYTES;
	if (start < LOW_MEMORY_END)
		start = LOW_MEMORY_END;
	if (start < end && boot_info.ranges < BOOT_RANGES)
		boot_info.free[boot_info.ranges++] = (struct boot_range){ start, end };
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

static void read_map(const struct multiboot_info *info)
{
	uint64_t entry = info->map, end = entry + info->map_bytes;

	if (!(info->flags & MULTIBOOT_HAS_MAP))
		panic("the loader gave no memory map");
	while (entry + sizeof(struct multiboot_map) <= end) {
		const struct multiboot_map *map = (const struct multiboot_map *)entry;

		if (map->kind == MULTIBOOT_MAP_FREE && map->start + map->length > map->start)
			add_range(map->start, map->start + map->length);
		entry += map->bytes + sizeof(map->bytes);
	}
	if (!boot_info.ranges)
		panic("the loader's memory map has no memory above 1 MiB");
}

/* "path/to/kernel file.txt" or "file.txt": the last word names the file. */
static void read_name(char *name, const char *text)
{
	const char *word = text;
	uint32_t n = 0;

	for (const char *c = text; *c; c++)
		if ((*c == ' ' || *c == '/') && c[1])
			word = c + 1;
	for (; word[n] && word[n] != ' ' && n + 1 < BOOT_NAME; n++)
		name[n] = word[n];
	name[n] = 0;
}

static void read_modules(const struct multiboot_info *info)
{
	const struct multiboot_module *module = at(info->module_list);

	if (!(info->flags & MULTIBOOT_HAS_MODULES))
		return;
	if (info->modules > BOOT_MODULES)
		panic("%u modules, at most %u are possible", info->modules, BOOT_MODULES);
	for (uint32_t i = 0; i < info->modules; i++, module++) {
		struct boot_module *to = &boot_info.module[boot_info.modules++];

		to->range = (struct boot_range){ module->start, module->end };
		read_name(to->name, at(module->name));
		boot_info_reserve(module->start, module->end);
	}
}

void boot_info_read(uint32_t multiboot)
{
	const struct multiboot_info *info = at(multiboot);
	const char *command = at(info->command);

	read_map(info);
	boot_info_reserve((uint64_t)margay_kernel_start, (uint64_t)margay_bss_end);
	read_modules(info);
	if (info->flags & MULTIBOOT_HAS_COMMAND) {
		size_t bytes = strlen(command) + 1;

		if (bytes > sizeof(boot_info.command))
			panic("the command line has %lu bytes, at most %u are possible", bytes - 1,
			      BOOT_COMMAND - 1);
		memcpy(boot_info.command, command, bytes);
	}
}
