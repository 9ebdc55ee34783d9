/*
 * A virtio device as a modern PCI device, and its split rings: what the drivers of such devices
 * share. Interrupts are off in all of it. Everything that the device writes is checked before use.
 */
#ifndef DRIVERS_VIRTIO_H
#define DRIVERS_VIRTIO_H
#include <stdbool.h>
#include <stdint.h>

#include "virtio_regs.h"

struct pci_device;

struct virtio {
	volatile uint8_t *common;  /* COMMON_BYTES of registers */
	volatile uint8_t *device;  /* device configuration, `device_bytes` of it */
	volatile uint8_t *notify;  /* `notify_bytes` of doorbells */
	uint32_t common_bytes;
	uint32_t device_bytes;
	uint32_t notify_bytes;
	uint32_t multiplier;       /* between the doorbells of two queues, bytes */
	uint64_t features;         /* negotiated */
};

/* One split ring. Its memory is taken once; a reset of the device uses it again. */
struct virtio_ring {
	struct virtio_descriptor *table;
	struct virtio_available *available;
	struct virtio_used *used;
	volatile uint16_t *doorbell;
	uint16_t number;           /* of the queue; written to the doorbell */
	uint16_t size;             /* a power of two, at most the size that memory was taken for */
	uint16_t given;            /* buffers made available since the start, modulo 2^16 */
	uint16_t told;             /* value of `given` at the last doorbell */
	uint16_t seen;             /* used buffers that the driver has read */
};

/* Finds the device's registers. False: it lacks some, or they lie outside of its BARs. */
bool virtio_find(struct virtio *virtio, const struct pci_device *pci, uint32_t device_bytes);

/* Resets the device; false: it does not come back before the deadline. */
bool virtio_reset(struct virtio *virtio, uint64_t deadline);

/* After a reset: negotiates the features of `wanted` that the device offers. False: the device does
 * not accept them, or lacks a feature of `needed`. */
bool virtio_agree(struct virtio *virtio, uint64_t wanted, uint64_t needed);

/* Takes memory for a ring of at most `most` buffers. Once, at boot. */
void virtio_ring_take(struct virtio_ring *ring, uint16_t number, uint16_t most);

/* Empties the ring and shows it to the device, with interrupts by MSI-X entry
 * `entry` (or VIRTIO_NO_VECTOR). False: the device has no such queue. */
bool virtio_ring_start(struct virtio *virtio, struct virtio_ring *ring, uint16_t most,
                       uint16_t entry);

/* Resets only this ring: the device writes nothing of it any more; virtio_ring_start starts it
 * again. False: the device cannot do that, or does not within 100 ms. */
bool virtio_ring_reset(struct virtio *virtio, const struct virtio_ring *ring);

/* Sets the MSI-X entry for configuration changes. */
bool virtio_state_entry(struct virtio *virtio, uint16_t entry);
void virtio_go(struct virtio *virtio);
uint8_t virtio_status(const struct virtio *virtio);
void virtio_give_up(struct virtio *virtio);    /* tells it that the driver has failed */

/* Number of unread used buffers. More than `size`: an invalid index. */
static inline uint16_t virtio_ring_fresh(const struct virtio_ring *ring)
{
	return (uint16_t)(__atomic_load_n(&ring->used->index, __ATOMIC_ACQUIRE) - ring->seen);
}

/* The used element `ahead` of the next; read only once, as the device may change it. */
static inline struct virtio_used_element virtio_ring_used(const struct virtio_ring *ring,
                                                          uint32_t ahead)
{
	volatile struct virtio_used_element *element =
		&ring->used->ring[(ring->seen + ahead) % ring->size];

	return (struct virtio_used_element){ element->id, element->bytes };
}

/* Requests an interrupt when the device uses the next buffer, or at none of the next 32768. */
static inline void virtio_ring_interrupt(struct virtio_ring *ring, bool on)
{
	volatile uint16_t *event = &ring->available->ring[ring->size];

	*event = on ? ring->seen : (uint16_t)(ring->seen + 0x8000u);
}

/* The same, at the buffer `ahead` of the next. */
static inline void virtio_ring_interrupt_at(struct virtio_ring *ring, bool on, uint16_t ahead)
{
	volatile uint16_t *event = &ring->available->ring[ring->size];

	*event = (uint16_t)(ring->seen + (on ? ahead : 0x8000u));
}

/* Shows the device the buffers in `available`, up to `given`, and rings if it wants a doorbell. */
static inline void virtio_ring_publish(struct virtio_ring *ring)
{
	volatile uint16_t *event = (volatile uint16_t *)&ring->used->ring[ring->size];
	uint16_t old = ring->told;

	__atomic_store_n(&ring->available->index, ring->given, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	ring->told = ring->given;
	if ((uint16_t)(ring->given - *event - 1) < (uint16_t)(ring->given - old))
		*ring->doorbell = ring->number;
}

#endif
