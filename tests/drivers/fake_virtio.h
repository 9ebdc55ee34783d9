/*
 * A model of a virtio network card in plain memory, with kernel.h around the driver, for the tests
 * of drivers/virtio_net.c. The rings, with their counts of used buffers, are its only state, so the
 * driver's reset, which clears them, resets the device too.
 */
#ifndef TESTS_FAKE_VIRTIO_H
#define TESTS_FAKE_VIRTIO_H
#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic_table.h"
#include "drivers/virtio_net_regs.h"
#include "drivers/virtio_regs.h"

enum { FAKE_RING = 256, FAKE_SMALL = 64, FAKE_SLOT = 16384, FAKE_COMMANDS = 64 };

struct fake_ring {
	struct virtio_descriptor *table;
	struct virtio_available *available;
	struct virtio_used *used;
};

struct fake {
	struct fake_ring receive, transmit, control;
	uint8_t *common, *config;  /* registers */
	bool obeys;                /* answers the control queue */
	bool deaf;                 /* ignores resets of a ring */
	bool poor;                 /* the next card has no control queue */
	bool stubborn;             /* ignores resets, even at opening */
	bool small;                /* the next card has rings of FAKE_SMALL buffers */
	uint16_t size;             /* of this card's rings */
	uint8_t commands[FAKE_COMMANDS][2 + NIC_ADDRESS_BYTES]; /* commands received */
	uint32_t n_commands;
};

extern struct fake fake;

/* A new card, opened by its driver. Null: the driver refused it; `*why` is the reason. */
struct nic *fake_open(const char **why);
/* The same as a bulk card; `ring_reset`: it can reset single rings. */
struct nic *fake_open_bulk(bool ring_reset, const char **why);

/* The card writes a frame into the oldest buffer. False: there is none, or it is too short. */
bool fake_land(const uint8_t *frame, uint32_t bytes);
/* Write one used element with any contents. */
void fake_use(struct fake_ring *ring, uint32_t id, uint32_t bytes);

#endif
