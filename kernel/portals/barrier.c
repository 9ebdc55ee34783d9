/*
 * PtlNIBarrier. Over shared memory the processes count in the region, and the last one
 * rings the others. Over frames it is dissemination over the ranks of the job: in round k
 * a process tells the one 2^k ranks further on that it has come so far, and waits for the
 * one 2^k behind: after ceil(log2 size) rounds it knows of all.
 *
 * The news are BARRIER messages, which the engine counts in the receiver's
 * block, round by round, from boot on: so a process that arrives early, or
 * before its peer's PtlNIInit, is not forgotten. Only one process sends this
 * one its messages of a round, one per barrier, so the number of barriers that
 * this process has entered is the count to wait for.
 *
 * A node that was started again counts from zero, and it is unknown what the others'
 * counts are worth then: with the first death or restart in the job barriers fail,
 * everywhere and for ever. That is looked at first, as the new life's messages count.
 * Boards have no launcher to tell of deaths: a node that waits asks now and then whether the
 * one that it waits for is there, and a node whose barrier has failed tells all others.
 *
 * Which messages are believed is the engine's to say (net/portals/barrier.c). Where a
 * launcher tells of deaths, no message can make a barrier fail.
 *
 * Where the barrier under way stands is in struct process, and in its view how many were
 * entered; a call that an upcall interrupted is made again, and goes on there.
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

#define PING_NS 500000000UL        /* between questions whether a node is there */

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

/* The node of the process that is so many ranks further on, from 0 to size. */
static uint32_t nid_after(uint32_t step)
{
	uint32_t rank = this_process()->rank;

	return node.id - rank + (rank + step) % node.size;
}

/* For the message of this round, or for news that end it. */
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

/* Over frames, round by round. WAIT_TIMEOUT: the barrier fails. */
static enum wait_end meet_far(void)
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

/* Those that wait have said that they sleep before they looked at the counter for the last
 * time; the counter was complete, by a locked instruction, before this looks at them. */
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

/* Over shared memory all count, and the last one rings each that sleeps, once. No node
 * enters the next barrier before the counter is complete for this one. */
static enum wait_end meet_near(void)
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
	end = node.region && !link_frames ? meet_near() : meet_far();
	if (end == WAIT_UPCALL)
		return MARGAY_AGAIN;
	if (end == WAIT_TIMEOUT) {
		fail();
		return PTL_FAIL;
	}
	barrier->under_way = false;
	return PTL_OK;
}
