/*
 * PCI devices: finding one, its memory, its interrupt. At boot only.
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

/* Finds the first device with this vendor and device number, gives addresses to
 * memory BARs that the firmware left without, and switches the device's memory
 * and bus mastering on. */
bool pci_open(uint16_t vendor, uint16_t number, struct pci_device *device);

/* MSI-X entry 0 sends `vector` to this processor. False: the device has none. */
bool pci_msix(const struct pci_device *device, uint8_t vector);

#endif
