/*
 * The driver of virtio network cards. Data: one struct virtio_net per card, in memory taken at
 * boot. Runs with interrupts off, on one processor. The interrupt itself only ends a halt;
 * kernel/transport/link_frames.c decides when the card is polled.
 *
 * Receiving: the ring's buffers are one piece of memory, cut into slots, which
 * is mapped twice in a row. The device fills them in order, a large frame fills
 * several (VIRTIO_NET_F_MRG_RXBUF), so every frame is contiguous for its
 * readers, and a ring of 256 small frames needs 4 MiB, not 17. Slot i is
 * always descriptor i, and always in place i of the available ring.
 *
 * A bulk card has posted buffers instead: virtio_net_bulk.c. Starting, watching and
 * restarting a card is in virtio_net_state.c.
 *
 * Sending: a chain of the virtio header, which is zero and shared by all, and the pieces in place.
 * The driver keeps its own record of each chain, and trusts only one thing that the device reports:
 * the head of a chain under way, after a check.
 *
 * Any error of the device (an impossible index or length, no progress, a request to be reset) sets
 * `trouble`: nothing is read any more, and the next poll resets the card.
 */
#include "kernel/base/string.h"
#include "kernel/devices/pci.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"
#include "nic_table.h"
#include "virtio_net.h"

#define SENDS_FEW       16u          /* so few frames on a bulk card need no interrupt */
#define SENDS_MANY      32u          /* from this many on, interrupt at half */
#define BOOT_NS         2000000000UL /* deadline of each answer at boot, when no message waits */

/* ---- transmit ---- */

/* Frees the chains that the device has used: those from before the call, or more, as a callback may
 * send and get here again. */
static void reclaim(struct virtio_net *v)
{
	struct virtio_ring *ring = &v->transmit;

	for (uint16_t most = ring->size; most && !v->watch.trouble; most--) {
		uint16_t fresh = virtio_ring_fresh(ring);
		struct chain *chain;
		uint32_t head;
		uint16_t last;

		if (!fresh)
			break;
		if (fresh > ring->size) {
			watch_nonsense(&v->watch, "its transmit ring is ahead of the frames sent; it is reset");
			return;
		}
		head = virtio_ring_used(ring, 0).id;
		if (head >= ring->size || !v->chain[head].descriptors) {
			watch_nonsense(&v->watch, "it has completed a frame that was not sent; it is reset");
			return;
		}
		chain = &v->chain[head];
		last = (uint16_t)head;
		for (uint16_t i = 1; i < chain->descriptors; i++)
			last = v->next[last];
		v->next[last] = v->free_first;
		v->free_first = (uint16_t)head;
		v->free += chain->descriptors;
		chain->descriptors = 0;
		ring->seen++;
		v->nic.sent(v->nic.context, chain->cookie);
	}
	if (v->free >= v->waited_for)
		v->waited_for = 0;
}

static uint16_t take_descriptor(struct virtio_net *v, uint64_t address, uint32_t bytes)
{
	uint16_t at = v->free_first;

	v->free_first = v->next[at];
	v->transmit.table[at] = (struct virtio_descriptor){
		address, bytes, DESCRIPTOR_NEXT, v->free_first };
	return at;
}

/* Whether so many descriptors are free. False: an interrupt, if enabled, tells when they are. */
static bool make_room(struct virtio_net *v, uint16_t descriptors)
{
	reclaim(v);
	if (v->free >= descriptors)
		return true;
	v->waited_for = descriptors;
	virtio_ring_interrupt(&v->transmit, v->armed);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	reclaim(v);                /* frames that left before that raise no interrupt */
	return v->free >= descriptors;
}

static uint16_t under_way(const struct virtio_net *v)
{
	return (uint16_t)(v->transmit.given - v->transmit.seen);
}

static int send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct virtio_net *v = of(nic);
	struct virtio_ring *ring = &v->transmit;
	uint32_t bytes = 0;
	uint16_t head, last;

	for (uint32_t i = 0; i < n; i++)
		bytes += pieces[i].length;
	if (v->watch.down || v->watch.trouble || !v->watch.link || n > NIC_PIECES || bytes > nic->mtu) {
		nic->counters[NIC_DROPS_OUT]++;
		return NIC_DOWN;
	}
	/* A bulk card's user sends more once it learns of completions, and may halt until then. */
	if (v->bulk && v->free < ring->size / 2)
		reclaim(v);
	if (v->free < n + 1 && !make_room(v, (uint16_t)(n + 1)))
		return NIC_FULL;
	head = last = take_descriptor(v, v->zero_physical, sizeof(*v->zero));
	for (uint32_t i = 0; i < n; i++)
		last = take_descriptor(v, memory_physical(pieces[i].bytes), pieces[i].length);
	ring->table[last].flags = 0;
	v->free -= (uint16_t)(n + 1);
	v->chain[head] = (struct chain){ cookie, (uint16_t)(n + 1) };
	ring->available->ring[ring->given % ring->size] = head;
	if (v->bulk && v->armed && under_way(v) >= SENDS_FEW && under_way(v) < SENDS_MANY)
		virtio_ring_interrupt_at(ring, true, under_way(v));
	ring->given++;
	virtio_ring_publish(ring);
	nic->counters[NIC_FRAMES_OUT]++;
	nic->counters[NIC_BYTES_OUT] += bytes;
	return NIC_OK;
}

/* ---- receive ---- */

/*
 * How many of the `fresh` slots the next frame fills, and its bytes with the virtio header; 0:
 * there is none, or the ring is inconsistent.
 */
static uint32_t next_frame(struct virtio_net *v, uint16_t fresh, uint32_t *bytes)
{
	const struct virtio_ring *ring = &v->receive;
	uint32_t slot = ring->seen % ring->size, slots;
	const volatile struct net_header *header = (void *)(v->slots + slot * SLOT_BYTES);

	slots = header->buffers;
	if (slots == 0 || slots > SLOTS_MOST || slots > fresh) {
		watch_nonsense(&v->watch, "a frame fills more buffers than there are; it is reset");
		return 0;
	}
	*bytes = 0;
	for (uint32_t i = 0; i < slots; i++) {
		struct virtio_used_element used = virtio_ring_used(ring, i);

		/* in order; all but the last one are full */
		if (used.id != (slot + i) % ring->size || used.bytes > SLOT_BYTES ||
		    (i + 1 < slots && used.bytes != SLOT_BYTES)) {
			watch_nonsense(&v->watch, "its receive ring names a wrong buffer; it is reset");
			return 0;
		}
		*bytes += used.bytes;
	}
	if (*bytes < sizeof(struct net_header)) {
		watch_nonsense(&v->watch, "a frame is shorter than its header; it is reset");
		return 0;
	}
	return slots;
}

static void hand_up(struct virtio_net *v, const uint8_t *frame, uint32_t bytes)
{
	struct nic *nic = &v->nic;

	if (watch_takes(nic, frame, bytes))
		nic->receive(nic->context, frame, bytes);
}

/* Returns the slots that were read to the device. */
static void give_back(struct virtio_net *v)
{
	if (!v->taken)
		return;
	v->receive.given += v->taken;
	v->taken = 0;
	virtio_ring_publish(&v->receive);
}

static uint32_t receive(struct virtio_net *v, uint32_t budget)
{
	struct virtio_ring *ring = &v->receive;
	uint16_t fresh = virtio_ring_fresh(ring);
	uint32_t frames = 0, bytes;

	if (fresh > ring->size - v->taken) {
		watch_nonsense(&v->watch, "its receive ring is ahead of its buffers; it is reset");
		return 0;
	}
	while (fresh && frames < budget && !v->watch.trouble) {
		const uint8_t *slot = v->slots + ring->seen % ring->size * SLOT_BYTES;
		uint32_t slots = next_frame(v, fresh, &bytes);

		if (!slots)
			break;
		fresh -= slots;
		ring->seen += slots;
		hand_up(v, slot + sizeof(struct net_header),
		        bytes - (uint32_t)sizeof(struct net_header));
		v->taken += slots;
		frames++;
		if (v->taken >= ring->size / 4)
			give_back(v);
	}
	give_back(v);
	return frames;
}

/* ---- interrupts, ops ---- */

/* When a bulk card interrupts for sends. Of few frames its user learns soon enough, by the answer
 * to them. Otherwise at the last frame, and of many at half, so that it can send more in time. */
static uint16_t sends_ahead(const struct virtio_net *v)
{
	uint16_t n = under_way(v);

	if (v->waited_for)
		return 0;
	return n > SENDS_MANY ? n / 2u : (uint16_t)(n - 1);
}

/* Sets the used buffers at which the device interrupts. True: it has already passed one of them,
 * perhaps without an interrupt. */
static bool set_interrupts(struct virtio_net *v)
{
	bool sends = v->armed && (v->waited_for || (v->bulk && under_way(v) > SENDS_FEW));
	uint16_t arrivals_ahead = v->bulk && v->armed ? virtio_net_bulk_ahead(v) : 0;

	virtio_ring_interrupt_at(&v->receive, v->armed, arrivals_ahead);
	virtio_ring_interrupt_at(&v->transmit, sends, sends_ahead(v));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return (v->armed && virtio_ring_fresh(&v->receive) > arrivals_ahead) ||
	       (sends && virtio_ring_fresh(&v->transmit) > sends_ahead(v));
}

/* A bulk card without posted buffers and sends: later ones will set the interrupts. */
static bool is_idle(const struct virtio_net *v)
{
	return v->bulk && !under_way(v) && v->receive.given == v->receive.seen;
}

static uint32_t poll(struct nic *nic, uint32_t budget)
{
	struct virtio_net *v = of(nic);
	uint32_t frames = 0;
	bool wrong = false;

	if (!v->watch.down && !is_idle(v))
		do {
			reclaim(v);
			frames += v->bulk ? virtio_net_bulk_receive(v, budget - frames) :
			                    receive(v, budget - frames);
		} while (set_interrupts(v) && frames < budget && !v->watch.trouble && !v->watch.down);
	if (watch_is_due(&v->watch, frames)) {
		if (v->watch.down)
			wrong = true;
		else
			virtio_net_look(v);
	}
	if (wrong || (v->watch.trouble && !v->watch.down)) {
		virtio_net_reset(v);
		if (v->bulk)       /* the owners of posted buffers may reuse them now */
			nic->landed(nic->context, 0, 0);
	}
	return frames;
}

static void interrupts(struct nic *nic, int on)
{
	struct virtio_net *v = of(nic);

	v->armed = on;
	if (!v->watch.down)
		set_interrupts(v);
}

static void changed(struct nic *nic)
{
	struct virtio_net *v = of(nic);

	if (!v->watch.down)
		v->watch.look_at = 0;
}

static void close(struct nic *nic)
{
	struct virtio_net *v = of(nic);

	if (!v->watch.down)
		reclaim(v);
	v->watch.down = true;
	v->watch.look_at = NEVER;
	virtio_net_stop(v);
}

static const struct nic_ops ops = {
	.name = "virtio", .send = send, .poll = poll, .interrupts = interrupts,
	.changed = changed, .close = close,
};

static const struct nic_ops bulk_ops = {
	.name = "virtio", .send = send, .poll = poll, .interrupts = interrupts,
	.changed = changed, .close = close,
	.post = virtio_net_bulk_post, .withdraw = virtio_net_bulk_withdraw,
};

static void drop_landed(void *context, const uint8_t *header, uint32_t bytes)
{
	(void)context, (void)header, (void)bytes;
}

struct nic *virtio_net_open(const struct pci_device *pci, const struct nic_setup *setup,
                            const char **why)
{
	struct virtio_net *v = memory_take(sizeof(*v), PAGE_BYTES);

	v->nic = (struct nic){ .ops = setup->bulk ? &bulk_ops : &ops,
	                       .ring = RING, .receive = watch_drop_frame,
	                       .sent = watch_forget_send, .landed = drop_landed };
	v->bulk = setup->bulk;
	v->pci = *pci;
	v->watch = (struct watch){ .nic = &v->nic, .card = setup->card };
	memcpy(v->nic.address, setup->address, NIC_ADDRESS_BYTES);
	if (!virtio_find(&v->virtio, pci, NET_CONFIG_BYTES)) {
		*why = "its registers cannot be found";
		return 0;
	}
	if (!pci_msix(pci, MSIX_FRAMES, setup->vector) ||
	    !pci_msix(pci, MSIX_STATE, setup->state_vector)) {
		*why = "it has no two MSI-X interrupts";
		return 0;
	}
	virtio_ring_take(&v->receive, NET_QUEUE_RECEIVE, RING);
	virtio_ring_take(&v->transmit, NET_QUEUE_TRANSMIT, RING);
	virtio_ring_take(&v->control, NET_QUEUE_CONTROL, RING);
	if (v->bulk)
		virtio_net_bulk_take(v);
	else
		v->slots = memory_take_twice(RING * SLOT_BYTES, &v->slots_physical);
	v->zero = memory_take(sizeof(*v->zero) + sizeof(*v->command), PAGE_BYTES);
	v->zero_physical = memory_physical(v->zero);
	v->command = (struct control *)(v->zero + 1);
	*why = virtio_reset(&v->virtio, deadline_in(BOOT_NS)) ?
	       virtio_net_start(v, BOOT_NS) : "does not answer to a reset";
	if (*why) {
		virtio_give_up(&v->virtio);
		return 0;
	}
	return &v->nic;
}
