/*
 * Reading what a multiboot loader of version 1 tells: QEMU's -kernel. Fills
 * boot_info; no own data. Runs at boot on the first page tables.
 */
#include "multiboot.h"

#include "kernel/base/panic.h"
#include "boot_info.h"

/* The BIOS' notes in low memory; all zero where there is no video card. */
#define BIOS_VIDEO_MODE 0x449UL
#define BIOS_TEXT_MODE  3u         /* 80 by 25 characters in colour */
#define VGA_TEXT        0xb8000UL
#define VGA_COLUMNS     80u        /* characters, of two bytes each */
#define VGA_ROWS        25u

static const void *at(uint32_t address)
{
	return (const void *)(uint64_t)address;
}

/* Enters the free ranges, or the others. */
static void read_map(const struct multiboot_info *info, bool free)
{
	uint64_t entry = info->map, end = entry + info->map_bytes;

	if (!(info->flags & MULTIBOOT_HAS_MAP))
		panic("the loader gave no memory map");
	while (entry + sizeof(struct multiboot_map) <= end) {
		const struct multiboot_map *map = (const struct multiboot_map *)entry;

		if ((map->kind == MULTIBOOT_MAP_FREE) == free)
			boot_info_memory(map->start, map->length, free);
		entry += map->bytes + sizeof(map->bytes);
	}
}

/* "path/to/kernel file.txt" or "path/to/file.txt": the last word, without folders. */
static const char *last_name(const char *text)
{
	const char *name = text;

	for (const char *c = text; *c; c++)
		if ((*c == ' ' || *c == '/') && c[1])
			name = c + 1;
	return name;
}

void multiboot_read(uint32_t told)
{
	const struct multiboot_info *info = at(told);
	const struct multiboot_module *module = at(info->module_list);

	if (*(const volatile uint8_t *)BIOS_VIDEO_MODE == BIOS_TEXT_MODE)
		boot_info.screen = (struct screen_place){
			.physical = VGA_TEXT, .width = VGA_COLUMNS, .height = VGA_ROWS,
			.pitch = 2 * VGA_COLUMNS };
	read_map(info, true);
	read_map(info, false);
	if (info->flags & MULTIBOOT_HAS_MODULES)
		for (uint32_t i = 0; i < info->modules; i++, module++)
			boot_info_module(module->start, module->end, last_name(at(module->name)));
	if (info->flags & MULTIBOOT_HAS_COMMAND)
		boot_info_command(at(info->command));
}
