/*
 * PCI devices: finding one, its memory, its interrupt. At boot only.
 */
#ifndef KERNEL_PCI_H
#define KERNEL_PCI_H
#include <stdbool.h>
#include <stdint.h>

struct pci_device { uint32_t address; }; /* bus << 8 | device << 3 | function */

struct pci_bar {
	uint64_t physical;
	uint64_t bytes;            /* a power of two; 0: there is none */
};

/* Finds a way to the configuration space: ACPI's, ports, `hint`, or microvm's. */
void pci_start(uint64_t hint);

/* The first device with this vendor and device number. */
bool pci_find(uint16_t vendor, uint16_t device, struct pci_device *found);

/* Gives addresses to memory BARs that the firmware left without, and switches
 * the device's memory and bus mastering on. */
void pci_enable(struct pci_device device);

struct pci_bar pci_bar(struct pci_device device, uint32_t index);

/* MSI-X entry 0 sends `vector` to this processor. False: the device has none. */
bool pci_msix(struct pci_device device, uint8_t vector);

#endif
