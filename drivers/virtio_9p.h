/*
 * The virtio 9P device: it carries a request of the protocol 9P to the host's file server,
 * and the answer back. One request at a time; payload lies where it is.
 */
#ifndef DRIVERS_VIRTIO_9P_H
#define DRIVERS_VIRTIO_9P_H
#include <stdbool.h>
#include <stdint.h>

#include "virtio.h"

#define VIRTIO_9P_PIECES 4u

struct virtio_9p {
	struct virtio virtio;
	struct virtio_ring ring;
	bool works;                /* virtio_9p_start was called, and the device has followed the
	                              protocol since */
	uint32_t room;             /* bytes of room for the answer */
};

/* Contiguous bytes that the device reads or writes: the kernel's own, or of the segment. */
struct virtio_9p_piece {
	void *bytes;
	uint32_t length;
};

/* Finds the `nth` device, sets its interrupt vector, and takes memory for its ring. False: there is
 * none, or it is unusable. At boot. */
bool virtio_9p_find(struct virtio_9p *device, uint32_t nth, uint8_t vector);

/* Starts it, before the first exchange. False: it does not work. */
bool virtio_9p_start(struct virtio_9p *device);

/*
 * Sends a request, which is in the first `out` pieces; the answer goes to the next `in` pieces.
 * One at a time. False: the device does not work.
 */
bool virtio_9p_send(struct virtio_9p *device, const struct virtio_9p_piece *pieces, uint32_t out,
                    uint32_t in);

/* The answer has come, or the device does not work. It interrupts when it answers. */
bool virtio_9p_is_answered(const struct virtio_9p *device);

/* After that: how many bytes the device reports as written, at most the pieces' sum; 0: it does not
 * work. */
uint32_t virtio_9p_take(struct virtio_9p *device);

#endif
