/*
 * Memory: everything between bss and the lowest page of the stack. The break grows from its start.
 * Mappings (of memory only, always readable and writable) are cut from its end, or first fit from
 * unmapped holes. Owns the break and the list of holes, which is stored in the holes themselves.
 */
#include <string.h>
#include <sys/mman.h>
#include "linux.h"
#include "syscall.h"

#define PAGE 4096UL

/* Memory that was unmapped, above the lowest mapping; by ascending address, never adjacent. */
struct hole {
	size_t bytes;
	struct hole *next;
};

struct margay_start glue_start;
static uintptr_t end;           /* the break: first byte after its memory */
static uintptr_t lowest;        /* mappings and holes begin here */
static uintptr_t most_end;      /* between the highest break ever */
static uintptr_t least_lowest;  /* and the lowest mapping ever all bytes are zero */
static struct hole *holes;

static size_t to_pages(size_t bytes)
{
	return (bytes + PAGE - 1) & -PAGE;
}

void memory_begin(void)
{
	end = most_end = glue_start.heap;
	lowest = least_lowest = glue_start.heap_end & -PAGE;
}

size_t memory_free_bytes(void)
{
	size_t bytes = lowest - end;

	for (const struct hole *hole = holes; hole; hole = hole->next)
		bytes += hole->bytes;
	return bytes;
}

size_t memory_most_bytes(void)
{
	return most_end - APP_BASE + glue_start.heap_end - least_lowest;
}

/* Zeroes memory that may have been written before. */
static void clear(uintptr_t from, uintptr_t to)
{
	uintptr_t clean = from > most_end ? from : most_end;
	uintptr_t clean_end = to < least_lowest ? to : least_lowest;

	if (clean >= clean_end) {
		memset((void *)from, 0, to - from);
		return;
	}
	memset((void *)from, 0, clean - from);
	memset((void *)clean_end, 0, to - clean_end);
}

/* ---- the break ---- */

/* Like Linux: returns the break, moved if possible. */
long linux_brk(uintptr_t wanted)
{
	if (wanted < glue_start.heap || wanted > lowest)
		return (long)end;
	if (wanted > end)
		clear(end, wanted);
	end = wanted;
	if (end > most_end)
		most_end = end;
	return (long)end;
}

void *memory_take(size_t bytes, size_t align)
{
	static const char text[] = "margay: the segment has no room for the application's start\n";
	uintptr_t start = (end + align - 1) & -align;

	if (start < end || start > lowest || bytes > lowest - start) {
		glue_say(text);
		linux_exit(125);
	}
	linux_brk(start + bytes);
	return (void *)start;
}

/* ---- mappings ---- */

/* Takes `bytes` from the start of the first hole that has them; 0: none has. */
static uintptr_t take_hole(size_t bytes)
{
	for (struct hole **link = &holes; *link; link = &(*link)->next) {
		struct hole *hole = *link;

		if (hole->bytes < bytes)
			continue;
		if (hole->bytes == bytes) {
			*link = hole->next;
		} else {
			struct hole *rest = (struct hole *)((char *)hole + bytes);

			*rest = (struct hole){ hole->bytes - bytes, hole->next };
			*link = rest;
		}
		return (uintptr_t)hole;
	}
	return 0;
}

/* Whether there is room between the break and the lowest mapping. */
static int has_room(size_t bytes)
{
	uintptr_t start = to_pages(end);

	return start <= lowest && bytes <= lowest - start;
}

long linux_mmap(size_t bytes, int protection, int flags)
{
	size_t pages = to_pages(bytes);
	uintptr_t start;

	if (bytes == 0 || (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		return -EINVAL;
	if (protection & PROT_EXEC)
		return -ENOTSUP;
	if (pages < bytes)
		return -ENOMEM;
	start = take_hole(pages);
	if (!start) {
		if (!has_room(pages) && malloc_give_back)
			malloc_give_back();
		if (!has_room(pages))
			return -ENOMEM;
		start = lowest - pages;
		lowest = start;
	}
	clear(start, start + pages);
	if (lowest < least_lowest)
		least_lowest = lowest;
	return (long)start;
}

/* Whether [start, start + bytes) lies in the range of mappings. */
static int is_mapped(uintptr_t start, size_t bytes)
{
	return !(start & (PAGE - 1)) && start >= lowest && start <= glue_start.heap_end &&
	       bytes <= (glue_start.heap_end & -PAGE) - start;
}

/* Pages of the range that are not mapped do not matter, as on Linux. */
long linux_munmap(uintptr_t start, size_t bytes)
{
	struct hole **link = &holes, *next;
	uintptr_t behind = start + to_pages(bytes);

	if (behind <= start || (start & (PAGE - 1)) || start < end ||
	    behind > (glue_start.heap_end & -PAGE))
		return -EINVAL;
	if (start < lowest)
		start = lowest;
	if (behind <= start)
		return 0;
	while (*link && (uintptr_t)*link + (*link)->bytes < start)
		link = &(*link)->next;
	/* The holes that the range touches and the range become one. */
	for (next = *link; next && (uintptr_t)next <= behind; next = next->next) {
		if ((uintptr_t)next < start)
			start = (uintptr_t)next;
		if ((uintptr_t)next + next->bytes > behind)
			behind = (uintptr_t)next + next->bytes;
	}
	*link = (struct hole *)start;
	**link = (struct hole){ behind - start, next };
	if (start == lowest) {
		lowest = behind;
		holes = next;
	}
	return 0;
}

/* Lengthens a mapping in place, if a large enough hole follows. */
static int lengthen(uintptr_t mapping_end, size_t more)
{
	struct hole **link = &holes;

	while (*link && (uintptr_t)*link < mapping_end)
		link = &(*link)->next;
	if ((uintptr_t)*link != mapping_end || (*link)->bytes < more)
		return 0;
	if ((*link)->bytes == more) {
		*link = (*link)->next;
	} else {
		struct hole *rest = (struct hole *)(mapping_end + more);

		*rest = (struct hole){ (*link)->bytes - more, (*link)->next };
		*link = rest;
	}
	clear(mapping_end, mapping_end + more);
	return 1;
}

long linux_mremap(uintptr_t start, size_t bytes, size_t wanted, int flags)
{
	size_t had = to_pages(bytes), pages = to_pages(wanted);
	long moved;

	if (wanted == 0 || pages < wanted || (flags & ~MREMAP_MAYMOVE))
		return -EINVAL;
	if (!is_mapped(start, had))
		return -EFAULT;
	if (pages < had)
		return linux_munmap(start + pages, had - pages) ? -EINVAL : (long)start;
	if (pages == had || lengthen(start + had, pages - had))
		return (long)start;
	if (!(flags & MREMAP_MAYMOVE))
		return -ENOMEM;
	moved = linux_mmap(wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	if (moved < 0)
		return moved;
	memcpy((void *)moved, (const void *)start, had);
	linux_munmap(start, had);
	return moved;
}

/* All memory of an application can be read and written; that cannot be changed. */
long linux_mprotect(int protection)
{
	return protection == (PROT_READ | PROT_WRITE) ? 0 : -ENOTSUP;
}

/* Advice is ignored; but a request to drop pages would have to zero them. */
long linux_madvise(int advice)
{
	return advice == MADV_DONTNEED ? -EINVAL : 0;
}
