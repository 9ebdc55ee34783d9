/*
 * ACPI tables and power registers. Source: ACPI Specification 6.4, chapters 4
 * and 5; PCI Firmware Specification 3.3, table 4-2 (MCFG). Only what is in use.
 */
#ifndef KERNEL_ACPI_REGS_H
#define KERNEL_ACPI_REGS_H
#include <stddef.h>
#include <stdint.h>

struct acpi_rsdp {                 /* 5.2.5.3 */
	char     signature[8];     /* "RSD PTR " */
	uint8_t  checksum;         /* of the first 20 bytes */
	char     oem[6];
	uint8_t  revision;         /* 2: the fields from `length` on are there */
	uint32_t rsdt;
	uint32_t length;
	uint64_t xsdt;
	uint8_t  rest[4];
} __attribute__((packed));
_Static_assert(sizeof(struct acpi_rsdp) == 36, "ACPI 5.2.5.3");

struct acpi_header {               /* 5.2.6 */
	char     signature[4];
	uint32_t length;           /* of the whole table */
	uint8_t  rest[28];
} __attribute__((packed));
_Static_assert(sizeof(struct acpi_header) == 36, "ACPI 5.2.6");

struct acpi_address {              /* 5.2.3.2 */
	uint8_t  space;            /* ACPI_SPACE_* */
	uint8_t  width, offset, access;
	uint64_t address;
} __attribute__((packed));
#define ACPI_SPACE_MEMORY 0u
#define ACPI_SPACE_IO     1u

struct acpi_fadt {                 /* 5.2.9 */
	struct acpi_header header;
	uint32_t facs;
	uint32_t dsdt;
	uint8_t  rest1[4];
	uint32_t command;          /* offset 48: port, of the firmware */
	uint8_t  acpi_enable;      /* what to write there */
	uint8_t  rest6[11];
	uint32_t pm1a_control;     /* offset 64: port */
	uint32_t pm1b_control;
	uint8_t  rest2[4];
	uint32_t timer;            /* offset 76: port, 0 none */
	uint8_t  rest5[32];
	uint32_t flags;            /* offset 112 */
	uint8_t  rest3[24];
	uint64_t x_dsdt;           /* offset 140 */
	uint8_t  rest4[96];
	struct acpi_address sleep_control; /* offset 244, reduced hardware */
} __attribute__((packed));
_Static_assert(offsetof(struct acpi_fadt, command) == 48, "ACPI 5.2.9");
_Static_assert(offsetof(struct acpi_fadt, pm1a_control) == 64, "ACPI 5.2.9");
_Static_assert(offsetof(struct acpi_fadt, timer) == 76, "ACPI 5.2.9");
_Static_assert(offsetof(struct acpi_fadt, flags) == 112, "ACPI 5.2.9");
_Static_assert(offsetof(struct acpi_fadt, x_dsdt) == 140, "ACPI 5.2.9");
_Static_assert(offsetof(struct acpi_fadt, sleep_control) == 244, "ACPI 5.2.9");
#define ACPI_REDUCED_HARDWARE 0x100000u

#define ACPI_TIMER_HZ   3579545u             /* 4.8.3.3 */
#define ACPI_TIMER_MASK 0xffffffu            /* some count further */

struct acpi_mcfg {
	struct acpi_header header;
	uint8_t  zero[8];
	struct {
		uint64_t base;     /* of bus 0 */
		uint16_t group;
		uint8_t  first_bus, last_bus;
		uint8_t  zero[4];
	} __attribute__((packed)) entry[1];
} __attribute__((packed));

#define ACPI_PM1_ENABLED        0x1u         /* the firmware has handed power over */
#define ACPI_PM1_SLEEP_TYPE(t)  ((t) << 10)  /* 4.8.3.2.1 */
#define ACPI_PM1_SLEEP_ENABLE   0x2000u
#define ACPI_SLEEP_TYPE(t)      ((t) << 2)   /* 4.8.3.7 */
#define ACPI_SLEEP_ENABLE       0x20u

#endif
