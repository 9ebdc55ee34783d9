/*
 * The fake card, and the kernel's functions that only its driver calls. Data: the one card, and its
 * buffers. The driver allocates its own record, the parts of three rings, and the headers.
 */
#include "fake_virtio.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/virtio.h"
#include "kernel/memory/memory.h"
#include "kernel/devices/pci.h"
#include "kernel/devices/pci_regs.h"
#include "kernel/devices/time.h"
#include "card.h"

#define FIRST_RING 1               /* allocation number; the driver's record is 0 */

struct fake fake;

static uint8_t registers[4096] __attribute__((aligned(64)));

/* Offsets of the parts of the registers. */
enum { AT_COMMON = 0, AT_CONFIG = 256, AT_NOTIFY = 512, CAP_COMMON = 0x40, CAP_NOTIFY = 0x60,
       CAP_CONFIG = 0x80 };

static struct fake_ring ring_at(uint32_t first)
{
	void **taken = fake_kernel.taken + first;

	return (struct fake_ring){ taken[0], taken[1], taken[2] };
}

/* ---- the kernel ---- */

/* Replaces the driver's own function (build.mk), as registers in memory reset at once. */
bool __real_virtio_reset(struct virtio *virtio, uint64_t deadline);
bool __wrap_virtio_reset(struct virtio *virtio, uint64_t deadline);
bool __wrap_virtio_reset(struct virtio *virtio, uint64_t deadline)
{
	while (fake.stubborn)
		if (now_ns() > deadline)
			return false;
	return __real_virtio_reset(virtio, deadline);
}

bool pci_msix(const struct pci_device *device, uint32_t entry, uint8_t vector)
{
	(void)device, (void)vector;
	return entry < 2;
}

uint32_t pci_capability(const struct pci_device *device, uint8_t id, uint32_t after)
{
	(void)device;
	if (id != PCI_CAP_VENDOR || after == CAP_CONFIG)
		return 0;
	return after ? after + 0x20 : CAP_COMMON;
}

uint32_t pci_config(const struct pci_device *device, uint32_t offset)
{
	static const struct { uint32_t type, offset, bytes; } caps[3] = {
		{ VIRTIO_TYPE_COMMON, AT_COMMON, COMMON_RESET_BYTES },
		{ VIRTIO_TYPE_NOTIFY, AT_NOTIFY, 16 },
		{ VIRTIO_TYPE_DEVICE, AT_CONFIG, NET_CONFIG_BYTES },
	};
	uint32_t cap = (offset - CAP_COMMON) / 0x20;

	(void)device;
	switch (offset % 0x20) {
	case VIRTIO_CAP_TYPE:   return caps[cap].type << 24;
	case VIRTIO_CAP_OFFSET: return caps[cap].offset;
	case VIRTIO_CAP_LENGTH: return caps[cap].bytes;
	default:                return 0;       /* BAR 0; one doorbell for all queues */
	}
}

/* ---- the device ---- */

static void answer_commands(void)
{
	struct fake_ring *ring = &fake.control;

	while (ring->available && ring->used->index != ring->available->index) {
		uint16_t head = ring->available->ring[ring->used->index % fake.size];
		const struct virtio_descriptor *out = &ring->table[head], *in = &ring->table[out->next];

		if (fake.n_commands < FAKE_COMMANDS)
			memcpy(fake.commands[fake.n_commands++], (void *)out->address, out->bytes);
		*(uint8_t *)in->address = NET_CONTROL_OK;
		fake_use(ring, head, 1);
	}
}

/* The driver reads the time in every loop that waits for the device. */
uint64_t now_ns(void)
{
	if (!fake.control.table && fake_kernel.n_taken >= FIRST_RING + 9) {
		fake.receive = ring_at(FIRST_RING);
		fake.transmit = ring_at(FIRST_RING + 3);
		fake.control = ring_at(FIRST_RING + 6);
	}
	if (fake.obeys)
		answer_commands();
	if (fake.common && *(uint16_t *)(fake.common + COMMON_QUEUE_RESET) && !fake.deaf)
		*(uint16_t *)(fake.common + COMMON_QUEUE_RESET) = 0;
	return fake_kernel.ns += 1000;
}

void fake_use(struct fake_ring *ring, uint32_t id, uint32_t bytes)
{
	ring->used->ring[ring->used->index % fake.size] =
		(struct virtio_used_element){ id, bytes };
	ring->used->index++;
}

bool fake_receive(const uint8_t *frame, uint32_t bytes)
{
	struct fake_ring *ring = &fake.receive;
	uint32_t first = ring->used->index, left = bytes + (uint32_t)sizeof(struct net_header);
	uint32_t slots = (left + FAKE_SLOT - 1) / FAKE_SLOT;
	struct net_header header = { .buffers = (uint16_t)slots };

	if ((uint16_t)(ring->available->index - first) < slots)
		return false;
	for (uint32_t i = 0; i < slots; i++) {
		uint16_t head = ring->available->ring[(first + i) % fake.size];
		uint8_t *at = (uint8_t *)ring->table[head].address;
		uint32_t n = left < FAKE_SLOT ? left : FAKE_SLOT, skip = 0;

		if (i == 0) {
			memcpy(at, &header, sizeof(header));
			skip = sizeof(header);
		}
		memcpy(at + skip, frame, n - skip);
		frame += n - skip;
		left -= n;
		ring->used->ring[(first + i) % fake.size] = (struct virtio_used_element){ head, n };
	}
	ring->used->index = (uint16_t)(first + slots);
	return true;
}

bool fake_land(const uint8_t *frame, uint32_t bytes)
{
	static const struct net_header zero;
	struct fake_ring *ring = &fake.receive;
	uint16_t head, at;
	uint32_t skip = sizeof(zero), left = bytes;

	if (ring->available->index == ring->used->index)
		return false;
	head = at = ring->available->ring[ring->used->index % fake.size];
	for (;;) {
		uint8_t *to = (uint8_t *)ring->table[at].address;
		uint32_t room = ring->table[at].bytes - skip, n = left < room ? left : room;

		if (skip)
			memcpy(to, &zero, skip);
		memcpy(to + skip, frame, n);
		skip = 0;
		frame += n;
		left -= n;
		if (!(ring->table[at].flags & DESCRIPTOR_NEXT))
			break;
		at = ring->table[at].next;
	}
	if (left)
		return false;
	fake_use(ring, head, bytes + (uint32_t)sizeof(zero));
	return true;
}

uint32_t fake_send(uint32_t most, uint8_t *frame, uint32_t *bytes)
{
	struct fake_ring *ring = &fake.transmit;
	uint32_t frames = 0;

	for (; frames < most && ring->used->index != ring->available->index; frames++) {
		uint16_t head = ring->available->ring[ring->used->index % fake.size], at = head;

		*bytes = 0;
		for (;;) {
			memcpy(frame + *bytes, (void *)ring->table[at].address,
			       ring->table[at].bytes);
			*bytes += ring->table[at].bytes;
			if (!(ring->table[at].flags & DESCRIPTOR_NEXT))
				break;
			at = ring->table[at].next;
		}
		fake_use(ring, head, 0);
	}
	return frames;
}

/* ---- */

static struct nic *open_card(const struct nic_setup *setup, uint32_t high, const char **why)
{
	struct pci_device pci = { .bar = { { (uint64_t)registers, sizeof(registers) } } };
	uint64_t low = NET_FEATURE_MTU | NET_FEATURE_MERGE | NET_FEATURE_STATUS |
	               NET_FEATURE_CONTROL | NET_FEATURE_CONTROL_RX | NET_FEATURE_CONTROL_MAC |
	               FEATURE_EVENT_INDEX;

	bool poor = fake.poor, stubborn = fake.stubborn;
	uint16_t size = fake.small ? FAKE_SMALL : FAKE_RING;

	if (poor)
		low &= ~NET_FEATURE_CONTROL;
	memset(registers, 0, sizeof(registers));
	fake = (struct fake){ .common = registers + AT_COMMON, .config = registers + AT_CONFIG,
	                      .stubborn = stubborn, .size = size, .obeys = true };
	/* Both halves of the features are one register here; VERSION_1 is bit 0 of the upper
	 * half. */
	*(uint32_t *)(fake.common + COMMON_DEVICE_FEATURES) = (uint32_t)low | high;
	*(uint16_t *)(fake.common + COMMON_QUEUE_SIZE) = size;
	*(uint16_t *)(fake.config + NET_CONFIG_STATUS) = NET_STATUS_LINK_UP;
	*(uint16_t *)(fake.config + NET_CONFIG_MTU) = 65535;
	*why = 0;
	fake_kernel_start();
	return virtio_net_open(&pci, setup, why);
}

struct nic *fake_open(const char **why)
{
	static const struct nic_setup setup = { .address = { 2, 0x4d, 0x47, 0, 0, 5 } };

	return open_card(&setup, FEATURE_VERSION_1 >> 32, why);
}

struct nic *fake_open_bulk(bool ring_reset, const char **why)
{
	static const struct nic_setup setup = { .address = { 2, 0x4d, 0x47, 1, 0, 5 }, .bulk = 1 };

	return open_card(&setup, (uint32_t)((FEATURE_VERSION_1 |
					     (ring_reset ? FEATURE_RING_RESET : 0)) >> 32), why);
}

void fake_free(void)
{
	fake_kernel_free();
	fake.control = fake.receive = fake.transmit = (struct fake_ring){ 0 };
}
