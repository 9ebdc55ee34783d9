/*
 * The port of the near transport. Data: a view of each peer that was ever sent to. Used only by
 * this node's one processor, with interrupts off.
 */
#include "link_shm.h"

#include "drivers/ivshmem.h"
#include "kernel/devices/random.h"
#include "net/shm/lock.h"
#include "net/shm/region.h"
#include <margay/abi.h>
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/console/console.h"
#include "kernel/cpu/cpu.h"
#include "kernel/devices/time.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "link_shm_copy.h"
#include "membership.h"
#include "upcall.h"
#include "wait.h"

/* A target without a free operation record is retried after this long. */
#define BUSY_RETRY_NS     20000u
#define BUSY_RETRIES      500000u  /* 10 s or more: after that its pool of records is damaged */

/* A node that waits for a lock looks again at this interval, and asks its owner (lock.h). */
#define LOCK_LOOK_NS      1000000000UL
#define ASLEEP_LOOK_NS    1000000u  /* between polls whether another node sleeps, in a test */

uint32_t link_shm_first, link_shm_nodes;

static struct process_view *peers; /* of near nodes by id; block is null until first used */
static struct process_view **reached; /* of each near node that was reached, and lives */
static struct shm_member member;
static const struct block_limits *limits; /* of every block */

/* ---- the port of net/shm/ ---- */

void shm_port_ring(const struct shm_member *self, uint32_t peer)
{
	(void)self;
	ivshmem_ring(peer);
}

void shm_port_halt(const struct shm_member *self, uint32_t owner)
{
	uint64_t until = deadline_in(LOCK_LOOK_NS);

	this_cpu()->waits_for_lock = true;
	ktimer_arm_within(until, LOCK_LOOK_NS); /* halts in a row set it once in that time */
	wait_halted();
	this_cpu()->waits_for_lock = false;
	/* The two nodes may wait for each other's locks, so this one answers here, too. */
	if (atomic_fetch_and(&node.own->requests, ~REGION_REQUEST_LOCKS) & REGION_REQUEST_LOCKS)
		link_shm_disown_locks();
	if (now_ns() < until || owner - 1 >= self->region->nodes)
		return;
	atomic_fetch_or(&region_node(self->region, owner - 1)->requests, REGION_REQUEST_LOCKS);
	ivshmem_ring(owner - 1);
}

uint64_t shm_port_spin_ns(const struct shm_member *self)
{
	(void)self;
	return now_ns();
}

static bool take(struct process_view *view)
{
	return shm_lock_acquire((struct shm_lock *)view->block->lock, view->nid, &member) ==
	       SHM_LOCK_OK;
}

bool link_shm_waits_for_lock(void)
{
	return this_cpu()->waits_for_lock;
}

/* No lock is held after this, so deaths and restarts that a doorbell announced during a wait for a
 * lock are settled here. */
static void give(struct process_view *view)
{
	shm_lock_release((struct shm_lock *)view->block->lock, view->nid, &member);
	membership_check();
}

bool link_shm_lock(void)
{
	return take(own_view());
}

void link_shm_unlock(void)
{
	give(own_view());
}

bool link_shm_is_broken(void)
{
	return node.region &&
	       shm_lock_is_dead((const struct shm_lock *)own_view()->block->lock, &member);
}

/* ---- peers ---- */

/* Set up the view of a peer once its kernel has made its block. False: it is dead, or its
 * block is not valid. */
__attribute__((noinline, cold))
static bool connect(uint32_t nid)
{
	struct process_view *peer = &peers[nid], view = *own_view();
	uint8_t *slice = region_slice(node.region, nid);

	if (!membership_await(nid))
		return false;
	view.nid = nid;
	view.memory = slice + node.region->segment_offset;
	view.bytes = node.region->segment_bytes;
	view.transport = region_node(node.region, nid);
	view_init(&view, slice + node.region->block_offset, node.region->block_bytes,
	          limits);
	if (!view_check(&view))
		return false;
	count(COUNTER_PEER_BYTES, sizeof(*peer));
	*peer = view;
	return true;
}

/* The view of a living node that can be reached, or null. `nid` is below
 * node.size, which is the region's number of nodes where there is a region. */
static struct process_view *view_of(uint32_t nid)
{
	if (nid == node.id)
		return own_view();
	if (!node.region || membership_is_dead(nid) || (!peers[nid].block && !connect(nid)))
		return 0;
	reached[nid - link_shm_first] = &peers[nid];
	return &peers[nid];
}

void link_shm_lost(uint32_t nid)
{
	if (nid - link_shm_first < link_shm_nodes)
		reached[nid - link_shm_first] = 0;
}

/*
 * Wakes a node if something happened in its block that it may wait for: events, or, while it closes
 * its block, the end of an operation. The release of the lock was a full barrier before this reads
 * the node's sleep flag. With `upcall` one of the events is for a handler: then it is rung even if
 * it computes. An event in the own block may be for a handler of this process.
 */
static void wake(const struct process_view *view, uint32_t events, bool upcall)
{
	struct region_node *peer = view->transport;

	if (view == own_view()) {
		upcall_check();
		return;
	}
	if (!events && view->block->state == BLOCK_OPEN)
		return;
	if (__builtin_expect(upcall, 0) && upcall_ring(view->nid))
		return;
	if (atomic_load_explicit(&peer->sleeping, memory_order_relaxed) &&
	    atomic_exchange(&peer->sleeping, 0))
		ivshmem_ring(view->nid);
}

/* ---- the port of the near transport ---- */

/* Gives up when the process has died, or has had no free record for so long that its pool must be
 * damaged. */
__attribute__((noinline, cold))
int near_port_wait(void *unused, const struct process_view *view, uint32_t tries)
{
	(void)unused;
	wait_time(deadline_in(BUSY_RETRY_NS), "an operation record of the target");
	return (view == own_view() || !membership_is_dead(view->nid)) && tries < BUSY_RETRIES;
}

struct process_view *near_port_known(void *unused, uint32_t nid)
{
	(void)unused;
	return reached[nid - link_shm_first];
}

struct process_view *near_port_peer(void *unused, struct process_view *me, uint32_t nid)
{
	struct process_view *view = near_port_known(unused, nid);

	(void)me;
	return __builtin_expect(view != 0, 1) ? view : view_of(nid);
}

int near_port_lock(void *unused, struct process_view *view)
{
	(void)unused;
	return take(view);
}

void near_port_unlock(void *unused, struct process_view *view)
{
	(void)unused;
	give(view);
}

int near_port_copy(void *unused, const struct process_view *to, const struct grant *dest,
                   const struct process_view *from, const struct grant *source)
{
	(void)unused;
	return link_shm_copy(to, dest, from, source);
}

void near_port_copied(void *unused, uint64_t bytes)
{
	(void)unused;
	count(COUNTER_COPIED_BYTES, bytes);
}

void near_port_wake(void *unused, const struct process_view *view, uint32_t events, int upcall)
{
	(void)unused;
	wake(view, events, upcall);
}

int near_port_is_short(void *unused, uint64_t bytes)
{
	(void)unused;
	return bytes <= DELIVER_INLINE_BYTES;
}

/* ---- for tests of deaths ---- */

static bool is_asleep(void *peer)
{
	const struct region_node *other = peer;

	return atomic_load(&other->state) == NODE_RUNNING && atomic_load(&other->sleeping);
}

void link_shm_disown_locks(void)
{
	for (uint32_t nid = 0; nid < node.region->nodes; nid++) {
		uint8_t *place = region_slice(node.region, nid) + node.region->block_offset;

		shm_lock_disown((struct shm_lock *)((struct block *)place)->lock, nid, &member);
	}
}

_Noreturn void link_shm_hold(uint32_t nid)
{
	/* a node that falls asleep rings no other: poll */
	while (!wait_until(is_asleep, region_node(node.region, nid), deadline_in(ASLEEP_LOOK_NS),
	                   "a node to sleep"))
		continue;
	take(view_of(nid));
	console_line("crash: node %u holds the lock of node %u", node.id, nid);
	for (;;)
		wait_halted();
}

/* ---- start ---- */

void link_shm_start(const struct block_limits *of_blocks)
{
	struct process *process = this_process();
	struct process_view *view = &process->view;

	limits = of_blocks;
	member = (struct shm_member){ .region = node.region, .node = node.id };
	*view = (struct process_view){
		.nid = node.id, .pid = process->pid, .uid = process->uid, .jid = process->jid,
		.base = APP_BASE, .seed = parameters.seed ? parameters.seed : random_number(),
		.job = { .first_nid = node.id - process->rank, .processes = node.size,
		         .launched = node.region != 0 },
		/* the near transport copies within the call, frames keep what is short */
		.inline_bytes = parameters.frames ? DELIVER_INLINE_BYTES : UINT64_MAX,
	};
	link_shm_first = parameters.frames ? node.id : 0;
	link_shm_nodes = parameters.frames ? 1 : node.size;
	if (view_init(view, process->block.pointer, process->block.bytes, limits))
		panic("a process block needs %lu bytes, and the region keeps %lu for it: "
		      "image and launcher have different versions, build both again",
		      block_bytes(limits), process->block.bytes);
	if (link_shm_nodes > 1)
		peers = memory_take(node.size * sizeof(*peers), PAGE_BYTES);
	reached = memory_take(link_shm_nodes * sizeof(*reached), PAGE_BYTES);
	reached[node.id - link_shm_first] = view;
	take(view);
	block_init(view);
	give(view);
}

void link_shm_set_segment(void)
{
	struct process *process = this_process();

	process->view.memory = process->segment.alias;
	process->view.sources = process->segment.shifted;
	process->view.bytes = process->segment.bytes;
}
