/*
 * What the loader told: memory, modules, command line, screen, ACPI. Copied out of
 * the loader's memory before the kernel's page tables replace the first ones.
 */
#ifndef KERNEL_BOOT_INFO_H
#define KERNEL_BOOT_INFO_H
#include <stdint.h>

#define BOOT_RANGES   64u
#define BOOT_MODULES  16u
#define BOOT_NAME     64u
#define BOOT_COMMAND  32768u
#define BOOT_RSDP     36u

struct boot_range { uint64_t start, end; };

struct boot_module {
	struct boot_range range;
	char name[BOOT_NAME];      /* the last word of the module's string, without folders */
};

/* Where characters can be shown. */
struct boot_screen {
	uint64_t physical;         /* of the first pixel or character; 0: there is no screen */
	uint32_t pitch;            /* bytes from line to line */
	uint32_t width, height;    /* pixels; of a text screen characters */
	uint32_t pixel_bytes;      /* 0: a text screen, two bytes per character */
};

struct boot_info {
	struct boot_range free[BOOT_RANGES]; /* memory above 1 MiB, sorted as found, page
	                                        aligned, without kernel image and modules */
	uint32_t ranges;
	struct boot_module module[BOOT_MODULES];
	uint32_t modules;
	struct boot_screen screen;
	uint8_t rsdp[BOOT_RSDP];   /* ACPI's first structure, zeros if the loader has none */
	char command[BOOT_COMMAND];
};

extern struct boot_info boot_info;

/* `loader`: which protocol; `told`: address of its structure. Panics on nonsense. */
void boot_info_read(uint32_t loader, uint32_t told);

/* Takes a range out of the free ones. */
void boot_info_reserve(uint64_t start, uint64_t end);

/* For the readers of the two protocols: what a loader's entry says, into boot_info. */
void boot_info_free(uint64_t start, uint64_t bytes);
void boot_info_module(uint64_t start, uint64_t end, const char *text);
void boot_info_command(const char *text);

/* The readers: what there is, without the kernel's image taken out of the memory. */
void multiboot_read(uint32_t told);
void multiboot2_read(uint32_t told);

#endif
