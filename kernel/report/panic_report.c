/*
 * The end of a kernel. Data: how many panics there were. A panic during a panic skips what may have
 * caused it: first the report, then the region as well, then everything.
 */
#include "panic_report.h"

#include <stdatomic.h>

#include "drivers/ivshmem.h"
#include "kernel/base/node.h"
#include "kernel/base/x86.h"
#include "kernel/console/console.h"
#include "kernel/cpu/cpu.h"
#include "kernel/devices/power.h"
#include "kernel/loader/parameters.h"
#include "kernel/process/process.h"
#include "net/shm/region.h"
#include "fault.h"
#include "report.h"

#define PANIC_STATUS 125u          /* the status of the launcher's own errors, too */
#define TEXT_BYTES   400u

static unsigned panics;

static _Noreturn void end(void)
{
	if (node.own) {
		node.own->status = PANIC_STATUS;
		node.own->exit_order = atomic_fetch_add(&node.region->shared->exits, 1) + 1;
		atomic_store(&node.own->state, NODE_PANICKED);
		ivshmem_ring(node.region->nodes);
	}
	if (!parameters.exit_port)
		halt_for_good();
	power_off(PANIC_STATUS);
}

static void begin(const char *text)
{
	switch (panics++) {
	case 0: break;
	case 1: end();
	case 2: power_off(PANIC_STATUS);
	default: cpu_stop();
	}
	console_panic();
	console_line("rank %u (node %u): kernel panic: %s", this_process()->rank, node.id, text);
}

void panic_report(const char *text, uint64_t frame_pointer)
{
	begin(text);
	report_kernel_frames(0, frame_pointer);
	end();
}

void panic_report_trap(const struct trap_frame *frame)
{
	char text[TEXT_BYTES];

	fault_describe(frame, text, sizeof(text));
	begin(text);
	report_registers(frame);
	report_kernel_frames(frame->rip, frame->rbp);
	end();
}
