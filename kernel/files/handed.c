/*
 * Finding files, reading standard input. The region's file table and stdin ring
 * are written by the launcher, but any kernel can: their numbers are read once and
 * checked. Data: how far standard input was read, and whether its ring is damaged.
 */
#include "handed.h"

#include <stdatomic.h>

#include "drivers/ivshmem.h"
#include "kernel/base/errno.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/console/console.h"
#include "kernel/devices/time.h"
#include "kernel/loader/boot_info.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "kernel/transport/wait.h"
#include "net/shm/region.h"

static uint64_t taken;             /* own copy: the ring's is for the launcher */
static bool damaged;               /* the ring: nothing more is read */

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

static struct region_ring *stdin_ring(void)
{
	return region_at(node.region, node.region->stdin_ring);
}

void stdin_start(void)
{
	taken = atomic_load(&stdin_ring()->taken); /* not 0 in a node that was started again */
}

/* Bytes to read; more than the ring holds are damage. */
static uint64_t available(void)
{
	uint64_t bytes = atomic_load(&stdin_ring()->written) - taken;

	if (bytes <= node.region->stdin_bytes - sizeof(struct region_ring))
		return bytes;
	damaged = true;
	return 0;
}

static bool has_input(void *unused)
{
	(void)unused;
	if (available() || damaged || atomic_load(&stdin_ring()->closed))
		return true;
	/* Both at each look: a neighbour may have overwritten them. */
	atomic_store(&stdin_ring()->taken, taken);
	if (!atomic_exchange(&node.own->stdin_wanted, 1))
		ivshmem_ring(node.region->nodes);
	return available() || damaged || atomic_load(&stdin_ring()->closed);
}

int64_t stdin_read(void *to, uint64_t bytes)
{
	struct region_ring *ring;
	uint64_t size, there, first;

	if (!node.region || node.id != 0 || !bytes || damaged)
		return 0;
	ring = stdin_ring();
	size = node.region->stdin_bytes - sizeof(*ring);
	if (wait_or_upcall(has_input, NULL, NEVER, "standard input") == WAIT_UPCALL)
		return -EINTR;
	atomic_store(&node.own->stdin_wanted, 0);
	there = available();       /* once: the launcher adds to it */
	if (damaged)
		kernel_line("rank %u (node %u): the ring of standard input is damaged; nothing more "
		            "is read from it", this_process()->rank, node.id);
	if (bytes > there)
		bytes = there;
	first = size - (taken & (size - 1));
	if (first > bytes)
		first = bytes;
	memcpy(to, ring->data + (taken & (size - 1)), first);
	memcpy((uint8_t *)to + first, ring->data, bytes - first);
	taken += bytes;
	atomic_store(&ring->taken, taken);
	if (there - bytes <= size / 2 && atomic_load(&ring->full) && atomic_exchange(&ring->full, 0))
		ivshmem_ring(node.region->nodes);
	return (int64_t)bytes;
}
