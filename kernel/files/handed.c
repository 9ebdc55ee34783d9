/*
 * Finding files. The region's file table is written by the launcher, but any kernel can:
 * its numbers are read once and checked.
 */
#include "handed.h"

#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/loader/boot_info.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "net/shm/region.h"

/* Whether the file of this name has this path. */
static bool is_at(const char *name, const char *path)
{
	uint64_t n = strlen(parameters.cwd);

	if (name[0] == '/')
		return !strcmp(name, path);
	return strlen(path) > n && !memcmp(path, parameters.cwd, n) && path[n] == '/' &&
	       !strcmp(path + n + 1, name);
}

static bool find_in_region(const char *path, struct file *found)
{
	const struct region *region = node.region;
	const struct region_file *table = region_at(region, region->file_table);

	for (uint32_t i = 0, outs = 0; i < region->files; i++) {
		struct region_file entry;
		uint32_t out_index = outs;

		region_copy(&entry, &table[i], sizeof(entry));
		if (entry.flags & REGION_FILE_OUT)
			outs++;
		if (entry.name[sizeof(entry.name) - 1] || !is_at(entry.name, path) ||
		    entry.offset > region->bytes || entry.bytes > region->bytes - entry.offset)
			continue;
		*found = (struct file){
			.index = i,
			.out = entry.flags & REGION_FILE_OUT,
			.out_index = out_index,
			.bytes = entry.bytes,
			.data = region_at(region, entry.offset),
		};
		return true;
	}
	return false;
}

static bool find_in_modules(const char *path, struct file *found)
{
	for (uint32_t i = 0; i < boot_info.modules; i++) {
		const struct boot_module *module = &boot_info.module[i];
		uint64_t bytes = module->range.end - module->range.start;

		if (!is_at(module->name, path))
			continue;
		*found = (struct file){
			.index = i,
			.bytes = bytes,
			.data = map_physical(module->range.start, bytes, MAP_MEMORY),
		};
		return true;
	}
	return false;
}

bool file_find(const char *path, struct file *found)
{
	return node.region ? find_in_region(path, found) : find_in_modules(path, found);
}
