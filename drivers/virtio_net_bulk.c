/*
 * Receiving on a bulk card: into posted buffers. Data: their descriptors and headers, in struct
 * virtio_net.
 *
 * A posted buffer is a descriptor chain: a slot of the driver for the virtio header and the first
 * bytes of the frame, then the pieces at their final address, then memory that is never read. So a
 * frame that is too long, which the device would otherwise drop, also arrives, and takes one buffer
 * like every frame. Buffers and their descriptors are used in order, and the driver has a record of
 * each, so it needs nothing from the ring and trusts nothing else in it. The device (without
 * VIRTIO_NET_F_MRG_RXBUF) puts one frame into each buffer, in order; without one, frames wait
 * outside.
 *
 * Withdrawing buffers resets only the ring, if the device can and nothing is being sent (QEMU 7.2
 * fails an assertion if sends wait at that time), else the device. A device that does not obey is
 * cut off from memory.
 */
#include "kernel/memory/memory.h"
#include "virtio_net.h"

#define SENDING_LOOKS 5000000u     /* reads of the card's progress, some 50 ms */
#define HEAD_SLOT     128u         /* bytes between two slots */
#define HEAD_BYTES    (sizeof(struct net_header) + NIC_BULK_HEADER)

_Static_assert(HEAD_BYTES <= HEAD_SLOT, "a slot takes what is kept apart");

void virtio_net_bulk_take(struct virtio_net *v)
{
	v->slots = memory_take(POSTED_MOST * HEAD_SLOT, PAGE_BYTES);
	v->slots_physical = memory_physical(v->slots);
	v->excess_physical = memory_physical(memory_take(FRAME_MOST, PAGE_BYTES));
	v->nic.ring = POSTED_MOST;
}

void virtio_net_bulk_start(struct virtio_net *v)
{
	v->next_descriptor = 0;
	v->free_descriptors = v->receive.size;
}

static uint16_t posted(const struct virtio_net *v)
{
	return (uint16_t)(v->receive.given - v->receive.seen);
}

/* Appends one more descriptor to the chain of a buffer. */
static void append(struct virtio_net *v, struct bulk_buffer *buffer, uint64_t address,
		   uint32_t bytes)
{
	uint16_t at = v->next_descriptor;

	v->next_descriptor = (uint16_t)((at + 1) % v->receive.size);
	v->receive.table[at] = (struct virtio_descriptor){
		address, bytes, DESCRIPTOR_WRITE | DESCRIPTOR_NEXT, v->next_descriptor };
	buffer->last = at;
	buffer->capacity += bytes;
	buffer->descriptors++;
}

int virtio_net_bulk_post(struct nic *nic, const struct nic_piece *pieces, uint32_t n,
			 int interrupt)
{
	struct virtio_net *v = of(nic);
	struct virtio_ring *ring = &v->receive;
	uint32_t slot = ring->given % POSTED_MOST;
	struct bulk_buffer *buffer = &v->buffers[slot];

	if (v->watch.down || v->watch.trouble)
		return NIC_DOWN;
	if (posted(v) >= POSTED_MOST || v->free_descriptors < n + 2)
		return NIC_FULL;
	*buffer = (struct bulk_buffer){ .head = v->next_descriptor, .tells = !!interrupt };
	append(v, buffer, v->slots_physical + slot * HEAD_SLOT, HEAD_BYTES);
	for (uint32_t i = 0; i < n; i++)
		append(v, buffer, memory_physical(pieces[i].bytes), pieces[i].length);
	append(v, buffer, v->excess_physical, FRAME_MOST);
	ring->table[buffer->last].flags = DESCRIPTOR_WRITE;
	v->free_descriptors -= buffer->descriptors;
	ring->available->ring[ring->given % ring->size] = buffer->head;
	ring->given++;
	virtio_ring_publish(ring);
	return NIC_OK;
}

uint16_t virtio_net_bulk_ahead(const struct virtio_net *v)
{
	uint16_t n = posted(v), ahead = 0;

	while (ahead + 1 < n && !v->buffers[(v->receive.seen + ahead) % POSTED_MOST].tells)
		ahead++;
	return ahead;
}

uint32_t virtio_net_bulk_receive(struct virtio_net *v, uint32_t budget)
{
	struct virtio_ring *ring = &v->receive;
	uint32_t frames = 0;

	/* The callback may post buffers, and withdraw them. */
	for (; frames < budget && !v->watch.trouble && !v->watch.down; frames++) {
		uint16_t fresh = virtio_ring_fresh(ring);
		uint32_t slot = ring->seen % POSTED_MOST;
		const struct bulk_buffer *buffer = &v->buffers[slot];
		struct virtio_used_element used;
		struct nic *nic = &v->nic;

		if (!fresh)
			break;
		used = virtio_ring_used(ring, 0);
		if (fresh > posted(v) || used.id != buffer->head ||
		    used.bytes < sizeof(struct net_header) || used.bytes > buffer->capacity) {
			watch_nonsense(&v->watch, "its receive ring names a wrong buffer; it is reset");
			break;
		}
		ring->seen++;
		v->free_descriptors += buffer->descriptors;
		nic->counters[NIC_FRAMES_IN]++;
		nic->counters[NIC_BYTES_IN] += used.bytes - sizeof(struct net_header);
		nic->landed(nic->context, v->slots + slot * HEAD_SLOT + sizeof(struct net_header),
		            used.bytes - (uint32_t)sizeof(struct net_header));
	}
	return frames;
}

/* The device has read all frames given to it, perhaps after a wait. QEMU 7.2 aborts when it is
 * reset with frames to send. */
static bool has_sent_all(struct virtio_net *v)
{
	for (uint32_t looks = 0; looks < SENDING_LOOKS; looks++)
		if ((uint16_t)(v->transmit.seen + virtio_ring_fresh(&v->transmit)) ==
		    (uint16_t)v->transmit.given)
			return true;
	return false;
}

void virtio_net_bulk_withdraw(struct nic *nic)
{
	struct virtio_net *v = of(nic);

	if (v->watch.down)
		return;
	if (!v->watch.trouble && has_sent_all(v) &&
	    virtio_ring_reset(&v->virtio, &v->receive) &&
	    virtio_ring_start(&v->virtio, &v->receive, RING, MSIX_FRAMES)) {
		virtio_net_bulk_start(v);
		virtio_ring_interrupt(&v->receive, v->armed);
		return;
	}
	virtio_net_reset(v);
}
