/*
 * The network cards that this kernel knows, and how one is opened.
 */
#ifndef DRIVERS_NIC_TABLE_H
#define DRIVERS_NIC_TABLE_H
#include <stdint.h>

#include "net/nic.h"

struct pci_device;

/* The configuration of a card. */
struct nic_setup {
	uint32_t card;             /* its number on this node, for reports */
	uint32_t longest;          /* longest frame that the card takes, if it deviates from its
	                              data sheet (an emulated one); 0: it does not */
	uint8_t address[NIC_ADDRESS_BYTES]; /* frames to others are not received */
	uint8_t vector;            /* interrupt of frames */
	uint8_t state_vector;      /* interrupt of the link and of the card's troubles */
	uint8_t bulk;              /* 1: a bulk card (net/nic.h), which not every driver supports */
};

/*
 * Opens card number setup->card: first all cards of the table's first row, then those of the
 * second, and so on. Takes its memory; once per card, at boot. The card works when this returns,
 * with interrupts off. Null: there is no such card, or it cannot be used, and `why` says what is
 * wrong (null: it does not exist).
 */
struct nic *nic_open(const struct nic_setup *setup, const char **why);

/* The drivers' own: open the card that `pci` is. */
struct nic *virtio_net_open(const struct pci_device *pci, const struct nic_setup *setup,
                            const char **why);
struct nic *e1000_nic_open(const struct pci_device *pci, const struct nic_setup *setup,
                           const char **why);
struct nic *e1000e_nic_open(const struct pci_device *pci, const struct nic_setup *setup,
                            const char **why);

#endif
