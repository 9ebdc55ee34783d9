/*
 * The engine's port for Linux: see net/port.h. Called by the engine when it
 * runs in a Linux process: unit tests, tools, simulations.
 */
#include <string.h>
#include "../net/port.h"
#include "../net/portals/atomic_float.h"
#include "../net/portals/process.h"

void port_copy(void *to, const void *from, uint64_t bytes)
{
	if (bytes)      /* the addresses of an empty message may be invalid */
		memcpy(to, from, bytes);
}

void port_move(void *to, const void *from, uint64_t bytes)
{
	if (bytes)
		memmove(to, from, bytes);
}

/* A Linux process that uses this must not change rounding and exceptions. */
void port_float(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
		const uint8_t *operands)
{
	atomic_float(operation, datatype, memory, bytes, operands);
}

/* A segment on the host has the holes that its view lists: none, except in tests. */
int port_may_use(const struct process_view *view, uint64_t address, uint64_t bytes, int write)
{
	return view_may_use(view, address - view->base, bytes, write);
}
