/*
 * ACPI tables: the address of PCI's configuration space, a clock, how to switch off. Data: what was
 * found. The tables are input from outside: lengths are checked, and a bad table counts as absent.
 */
#include "acpi.h"

#include <stdbool.h>

#include "kernel/base/string.h"
#include "kernel/base/x86.h"
#include "kernel/loader/boot_info.h"
#include "kernel/memory/memory.h"
#include "acpi_regs.h"

#define RSDP_FIRST    0xe0000UL    /* 5.2.5.1: on a 16-byte border in the BIOS' memory */
#define RSDP_LAST     0xfffe0UL
#define RSDP_STEP     16u
#define EBDA_SEGMENT  0x40eUL      /* in page 0, which is not mapped as it is */
#define EBDA_BYTES    1024u
#define TABLE_LIMIT   0x100000u
#define ECAM_BUS_BYTES 0x100000UL  /* of PCI's configuration space, for each of 256 buses */
#define ECAM_BYTES    (256 * ECAM_BUS_BYTES)
#define ENABLE_TRIES  1000000u     /* reads of a port: a second or so */

#define AML_PACKAGE   0x12u        /* 20.2.5.4 */
#define AML_BYTE      0x0au        /* 20.2.3: a byte follows */
#define S5_BYTES      8            /* name, package, length, count, one type */

static const struct acpi_fadt *fadt;
static uint8_t sleep_type_s5;
static bool    s5_known;
static uint64_t ecam;

static bool is_rsdp(const struct acpi_rsdp *rsdp)
{
	const uint8_t *bytes = (const uint8_t *)rsdp;
	uint8_t sum = 0;

	if (memcmp(rsdp->signature, "RSD PTR ", sizeof(rsdp->signature)))
		return false;
	for (int i = 0; i < 20; i++)
		sum += bytes[i];
	return sum == 0;
}

static const struct acpi_rsdp *search(const uint8_t *from, uint64_t bytes)
{
	for (const uint8_t *at = from; at < from + bytes; at += RSDP_STEP)
		if (is_rsdp((const struct acpi_rsdp *)at))
			return (const struct acpi_rsdp *)at;
	return NULL;
}

/* From the loader, or else searched in the BIOS' memory. */
static const struct acpi_rsdp *find_rsdp(void)
{
	const struct acpi_rsdp *rsdp = (const struct acpi_rsdp *)boot_info.rsdp;
	const uint8_t *low;
	uint64_t ebda;

	if (is_rsdp(rsdp))
		return rsdp;
	low = map_physical(0, RSDP_LAST + RSDP_STEP, MAP_MEMORY);
	ebda = (uint64_t)*(const uint16_t *)(low + EBDA_SEGMENT) << 4;
	rsdp = search(low + RSDP_FIRST, RSDP_LAST - RSDP_FIRST);
	if (!rsdp && ebda && ebda + EBDA_BYTES <= RSDP_FIRST)
		rsdp = search(low + ebda, EBDA_BYTES);
	return rsdp;
}

static const struct acpi_header *table_at(uint64_t physical)
{
	const struct acpi_header *table;

	if (!physical || !memory_is_addressable(physical, TABLE_LIMIT))
		return NULL;
	table = map_physical(physical, sizeof(*table), MAP_MEMORY);
	if (table->length < sizeof(*table) || table->length > TABLE_LIMIT)
		return NULL;
	return map_physical(physical, table->length, MAP_MEMORY);
}

/* A package in the DSDT: "_S5_", PackageOp, length, count, then the two sleep
 * types, each a constant 0, 1, or a byte with its prefix (ACPI 20.2). */
static void find_s5(const struct acpi_header *dsdt)
{
	const uint8_t *at = (const uint8_t *)dsdt, *end = at + dsdt->length;

	for (; at + S5_BYTES <= end; at++) {
		if (memcmp(at, "_S5_", 4) || at[4] != AML_PACKAGE)
			continue;
		at += 5;
		at += (*at >> 6) + 2;          /* package length, then the count */
		if (at + 1 < end)
			sleep_type_s5 = *at == AML_BYTE ? at[1] : *at;
		s5_known = true;
		return;
	}
}

static void read_fadt(const struct acpi_header *table)
{
	const struct acpi_header *dsdt;

	fadt = (const struct acpi_fadt *)table;
	dsdt = table->length >= offsetof(struct acpi_fadt, x_dsdt) + 8 ? table_at(fadt->x_dsdt) : NULL;
	if (!dsdt)
		dsdt = table_at(fadt->dsdt);
	if (dsdt)
		find_s5(dsdt);
}

static void read_mcfg(const struct acpi_mcfg *table)
{
	uint64_t base = table->entry[0].base;

	if (memory_is_addressable(base, ECAM_BYTES) && base % ECAM_BUS_BYTES == 0)
		ecam = base;
}

static void read_table(uint64_t physical)
{
	const struct acpi_header *table = table_at(physical);

	if (!table)
		return;
	if (!memcmp(table->signature, "FACP", 4) &&
	    table->length >= offsetof(struct acpi_fadt, flags) + 4)
		read_fadt(table);
	else if (!memcmp(table->signature, "MCFG", 4) &&
	         table->length >= sizeof(struct acpi_mcfg))
		read_mcfg((const struct acpi_mcfg *)table);
}

void acpi_start(void)
{
	const struct acpi_rsdp *rsdp = find_rsdp();
	const struct acpi_header *root;
	uint32_t width, entries;
	const uint8_t *entry;

	if (!rsdp)
		return;
	root = rsdp->revision >= 2 ? table_at(rsdp->xsdt) : NULL;
	width = root ? 8 : 4;
	if (!root)
		root = table_at(rsdp->rsdt);
	if (!root)
		return;
	entries = (root->length - (uint32_t)sizeof(*root)) / width;
	entry = (const uint8_t *)(root + 1);
	for (; entries--; entry += width) {
		uint64_t physical = 0;

		memcpy(&physical, entry, width);
		read_table(physical);
	}
}

uint64_t acpi_ecam(void)
{
	return ecam;
}

uint16_t acpi_timer(void)
{
	return fadt && !(fadt->flags & ACPI_REDUCED_HARDWARE) ? (uint16_t)fadt->timer : 0;
}

/* Boards ignore the power registers until the firmware has handed them over. */
static void enable(void)
{
	uint32_t tries = ENABLE_TRIES;

	if (!fadt->command || !fadt->acpi_enable)
		return;
	if (!(inw((uint16_t)fadt->pm1a_control) & ACPI_PM1_ENABLED))
		outb((uint16_t)fadt->command, fadt->acpi_enable);
	while (!(inw((uint16_t)fadt->pm1a_control) & ACPI_PM1_ENABLED) && --tries)
		cpu_relax();
}

void acpi_power_off(void)
{
	const struct acpi_address *control;

	if (!fadt || !s5_known)
		return;
	if (!(fadt->flags & ACPI_REDUCED_HARDWARE)) {
		enable();
		outw((uint16_t)fadt->pm1a_control,
		     (uint16_t)(ACPI_PM1_SLEEP_TYPE(sleep_type_s5) | ACPI_PM1_SLEEP_ENABLE));
		return;
	}
	if (fadt->header.length < sizeof(*fadt))
		return;
	control = &fadt->sleep_control;
	if (control->space == ACPI_SPACE_IO)
		outb((uint16_t)control->address,
		     (uint8_t)(ACPI_SLEEP_TYPE(sleep_type_s5) | ACPI_SLEEP_ENABLE));
	else if (control->space == ACPI_SPACE_MEMORY && memory_is_addressable(control->address, 1))
		*(volatile uint8_t *)map_physical(control->address, 1, MAP_DEVICE) =
			(uint8_t)(ACPI_SLEEP_TYPE(sleep_type_s5) | ACPI_SLEEP_ENABLE);
}
