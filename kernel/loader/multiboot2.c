/*
 * Reading what a multiboot loader of version 2 tells: GRUB. Fills boot_info; no
 * data of its own. Runs at boot on the first page tables.
 */
#include "multiboot2.h"

#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "boot_info.h"
#include "multiboot.h"

/* Enters the free ranges, or the others. */
static void read_map(const struct multiboot2_map *map, bool free)
{
	uint64_t entry = (uint64_t)(map + 1), end = (uint64_t)map + map->tag.bytes;

	if (map->entry_bytes < sizeof(struct multiboot2_range))
		panic("the loader's memory map has entries of %u bytes", map->entry_bytes);
	for (; entry + map->entry_bytes <= end; entry += map->entry_bytes) {
		const struct multiboot2_range *range = (const struct multiboot2_range *)entry;

		if ((range->kind == MULTIBOOT_MAP_FREE) == free)
			boot_info_memory(range->start, range->bytes, free);
	}
}

static void read_screen(const struct multiboot2_framebuffer *screen)
{
	if (screen->kind != MULTIBOOT2_RGB && screen->kind != MULTIBOOT2_TEXT)
		return;
	boot_info.screen = (struct screen_place){
		.physical = screen->start,
		.pitch = screen->pitch,
		.width = screen->width,
		.height = screen->height,
		.pixel_bytes = screen->kind == MULTIBOOT2_RGB ? (screen->bits + 7u) / 8 : 0,
	};
}

static void read_rsdp(const struct multiboot2_tag *tag)
{
	size_t bytes = tag->bytes - sizeof(*tag);

	memcpy(boot_info.rsdp, tag + 1, bytes < BOOT_RSDP ? bytes : BOOT_RSDP);
}

static void read_tag(const struct multiboot2_tag *tag)
{
	const struct multiboot2_module *module = (const struct multiboot2_module *)tag;

	switch (tag->type) {
	case MULTIBOOT2_COMMAND:
		boot_info_command((const char *)(tag + 1));
		break;
	case MULTIBOOT2_MODULE:
		boot_info_module(module->start, module->end, module->name);
		break;
	case MULTIBOOT2_MAP:
		read_map((const struct multiboot2_map *)tag, true);
		read_map((const struct multiboot2_map *)tag, false);
		break;
	case MULTIBOOT2_FRAMEBUFFER:
		read_screen((const struct multiboot2_framebuffer *)tag);
		break;
	case MULTIBOOT2_RSDP_1:
		if (boot_info.rsdp[0])
			break;         /* the newer one is there already */
		/* fall through */
	case MULTIBOOT2_RSDP_2:
		read_rsdp(tag);
		break;
	}
}

void multiboot2_read(uint32_t told)
{
	const struct multiboot2_info *info = (const struct multiboot2_info *)(uint64_t)told;
	uint64_t at = told + sizeof(*info), end = told + (uint64_t)info->bytes;

	while (at + sizeof(struct multiboot2_tag) <= end) {
		const struct multiboot2_tag *tag = (const struct multiboot2_tag *)at;

		if (tag->type == MULTIBOOT2_END || tag->bytes < sizeof(*tag))
			break;
		read_tag(tag);
		at += (tag->bytes + MULTIBOOT2_ALIGN - 1) & -(uint64_t)MULTIBOOT2_ALIGN;
	}
}
