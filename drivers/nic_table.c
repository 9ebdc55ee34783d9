/*
 * The one table of network cards, by PCI id. Runs at boot.
 */
#include "nic_table.h"

#include "kernel/devices/pci.h"
#include "e1000_regs.h"
#include "virtio_net_regs.h"
#include "virtio_regs.h"

static const struct {
	uint16_t vendor, number;
	struct nic *(*open)(const struct pci_device *, const struct nic_setup *, const char **);
	int bulk;                  /* 1: it can be a bulk card */
	int says;                  /* 1: the device itself reports its longest frame */
} table[] = {
	{ VIRTIO_VENDOR, VIRTIO_NET_DEVICE, virtio_net_open, 1, 1 },
	{ INTEL_VENDOR, E1000_82574L, e1000e_nic_open, 0, 0 },
	{ INTEL_VENDOR, E1000_82540EM, e1000_nic_open, 0, 0 },
};

struct nic *nic_open(const struct nic_setup *setup, const char **why)
{
	uint32_t nth = setup->card;

	*why = 0;
	for (uint32_t row = 0; row < sizeof(table) / sizeof(table[0]); row++) {
		uint32_t there = pci_count(table[row].vendor, table[row].number);
		struct pci_device pci;

		if (nth < there && setup->bulk && !table[row].bulk) {
			*why = "it cannot deliver payload in place; bulk=1 needs virtio cards";
			return 0;
		}
		if (nth < there && setup->longest && table[row].says) {
			*why = "it reports its longest frame itself; longest= needs Intel's cards";
			return 0;
		}
		if (nth < there && pci_open(table[row].vendor, table[row].number, nth, &pci))
			return table[row].open(&pci, setup, why);
		nth -= there;
	}
	return 0;
}
