/*
 * The order in which a node boots, and the callbacks into upper rooms. Called once,
 * by multiboot.asm.
 */
#include "kernel/base/format.h"
#include "kernel/base/image.h"
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/calls/trap.h"
#include "kernel/console/console.h"
#include "kernel/console/screen.h"
#include "kernel/console/serial.h"
#include "kernel/cpu/cpu.h"
#include "kernel/devices/acpi.h"
#include "kernel/devices/apic.h"
#include "kernel/devices/pci.h"
#include "kernel/devices/time.h"
#include "kernel/files/files.h"
#include "kernel/files/folders.h"
#include "kernel/loader/boot_info.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "kernel/portals/portals.h"
#include "kernel/process/process.h"
#include "kernel/report/exit.h"
#include "kernel/report/panic_report.h"
#include "kernel/selftest/selftest.h"
#include "kernel/transport/cards.h"
#include "kernel/transport/link_frames.h"
#include "kernel/transport/upcall.h"
#include "application.h"
#include "inject_fault.h"
#include "region_start.h"
#include "tcg_tlb.h"

#define PID_FIRST 1u               /* one process per node */

_Noreturn void kernel_main(uint32_t loader, uint32_t told, uint64_t boot_tsc);

static void name_node(void)
{
	struct process *process = this_process();

	process->rank = parameters.rank;
	process->jid = parameters.jid;
	process->uid = parameters.uid;
	process->pid = PID_FIRST;
	node.id = parameters.node;
	node.size = parameters.size;
	node.stats = parameters.stats;
	if (parameters.name)
		format_text(node.name, sizeof(node.name), "%s", parameters.name);
	else
		format_text(node.name, sizeof(node.name), "node%u", node.id);
}

/* Maps the screen in the kernel's page tables. */
static void map_screen(void)
{
	const struct screen_place *screen = &boot_info.screen;

	if (screen_is_usable())
		screen_map(map_physical(screen->physical, (uint64_t)screen->pitch * screen->height,
		                        screen->pixel_bytes ? MAP_PIXELS : MAP_DEVICE),
		           memory_take(SCREEN_CELLS, PAGE_BYTES));
}

/* Mounts the host's folders, one device each. */
static void folders_start(void)
{
	for (uint32_t i = 0; i < parameters.dirs; i++)
		path_mount_host(parameters.dir[i].path, parameters.dir[i].read_only);
	if (parameters.tmp_mb)
		path_mount_memory(parameters.tmp, (uint64_t)parameters.tmp_mb << 20);
	path_start(parameters.cwd);
	file_start();
}

/* What is closed when the application ends, in this order. */
static void (*const before_end[])(void) = {
	file_stop, portals_stop, cards_count, portals_count, NULL
};
static void (*const after_end[])(void) = { link_frames_linger, cards_stop, NULL };

__attribute__((externally_visible)) /* multiboot.asm */
void kernel_main(uint32_t loader, uint32_t told, uint64_t boot_tsc)
{
	panic_ends_with(panic_report);
	exit_runs(before_end, after_end);
	cpu_start(trap);
	serial_start();
	boot_info_read(loader, told);
	screen_start(&boot_info.screen);
	parameters_read();
	name_node();
	memory_start();
	map_screen();
	cpu_features(syscall_entry);
	upcall_start();
	apic_start();
	time_start(boot_tsc);
	count(COUNTER_KERNEL_BYTES, (uint64_t)(margay_kernel_data_end - margay_kernel_start) +
	                            (uint64_t)(margay_bss_end - margay_kernel_bss_start));
	acpi_start();
	if (parameters.shared_memory || parameters.cards || parameters.dirs)
		pci_start(parameters.ecam);
	if (parameters.shared_memory || parameters.frames)
		region_start();
	cards_start(parameters.cards);
	folders_start();
	portals_start();
	if (link_frames)
		console_serves(link_frames_serve);
	application_load();
	time_calibrate();
	tcg_tlb_grow();
	if (parameters.selftest && !selftest(parameters.selftest))
		panic("selftest %s failed", parameters.selftest);
	if (parameters.crash)
		inject_fault(parameters.crash);
	application_start();
}
