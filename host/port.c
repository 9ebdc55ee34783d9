/*
 * The engine's port for Linux: see net/port.h. Called by the engine when it
 * runs in a Linux process: unit tests, tools, simulations.
 */
#include <string.h>
#include "../net/port.h"

void port_copy(void *to, const void *from, uint64_t bytes)
{
	memcpy(to, from, bytes);
}

void port_move(void *to, const void *from, uint64_t bytes)
{
	memmove(to, from, bytes);
}
