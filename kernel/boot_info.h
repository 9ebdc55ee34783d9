/*
 * What the loader told: memory, modules, command line. Copied out of the
 * loader's memory before the kernel's page tables replace the first ones.
 */
#ifndef KERNEL_BOOT_INFO_H
#define KERNEL_BOOT_INFO_H
#include <stdint.h>

#define BOOT_RANGES   64u
#define BOOT_MODULES  16u
#define BOOT_NAME     64u
#define BOOT_COMMAND  32768u

struct boot_range { uint64_t start, end; };

struct boot_module {
	struct boot_range range;
	char name[BOOT_NAME];      /* the last word of the module's string, without folders */
};

struct boot_info {
	struct boot_range free[BOOT_RANGES]; /* memory above 1 MiB, sorted as found, page
	                                        aligned, without kernel image and modules */
	uint32_t ranges;
	struct boot_module module[BOOT_MODULES];
	uint32_t modules;
	char command[BOOT_COMMAND];
};

extern struct boot_info boot_info;

/* `multiboot`: address of the loader's structure. Panics on nonsense. */
void boot_info_read(uint32_t multiboot);

/* Takes a range out of the free ones. */
void boot_info_reserve(uint64_t start, uint64_t end);

#endif
