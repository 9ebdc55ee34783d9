/*
 * Arriving BARRIER messages: they are checked and counted. Called for the target's block by the
 * kernel that runs the engine on it, whether the interface is open or not.
 *
 * In a dissemination barrier few messages are valid. A process gets round k only from the process
 * 2^k ranks before it. That process enters barrier b + 1 only when all have entered b. So it has
 * sent at most one message of a round more than this process has entered barriers. Where a
 * launcher reports deaths, no other news from a process is valid.
 */
#include "deliver.h"
#include "target.h"

/* Whether a message is valid by these rules. */
static int is_believed(const struct process_view *view, const struct message *message)
{
	const struct barrier_job *job = &view->job;
	uint32_t news = message->pt_index, from = message->source_nid - job->first_nid;
	uint32_t rank = view->nid - job->first_nid;

	if (!job->processes)
		return 1;
	if (message->target_pid != view->pid || message->source_pid != view->pid ||
	    from >= job->processes)
		return 0;
	if (news >= BLOCK_BARRIER_ROUNDS)
		return !job->launched;
	return 1u << news < job->processes &&
	       from == (rank + job->processes - (1u << news)) % job->processes &&
	       view->block->barrier[news] <= job->entered;
}

int target_barrier(struct process_view *view, const struct message *message)
{
	if (message->pt_index >= BLOCK_BARRIER_NEWS || !is_believed(view, message)) {
		view->block->delivered.counters[STAT_DROPPED]++;
		return DELIVER_DROPPED;
	}
	__atomic_fetch_add(&view->block->barrier[message->pt_index], 1, __ATOMIC_RELEASE);
	return DELIVER_OK;
}
