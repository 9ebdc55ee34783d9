/*
 * A virtio network card, internals shared by the driver's files. virtio_net.c has the card, its
 * sending half, and receiving on ordinary cards; virtio_net_bulk.c receives for bulk cards;
 * virtio_net_state.c starts and resets both. See virtio_net.c.
 */
#ifndef DRIVERS_VIRTIO_NET_H
#define DRIVERS_VIRTIO_NET_H
#include "kernel/devices/pci.h"
#include "net/nic.h"
#include "virtio.h"
#include "virtio_net_regs.h"
#include "watch.h"

#define RING            256u       /* most buffers of a ring */
#define POSTED_MOST     64u        /* most posted buffers of a bulk card; divides 2^16 */
#define SLOT_BYTES      16384u
#define FRAME_MOST      65549u     /* Ethernet header and the largest MTU, 65535 */
#define MTU_DEFAULT     1500u      /* without VIRTIO_NET_F_MTU */
#define SLOTS_MOST      ((FRAME_MOST + sizeof(struct net_header) + SLOT_BYTES - 1) / SLOT_BYTES)
#define CHAIN_MOST      (NIC_PIECES + 1u)
#define NONE            0xffffu

#define MSIX_FRAMES     0u         /* entries of the card's MSI-X table */
#define MSIX_STATE      1u

/* State of a transmit descriptor that is the head of a chain. */
struct chain {
	uint64_t cookie;
	uint16_t descriptors;      /* 0: no chain under way begins here */
};

/* A posted buffer: a chain in the receive ring of a bulk card. */
struct bulk_buffer {
	uint16_t head, last;       /* descriptors */
	uint8_t descriptors;       /* number of descriptors */
	uint8_t tells;             /* 1: interrupt when it is filled */
	uint32_t capacity;         /* bytes that fit, with the virtio header */
};

/* A command of the control queue, in memory that the device may use. */
struct control {
	uint8_t kind, command;
	uint8_t data[NIC_ADDRESS_BYTES];
	uint8_t answer;
};

struct virtio_net {
	struct nic nic;            /* first: ops get a pointer to it */
	struct virtio virtio;
	struct virtio_ring receive, transmit, control;
	struct pci_device pci;     /* to cut it off from memory */
	struct watch watch;

	uint8_t *slots;            /* mapped twice; of a bulk card: the frames' headers, mapped once */
	uint64_t slots_physical;
	uint16_t taken;            /* slots read and not yet given back */

	bool bulk;                 /* it is a bulk card: */
	uint64_t excess_physical;  /* memory for what is too long for a buffer; never read */
	struct bulk_buffer buffers[POSTED_MOST]; /* posted and not filled, by number modulo the size */
	uint16_t next_descriptor;  /* of the receive ring: taken round robin */
	uint16_t free_descriptors;

	struct net_header *zero;   /* before all frames that are sent */
	uint64_t zero_physical;    /* its physical address */
	struct control *command;
	struct chain chain[RING];
	uint16_t next[RING];       /* next descriptor in a chain or in the free list */
	uint16_t free_first;
	uint16_t free;             /* descriptors in the free list */
	uint16_t waited_for;       /* free descriptors that a refused send() needs; 0: none */

	bool armed;                /* an interrupt is wanted */
};

static inline struct virtio_net *of(struct nic *nic)
{
	return (struct virtio_net *)nic;
}

/* ---- virtio_net_state.c ---- */

/* Brings a card from a reset to work, if it answers each command within `ns`. Returns what is
 * wrong, or null. */
const char *virtio_net_start(struct virtio_net *v, uint64_t ns);
/* Resets a card: it reads and writes nothing more, and all sends have ended. False: it does not
 * obey, and is cut off from memory. */
bool virtio_net_stop(struct virtio_net *v);
/* Stops and starts a card; if that fails, it is down until a later poll succeeds. */
void virtio_net_reset(struct virtio_net *v);
/* Checks a card now and then. If something is wrong, the next poll resets it. */
void virtio_net_look(struct virtio_net *v);

/* ---- virtio_net_bulk.c ---- */

/* Takes memory for headers and for excess. Once. */
void virtio_net_bulk_take(struct virtio_net *v);
/* The receive ring was restarted: no buffers are posted. */
void virtio_net_bulk_start(struct virtio_net *v);
/* Hands up the frames that have landed, at most `budget` frames; returns how many. */
uint32_t virtio_net_bulk_receive(struct virtio_net *v, uint32_t budget);
/* How many buffers come before the next one with an interrupt, or the last. */
uint16_t virtio_net_bulk_ahead(const struct virtio_net *v);
/* Of nic_ops. */
int virtio_net_bulk_post(struct nic *nic, const struct nic_piece *pieces, uint32_t n,
			 int interrupt);
void virtio_net_bulk_withdraw(struct nic *nic);

#endif
