/*
 * Virtio over modern PCI: registers, features, rings. Owns no data: the drivers
 * of the devices hold it. Called at boot, and when a device is reset.
 */
#include "virtio.h"

#include "kernel/base/string.h"
#include "kernel/devices/pci.h"
#include "kernel/devices/pci_regs.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"

#define RING_RESET_NS 100000000UL  /* deadline for the reset of a ring */
#define VENDOR_CAPABILITIES 16u    /* more of them mean a cycle */

static uint16_t read16(volatile uint8_t *at)
{
	return *(volatile uint16_t *)at;
}

static void write16(volatile uint8_t *at, uint16_t value)
{
	*(volatile uint16_t *)at = value;
}

static uint32_t read32(volatile uint8_t *at)
{
	return *(volatile uint32_t *)at;
}

static void write32(volatile uint8_t *at, uint32_t value)
{
	*(volatile uint32_t *)at = value;
}

static void write64(volatile uint8_t *at, uint64_t value)
{
	write32(at, (uint32_t)value);
	write32(at + 4, (uint32_t)(value >> 32));
}

/* ---- registers ---- */

/* Maps the window of a capability; null: smaller than `least`, or outside of its BAR. */
static volatile uint8_t *window(const struct pci_device *pci, uint32_t at, uint32_t least,
                                uint32_t *length)
{
	uint32_t index = pci_config(pci, at + VIRTIO_CAP_BAR) & 0xff;
	uint64_t offset = pci_config(pci, at + VIRTIO_CAP_OFFSET);
	uint64_t bytes = pci_config(pci, at + VIRTIO_CAP_LENGTH);

	if (index >= PCI_BARS || bytes < least || !pci->bar[index].physical ||
	    offset + bytes > pci->bar[index].bytes)
		return 0;
	*length = (uint32_t)bytes;
	return map_physical(pci->bar[index].physical + offset, bytes, MAP_DEVICE);
}

bool virtio_find(struct virtio *virtio, const struct pci_device *pci, uint32_t device_bytes)
{
	uint32_t at = 0;

	*virtio = (struct virtio){ 0 };
	for (uint32_t i = 0; i < VENDOR_CAPABILITIES; i++) {
		uint32_t type;

		at = pci_capability(pci, PCI_CAP_VENDOR, at);
		if (!at)
			break;
		/* 4.1.4: of several with one type, the first usable one */
		type = pci_config(pci, at + VIRTIO_CAP_TYPE) >> 24;
		if (type == VIRTIO_TYPE_COMMON && !virtio->common) {
			virtio->common = window(pci, at, COMMON_BYTES, &virtio->common_bytes);
		} else if (type == VIRTIO_TYPE_DEVICE && !virtio->device) {
			virtio->device = window(pci, at, device_bytes, &virtio->device_bytes);
		} else if (type == VIRTIO_TYPE_NOTIFY && !virtio->notify) {
			virtio->notify = window(pci, at, 2, &virtio->notify_bytes);
			virtio->multiplier = pci_config(pci, at + VIRTIO_CAP_MULTIPLIER);
		}
	}
	return virtio->common && virtio->device && virtio->notify;
}

/* ---- start, 3.1.1 ---- */

uint8_t virtio_status(const struct virtio *virtio)
{
	return virtio->common[COMMON_STATUS];
}

static void add_status(struct virtio *virtio, uint8_t bits)
{
	virtio->common[COMMON_STATUS] = virtio_status(virtio) | bits;
}

void virtio_give_up(struct virtio *virtio)
{
	add_status(virtio, STATUS_FAILED);
}

bool virtio_reset(struct virtio *virtio, uint64_t deadline)
{
	virtio->common[COMMON_STATUS] = 0;
	while (virtio_status(virtio))
		if (now_ns() > deadline)
			return false;
	return true;
}

static uint64_t offered(struct virtio *virtio)
{
	uint64_t low;

	write32(virtio->common + COMMON_DEVICE_SELECT, 0);
	low = read32(virtio->common + COMMON_DEVICE_FEATURES);
	write32(virtio->common + COMMON_DEVICE_SELECT, 1);
	return (uint64_t)read32(virtio->common + COMMON_DEVICE_FEATURES) << 32 | low;
}

bool virtio_agree(struct virtio *virtio, uint64_t wanted, uint64_t needed)
{
	/* 1. is virtio_reset. 2. and 3.: acknowledge, and driver. */
	add_status(virtio, STATUS_ACKNOWLEDGE);
	add_status(virtio, STATUS_DRIVER);
	/* 4. Features: what is offered of what the driver wants. */
	virtio->features = offered(virtio) & wanted;
	if ((virtio->features & needed) != needed)
		return false;
	write32(virtio->common + COMMON_DRIVER_SELECT, 0);
	write32(virtio->common + COMMON_DRIVER_FEATURES, (uint32_t)virtio->features);
	write32(virtio->common + COMMON_DRIVER_SELECT, 1);
	write32(virtio->common + COMMON_DRIVER_FEATURES, (uint32_t)(virtio->features >> 32));
	/* 5. and 6.: the device may refuse them. */
	add_status(virtio, STATUS_FEATURES_OK);
	return virtio_status(virtio) & STATUS_FEATURES_OK;
	/* 7. is virtio_ring_start, 8. virtio_go. */
}

bool virtio_state_entry(struct virtio *virtio, uint16_t entry)
{
	write16(virtio->common + COMMON_STATE_VECTOR, entry);
	return read16(virtio->common + COMMON_STATE_VECTOR) == entry;
}

void virtio_go(struct virtio *virtio)
{
	add_status(virtio, STATUS_DRIVER_OK);
}

/* ---- rings ---- */

/* Bytes of the two rings, their events included. */
static uint64_t available_bytes(uint16_t most)
{
	return sizeof(struct virtio_available) + (most + 1u) * sizeof(uint16_t);
}

static uint64_t used_bytes(uint16_t most)
{
	return sizeof(struct virtio_used) + most * sizeof(struct virtio_used_element) +
	       sizeof(uint16_t);
}

void virtio_ring_take(struct virtio_ring *ring, uint16_t number, uint16_t most)
{
	*ring = (struct virtio_ring){ .number = number };
	ring->table = memory_take(most * sizeof(struct virtio_descriptor), PAGE_BYTES);
	ring->available = memory_take(available_bytes(most), PAGE_BYTES);
	ring->used = memory_take(used_bytes(most), PAGE_BYTES);
}

bool virtio_ring_start(struct virtio *virtio, struct virtio_ring *ring, uint16_t most,
                       uint16_t entry)
{
	volatile uint8_t *common = virtio->common;
	uint64_t doorbell;
	uint16_t size;

	/* 4.1.5.1.3: select it; how large may it be; where is it; switch it on */
	write16(common + COMMON_QUEUE_SELECT, ring->number);
	size = read16(common + COMMON_QUEUE_SIZE);
	doorbell = (uint64_t)read16(common + COMMON_QUEUE_NOTIFY) * virtio->multiplier;
	if (!size || size & (size - 1) || doorbell + sizeof(uint16_t) > virtio->notify_bytes)
		return false;
	ring->size = size < most ? size : most;
	ring->given = ring->told = ring->seen = 0;
	ring->doorbell = (volatile uint16_t *)(virtio->notify + doorbell);
	memset(ring->available, 0, available_bytes(most));
	memset(ring->used, 0, used_bytes(most));
	write16(common + COMMON_QUEUE_SIZE, ring->size);
	write16(common + COMMON_QUEUE_VECTOR, entry);
	if (read16(common + COMMON_QUEUE_VECTOR) != entry)
		return false;
	write64(common + COMMON_QUEUE_TABLE, memory_physical(ring->table));
	write64(common + COMMON_QUEUE_AVAILABLE, memory_physical(ring->available));
	write64(common + COMMON_QUEUE_USED, memory_physical(ring->used));
	write16(common + COMMON_QUEUE_ENABLE, 1);
	return true;
}

bool virtio_ring_reset(struct virtio *virtio, const struct virtio_ring *ring)
{
	uint64_t deadline = deadline_in(RING_RESET_NS);

	if (!(virtio->features & FEATURE_RING_RESET) || virtio->common_bytes < COMMON_RESET_BYTES)
		return false;
	write16(virtio->common + COMMON_QUEUE_SELECT, ring->number);
	write16(virtio->common + COMMON_QUEUE_RESET, 1);
	while (read16(virtio->common + COMMON_QUEUE_RESET))
		if (now_ns() > deadline)
			return false;
	return true;
}
