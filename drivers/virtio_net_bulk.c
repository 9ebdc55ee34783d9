/*
 * Receiving on a bulk card: rooms instead of buffers. Data: the rooms' descriptors
 * and headers, in struct virtio_net.
 *
 * A room is a chain: first a slot of the driver's for the virtio header and the frame's
 * first bytes, then the pieces at their final address. Each has a block of
 * descriptors of its own, and rooms are used in turn, so the ring says nothing
 * that the driver does not know, and is believed nothing else. The device
 * (without VIRTIO_NET_F_MRG_RXBUF) puts one frame into each, in order; a frame that
 * is longer than the next room is dropped, and without a room frames wait outside.
 *
 * Taking rooms back resets the ring alone, if the device can and nothing is being
 * sent (QEMU 7.2 ends in an assertion if its sends wait just then), else the
 * device. One that does not obey is cut off from memory.
 */
#include "../kernel/memory.h"
#include "virtio_net.h"

#define BLOCK       8u             /* descriptors of a room: its slot, and pieces */
#define SENDING_LOOKS 5000000u     /* at the card's progress, some 50 ms */
#define ROOM_SLOT   128u           /* bytes between two slots */
#define HEAD_BYTES  (sizeof(struct net_header) + NIC_BULK_HEADER)

_Static_assert(1 + NIC_BULK_PIECES <= BLOCK && HEAD_BYTES <= ROOM_SLOT, "a room fits");

void virtio_net_bulk_take(struct virtio_net *v)
{
	v->slots = memory_take(RING / BLOCK * ROOM_SLOT, PAGE_BYTES);
	v->slots_physical = memory_physical(v->slots);
	v->junk_physical = memory_physical(memory_take(FRAME_MOST, PAGE_BYTES));
	v->nic.ring = RING / BLOCK;
}

void virtio_net_bulk_start(struct virtio_net *v)
{
	v->rooms = v->receive.size / BLOCK;
	v->next_room = v->oldest_room = 0;
	if (v->rooms < v->nic.ring)
		v->nic.ring = v->rooms;
}

static uint16_t posted(const struct virtio_net *v)
{
	return (uint16_t)(v->receive.given - v->receive.seen);
}

int virtio_net_bulk_post(struct nic *nic, const struct nic_piece *pieces, uint32_t n, int tell)
{
	struct virtio_net *v = of(nic);
	struct virtio_ring *ring = &v->receive;
	uint16_t head = (uint16_t)(v->next_room * BLOCK);
	struct virtio_descriptor *at = &ring->table[head];

	if (v->down || v->trouble)
		return NIC_DOWN;
	if (posted(v) >= v->rooms)
		return NIC_FULL;
	*at = (struct virtio_descriptor){ v->slots_physical + v->next_room * ROOM_SLOT,
		HEAD_BYTES, DESCRIPTOR_WRITE | DESCRIPTOR_NEXT, (uint16_t)(head + 1) };
	v->capacity[v->next_room] = HEAD_BYTES;
	for (uint32_t i = 0; i < n; i++) {
		at++;
		*at = (struct virtio_descriptor){ memory_physical(pieces[i].bytes),
			pieces[i].length, DESCRIPTOR_WRITE | DESCRIPTOR_NEXT,
			(uint16_t)(head + i + 2) };
		v->capacity[v->next_room] += pieces[i].length;
	}
	if (n == 0) {
		*++at = (struct virtio_descriptor){ v->junk_physical, FRAME_MOST,
			DESCRIPTOR_WRITE, 0 };
		v->capacity[v->next_room] += FRAME_MOST;
	}
	at->flags = DESCRIPTOR_WRITE;
	v->tells &= ~(1UL << v->next_room);
	v->tells |= (uint64_t)!!tell << v->next_room;
	ring->available->ring[ring->given % ring->size] = head;
	ring->given++;
	v->next_room = (uint16_t)((v->next_room + 1) % v->rooms);
	virtio_ring_publish(ring);
	return NIC_OK;
}

void virtio_net_bulk_interrupt(struct virtio_net *v)
{
	uint16_t n = posted(v), ahead = 0;

	if (v->armed)
		while (ahead + 1 < n && !(v->tells >> (v->oldest_room + ahead) % v->rooms & 1))
			ahead++;
	virtio_ring_interrupt_at(&v->receive, v->armed, ahead);
}

uint32_t virtio_net_bulk_receive(struct virtio_net *v, uint32_t budget)
{
	struct virtio_ring *ring = &v->receive;
	uint32_t frames = 0;

	/* The call up may post rooms, and take them back. */
	for (; frames < budget && !v->trouble && !v->down; frames++) {
		uint16_t fresh = virtio_ring_fresh(ring), room = v->oldest_room;
		struct virtio_used_element used;
		struct nic *nic = &v->nic;

		if (!fresh)
			break;
		used = virtio_ring_used(ring, 0);
		if (fresh > posted(v) || used.id != room * BLOCK ||
		    used.bytes < sizeof(struct net_header) || used.bytes > v->capacity[room]) {
			virtio_net_nonsense(v, "its receive ring names a wrong room; it is reset");
			break;
		}
		ring->seen++;
		v->oldest_room = (uint16_t)((room + 1) % v->rooms);
		nic->counters[NIC_FRAMES_IN]++;
		nic->counters[NIC_BYTES_IN] += used.bytes - sizeof(struct net_header);
		nic->landed(nic->context, v->slots + room * ROOM_SLOT + sizeof(struct net_header),
		            used.bytes - (uint32_t)sizeof(struct net_header));
	}
	return frames;
}

/* The device has read all frames that it was given, perhaps after a while. QEMU 7.2 ends
 * itself when it is reset with frames to send. */
static bool has_sent_all(struct virtio_net *v)
{
	for (uint32_t looks = 0; looks < SENDING_LOOKS; looks++)
		if ((uint16_t)(v->transmit.seen + virtio_ring_fresh(&v->transmit)) ==
		    (uint16_t)v->transmit.given)
			return true;
	return false;
}

void virtio_net_bulk_take_back(struct nic *nic)
{
	struct virtio_net *v = of(nic);

	if (v->down)
		return;
	if (!v->trouble && has_sent_all(v) &&
	    virtio_ring_reset(&v->virtio, &v->receive) &&
	    virtio_ring_start(&v->virtio, &v->receive, RING, MSIX_FRAMES)) {
		virtio_net_bulk_start(v);
		virtio_net_bulk_interrupt(v);
		return;
	}
	virtio_net_reset(v);
}
