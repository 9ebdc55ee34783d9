/*
 * The common part of Intel's gigabit cards. Data: one struct e1000 per card, in memory taken at
 * boot. Runs with interrupts off, on one processor.
 *
 * Receiving: each descriptor has a buffer of 16 KiB. By its data sheet the card accepts no larger
 * frame, so every frame is contiguous. The buffers begin at 64 different offsets within a page. An
 * emulated card copies all frames from the same address, and if the target is a few bytes above it,
 * modulo 4096, a processor's string copy may be 20 times slower (docs/measurements.md). Descriptors
 * are returned in batches, as telling the card costs more than a frame.
 *
 * QEMU's cards accept frames of any length while damaged frames are accepted, too. If the command
 * line allows frames that are longer than a buffer (`longest`), the buffers follow each other in
 * memory that is mapped twice in a row: so a frame that fills several is contiguous as well.
 *
 * Sending: one descriptor for each piece in place, no copy. The card reports the last one of each
 * frame, in order. Frames that are sent while another one is handed up leave together when that
 * call ends; other frames leave at once.
 *
 * Interrupts: the card raises one and is masked. The next poll takes the frames, and only then
 * clears the causes, looks once more and unmasks them: so frames that arrive during its work mostly
 * need no interrupt.
 *
 * The ring positions are the driver's own. Of what the card writes into the rings only "done", the
 * length and the errors are read, and checked. Impossible values, no progress, or a card that has
 * lost its settings set `trouble`: nothing is read any more, and the next poll resets the card. A
 * card that does not come back is cut off from memory, as far as PCI can, so that all sends end,
 * and retried (watch.c).
 */
#include "e1000_card.h"

#include "kernel/base/string.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"

#define SLOT_BYTES   16384u
#define SLOT_APART   (SLOT_BYTES + 320u) /* distance of two slots, if each holds a whole frame */
#define FRAME_SHORT  1514u         /* accepted by every card */
#define FRAME_LARGE  (SLOT_BYTES - 4) /* fits a buffer, even with its CRC */
#define FRAME_SLOTS  4u            /* buffers of the longest frame */
#define FRAME_MOST   (FRAME_SLOTS * SLOT_BYTES - 4)
#define GIVE_BACK    32u           /* descriptors in one batch */
#define BIT_NS       100000000UL   /* deadline for a bit to change */
#define DRAIN_NS     10000000UL    /* deadline for transfers under way to end */
#define GONE         0xffffffffu   /* read from a card that has gone */

static struct e1000 *of(struct nic *nic)
{
	return (struct e1000 *)nic;
}

/* ---- start and reset ---- */

bool e1000_await(const struct e1000 *e, uint32_t offset, uint32_t bits, bool ones)
{
	uint64_t deadline = deadline_in(BIT_NS);

	while ((e1000_read(e, offset) & bits) != (ones ? bits : 0))
		if (now_ns() > deadline)
			return false;
	return true;
}

/* SDM 14.3, 82574 4.6: no interrupts, nothing is received or sent, then reset. */
static bool reset(struct e1000 *e)
{
	bool worked = (e1000_read(e, REG_RCTL) | e1000_read(e, REG_TCTL)) & RCTL_EN;
	uint64_t drained = deadline_in(DRAIN_NS);

	_Static_assert(RCTL_EN == TCTL_EN, "one bit in both");
	if (e1000_read(e, REG_STATUS) == GONE)
		return false;
	e1000_write(e, REG_MASK, CAUSE_ALL);
	e1000_write(e, REG_RCTL, 0);
	e1000_write(e, REG_TCTL, TCTL_PAD);
	while (worked && now_ns() < drained)
		;
	if (!e->model->reset(e))
		return false;
	e1000_write(e, REG_MASK, CAUSE_ALL);
	e1000_read(e, REG_CAUSES);
	return e1000_read(e, REG_STATUS) != GONE;
}

/* Accepts only frames to the own address, and broadcasts. */
static void set_filter(struct e1000 *e)
{
	uint32_t low = 0, high = 0;

	memcpy(&low, e->nic.address, 4);
	memcpy(&high, e->nic.address + 4, 2);
	e1000_write(e, REG_ADDRESS_LOW(0), low);
	e1000_write(e, REG_ADDRESS_HIGH(0), high | ADDRESS_VALID);
	for (uint32_t i = 1; i < ADDRESSES; i++)
		e1000_write(e, REG_ADDRESS_HIGH(i), 0);
	for (uint32_t i = 0; i < GROUP_WORDS; i++)
		e1000_write(e, REG_GROUPS + 4 * i, 0);
}

static void show_ring(struct e1000 *e, uint32_t base, const void *ring)
{
	uint64_t physical = memory_physical(ring);

	e1000_write(e, base, (uint32_t)physical);
	e1000_write(e, base + REG_RDBAH - REG_RDBAL, (uint32_t)(physical >> 32));
	e1000_write(e, base + REG_RDLEN - REG_RDBAL, E1000_RING * sizeof(*e->send));
	e1000_write(e, base + REG_RDH - REG_RDBAL, 0);
	e1000_write(e, base + REG_RDT - REG_RDBAL, 0);
	_Static_assert(REG_TDT - REG_TDBAL == REG_RDT - REG_RDBAL, "one layout of both rings");
}

static uint64_t slot_address(const struct e1000 *e, uint32_t slot)
{
	return e->slots_physical + slot * e->slot_apart;
}

static void empty_rings(struct e1000 *e)
{
	for (uint32_t i = 0; i < E1000_RING; i++)
		e->receive[i] = (struct e1000_receive_descriptor){ slot_address(e, i), 0 };
	memset(e->send, 0, E1000_RING * sizeof(*e->send));
	memset(e->frame, 0, sizeof(e->frame));
	e->receive_next = 0;
	e->receive_kept = 0;
	e->begun = 0;
	e->torn = false;
	e->send_next = e->send_first = 0;
	e->send_free = E1000_RING - 1;     /* first == next is an empty ring */
	e->waited_for = 0;
	e->tail_due = false;
}

/* Unmasks interrupt causes, which e1000_read(REG_CAUSES) has cleared. */
static void unmask(struct e1000 *e)
{
	e->masked = false;
	e1000_write(e, REG_ALLOW, e->causes);
}

/* Programs the card after a reset. */
__attribute__((noinline, cold))
static void start(struct e1000 *e)
{
	uint32_t control = e1000_read(e, REG_CTRL);

	control &= ~(CTRL_LRST | CTRL_ILOS | CTRL_PHY_RESET | CTRL_VLAN | CTRL_FLOW);
	e1000_write(e, REG_CTRL, control | CTRL_LINK_UP | CTRL_SPEED_BY_PHY);
	e1000_write(e, REG_FLOW_LOW, 0);
	e1000_write(e, REG_FLOW_HIGH, 0);
	e1000_write(e, REG_FLOW_TYPE, 0);
	e1000_write(e, REG_FLOW_TIME, 0);
	e->causes = e->model->causes;
	e->model->prepare(e);
	empty_rings(e);
	/* SDM 14.4: receiving */
	set_filter(e);
	e1000_write(e, REG_CHECKSUMS, 0);
	e1000_write(e, REG_RDTR, 0);
	e1000_write(e, REG_RADV, 0);
	e1000_write(e, REG_RATE, 0);
	show_ring(e, REG_RDBAL, e->receive);
	/* SDM 14.5: sending */
	e1000_write(e, REG_TIDV, 0);
	e1000_write(e, REG_TADV, 0);
	show_ring(e, REG_TDBAL, e->send);
	e1000_write(e, REG_TCTL, TCTL_EN | TCTL_PAD | TCTL_COLLISIONS);
	e1000_write(e, REG_RCTL, RCTL_EN | RCTL_LONG | RCTL_BROADCAST | RCTL_16384 | RCTL_STRIP |
	            (e->nic.mtu > FRAME_LARGE ? RCTL_BAD : 0));
	e1000_write(e, REG_RDT, E1000_RING - 1);
	watch_works(&e->watch, e1000_read(e, REG_STATUS) & STATUS_UP);
	e->masked = true;
	if (e->armed)
		unmask(e);
}

/* Stops the card: it reads and writes nothing more, and all sends have ended. False: it does not
 * obey, and is cut off from memory. */
static bool stop(struct e1000 *e)
{
	bool obeys = reset(e);

	pci_master(&e->pci, obeys);
	while (e->send_first != e->send_next) {
		struct e1000_frame *frame = &e->frame[e->send_first];

		e->send_first = (e->send_first + frame->descriptors) % E1000_RING;
		e->nic.counters[NIC_DROPS_OUT]++;
		e->nic.sent(e->nic.context, frame->cookie);
	}
	return obeys;
}

__attribute__((noinline, cold))
static void recover(struct e1000 *e)
{
	watch_reset(&e->watch);
	if (stop(e))
		start(e);
	else
		watch_failed(&e->watch, "it does not obey a reset, and is cut off from memory");
}

/* ---- transmit ---- */

static void sends_interrupt(struct e1000 *e, uint32_t wanted)
{
	if (!e->waited_for != !wanted)
		e->model->sends_interrupt(e, wanted);
	e->waited_for = wanted;
}

/* Frees the descriptors of frames that the card has sent. */
static void reclaim(struct e1000 *e)
{
	while (e->send_first != e->send_next) {
		struct e1000_frame *frame = &e->frame[e->send_first];
		uint32_t last = (e->send_first + frame->descriptors - 1) % E1000_RING;

		if (!(*(volatile uint32_t *)&e->send[last].state & TX_DONE))
			break;
		e->send_first = (last + 1) % E1000_RING;
		e->send_free += frame->descriptors;
		e->nic.sent(e->nic.context, frame->cookie);
	}
	if (e->waited_for && e->send_free >= e->waited_for)
		sends_interrupt(e, 0);
}

static void write_tail(struct e1000 *e)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	e1000_write(e, REG_TDT, e->send_next);
}

__attribute__((noinline, cold))
static int refuse(struct nic *nic)
{
	nic->counters[NIC_DROPS_OUT]++;
	return NIC_DOWN;
}

int e1000_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct e1000 *e = of(nic);
	uint32_t bytes = 0, first, at;

	for (uint32_t i = 0; i < n; i++)
		bytes += pieces[i].length;
	if (e->watch.down || e->watch.trouble || !e->watch.link || n - 1 >= NIC_PIECES || bytes > nic->mtu)
		return refuse(nic);
	if (e->send_free < n) {
		reclaim(e);
		if (e->send_free < n) {
			sends_interrupt(e, n);
			reclaim(e);    /* no interrupt comes for what was sent just before */
		}
		if (e->send_free < n)
			return NIC_FULL;
	}
	first = at = e->send_next;     /* not before reclaim: its callbacks may send */
	for (uint32_t i = 0; i < n; i++) {
		e->send[at] = (struct e1000_send_descriptor){
			memory_physical(pieces[i].bytes), pieces[i].length | TX_CRC, 0 };
		at = (at + 1) % E1000_RING;
	}
	e->send[(at - 1) % E1000_RING].command |= TX_LAST | TX_REPORT;
	e->frame[first] = (struct e1000_frame){ cookie, n };
	e->send_next = at;
	e->send_free -= n;
	nic->counters[NIC_FRAMES_OUT]++;
	nic->counters[NIC_BYTES_OUT] += bytes;
	if (e->receiving)
		e->tail_due = true;
	else
		write_tail(e);
	return NIC_OK;
}

/* ---- receive ---- */

static void hand_up(struct e1000 *e, const uint8_t *frame, uint32_t bytes)
{
	struct nic *nic = &e->nic;

	if (!watch_takes(nic, frame, bytes))
		return;
	nic->receive(nic->context, frame, bytes);
	if (e->tail_due) {
		e->tail_due = false;
		write_tail(e);
	}
}

/* Returns the slots that were read to the card, which owns all but the one at its tail. */
static void give_back(struct e1000 *e)
{
	e->receive_kept = 0;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	e1000_write(e, REG_RDT, (e->receive_next - 1) % E1000_RING);
}

/* Takes a slot of a frame that fills several: the last one hands up the frame. Too many slots, a gap
 * between two, or slots that do not follow each other in memory: the frame is dropped. */
__attribute__((noinline))
static void take_part(struct e1000 *e, uint64_t state, uint32_t slot)
{
	uint32_t before = e->begun++, first = (slot - before) % E1000_RING;

	if (e->slot_apart != SLOT_BYTES || before >= FRAME_SLOTS ||
	    (!(state & RX_LAST) && RX_BYTES(state) != SLOT_BYTES))
		e->torn = true;
	if (!(state & RX_LAST))
		return;
	if (e->torn || state & RX_ERRORS)
		e->nic.counters[NIC_DROPS_IN]++;
	else
		hand_up(e, e->slots + first * SLOT_BYTES, before * SLOT_BYTES + RX_BYTES(state));
	e->begun = 0;
	e->torn = false;
}

/* Takes one slot that the card has filled; true: it was the last of a frame. */
static bool take(struct e1000 *e, uint64_t state, uint32_t slot)
{
	if (RX_BYTES(state) > SLOT_BYTES) {
		watch_nonsense(&e->watch, "a frame is longer than its buffer; it is reset");
		return false;
	}
	if (__builtin_expect(e->begun || !(state & RX_LAST), 0))
		take_part(e, state, slot);
	else if (state & RX_ERRORS)
		e->nic.counters[NIC_DROPS_IN]++;
	else
		hand_up(e, e->slots + slot * e->slot_apart, RX_BYTES(state));
	return state & RX_LAST;
}

static uint32_t receive(struct e1000 *e, uint32_t budget)
{
	uint32_t frames = 0, slots = E1000_RING - 1;

	e->receiving = true;
	while (frames < budget && slots-- && !e->watch.trouble) {
		uint32_t slot = e->receive_next;
		struct e1000_receive_descriptor *descriptor = &e->receive[slot];
		uint64_t state = *(volatile uint64_t *)&descriptor->state;

		if (!(state & RX_DONE))
			break;
		frames += take(e, state, slot);
		*descriptor = (struct e1000_receive_descriptor){ slot_address(e, slot), 0 };
		e->receive_next = (slot + 1) % E1000_RING;
		/* the card may not refill the slots of a frame that is not yet complete */
		if (++e->receive_kept >= GIVE_BACK && (!e->begun || e->torn))
			give_back(e);
	}
	e->receiving = false;
	return frames;
}

/* ---- state ---- */

/* Called now and then, when idle: has the card lost its link, does it hang, does it still have its
 * settings? */
__attribute__((noinline, cold))
static void look(struct e1000 *e)
{
	uint32_t status = e1000_read(e, REG_STATUS);

	if (status == GONE)
		watch_trouble(&e->watch, "it does not answer; it is reset");
	else if (!(e1000_read(e, REG_RCTL) & e1000_read(e, REG_TCTL) & RCTL_EN))
		watch_trouble(&e->watch, "it has forgotten its settings; it is reset");
	else if (e1000_read(e, REG_TDH) >= E1000_RING || e1000_read(e, REG_RDH) >= E1000_RING)
		watch_nonsense(&e->watch, "it is beyond the end of its rings; it is reset");
	watch_look(&e->watch, status & STATUS_UP, e->send_first != e->send_next, e->send_first);
}

/* The read also waits until all frames that have set a cause are in memory. */
static void clear_causes(struct e1000 *e)
{
	if (e1000_read(e, REG_CAUSES) & CAUSE_LINK)
		e->watch.look_at = 0;
}

uint32_t e1000_poll(struct nic *nic, uint32_t budget)
{
	struct e1000 *e = of(nic);
	bool rearm = e->armed && e->masked;
	uint32_t frames = 0;

	if (!e->watch.down) {
		reclaim(e);
		frames = receive(e, budget);
		if (rearm && frames < budget) {
			clear_causes(e);
			reclaim(e);
			frames += receive(e, budget - frames);
			unmask(e);
		}
	}
	if (watch_is_due(&e->watch, frames)) {
		if (e->watch.down)
			recover(e);
		else
			look(e);
	}
	if (e->watch.trouble && !e->watch.down)
		recover(e);
	return frames;
}

void e1000_interrupts(struct nic *nic, int on)
{
	struct e1000 *e = of(nic);

	e->armed = on;
	if (e->watch.down)
		return;
	if (on && e->masked) {
		clear_causes(e);
		unmask(e);
	} else if (!on) {
		e1000_interrupted(nic);
	}
}

void e1000_interrupted(struct nic *nic)
{
	struct e1000 *e = of(nic);

	if (!e->masked)
		e1000_write(e, REG_MASK, CAUSE_ALL);
	e->masked = true;
}

void e1000_close(struct nic *nic)
{
	struct e1000 *e = of(nic);

	if (!e->watch.down)
		reclaim(e);
	e->watch.down = true;
	e->watch.look_at = NEVER;
	stop(e);
}

/* ---- open ---- */

struct e1000 *e1000_open(const struct e1000_model *model, const struct nic_ops *ops,
                         const struct pci_device *pci, const struct nic_setup *setup,
                         const char **why)
{
	struct e1000 *e;

	if (setup->longest > FRAME_MOST || (setup->longest && setup->longest < FRAME_SHORT)) {
		*why = "longest= must be 1514 to 65532 bytes: four buffers have 65536, with the CRC";
		return 0;
	}
	e = memory_take(sizeof(*e), PAGE_BYTES);
	e->nic = (struct nic){ .ops = ops, .mtu = setup->longest ? setup->longest : model->mtu,
	                       .ring = E1000_RING - 1 - GIVE_BACK,
	                       .receive = watch_drop_frame, .sent = watch_forget_send };
	e->model = model;
	e->pci = *pci;
	e->watch = (struct watch){ .nic = &e->nic, .card = setup->card };
	memcpy(e->nic.address, setup->address, NIC_ADDRESS_BYTES);
	if (!pci->bar[0].physical || pci->bar[0].bytes < E1000_BYTES) {
		*why = "its registers cannot be found";
		return 0;
	}
	e->registers = map_physical(pci->bar[0].physical, E1000_BYTES, MAP_DEVICE);
	e->receive = memory_take(E1000_RING * sizeof(*e->receive), PAGE_BYTES);
	e->send = memory_take(E1000_RING * sizeof(*e->send), PAGE_BYTES);
	e->slot_apart = e->nic.mtu > FRAME_LARGE ? SLOT_BYTES : SLOT_APART;
	if (e->nic.mtu > FRAME_LARGE) {
		e->slots = memory_take_twice(E1000_RING * SLOT_BYTES, &e->slots_physical);
	} else {
		e->slots = memory_take(E1000_RING * SLOT_APART, PAGE_BYTES);
		e->slots_physical = memory_physical(e->slots);
	}
	if (!reset(e)) {
		*why = "it does not answer to a reset";
		return 0;
	}
	start(e);
	return e;
}
