/*
 * PtlNIBarrier. Over shared memory the processes count in the region, and the last one rings the
 * others. Over frames it is a dissemination barrier over the ranks of the job: in round k a process
 * signals rank + 2^k and waits for the signal of rank - 2^k. After ceil(log2 size) rounds it knows
 * of all.
 *
 * The signals are BARRIER messages, which the engine counts in the receiver's block, for each
 * round, from boot on. So the signal of a process that arrives early, even before its peer's
 * PtlNIInit, is kept. In each round only one process signals this one, once per barrier, so the
 * count to wait for is the number of barriers that this process has entered.
 *
 * A restarted node counts from zero, and the others' counts then mean nothing. So with the first
 * death or restart in the job, barriers fail, everywhere and for ever. This is checked first, as
 * the new life's messages count too. Boards have no launcher that reports deaths: a node that waits
 * pings the node that it waits for now and then, and a node whose barrier has failed tells all
 * others.
 *
 * The engine decides which messages are accepted (net/portals/barrier.c). Where a launcher reports
 * deaths, no message can make a barrier fail.
 *
 * The state of the barrier under way is in struct process, and its view has the number of barriers
 * entered. A call that an upcall interrupted is repeated, and continues from there.
 */
#include <margay/abi.h>
#include <portals3.h>
#include <stdatomic.h>

#include "drivers/ivshmem.h"
#include "kernel/base/node.h"
#include "kernel/base/syscall.h"
#include "kernel/devices/time.h"
#include "kernel/process/process.h"
#include "kernel/transport/link_frames.h"
#include "kernel/transport/link_shm.h"
#include "kernel/transport/membership.h"
#include "kernel/transport/wait.h"
#include "net/portals/block.h"
#include "net/shm/region.h"
#include "portals.h"

#define PING_NS 500000000UL        /* between pings of the node waited for */

static uint64_t arrived(uint32_t news)
{
	return __atomic_load_n(&own_view()->block->barrier[news], __ATOMIC_ACQUIRE);
}

static bool is_board(void)
{
	return link_frames && !node.region;
}

static bool is_lost(void)
{
	return link_shm_is_broken() || membership_has_lost() ||
	       (is_board() && arrived(BLOCK_BARRIER_FAILED));
}

static bool arrived_or_lost(void *unused)
{
	(void)unused;
	return arrived(this_process()->barrier.round) >= own_view()->job.entered || is_lost();
}

/* The node of rank + step, modulo the size. */
static uint32_t nid_after(uint32_t step)
{
	uint32_t rank = this_process()->rank;

	return node.id - rank + (rank + step) % node.size;
}

/* Waits for this round's message, or for a failure that ends the barrier. */
static enum wait_end await_round(void)
{
	uint32_t nid = nid_after(node.size - (1u << this_process()->barrier.round));

	for (;;) {
		uint64_t deadline = is_board() ? deadline_in(PING_NS) : NEVER;
		enum wait_end end = wait_or_upcall(arrived_or_lost, 0, deadline,
		                                   "the other processes (PtlNIBarrier)");

		if (end != WAIT_TIMEOUT)
			return end;
		link_frames_signal(nid, BLOCK_BARRIER_PING);
	}
}

static void fail(void)
{
	struct barrier *barrier = &this_process()->barrier;

	barrier->under_way = false;
	barrier->failed = true;
	for (uint32_t step = 1; is_board() && step < node.size; step++)
		link_frames_signal(nid_after(step), BLOCK_BARRIER_FAILED);
}

/* The barrier over frames. WAIT_TIMEOUT: it fails. */
static enum wait_end barrier_far(void)
{
	struct barrier *barrier = &this_process()->barrier;

	for (; 1u << barrier->round < node.size; barrier->round++) {
		if (is_lost() ||
		    (!barrier->sent &&
		     !link_frames_signal(nid_after(1u << barrier->round), barrier->round)))
			return WAIT_TIMEOUT;
		barrier->sent = true;
		if (await_round() == WAIT_UPCALL)
			return WAIT_UPCALL;
		if (is_lost())
			return WAIT_TIMEOUT;
		barrier->sent = false;
	}
	return WAIT_READY;
}

/* A waiting process sets its sleep flag before its last look at the counter. The counter was
 * completed, by a locked instruction, before this looks at the flags. */
static void ring_sleepers(void)
{
	for (uint32_t nid = 0; nid < node.size; nid++) {
		struct region_node *peer = region_node(node.region, nid);

		if (atomic_load(&peer->sleeping) && atomic_exchange(&peer->sleeping, 0))
			ivshmem_ring(nid);
	}
}

static bool all_entered_or_lost(void *unused)
{
	(void)unused;
	return atomic_load(&node.region->shared->barriers) >=
	       own_view()->job.entered * node.size || is_lost();
}

/* The barrier over shared memory: all count, and the last one rings each sleeper, once. No node
 * enters the next barrier before the counter is complete for this one. */
static enum wait_end barrier_near(void)
{
	struct barrier *barrier = &this_process()->barrier;

	if (is_lost())
		return WAIT_TIMEOUT;
	if (!barrier->sent) {
		barrier->sent = true;
		atomic_fetch_add(&node.region->shared->barriers, 1);
		if (all_entered_or_lost(0))
			ring_sleepers();
	}
	if (wait_or_upcall(all_entered_or_lost, 0, NEVER,
	                   "the other processes (PtlNIBarrier)") == WAIT_UPCALL)
		return WAIT_UPCALL;
	return is_lost() ? WAIT_TIMEOUT : WAIT_READY;
}

int64_t sys_ni_barrier(uint64_t ni)
{
	struct barrier *barrier = &this_process()->barrier;
	enum wait_end end;

	if (!portals_is_interface(ni))
		return PTL_NI_INVALID;
	if (barrier->failed)
		return PTL_FAIL;
	if (!barrier->under_way) {
		barrier->under_way = true;
		own_view()->job.entered++;
		barrier->round = 0;
		barrier->sent = false;
	}
	end = node.region && !link_frames ? barrier_near() : barrier_far();
	if (end == WAIT_UPCALL)
		return MARGAY_AGAIN;
	if (end == WAIT_TIMEOUT) {
		fail();
		return PTL_FAIL;
	}
	barrier->under_way = false;
	return PTL_OK;
}
