/*
 * PtlNIBarrier: dissemination over the ranks of the job. In round k a process
 * tells the one 2^k ranks further on that it has come so far, and waits for the
 * one 2^k behind: after ceil(log2 size) rounds it has heard of everybody.
 *
 * The news are BARRIER messages, which the engine counts in the receiver's
 * block, round by round, from boot on: so a process that arrives early, or
 * before its peer's PtlNIInit, is not forgotten. Only one process sends this
 * one its messages of a round, one per barrier, so the number of barriers that
 * this process has entered is the count to wait for.
 *
 * A node that was started again counts from zero, and nobody knows what the others'
 * counts are worth then: with the first death or restart in the job barriers fail,
 * everywhere and for ever. That is looked at first, as the new life's messages count.
 *
 * Data: how many barriers were entered, and where the one under way stands; a
 * call that an upcall interrupted is made again, and goes on there.
 */
#include <margay/abi.h>
#include <portals3.h>
#include <stdatomic.h>

#include "../net/portals/block.h"
#include "../net/shm/region.h"
#include "link_frames.h"
#include "link_shm.h"
#include "node.h"
#include "portals.h"
#include "syscall.h"
#include "time.h"
#include "wait.h"

_Static_assert(1u << BLOCK_BARRIER_ROUNDS >= REGION_MAX_NODES, "a barrier of all nodes");

static struct {
	uint64_t entered;          /* barriers, since boot */
	uint32_t round;            /* of the one under way */
	bool under_way;            /* entered and neither passed nor failed */
	bool sent;                 /* this round's message */
	bool failed;               /* for ever: the others' counts cannot be right any more */
} barrier;

static bool is_lost(void)
{
	return link_is_broken() || link_has_lost_a_node();
}

static bool arrived_or_lost(void *unused)
{
	(void)unused;
	return __atomic_load_n(&own_view.block->barrier[barrier.round], __ATOMIC_ACQUIRE) >=
	       barrier.entered || is_lost();
}

/* This round's message; false: it cannot reach its target. */
static bool send(uint32_t step)
{
	uint32_t rank = (node.rank + step) % node.size;
	struct message message = {
		.operation = MESSAGE_BARRIER,
		.source_nid = node.id, .source_pid = node.pid,
		.target_nid = node.id - node.rank + rank, .target_pid = node.pid,
		.uid = node.uid, .jid = node.jid,
		.list_selector = barrier.round,
	};

	return link_frames ? link_frames_signal(&message) : link_signal(&message);
}

int64_t sys_ni_barrier(uint64_t ni)
{
	if (!portals_is_interface(ni))
		return PTL_NI_INVALID;
	if (barrier.failed)
		return PTL_FAIL;
	if (!barrier.under_way) {
		barrier.under_way = true;
		barrier.entered++;
		barrier.round = 0;
		barrier.sent = false;
	}
	for (; 1u << barrier.round < node.size; barrier.round++) {
		if (is_lost() || (!barrier.sent && !send(1u << barrier.round)))
			goto failed;
		barrier.sent = true;
		if (wait_or_upcall(arrived_or_lost, 0, NEVER,
		                   "the other processes (PtlNIBarrier)") == WAIT_UPCALL)
			return MARGAY_AGAIN;
		if (is_lost())
			goto failed;
		barrier.sent = false;
	}
	barrier.under_way = false;
	return PTL_OK;

failed:
	barrier.under_way = false;
	barrier.failed = true;
	return PTL_FAIL;
}
