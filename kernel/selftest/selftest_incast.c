/*
 * The self-test `incast`: all nodes but 0 send raw frames to node 0 at once, with nothing above the
 * driver. Each sender learns from shared memory how many of its frames were taken.
 * NAME_raw_incast_MBps is what arrives, NAME_raw_incast_lost what does not. Called by selftest.c.
 * Data: the card, the frames under way.
 *
 * The nodes synchronise and report progress in a page in the middle of node 0's segment, which is
 * zeroed afterwards; each node makes its frames after that offset in its own segment.
 */
#include "selftest_incast.h"

#include <margay/abi.h>
#include <stdatomic.h>

#include "drivers/ivshmem.h"
#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/base/string.h"
#include "kernel/base/x86.h"
#include "kernel/console/console.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/transport/cards.h"
#include "net/nic.h"
#include "net/shm/region.h"
#include "selftest_late.h"
#include "selftest_places.h"

#define ETHERTYPE     0xb588u      /* 0x88b5, big-endian */
#define HEAD_BYTES    32u
#define MOST_BYTES    60014u       /* bytes of a frame; the card may allow fewer */
#define EACH_BYTES    (16u << 20)  /* bytes that each node sends */
#define RING_SHARE    60u          /* frames that the card of node 0 holds of all of them */
#define BUDGET        64u
#define NAP_NS        2000000UL    /* longest halt before shared memory is read again */
#define LOST_NS       500000000UL  /* without progress for so long, missing frames are lost */
#define MARK          0x74736163u  /* in a frame of this test */

struct shared {
	_Atomic uint32_t arrived;          /* nodes that are ready */
	_Atomic uint32_t over;             /* node 0 has received everything */
	_Atomic uint32_t left;             /* nodes whose cards have read all */
	_Atomic uint32_t taken[REGION_MAX_NODES];  /* frames of each that node 0 has taken */
};

static struct nic *nic;
static struct shared *shared;
static uint32_t under_way;         /* frames that the card may still read */
static uint32_t window;            /* frames that each node may be ahead of node 0 */
static uint64_t bytes_in, first_ns, last_ns;
static uint32_t frames_in;

static void got_frame(void *context, const uint8_t *frame, uint32_t bytes)
{
	uint32_t mark, from;

	(void)context;
	memcpy(&mark, frame + HEAD_BYTES - 4, sizeof(mark));
	if (bytes < HEAD_BYTES || mark != MARK)
		return;
	from = frame[11];
	if (from >= REGION_MAX_NODES)
		return;
	last_ns = now_ns();
	if (frames_in++ == 0)
		first_ns = last_ns;
	else
		bytes_in += bytes;
	/* A waiting sender halts: wake it when half of its window is free. */
	if (atomic_fetch_add(&shared->taken[from], 1) % (window / 2) == 0)
		ivshmem_ring(from);
}

static void was_sent(void *context, uint64_t cookie)
{
	(void)context, (void)cookie;
	under_way--;
}

/* Halts until an interrupt, unless something came meanwhile. */
static void rest(void)
{
	nic->ops->interrupts(nic, 1);
	if (!nic->ops->poll(nic, BUDGET)) {
		ktimer_arm(deadline_in(NAP_NS));
		cpu_halt();
	}
	nic->ops->interrupts(nic, 0);
}

static void arrive(_Atomic uint32_t *nodes)
{
	atomic_fetch_add(nodes, 1);
	while (atomic_load(nodes) < node.size && !atomic_load(&shared->over))
		rest();
}

static void send_all(uint8_t *frame, uint32_t bytes, uint32_t count)
{
	const struct nic_piece piece = { frame, bytes };
	uint64_t since = now_ns();
	uint32_t sent = 0, seen = 0;

	while (sent < count && now_ns() - since < late_ns(LOST_NS)) {
		uint32_t taken = atomic_load(&shared->taken[node.id]);

		if (taken != seen)
			since = now_ns();
		seen = taken;
		nic->ops->poll(nic, BUDGET);
		if (sent - seen >= window) {
			rest();
			continue;
		}
		under_way++;
		if (nic->ops->send(nic, &piece, 1, 0) == NIC_OK) {
			sent++;
		} else {
			under_way--;
			rest();
		}
	}
	while (!atomic_load(&shared->over))
		rest();
}

static void take_all(uint32_t count)
{
	last_ns = now_ns();
	while (frames_in < count && now_ns() - last_ns < late_ns(LOST_NS))
		if (!nic->ops->poll(nic, BUDGET))
			rest();
	atomic_store(&shared->over, 1);
	for (uint32_t nid = 1; nid < node.size; nid++)
		ivshmem_ring(nid);
}

static void say(const char *figure, uint64_t value)
{
	char line[64];

	console_write(STREAM_STDOUT, line, format_text(line, sizeof(line), "%s_raw_%s %lu\n",
	                                               nic->ops->name, figure, value));
}

static void make_frame(uint8_t *frame)
{
	const uint32_t mark = MARK;
	const uint16_t type = ETHERTYPE;

	memcpy(frame, nic->address, NIC_ADDRESS_BYTES);
	frame[4] = frame[5] = 0;
	memcpy(frame + 6, nic->address, NIC_ADDRESS_BYTES);
	memcpy(frame + 12, &type, sizeof(type));
	memcpy(frame + HEAD_BYTES - 4, &mark, sizeof(mark));
}

static void run(uint8_t *frame)
{
	uint32_t bytes = nic->mtu < MOST_BYTES ? nic->mtu : MOST_BYTES;
	uint32_t count = EACH_BYTES / bytes;
	uint64_t end;

	window = RING_SHARE / (node.size - 1) < 2 ? 2 : RING_SHARE / (node.size - 1);
	arrive(&shared->arrived);
	if (node.id == 0) {
		take_all(count * (node.size - 1));
		say("incast_MBps", last_ns > first_ns ? bytes_in * 1000 / (last_ns - first_ns) : 0);
		say("incast_lost", count * (node.size - 1) - frames_in);
	} else {
		make_frame(frame);
		send_all(frame, bytes, count);
	}
	end = deadline_in(late_ns(LOST_NS));
	while (under_way && now_ns() < end)
		nic->ops->poll(nic, BUDGET);
	atomic_fetch_add(&shared->left, 1);
}

bool incast_test(void)
{
	uint64_t middle = places_middle(sizeof(*shared) + MOST_BYTES);
	uint8_t *memory = this_process()->segment.alias + middle;
	struct nic before;

	if (!node.region || node.size < 3 || !cards_number() || !middle) {
		console_line("selftest: incast needs 3 nodes with network cards and some memory");
		return false;
	}
	shared = (struct shared *)(region_slice(node.region, 0) + node.region->segment_offset +
	                           middle);
	nic = card(0);
	before = *nic;
	nic->receive = got_frame;
	nic->sent = was_sent;
	run(memory + sizeof(*shared));
	/* Node 0 zeroes the page last; the others wait only for that. */
	while (node.id ? atomic_load(&shared->left) != 0 : atomic_load(&shared->left) < node.size)
		rest();
	cards_give_back(nic, &before);
	ktimer_arm(NEVER);
	memset(memory + sizeof(*shared), 0, MOST_BYTES);
	if (node.id == 0)
		memset(shared, 0, sizeof(*shared));
	return true;
}
