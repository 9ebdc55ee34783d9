/*
 * Membership of the job. Data: what is known of each node, and which deaths and restarts have been
 * settled; sized by the job at boot. Used only by this node's one processor, with interrupts off.
 */
#include "membership.h"

#include <stdatomic.h>

#include "drivers/ivshmem.h"
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "net/portals/block.h"
#include "net/shm/region.h"
#include "link_frames.h"
#include "link_shm.h"
#include "upcall.h"
#include "wait.h"

uint64_t *membership_up;
bool membership_news;

static uint64_t *deaths;           /* bit per node: its death has been settled */
static uint32_t *restarts;         /* of each node: settled restarts */
static bool lost;                  /* a death or restart was settled, or a node given up, here
                                      or by another node of the region */

static void set(uint64_t *bits, uint32_t nid)
{
	bits[nid / 64] |= 1ULL << nid % 64;
}

static void clear(uint64_t *bits, uint32_t nid)
{
	bits[nid / 64] &= ~(1ULL << nid % 64);
}

static bool is_set(const uint64_t *bits, uint32_t nid)
{
	return bits[nid / 64] >> nid % 64 & 1;
}

bool membership_is_dead(uint32_t nid)
{
	return node.region && atomic_load(&region_node(node.region, nid)->dead);
}

bool membership_has_lost(void)
{
	return lost;
}

/* The others find this in the node table, even if they do not find what this node has found. So
 * none waits in a barrier that fails on this node. */
static void lose(void)
{
	lost = true;
	if (node.own)
		atomic_store(&node.own->lost, 1);
}

void membership_given_up(void)
{
	lose();
}

/* ---- settling ---- */

static void settle_restart(uint32_t nid)
{
	uint32_t now = atomic_load(&region_node(node.region, nid)->restarts);

	if (now == restarts[nid])
		return;
	restarts[nid] = now;
	lose();
	clear(membership_up, nid);
	if (link_frames)
		link_frames_ended(nid, REGION_LIFE * (now + 1));
}

static void settle_death(uint32_t nid)
{
	if (is_set(deaths, nid) || !membership_is_dead(nid))
		return;
	set(deaths, nid);
	lose();
	clear(membership_up, nid);
	link_shm_lost(nid);
	if (link_frames)
		link_frames_ended(nid, 0);
	if (!link_shm_lock())
		return;
	block_peer_died(own_view(), nid, 0);
	link_shm_unlock();
	upcall_check();
}

/* A doorbell during this sets membership_news again; the interrupted code handles it when it
 * ends. */
__attribute__((noinline, cold))
void membership_settle(void)
{
	if (link_shm_waits_for_lock() || link_frames_is_busy())
		return;
	membership_news = false;
	if (membership_is_dead(node.id))
		panic("the shared region says that this node is dead: another node has damaged it");
	for (uint32_t nid = 0; nid < node.size; nid++) {
		settle_restart(nid);
		settle_death(nid);
		if (atomic_load(&region_node(node.region, nid)->lost))
			lose();
	}
}

/* Before membership_start nothing can be settled, and nothing need be. */
void membership_bell(void)
{
	if (!restarts)
		return;
	membership_news = true;
	membership_settle();
}

/* ---- start and end ---- */

static uint64_t bitmap_bytes(void)
{
	return (node.size + 63) / 64 * sizeof(uint64_t);
}

/* A node sets its sleep flag before its last look at the state, and this node looks for sleepers
 * after it has changed the state. So at least one sees the other. */
static void announce(void)
{
	atomic_store(&node.own->state, NODE_BOOTED);
	for (uint32_t nid = 0; nid < node.size; nid++)
		if (atomic_load(&region_node(node.region, nid)->awaits) == node.id + 1)
			ivshmem_ring(nid);
}

void membership_start(void)
{
	uint64_t bytes = 2 * bitmap_bytes();
	uint8_t *memory;

	if (node.region)
		bytes += node.size * sizeof(*restarts);
	memory = memory_take(bytes, PAGE_BYTES);
	membership_up = (uint64_t *)memory;
	deaths = (uint64_t *)(memory + bitmap_bytes());
	if (!node.region)
		return;
	restarts = (uint32_t *)(memory + 2 * bitmap_bytes());
	membership_settle();
	announce();
}

static bool is_up_or_dead(void *arg)
{
	const struct region_node *peer = arg;

	return atomic_load(&peer->state) != NODE_OFF || atomic_load(&peer->dead);
}

__attribute__((noinline, cold))
bool membership_await(uint32_t nid)
{
	struct region_node *peer = node.region ? region_node(node.region, nid) : 0;

	if (peer && !is_up_or_dead(peer)) {
		atomic_store(&node.own->awaits, nid + 1);
		wait_until(is_up_or_dead, peer, NEVER, "another node to boot");
		atomic_store(&node.own->awaits, 0);
	}
	if (membership_is_dead(nid))
		return false;
	set(membership_up, nid);
	return true;
}

static bool have_all_ended(void *unused)
{
	(void)unused;
	for (uint32_t nid = 0; nid < node.size; nid++) {
		const struct region_node *peer = region_node(node.region, nid);

		if (atomic_load(&peer->state) < NODE_EXITED && !atomic_load(&peer->dead))
			return false;
	}
	return true;
}

void membership_await_end(void)
{
	if (have_all_ended(0))
		for (uint32_t nid = 0; nid < node.size; nid++)
			if (nid != node.id)
				ivshmem_ring(nid);
	wait_until(have_all_ended, 0, NEVER, "the other nodes to end");
}
