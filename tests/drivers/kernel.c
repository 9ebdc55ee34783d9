/*
 * The kernel's functions that all drivers call, on the host. Data: see kernel.h.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/memory/memory.h"
#include "kernel/devices/pci.h"

#define TAKEN (sizeof(fake_kernel.taken) / sizeof(fake_kernel.taken[0]))

struct fake_kernel fake_kernel;

void kernel_line(const char *format, ...);
void kernel_line(const char *format, ...)
{
	(void)format;
	fake_kernel.reports++;
}

void *memory_take(uint64_t bytes, uint64_t align)
{
	void *memory;

	if (posix_memalign(&memory, align, bytes) || fake_kernel.n_taken == TAKEN)
		abort();
	fake_kernel.taken[fake_kernel.n_taken++] = memory;
	return memset(memory, 0, bytes);
}

uint64_t memory_physical(const void *pointer)
{
	return (uint64_t)pointer;
}

void *map_physical(uint64_t physical, uint64_t bytes, enum map_kind kind)
{
	(void)bytes, (void)kind;
	return (void *)physical;
}

void pci_master(const struct pci_device *device, bool on)
{
	(void)device;
	fake_kernel.silenced = !on;
}

void fake_kernel_start(void)
{
	fake_kernel = (struct fake_kernel){ 0 };
}

void fake_kernel_free(void)
{
	while (fake_kernel.n_taken)
		free(fake_kernel.taken[--fake_kernel.n_taken]);
}
