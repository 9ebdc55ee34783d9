/*
 * The driver of virtio 9P devices. Source: QEMU's documentation of virtio-9p and the device's
 * number in the VIRTIO standard, section 5 (9, 9P transport). It has one queue, and its
 * configuration is the name of the share. Interrupts are off; the caller waits. The device's values
 * are checked before use.
 */
#include "virtio_9p.h"

#include "kernel/devices/pci.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"

#define DEVICE        0x1049u      /* 0x1040 and the device's type, 9 */
#define CONFIG_BYTES  2u           /* the length of the share's name */
#define QUEUE         0u
#define RING          8u           /* descriptors: VIRTIO_9P_PIECES and some */
#define MSIX_ENTRY    0u
#define START_NS      2000000000UL

bool virtio_9p_find(struct virtio_9p *device, uint32_t nth, uint8_t vector)
{
	struct pci_device pci;

	*device = (struct virtio_9p){ .works = false };
	if (!pci_open(VIRTIO_VENDOR, DEVICE, nth, &pci) ||
	    !virtio_find(&device->virtio, &pci, CONFIG_BYTES) ||
	    !pci_msix(&pci, MSIX_ENTRY, vector))
		return false;
	virtio_ring_take(&device->ring, QUEUE, RING);
	return true;
}

bool virtio_9p_start(struct virtio_9p *device)
{
	struct virtio *virtio = &device->virtio;

	device->works = virtio_reset(virtio, deadline_in(START_NS)) &&
		virtio_agree(virtio, FEATURE_VERSION_1 | FEATURE_EVENT_INDEX,
		             FEATURE_VERSION_1 | FEATURE_EVENT_INDEX) &&
		virtio_ring_start(virtio, &device->ring, RING, MSIX_ENTRY) &&
		device->ring.size >= VIRTIO_9P_PIECES;
	if (device->works)
		virtio_go(virtio);
	return device->works;
}

bool virtio_9p_send(struct virtio_9p *device, const struct virtio_9p_piece *pieces, uint32_t out,
                    uint32_t in)
{
	struct virtio_ring *ring = &device->ring;

	if (!device->works)
		return false;
	device->room = 0;
	for (uint32_t i = 0; i < out + in; i++) {
		ring->table[i] = (struct virtio_descriptor){
			.address = memory_physical(pieces[i].bytes), .bytes = pieces[i].length,
			.flags = (i < out ? 0 : DESCRIPTOR_WRITE) |
			         (i + 1 < out + in ? DESCRIPTOR_NEXT : 0),
			.next = (uint16_t)(i + 1),
		};
		device->room += i < out ? 0 : pieces[i].length;
	}
	ring->available->ring[ring->given % ring->size] = 0;
	ring->given++;
	virtio_ring_interrupt(ring, true);
	virtio_ring_publish(ring);
	return true;
}

bool virtio_9p_is_answered(const struct virtio_9p *device)
{
	return virtio_ring_fresh(&device->ring) != 0;
}

uint32_t virtio_9p_take(struct virtio_9p *device)
{
	struct virtio_ring *ring = &device->ring;
	struct virtio_used_element used = virtio_ring_used(ring, 0);

	if (virtio_ring_fresh(ring) != 1 || used.id != 0 || used.bytes > device->room) {
		device->works = false;
		virtio_give_up(&device->virtio);
		return 0;
	}
	ring->seen++;
	return used.bytes;
}
