/*
 * Serving requests of the launcher and of other nodes. Data: whether one is being served, since
 * printing may wait and waiting serves requests.
 */
#include "region_requests.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "kernel/base/node.h"
#include "kernel/console/console.h"
#include "kernel/cpu/cpu.h"
#include "kernel/process/process.h"
#include "kernel/report/report.h"
#include "net/shm/region.h"
#include "link_shm.h"
#include "wait.h"

static bool serving;

static void print_backtrace(void)
{
	const char *what_for = wait_what_for();

	console_begin_report();
	if (what_for)
		console_line("rank %u (node %u) waits for %s", this_process()->rank, node.id,
			     what_for);
	else
		console_line("rank %u (node %u) is computing", this_process()->rank, node.id);
	if (user_frame()->rip)
		report_application_frames(user_frame());
	console_end_report();
}

void region_requests_serve(void)
{
	uint32_t requests;

	if (!node.own || serving)
		return;
	requests = atomic_load_explicit(&node.own->requests, memory_order_acquire);
	if (!requests)
		return;
	serving = true;
	requests = atomic_exchange(&node.own->requests, 0);
	if (requests & REGION_REQUEST_LOCKS)
		link_shm_disown_locks();
	if (requests & REGION_REQUEST_BACKTRACE)
		print_backtrace();
	serving = false;
}
