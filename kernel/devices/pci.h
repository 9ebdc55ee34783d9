/*
 * PCI devices: finding one, its memory, its interrupt. Called only at boot, except pci_master.
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

/* Chooses the way to the configuration space: ACPI's, ports, `hint`, or microvm's. */
void pci_start(uint64_t hint);

/* Finds the `nth` device (the first is 0) with this vendor and device number, assigns addresses to
 * memory BARs that the firmware left without, and enables the device's memory and bus mastering.
 * False: there are fewer. */
bool pci_open(uint16_t vendor, uint16_t number, uint32_t nth, struct pci_device *device);

/* The number of such devices. */
uint32_t pci_count(uint16_t vendor, uint16_t number);

/* A register of the device's configuration space; `offset` is a multiple of 4. */
uint32_t pci_config(const struct pci_device *device, uint32_t offset);

/* Offset of the next capability with this id after the one at `after` (0: of the first one), or
 * 0. */
uint32_t pci_capability(const struct pci_device *device, uint8_t id, uint32_t after);

/* The input of the legacy interrupt controllers that the firmware assigned, or 255. */
uint8_t pci_line(const struct pci_device *device);

/* Disables power saving of its link to the next PCI Express switch. */
void pci_stay_awake(const struct pci_device *device);

/* Allows or forbids the device to read and write memory. */
void pci_master(const struct pci_device *device, bool on);

/* MSI-X entry `entry` sends `vector` to this processor. False: there is none. */
bool pci_msix(const struct pci_device *device, uint32_t entry, uint8_t vector);

#endif
