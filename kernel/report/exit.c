/*
 * The end of the application, and so of the node: run the functions that boot has named, write the
 * counters, tell the launcher, switch off. Data: those functions.
 */
#include "exit.h"

#include <stdatomic.h>
#include <stddef.h>

#include "drivers/ivshmem.h"
#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/console/console.h"
#include "kernel/devices/power.h"
#include "kernel/process/process.h"
#include "net/shm/region.h"
#include "report.h"

static void (*const *before_end)(void);
static void (*const *after_end)(void);

void exit_runs(void (*const *before)(void), void (*const *after)(void))
{
	before_end = before;
	after_end = after;
}

static void run(void (*const *steps)(void))
{
	for (; *steps; steps++)
		(*steps)();
}

static void write_counters(void)
{
	static const char *const names[COUNTER_COUNT] = {
#define X(NAME, name, text) #name,
		MARGAY_COUNTERS(X)
#undef X
	};
	char line[80];

	for (int i = 0; i < COUNTER_COUNT; i++) {
		size_t bytes = format_text(line, sizeof(line), "%s %lu\n", names[i],
		                           node.counters[i]);

		console_write(STREAM_STATS, line, bytes);
	}
}

static _Noreturn void end(enum node_state state, unsigned status, unsigned signal)
{
	/* Before the others learn of it: they may end because of it. */
	if (node.own)
		node.own->exit_order = atomic_fetch_add(&node.region->shared->exits, 1) + 1;
	run(before_end);
	if (node.stats)
		write_counters();
	if (node.own) {
		node.own->status = status;
		node.own->signal = signal;
		atomic_store(&node.own->state, state);
		ivshmem_ring(node.region->nodes);
	} else if (signal) {
		console_line("rank %u ended by signal %u (%s)", this_process()->rank, signal,
		             signal_name(signal));
	} else if (state == NODE_ENDED_JOB) {
		console_line("rank %u ended the job with status %u", this_process()->rank, status);
	} else {
		console_line("rank %u exited with status %u", this_process()->rank, status);
	}
	run(after_end);
	power_off(signal ? 128 + signal : status);
}

void end_by_exit(unsigned status)
{
	end(NODE_EXITED, status & 255, 0);
}

void end_with_the_job(unsigned status)
{
	end(NODE_ENDED_JOB, status & 255, 0);
}

void end_by_signal(unsigned signal)
{
	end(NODE_FAULTED, 0, signal);
}
