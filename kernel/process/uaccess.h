/*
 * Checking addresses that the application passes: one or two comparisons against the bounds of its
 * segment, then an addition. The kernel never uses a user address; it uses the segment's supervisor
 * alias.
 */
#ifndef KERNEL_UACCESS_H
#define KERNEL_UACCESS_H
#include <margay/abi.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/node.h"
#include "process.h"

enum user_access { USER_READ, USER_WRITE };

/*
 * The alias of [address, address + bytes) if the application itself could read
 * (USER_READ) or write (USER_WRITE) all of it, else NULL. Any sum is safe.
 * Zero bytes are valid anywhere: the result is a pointer that must not be used.
 */
static inline void *user_range(uint64_t address, uint64_t bytes, enum user_access access)
{
	const struct segment *segment = &this_process()->segment;
	uint64_t offset = address - APP_BASE;
	uint64_t first = access == USER_WRITE ? segment->data_offset : 0;

	if (bytes == 0)
		return segment->alias;
	if (offset >= segment->stack_offset) {
		if (offset >= segment->bytes || bytes > segment->bytes - offset)
			return NULL;
	} else if (offset < first || offset >= segment->guard_offset ||
	           bytes > segment->guard_offset - offset) {
		return NULL;
	}
	return segment->alias + offset;
}

#endif
