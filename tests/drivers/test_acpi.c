/*
 * ACPI's tables as a firmware might have them: addresses that no memory has, bad lengths, an XSDT
 * that cannot be read beside a good RSDT. A bad table counts as absent. The tables lie in `memory`.
 * Its "physical" addresses begin at BASE; the loader has told where the RSDP is.
 */
#define KERNEL_X86_H               /* replaced by the functions below */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/host/check.h"

static uint8_t inb(uint16_t port) { (void)port; return 0; }
static uint16_t inw(uint16_t port) { (void)port; return 1; }
static void outb(uint16_t port, uint8_t value) { (void)port, (void)value; }

static uint32_t switched_off;      /* the word that does it */

static void outw(uint16_t port, uint16_t value) { (void)port; switched_off = value; }
static void cpu_relax(void) { }

#include "kernel/devices/acpi.c"

#define BASE      0x1000000UL
#define ABSURD    0xfffffffffffff000UL
#define ECAM      0xe0000000UL
#define OFF       (ACPI_PM1_SLEEP_TYPE(5u) | ACPI_PM1_SLEEP_ENABLE)

enum { BYTES = 0x200000, RSDT_AT = 0x1000, XSDT_AT = 0x2000, FADT_AT = 0x3000, DSDT_AT = 0x4000,
       MCFG_AT = 0x5000 };

static uint8_t memory[BYTES] __attribute__((aligned(64)));

bool memory_is_addressable(uint64_t physical, uint64_t bytes)
{
	return physical >= BASE && physical < 1UL << 40 && bytes <= (1UL << 40) - physical;
}

/* A part of the tables' memory. Like page tables, it gives nothing for other addresses. */
void *map_physical(uint64_t physical, uint64_t bytes, enum map_kind kind)
{
	(void)kind;
	if (!physical)             /* the search of the BIOS' memory finds nothing */
		return memory + BYTES / 2;
	if (physical < BASE || physical - BASE > BYTES || bytes > BYTES - (physical - BASE))
		abort();
	return memory + (physical - BASE);
}

static void put_table(uint32_t at, const char *signature, uint32_t length)
{
	memcpy(memory + at, signature, 4);
	memcpy(memory + at + 4, &length, sizeof(length));
}

static void put64(uint32_t at, uint64_t value, uint32_t bytes)
{
	memcpy(memory + at, &value, bytes);
}

static void make_rsdp(uint64_t xsdt)
{
	struct acpi_rsdp rsdp = { .signature = { 'R', 'S', 'D', ' ', 'P', 'T', 'R', ' ' },
	                          .revision = 2, .rsdt = BASE + RSDT_AT, .xsdt = xsdt };

	uint8_t sum = 0;

	for (uint32_t i = 0; i < 20; i++)
		sum += ((uint8_t *)&rsdp)[i];
	rsdp.checksum = (uint8_t)-sum;
	memcpy(boot_info.rsdp, &rsdp, sizeof(rsdp));
}

/* Good tables; both roots name the FADT and the MCFG, behind an entry that is `other`. */
static void make(uint64_t other)
{
	const uint8_t s5[] = { '_', 'S', '5', '_', AML_PACKAGE, 6, 4, AML_BYTE, 5, AML_BYTE, 5, 0, 0 };
	uint32_t header = sizeof(struct acpi_header);

	memset(memory, 0, sizeof(memory));
	fadt = 0;
	ecam = 0;
	s5_known = false;
	switched_off = 0;
	make_rsdp(BASE + XSDT_AT);
	put_table(XSDT_AT, "XSDT", header + 3 * 8);
	put_table(RSDT_AT, "RSDT", header + 2 * 4);
	put64(XSDT_AT + header, other, 8);
	put64(XSDT_AT + header + 8, BASE + FADT_AT, 8);
	put64(XSDT_AT + header + 16, BASE + MCFG_AT, 8);
	put64(RSDT_AT + header, BASE + FADT_AT, 4);
	put64(RSDT_AT + header + 4, BASE + MCFG_AT, 4);
	put_table(FADT_AT, "FACP", sizeof(struct acpi_fadt));
	put64(FADT_AT + offsetof(struct acpi_fadt, dsdt), BASE + DSDT_AT, 4);
	put64(FADT_AT + offsetof(struct acpi_fadt, x_dsdt), BASE + DSDT_AT, 8);
	put_table(DSDT_AT, "DSDT", header + sizeof(s5));
	memcpy(memory + DSDT_AT + header, s5, sizeof(s5));
	put_table(MCFG_AT, "MCFG", sizeof(struct acpi_mcfg));
	put64(MCFG_AT + offsetof(struct acpi_mcfg, entry), ECAM, 8);
}

static void check_all_is_found(void)
{
	acpi_start();
	CHECK_IS(acpi_ecam(), ECAM);
	acpi_power_off();
	CHECK_IS(switched_off, OFF);
}

TEST(acpi_entries_of_the_root_may_be_anything)
{
	static const uint64_t others[] = { BASE + DSDT_AT, 0, 8, ABSURD, UINT64_MAX, 1UL << 40,
	                                   (1UL << 40) - 8, 1UL << 51, 1UL << 63 };

	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		make(others[i]);
		check_all_is_found();
	}
}

TEST(acpi_without_a_good_xsdt_the_rsdt_counts)
{
	static const uint64_t bad[] = { 0, ABSURD, 1UL << 51, BASE + 0x100000 };

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make(BASE + DSDT_AT);
		make_rsdp(bad[i]);
		check_all_is_found();
	}
}

TEST(acpi_without_a_good_long_address_of_the_dsdt_the_short_one_counts)
{
	make(BASE + DSDT_AT);
	put64(FADT_AT + offsetof(struct acpi_fadt, x_dsdt), ABSURD, 8);
	check_all_is_found();
	make(BASE + DSDT_AT);
	put64(FADT_AT + offsetof(struct acpi_fadt, x_dsdt), 0, 8);
	put64(FADT_AT + offsetof(struct acpi_fadt, dsdt), 0, 4);
	acpi_start();
	acpi_power_off();
	CHECK_IS(switched_off, 0);
}

TEST(acpi_configuration_space_where_none_can_be_counts_as_absent)
{
	static const uint64_t bad[] = { ABSURD, ECAM + 4096, (1UL << 40) - (1UL << 20), 1UL << 63 };

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make(BASE + DSDT_AT);
		put64(MCFG_AT + offsetof(struct acpi_mcfg, entry), bad[i], 8);
		acpi_start();
		CHECK_IS(acpi_ecam(), 0);
	}
}
