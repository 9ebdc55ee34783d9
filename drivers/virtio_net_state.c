/*
 * A virtio network card's state: starting, watching and restarting it. Data: struct virtio_net.
 * Called at boot, and by polls of virtio_net.c and virtio_net_bulk.c, with interrupts off.
 *
 * A card that does not come back is down. If it does not even obey a reset, it is cut off from
 * memory, as far as PCI can, so that all sends end. It is retried every second, for a short time,
 * as the node has other work.
 */
#include "kernel/base/string.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"
#include "virtio_net.h"

#define ANSWER_NS       250000000UL  /* deadline of an answer in a retry; a miss ends it */

#define WANTED (FEATURE_VERSION_1 | FEATURE_EVENT_INDEX | NET_FEATURE_MTU | NET_FEATURE_MAC | \
	NET_FEATURE_STATUS | NET_FEATURE_CONTROL | \
	NET_FEATURE_CONTROL_RX | NET_FEATURE_CONTROL_MAC)
#define NEEDED (FEATURE_VERSION_1 | FEATURE_EVENT_INDEX | \
	NET_FEATURE_CONTROL | NET_FEATURE_CONTROL_RX | NET_FEATURE_CONTROL_MAC)
#define LACKS  "lacks or refuses a feature: version 1, event index, control queue with address " \
	"and filter"

/* ---- start ---- */

static void fill_receive_ring(struct virtio_net *v)
{
	struct virtio_ring *ring = &v->receive;

	for (uint16_t i = 0; i < ring->size; i++) {
		ring->table[i] = (struct virtio_descriptor){
			.address = v->slots_physical + i * SLOT_BYTES,
			.bytes = SLOT_BYTES, .flags = DESCRIPTOR_WRITE };
		ring->available->ring[i] = i;
	}
	ring->given = ring->size;
	v->taken = 0;
}

static void empty_transmit_ring(struct virtio_net *v)
{
	memset(v->chain, 0, sizeof(v->chain));
	for (uint16_t i = 0; i < v->transmit.size; i++)
		v->next[i] = (uint16_t)(i + 1);
	v->next[v->transmit.size - 1] = NONE;
	v->free_first = 0;
	v->free = v->transmit.size;
	v->waited_for = 0;
}

/* Executes one command on the control queue, and waits for it. */
static bool command(struct virtio_net *v, uint64_t ns, uint8_t kind, uint8_t number,
                    const uint8_t *data, uint32_t bytes)
{
	struct virtio_ring *ring = &v->control;
	uint64_t physical = memory_physical(v->command), deadline = deadline_in(ns);

	v->command->kind = kind;
	v->command->command = number;
	v->command->answer = (uint8_t)~NET_CONTROL_OK;
	memcpy(v->command->data, data, bytes);
	ring->table[0] = (struct virtio_descriptor){
		physical + offsetof(struct control, kind), 2 + bytes, DESCRIPTOR_NEXT, 1 };
	ring->table[1] = (struct virtio_descriptor){
		physical + offsetof(struct control, answer), 1, DESCRIPTOR_WRITE, 0 };
	ring->available->ring[ring->given % ring->size] = 0;
	ring->given++;
	virtio_ring_publish(ring);
	while (!virtio_ring_fresh(ring))
		if (now_ns() > deadline)
			return false;
	ring->seen++;
	return *(volatile uint8_t *)&v->command->answer == NET_CONTROL_OK;
}

/* Accepts only frames to the own address, and broadcasts. */
static bool set_filter(struct virtio_net *v, uint64_t ns)
{
	const uint8_t off = 0;

	return command(v, ns, NET_CLASS_MAC, NET_MAC_ADDRESS, v->nic.address,
	               NIC_ADDRESS_BYTES) &&
	       command(v, ns, NET_CLASS_RX, NET_RX_PROMISCUOUS, &off, 1) &&
	       command(v, ns, NET_CLASS_RX, NET_RX_ALL_MULTICAST, &off, 1);
}

static uint16_t config16(const struct virtio_net *v, uint32_t offset)
{
	return *(volatile uint16_t *)(v->virtio.device + offset);
}

static uint32_t mtu_of(const struct virtio_net *v)
{
	uint32_t mtu = MTU_DEFAULT;

	if (v->virtio.features & NET_FEATURE_MTU)
		mtu = config16(v, NET_CONFIG_MTU);
	return FRAME_LEAST + mtu;
}

static bool link_is_up(const struct virtio_net *v)
{
	return !(v->virtio.features & NET_FEATURE_STATUS) ||
	       config16(v, NET_CONFIG_STATUS) & NET_STATUS_LINK_UP;
}

__attribute__((noinline, cold))
const char *virtio_net_start(struct virtio_net *v, uint64_t ns)
{
	/* On a bulk card a frame must not fill several buffers. */
	uint64_t wanted = v->bulk ? WANTED | FEATURE_RING_RESET : WANTED | NET_FEATURE_MERGE;
	uint64_t needed = v->bulk ? NEEDED : NEEDED | NET_FEATURE_MERGE;
	struct virtio *virtio = &v->virtio;
	uint32_t mtu;

	if (!virtio_agree(virtio, wanted, needed))
		return v->bulk ? LACKS : LACKS ", merged buffers";
	if (!virtio_state_entry(virtio, MSIX_STATE) ||
	    !virtio_ring_start(virtio, &v->receive, RING, MSIX_FRAMES) ||
	    !virtio_ring_start(virtio, &v->transmit, RING, MSIX_FRAMES) ||
	    !virtio_ring_start(virtio, &v->control, RING, VIRTIO_NO_VECTOR))
		return "has no queues, or no MSI-X for them";
	if (v->receive.size < SLOTS_MOST || v->transmit.size < CHAIN_MOST || v->control.size < 2)
		return "has queues that are too small";
	empty_transmit_ring(v);
	if (v->bulk)
		virtio_net_bulk_start(v);
	else
		fill_receive_ring(v);
	virtio_ring_interrupt(&v->receive, v->armed);
	virtio_ring_interrupt(&v->transmit, false);
	virtio_ring_interrupt(&v->control, false);
	virtio_go(virtio);
	if (!v->bulk)
		virtio_ring_publish(&v->receive);
	if (!set_filter(v, ns))
		return "does not take its address filter";
	mtu = mtu_of(v);
	if (!v->bulk && v->receive.size < RING) {
		/* Only all slots together are mapped twice: a frame must fit into one of a small
		 * ring. */
		v->nic.ring = v->receive.size;
		if (mtu > SLOT_BYTES - sizeof(struct net_header))
			mtu = SLOT_BYTES - sizeof(struct net_header);
	}
	if (mtu > FRAME_MOST || mtu < FRAME_LEAST + 68)
		return "has an impossible MTU";
	if (!v->nic.mtu || mtu < v->nic.mtu) /* a reset never makes frames longer */
		v->nic.mtu = mtu;
	watch_works(&v->watch, link_is_up(v));
	return 0;
}

/* ---- reset ---- */

bool virtio_net_stop(struct virtio_net *v)
{
	bool obeys = virtio_reset(&v->virtio, deadline_in(ANSWER_NS));

	pci_master(&v->pci, obeys);
	for (uint16_t i = 0; i < RING; i++)
		if (v->chain[i].descriptors) {
			v->chain[i].descriptors = 0;
			v->nic.counters[NIC_DROPS_OUT]++;
			v->nic.sent(v->nic.context, v->chain[i].cookie);
		}
	return obeys;
}

__attribute__((noinline, cold))
void virtio_net_reset(struct virtio_net *v)
{
	const char *why = "does not obey a reset, and is cut off from memory";

	watch_reset(&v->watch);
	if (virtio_net_stop(v)) {
		why = virtio_net_start(v, ANSWER_NS);
		if (!why)
			return;
		virtio_give_up(&v->virtio);
	}
	watch_failed(&v->watch, why);
}

/* ---- checks ---- */

/* Checks whether it has lost its link, hangs, or asks for a reset. */
__attribute__((noinline, cold))
void virtio_net_look(struct virtio_net *v)
{
	uint8_t status = virtio_status(&v->virtio);

	if (status & STATUS_NEEDS_RESET)
		watch_trouble(&v->watch, "it asks for a reset");
	else if (!(status & STATUS_DRIVER_OK))
		watch_trouble(&v->watch, "it has forgotten its driver; it is reset");
	watch_look(&v->watch, link_is_up(v), v->free != v->transmit.size, v->transmit.seen);
}
