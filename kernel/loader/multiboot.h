/*
* The structures of a multiboot loader. Source: Multiboot Specification 0.6.96,
 * section 3.3; only the fields in use.
 */
#ifndef KERNEL_MULTIBOOT_H
#define KERNEL_MULTIBOOT_H
#include <stddef.h>
#include <stdint.h>

#define MULTIBOOT_HAS_COMMAND 0x4u
#define MULTIBOOT_HAS_MODULES 0x8u
#define MULTIBOOT_HAS_MAP     0x40u

struct multiboot_info {
	uint32_t flags;            /* MULTIBOOT_HAS_* */
	uint32_t mem_lower;        /* KiB below 1 MiB */
	uint32_t mem_upper;        /* KiB from 1 MiB on */
	uint32_t boot_device;
	uint32_t command;          /* address of a string */
	uint32_t modules;          /* how many */
	uint32_t module_list;      /* address of struct multiboot_module[] */
	uint32_t symbols[4];
	uint32_t map_bytes;
	uint32_t map;              /* address of struct multiboot_map[] */
};
_Static_assert(offsetof(struct multiboot_info, map) == 48, "section 3.3");

struct multiboot_map {
	uint32_t bytes;            /* of this entry, without this field */
	uint64_t start;
	uint64_t length;
	uint32_t kind;
} __attribute__((packed));
#define MULTIBOOT_MAP_FREE 1u

struct multiboot_module {
	uint32_t start, end;       /* physical addresses */
	uint32_t name;             /* address of a string */
	uint32_t zero;
};

/* Reads what the loader told into boot_info; the kernel's image is not taken out of the
 * memory yet. `told`: the address of the loader's structure. */
void multiboot_read(uint32_t told);

#endif
