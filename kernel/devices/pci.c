/*
 * PCI configuration. Data: the access method of configuration space, and the address windows for
 * BARs that the firmware left unassigned. Called only at boot, except pci_master.
 */
#include "pci.h"

#include "kernel/base/x86.h"
#include "kernel/memory/memory.h"
#include "acpi.h"
#include "apic.h"
#include "pci_regs.h"

#define BUSES           256u
#define DEVICES         32u
#define FUNCTIONS       8u
#define ECAM_FUNCTION   4096u
#define CAPABILITIES    48u        /* as many as fit: bounds a list with a cycle */

/*
 * QEMU's generic PCI Express host on microvm (hw/i386/microvm.c). It is the one machine without
 * ports and without ACPI's MCFG, and its firmware assigns no BARs. 32-bit BARs get addresses after
 * the hole of the RAM: on other machines devices and memory are there. 64-bit ones get addresses in
 * the last quarter of the processor's address space, on all machines.
 */
#define ECAM_MICROVM    0xe0000000UL
#define WINDOW32        0xc0000000UL
#define WINDOW32_END    0xe0000000UL

enum access { ACCESS_PORTS, ACCESS_MEMORY };

static enum access access;
static uint64_t ecam;
static bool has_window32;
static uint64_t window32 = WINDOW32;
static uint64_t window64;

static volatile uint32_t *memory_register(uint32_t address, uint32_t offset)
{
	uint8_t *function = map_physical(ecam + (uint64_t)address * ECAM_FUNCTION,
	                                 ECAM_FUNCTION, MAP_DEVICE);

	return (volatile uint32_t *)(function + offset);
}

static uint32_t pci_read(uint32_t address, uint32_t offset)
{
	if (access == ACCESS_MEMORY)
		return *memory_register(address, offset);
	outl(PCI_PORT_ADDRESS, PCI_PORT_ENABLE | address << 8 | offset);
	return inl(PCI_PORT_DATA);
}

static void pci_write(uint32_t address, uint32_t offset, uint32_t value)
{
	if (access == ACCESS_MEMORY) {
		*memory_register(address, offset) = value;
	} else {
		outl(PCI_PORT_ADDRESS, PCI_PORT_ENABLE | address << 8 | offset);
		outl(PCI_PORT_DATA, value);
	}
}

void pci_start(uint64_t hint)
{
	uint32_t bits = cpuid(CPUID_ADDRESS_BITS, 0).eax & 0xff;

	window64 = (1UL << bits) / 4 * 3;
	ecam = acpi_ecam();
	outl(PCI_PORT_ADDRESS, PCI_PORT_ENABLE);
	if (!ecam && inl(PCI_PORT_ADDRESS) == PCI_PORT_ENABLE) {
		access = ACCESS_PORTS;
		return;
	}
	has_window32 = !ecam;
	if (!ecam)
		ecam = hint ? hint : ECAM_MICROVM;
	access = ACCESS_MEMORY;
}

/* Looks at one function; true if it is the wanted one. Records buses behind bridges. */
static bool look(uint32_t address, uint32_t wanted, uint32_t *last_bus)
{
	uint32_t id = pci_read(address, PCI_ID);

	if (id == PCI_ID_NONE)
		return false;
	if ((pci_read(address, PCI_HEADER) & PCI_HEADER_TYPE) == PCI_HEADER_BRIDGE) {
		uint32_t last = pci_read(address, PCI_BRIDGE_BUSES) >> 16 & 0xff;

		if (last > *last_bus)
			*last_bus = last;
	}
	return id == wanted;
}

static bool find(uint32_t wanted, uint32_t nth, uint32_t *found)
{
	uint32_t last_bus = 0;

	for (uint32_t slot = 0; slot < (last_bus + 1) * DEVICES && slot < BUSES * DEVICES; slot++) {
		uint32_t at = slot * FUNCTIONS, functions = 1;

		if (pci_read(at, PCI_ID) == PCI_ID_NONE)
			continue;
		if (pci_read(at, PCI_HEADER) & PCI_HEADER_MANY)
			functions = FUNCTIONS;
		for (; functions--; at++)
			if (look(at, wanted, &last_bus) && !nth--) {
				*found = at;
				return true;
			}
	}
	return false;
}

uint32_t pci_count(uint16_t vendor, uint16_t number)
{
	uint32_t n = 0, unused;

	while (find((uint32_t)number << 16 | vendor, n, &unused))
		n++;
	return n;
}

/* Address and size of a memory BAR by the rules of 6.2.5.1: write ones, read,
 * restore. Decoding is off: each change would cost QEMU a new memory map. */
static struct pci_bar measure(uint32_t address, uint32_t index)
{
	uint32_t low = pci_read(address, PCI_BAR(index)), high = 0;
	uint64_t mask;

	if (low & PCI_BAR_IO)
		return (struct pci_bar){ 0, 0 };
	pci_write(address, PCI_BAR(index), PCI_BAR_ADDRESS);
	mask = 0xffffffff00000000UL | (pci_read(address, PCI_BAR(index)) & PCI_BAR_ADDRESS);
	pci_write(address, PCI_BAR(index), low);
	if (low & PCI_BAR_64) {
		high = pci_read(address, PCI_BAR(index + 1));
		pci_write(address, PCI_BAR(index + 1), 0xffffffff);
		mask = (uint64_t)pci_read(address, PCI_BAR(index + 1)) << 32 | (uint32_t)mask;
		pci_write(address, PCI_BAR(index + 1), high);
	}
	return (struct pci_bar){
		.physical = (uint64_t)high << 32 | (low & PCI_BAR_ADDRESS),
		.bytes = (uint32_t)mask || low & PCI_BAR_64 ? -mask : 0,
	};
}

static uint64_t assign(uint32_t address, uint32_t index, bool wide, uint64_t bytes)
{
	uint64_t *window = wide ? &window64 : &window32;
	uint64_t start = (*window + bytes - 1) & -bytes;

	if (!wide && (!has_window32 || start + bytes > WINDOW32_END))
		return 0;
	*window = start + bytes;
	pci_write(address, PCI_BAR(index), (uint32_t)start);
	if (wide)
		pci_write(address, PCI_BAR(index + 1), (uint32_t)(start >> 32));
	return start;
}

bool pci_open(uint16_t vendor, uint16_t number, uint32_t nth, struct pci_device *device)
{
	uint32_t address, command;
	bool wide;

	if (!find((uint32_t)number << 16 | vendor, nth, &address))
		return false;
	*device = (struct pci_device){ .address = address };
	command = pci_read(address, PCI_COMMAND) & 0xffff;
	pci_write(address, PCI_COMMAND, command & ~PCI_COMMAND_MEMORY);
	for (uint32_t i = 0; i < PCI_BARS; i += wide ? 2 : 1) {
		struct pci_bar *bar = &device->bar[i];

		*bar = measure(address, i);
		wide = (pci_read(address, PCI_BAR(i)) & (PCI_BAR_64 | PCI_BAR_IO)) == PCI_BAR_64;
		if (bar->bytes && !bar->physical)
			bar->physical = assign(address, i, wide, bar->bytes);
		if (!bar->physical)
			bar->bytes = 0;
	}
	pci_write(address, PCI_COMMAND, command | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	return true;
}

uint32_t pci_config(const struct pci_device *device, uint32_t offset)
{
	return pci_read(device->address, offset);
}

uint32_t pci_capability(const struct pci_device *device, uint8_t id, uint32_t after)
{
	uint32_t address = device->address, at, tries = CAPABILITIES;
	bool behind = !after;

	if (!(pci_read(address, PCI_COMMAND) & PCI_STATUS_CAPABILITIES))
		return 0;
	at = pci_read(address, PCI_CAPABILITIES) & 0xfc;
	while (at && tries--) {
		uint32_t head = pci_read(address, at);

		if (behind && (head & 0xff) == id)
			return at;
		behind |= at == after;
		at = head >> 8 & 0xfc;
	}
	return 0;
}

uint8_t pci_line(const struct pci_device *device)
{
	return pci_read(device->address, PCI_INTERRUPT) & 0xff;
}

void pci_stay_awake(const struct pci_device *device)
{
	uint32_t at = pci_capability(device, PCI_CAP_EXPRESS, 0);

	/* the upper half is the status: writing zeros there changes nothing */
	if (at)
		pci_write(device->address, at + PCI_EXPRESS_LINK,
		          pci_read(device->address, at + PCI_EXPRESS_LINK) &
		          PCI_EXPRESS_CONTROL & ~PCI_EXPRESS_SLEEP);
}

void pci_master(const struct pci_device *device, bool on)
{
	uint32_t command = pci_read(device->address, PCI_COMMAND) & 0xffff;

	pci_write(device->address, PCI_COMMAND,
	          on ? command | PCI_COMMAND_MASTER : command & ~PCI_COMMAND_MASTER);
}

bool pci_msix(const struct pci_device *device, uint32_t number, uint8_t vector)
{
	uint32_t address = device->address;
	uint32_t capability = pci_capability(device, PCI_CAP_MSIX, 0);
	uint32_t table, control;
	const struct pci_bar *bar;
	uint64_t offset;
	uint8_t *entry;

	if (!capability)
		return false;
	control = pci_read(address, capability);
	table = pci_read(address, capability + PCI_MSIX_TABLE);
	if ((table & PCI_MSIX_BAR) >= PCI_BARS || number > PCI_MSIX_LAST(control))
		return false;
	bar = &device->bar[table & PCI_MSIX_BAR];
	offset = (table & ~PCI_MSIX_BAR) + number * MSIX_ENTRY_BYTES;
	if (offset + MSIX_ENTRY_BYTES > bar->bytes)
		return false;
	pci_write(address, capability, control | PCI_MSIX_ENABLE | PCI_MSIX_MASK_ALL);
	entry = map_physical(bar->physical + offset, MSIX_ENTRY_BYTES, MAP_DEVICE);
	*(volatile uint32_t *)(entry + MSIX_ADDRESS) = apic_message_address();
	*(volatile uint32_t *)(entry + MSIX_ADDRESS_HIGH) = 0;
	*(volatile uint32_t *)(entry + MSIX_DATA) = vector;
	*(volatile uint32_t *)(entry + MSIX_CONTROL) = 0;
	pci_write(address, capability, (control & ~PCI_MSIX_MASK_ALL) | PCI_MSIX_ENABLE);
	return true;
}
