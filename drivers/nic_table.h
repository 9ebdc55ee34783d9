/*
 * The network cards that this kernel knows, and how one is opened.
 */
#ifndef DRIVERS_NIC_TABLE_H
#define DRIVERS_NIC_TABLE_H
#include <stdint.h>

#include "net/nic.h"

struct pci_device;

/* What a card is to be. */
struct nic_setup {
	uint32_t card;             /* its number on this node, for reports */
	uint32_t longest;          /* frame that the card takes, if it is not as long as its data
	                            * sheet says: an emulated one; 0: it is */
	uint8_t address[NIC_ADDRESS_BYTES]; /* frames to others are not received */
	uint8_t vector;            /* interrupt of frames */
	uint8_t state_vector;      /* interrupt of the link and of the card's troubles */
	uint8_t bulk;              /* 1: a bulk card (net/nic.h), which not every driver can be */
};

/*
 * Opens card number setup->card: all of the table's first row come first, then
 * those of the second ... Takes its memory; once per card, at boot. The card
 * works when this returns, its interrupts are off. Null: there is no such card,
 * or it cannot be used, and `why` says what is wrong (null: it is not there).
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
