/*
 * PCI devices: finding one, its memory, its interrupt. At boot only, but for pci_master.
 */
#ifndef KERNEL_PCI_H
#define KERNEL_PCI_H
#include <stdbool.h>
#include <stdint.h>

#define PCI_BARS 6u

struct pci_bar {
	uint64_t physical;
	uint64_t bytes;            /* a power of two; 0: no memory BAR has this number */
};

struct pci_device {
	uint32_t address;          /* bus << 8 | device << 3 | function */
	struct pci_bar bar[PCI_BARS];
};

/* Finds a way to the configuration space: ACPI's, ports, `hint`, or microvm's. */
void pci_start(uint64_t hint);

/* Finds device `nth` (the first is 0) with this vendor and device number, gives
 * addresses to memory BARs that the firmware left without, and switches the
 * device's memory and bus mastering on. False: there are not so many. */
bool pci_open(uint16_t vendor, uint16_t number, uint32_t nth, struct pci_device *device);

/* How many there are. */
uint32_t pci_count(uint16_t vendor, uint16_t number);

/* A register of the device's configuration space; `offset` is a multiple of 4. */
uint32_t pci_config(const struct pci_device *device, uint32_t offset);

/* Offset of the first capability with this id behind the one at `after` (0: of
 * all), or 0. */
uint32_t pci_capability(const struct pci_device *device, uint8_t id, uint32_t after);

/* The input of the legacy interrupt controllers that the firmware gave it, or 255. */
uint8_t pci_line(const struct pci_device *device);

/* Its link to the next PCI Express switch never sleeps. */
void pci_stay_awake(const struct pci_device *device);

/* It may read and write memory, or cannot any more, whatever it does. */
void pci_master(const struct pci_device *device, bool on);

/* MSI-X entry `entry` sends `vector` to this processor. False: there is none. */
bool pci_msix(const struct pci_device *device, uint32_t entry, uint8_t vector);

#endif
