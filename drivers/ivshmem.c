/*
 * The inter-node shared memory device. Data: its registers' address. After the start only the
 * doorbell register is used.
 */
#include "ivshmem.h"

#include <stddef.h>

#include "kernel/base/node.h"
#include "kernel/cpu/vectors.h"
#include "kernel/devices/pci.h"
#include "kernel/memory/memory.h"
#include "ivshmem_regs.h"

static volatile uint8_t *registers;

int ivshmem_start(struct ivshmem *device)
{
	struct pci_device pci;
	const struct pci_bar *bar;

	if (!pci_open(IVSHMEM_VENDOR, IVSHMEM_DEVICE, 0, &pci))
		return IVSHMEM_ABSENT;
	bar = &pci.bar[IVSHMEM_BAR_REGISTERS];
	registers = map_physical(bar->physical, bar->bytes, MAP_DEVICE);
	bar = &pci.bar[IVSHMEM_BAR_MEMORY];
	if (!bar->bytes || !bar->physical)
		return IVSHMEM_NO_MEMORY;
	if (!pci_msix(&pci, 0, VECTOR_DOORBELL))
		return IVSHMEM_NO_MSIX;
	device->physical = bar->physical;
	device->bytes = bar->bytes;
	device->memory = map_physical(bar->physical, bar->bytes, MAP_MEMORY);
	device->id = *(volatile uint32_t *)(registers + IVSHMEM_POSITION);
	return 0;
}

const char *ivshmem_error_text(int error)
{
	switch (error) {
	case IVSHMEM_ABSENT:    return "there is no ivshmem device";
	case IVSHMEM_NO_MEMORY: return "the ivshmem device has no memory";
	case IVSHMEM_NO_MSIX:   return "the ivshmem device has no MSI-X (not ivshmem-doorbell?)";
	default:                return "unknown error";
	}
}

void ivshmem_ring(uint32_t peer)
{
	count(COUNTER_BELLS_RUNG, 1);
	*(volatile uint32_t *)(registers + IVSHMEM_DOORBELL) = IVSHMEM_BELL(peer);
}
