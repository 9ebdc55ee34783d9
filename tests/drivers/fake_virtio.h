/*
 * A virtio network card made of plain memory, with kernel.h around its driver:
 * what the tests of drivers/virtio_net.c play the device with. The device keeps
 * no state but its rings: how many buffers it has used stands in them, and a
 * reset by the driver, which clears them, is a reset of the device too.
 */
#ifndef TESTS_FAKE_VIRTIO_H
#define TESTS_FAKE_VIRTIO_H
#include <stdbool.h>
#include <stdint.h>

#include "drivers/nic_table.h"
#include "drivers/virtio_net_regs.h"
#include "drivers/virtio_regs.h"

enum { FAKE_RING = 256, FAKE_SLOT = 16384, FAKE_COMMANDS = 64 };

struct fake_ring {
	struct virtio_descriptor *table;
	struct virtio_available *available;
	struct virtio_used *used;
};

struct fake {
	struct fake_ring receive, transmit, control;
	uint8_t *common, *config;  /* registers */
	bool obeys;                /* answers the control queue */
	bool deaf;                 /* does not reset a ring */
	bool poor;                 /* the next card that is opened has no control queue */
	bool stubborn;             /* does not reset, not even when it is opened */
	uint8_t commands[FAKE_COMMANDS][2 + NIC_ADDRESS_BYTES]; /* that it was given */
	uint32_t n_commands;
};

extern struct fake fake;

/* A new card, opened by its driver. Null: the driver refused, for `*why`. */
struct nic *fake_open(const char **why);
/* The same as a bulk card; `ring_reset`: it can reset a ring by itself. */
struct nic *fake_open_bulk(bool ring_reset, const char **why);

/* It puts a frame into the oldest room: false: there is none, or it is too short. */
bool fake_land(const uint8_t *frame, uint32_t bytes);
/* One used element, whatever it says. */
void fake_use(struct fake_ring *ring, uint32_t id, uint32_t bytes);

#endif
