/*
 * What the loader told: memory, modules, command line, screen, ACPI. Copied out of
 * the loader's memory before the kernel's page tables replace the first ones.
 */
#ifndef KERNEL_BOOT_INFO_H
#define KERNEL_BOOT_INFO_H
#include <stdbool.h>
#include <stdint.h>

#include "kernel/console/screen.h"

#define BOOT_RANGES   64u
#define BOOT_MODULES  16u
#define BOOT_NAME     232u
#define BOOT_COMMAND  32768u
#define BOOT_RSDP     36u

struct boot_range { uint64_t start, end; };

struct boot_module {
	struct boot_range range;
	char name[BOOT_NAME];      /* of the file */
};

struct boot_info {
	struct boot_range free[BOOT_RANGES]; /* memory above 1 MiB, sorted as found, page
	                                        aligned, without kernel image and modules */
	uint32_t ranges;
	struct boot_module module[BOOT_MODULES];
	uint32_t modules;
	struct screen_place screen;
	uint8_t rsdp[BOOT_RSDP];   /* ACPI's first structure, zeros if the loader has none */
	char command[BOOT_COMMAND];
};

extern struct boot_info boot_info;

/* `loader`: which protocol; `told`: address of its structure. Panics on nonsense. */
void boot_info_read(uint32_t loader, uint32_t told);

/* Takes a range out of the free ones. */
void boot_info_reserve(uint64_t start, uint64_t end);

/* For the readers of the two protocols: enter a range of memory or a module into boot_info. Ranges
 * may overlap, and memory that is also in one that is not free is not free: so these come last. */
void boot_info_memory(uint64_t start, uint64_t bytes, bool is_free);
void boot_info_module(uint64_t start, uint64_t end, const char *name);
void boot_info_command(const char *text);

#endif
