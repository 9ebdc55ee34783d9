/*
 * The kernel's functions that all drivers call, on the host. Data: see kernel.h; and the memory that
 * is mapped twice.
 */
#define _GNU_SOURCE
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/memory/memory.h"
#include "kernel/devices/pci.h"

#define TAKEN (sizeof(fake_kernel.taken) / sizeof(fake_kernel.taken[0]))

struct fake_kernel fake_kernel;

static void *twice;
static uint64_t twice_bytes;

void console_line(const char *format, ...);
void console_line(const char *format, ...)
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

void *memory_take_twice(uint64_t bytes, uint64_t *physical)
{
	int fd = memfd_create("slots", 0);
	uint8_t *at = mmap(0, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) || at == (void *)-1)
		abort();
	for (int i = 0; i < 2; i++)
		mmap(at + (uint64_t)i * bytes, bytes, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	twice = at;
	twice_bytes = bytes;
	*physical = (uint64_t)at;
	return at;
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
	if (twice)
		munmap(twice, 2 * twice_bytes);
	twice = 0;
}
