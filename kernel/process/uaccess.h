/*
 * Checking addresses that the application passes: one or two comparisons against the bounds of its
 * segment, then an addition. The kernel never uses a user address; it uses the segment's supervisor
 * alias.
 */
#ifndef KERNEL_UACCESS_H
#define KERNEL_UACCESS_H
#include <margay/abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/layout.h"
#include "kernel/base/node.h"
#include "process.h"

enum user_access { USER_READ, USER_WRITE };

/*
 * Whether the application itself could read (USER_READ) or write (USER_WRITE) all of
 * [address, address + bytes). Any sum is safe. Zero bytes are valid anywhere.
 */
static inline bool user_may(uint64_t address, uint64_t bytes, enum user_access access)
{
	const struct segment *segment = &this_process()->segment;
	uint64_t offset = address - APP_BASE, end = segment->bytes;

	if (offset < segment->stack_offset) {
		if (access == USER_WRITE && offset < segment->data_offset)
			return bytes == 0;
		end = segment->guard_offset;
	}
	/* Both parts of a segment are longer than the structures that calls pass. */
	if (__builtin_constant_p(bytes) && bytes - 1 < PAGE_BYTES)
		return offset <= end - bytes;
	return (offset < end && bytes <= end - offset) || bytes == 0;
}

/* The alias of an address that user_may accepts. */
static inline void *user_alias(uint64_t address)
{
	return this_process()->segment.alias + (address - APP_BASE);
}

/* The alias of [address, address + bytes) if the application may use all of it, else NULL. For zero
 * bytes the result is a pointer that must not be used. */
static inline void *user_range(uint64_t address, uint64_t bytes, enum user_access access)
{
	if (bytes == 0)
		return this_process()->segment.alias;
	return user_may(address, bytes, access) ? user_alias(address) : NULL;
}

#endif
