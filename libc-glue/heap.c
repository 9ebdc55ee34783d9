/*
 * The heap: everything between bss and the lowest page of the stack. malloc
 * (newlib's) gets it through _sbrk. Owns the break. Called by crt0 and malloc,
 * in the application's one thread.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <malloc.h>
#include "heap.h"
#include "syscall.h"

struct margay_start glue_start;
static uintptr_t end;           /* first byte that is not taken */

void heap_begin(void)
{
	end = glue_start.heap;
}

void *_sbrk(ptrdiff_t bytes)
{
	uintptr_t old = end;

	if (bytes > 0 ? (uintptr_t)bytes > glue_start.heap_end - old
		      : -(uintptr_t)bytes > old - glue_start.heap) {
		errno = ENOMEM;
		return (void *)-1;
	}
	end = old + (uintptr_t)bytes;
	return (void *)old;
}

uintptr_t heap_break(void)
{
	return end;
}

void *heap_take(size_t bytes, size_t align)
{
	static const char text[] = "margay: the segment has no room for the application's start\n";
	uintptr_t start = (end + align - 1) & ~(align - 1);

	if (start < end || start > glue_start.heap_end || bytes > glue_start.heap_end - start) {
		glue_call3(SYS_WRITE, 2, (long)text, sizeof text - 1);
		for (;;)
			glue_call1(SYS_EXIT, 125);
	}
	end = start + bytes;
	return (void *)start;
}

int posix_memalign(void **pointer, size_t align, size_t bytes)
{
	int before = errno;
	void *block;

	if (align < sizeof(void *) || (align & (align - 1)))
		return EINVAL;
	block = memalign(align, bytes);
	errno = before;
	if (!block)
		return ENOMEM;
	*pointer = block;
	return 0;
}
