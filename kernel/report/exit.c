/*
 * The end of the application, and so of the node: leave the Portals, write the
 * counters, tell the launcher, switch off.
 */
#include "exit.h"

#include <stdatomic.h>
#include <stddef.h>

#include "drivers/ivshmem.h"
#include "kernel/base/format.h"
#include "kernel/base/node.h"
#include "kernel/console/console.h"
#include "kernel/devices/machine.h"
#include "kernel/files/files.h"
#include "kernel/portals/portals.h"
#include "kernel/process/process.h"
#include "kernel/transport/cards.h"
#include "kernel/transport/link_frames.h"
#include "net/shm/region.h"
#include "report.h"

static void write_counters(void)
{
	static const char *const names[COUNTER_COUNT] = {
#define X(NAME, name, text) #name,
		MARGAY_COUNTERS(X)
#undef X
	};
	char line[80];

	portals_count();
	for (int i = 0; i < COUNTER_COUNT; i++) {
		size_t bytes = format_text(line, sizeof(line), "%s %lu\n", names[i],
		                           node.counters[i]);

		console_write(STREAM_STATS, line, bytes);
	}
}

static _Noreturn void end(enum node_state state, unsigned status, unsigned signal)
{
	file_stop();
	portals_stop();
	cards_count();
	if (node.stats)
		write_counters();
	if (node.own) {
		node.own->status = status;
		node.own->signal = signal;
		node.own->exit_order = atomic_fetch_add(&node.region->shared->exits, 1) + 1;
		atomic_store(&node.own->state, state);
		ivshmem_ring(node.region->nodes);
	} else if (signal) {
		kernel_line("rank %u ended by signal %u (%s)", this_process()->rank, signal,
		            signal_name(signal));
	} else if (state == NODE_ENDED_JOB) {
		kernel_line("rank %u ended the job with status %u", this_process()->rank, status);
	} else {
		kernel_line("rank %u exited with status %u", this_process()->rank, status);
	}
	link_frames_linger();
	cards_stop();
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
