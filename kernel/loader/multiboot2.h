/*
* The structures of version 2 of the protocol. Source: Multiboot2
 * Specification 2.0, section 3.6; only the fields in use.
 */
#ifndef KERNEL_MULTIBOOT2_H
#define KERNEL_MULTIBOOT2_H
#include <stddef.h>
#include <stdint.h>

#define MULTIBOOT2_LOADED 0x36d76289u /* what the loader leaves in eax */
#define MULTIBOOT2_ALIGN  8u          /* of each tag's start */

enum multiboot2_tag_type {
	MULTIBOOT2_END         = 0,
	MULTIBOOT2_COMMAND     = 1,   /* a string */
	MULTIBOOT2_MODULE      = 3,
	MULTIBOOT2_MAP         = 6,
	MULTIBOOT2_FRAMEBUFFER = 8,
	MULTIBOOT2_RSDP_1      = 14,  /* a copy of ACPI's first structure, of revision 0 */
	MULTIBOOT2_RSDP_2      = 15   /* the same of revision 2 and later */
};

struct multiboot2_info {
	uint32_t bytes;            /* of all: this and the tags behind it */
	uint32_t zero;
};

struct multiboot2_tag {
	uint32_t type;             /* enum multiboot2_tag_type, or one that we do not know */
	uint32_t bytes;            /* with these two words, without what aligns the next tag */
};

struct multiboot2_module {
	struct multiboot2_tag tag;
	uint32_t start, end;       /* physical addresses */
	char     name[];
};

struct multiboot2_map {
	struct multiboot2_tag tag;
	uint32_t entry_bytes;      /* of each of the entries that follow */
	uint32_t version;
};

struct multiboot2_range {
	uint64_t start, bytes;
	uint32_t kind;             /* MULTIBOOT_MAP_FREE, or not ours */
	uint32_t zero;
};

struct multiboot2_framebuffer {
	struct multiboot2_tag tag;
	uint64_t start;            /* physical address */
	uint32_t pitch;            /* bytes from line to line */
	uint32_t width, height;    /* pixels, or characters of a text screen */
	uint8_t  bits;             /* of a pixel */
	uint8_t  kind;             /* MULTIBOOT2_RGB, MULTIBOOT2_TEXT, or colours by a palette */
};
#define MULTIBOOT2_RGB  1u
#define MULTIBOOT2_TEXT 2u
_Static_assert(offsetof(struct multiboot2_framebuffer, kind) == 29, "section 3.6.12");

/* Reads what the loader told into boot_info; the kernel's image is not taken out of the
 * memory yet. `told`: the address of the loader's structure. */
void multiboot2_read(uint32_t told);

#endif
