/*
 * PCI's configuration space through its two ports: devices as a firmware might leave them. Data: the
 * registers of one device, at slot 3 of bus 0.
 */
#define KERNEL_X86_H               /* replaced by the functions below */
#include <stdbool.h>
#include <stdint.h>

#include "tests/host/check.h"

struct cpuid { uint32_t eax, ebx, ecx, edx; };

static struct cpuid cpuid(uint32_t leaf, uint32_t part)
{
	(void)leaf, (void)part;
	return (struct cpuid){ .eax = 40 };
}

static void outl(uint16_t port, uint32_t value);
static uint32_t inl(uint16_t port);

#define CPUID_ADDRESS_BITS 0u
#define acpi_ecam no_ecam          /* test_acpi.c has the real one */
#include "kernel/devices/pci.c"

enum { SLOT = 3, VENDOR = 0x8086, NUMBER = 0x100e, REGISTERS = 64, BAR_BYTES = 0x20000 };

static uint32_t registers[REGISTERS], selected;

static bool is_device(void)
{
	return (selected >> 8 & 0xffffff) == ((PCI_PORT_ENABLE >> 8) | SLOT * FUNCTIONS);
}

static void outl(uint16_t port, uint32_t value)
{
	uint32_t at = (selected & 0xff) / 4;

	if (port == PCI_PORT_ADDRESS)
		selected = value;
	else if (is_device() && at == PCI_BAR(0) / 4)
		registers[at] = value & -(uint32_t)BAR_BYTES;
	else if (is_device() && (at == PCI_COMMAND / 4 || at == PCI_BAR(2) / 4))
		registers[at] = at == PCI_COMMAND / 4 ? value : (value & ~0xffffu) | PCI_BAR_64;
	else if (is_device() && at == PCI_BAR(3) / 4)
		registers[at] = value;
}

static uint32_t inl(uint16_t port)
{
	if (port == PCI_PORT_ADDRESS)
		return selected;
	return is_device() ? registers[(selected & 0xff) / 4] : PCI_ID_NONE;
}

uint64_t no_ecam(void)
{
	return 0;
}

uint32_t apic_message_address(void)
{
	return 0;
}

static void open_device(struct pci_device *device, uint32_t bar0)
{
	memset(registers, 0, sizeof(registers));
	registers[PCI_ID / 4] = (uint32_t)NUMBER << 16 | VENDOR;
	registers[PCI_BAR(0) / 4] = bar0;
	registers[PCI_BAR(2) / 4] = PCI_BAR_64;
	pci_start(0);
	CHECK(pci_open(VENDOR, NUMBER, 0, device));
	CHECK_IS(registers[PCI_COMMAND / 4], PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

/* Where microvm has room for them, a board may have memory or other devices. */
TEST(pci_a_short_bar_without_an_address_is_absent_on_a_board)
{
	struct pci_device device;

	open_device(&device, 0);
	CHECK_IS(device.bar[0].physical, 0);
	CHECK_IS(device.bar[0].bytes, 0);
	CHECK_IS(registers[PCI_BAR(0) / 4], 0);
}

TEST(pci_bars_with_addresses_stay)
{
	struct pci_device device;

	open_device(&device, 0xfeb00000);
	CHECK_IS(device.bar[0].physical, 0xfeb00000);
	CHECK_IS(device.bar[0].bytes, BAR_BYTES);
	CHECK_IS(registers[PCI_BAR(0) / 4], 0xfeb00000);
}

TEST(pci_long_bars_get_addresses_in_the_last_quarter)
{
	struct pci_device device;

	open_device(&device, 0);
	CHECK_IS(device.bar[2].physical, (1UL << 40) / 4 * 3);
	CHECK_IS(device.bar[2].bytes, 0x10000);
}
