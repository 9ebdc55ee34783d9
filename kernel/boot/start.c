/*
 * The order in which a node boots. Data: node. Called once, by multiboot.asm.
 */
#include "kernel/base/node.h"

#include "drivers/screen.h"
#include "drivers/serial.h"
#include "kernel/base/format.h"
#include "kernel/base/image.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/console/console.h"
#include "kernel/cpu/cpu.h"
#include "kernel/devices/acpi.h"
#include "kernel/devices/apic.h"
#include "kernel/devices/machine.h"
#include "kernel/devices/pci.h"
#include "kernel/devices/time.h"
#include "kernel/files/files.h"
#include "kernel/loader/boot_info.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "kernel/selftest/selftest.h"
#include "kernel/transport/cards.h"
#include "kernel/transport/upcall.h"
#include "crash.h"
#include "emulator.h"

#define PID_FIRST 1u               /* one process per node */

struct node node;

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

/* The host's folders, each by a device. */
static void folders_start(void)
{
	for (uint32_t i = 0; i < parameters.dirs; i++)
		path_mount_host(parameters.dir[i].path, parameters.dir[i].read_only);
	if (parameters.tmp_mb)
		path_mount_memory(parameters.tmp, (uint64_t)parameters.tmp_mb << 20);
	path_start(parameters.cwd);
	file_start();
}

__attribute__((externally_visible)) /* multiboot.asm */
void kernel_main(uint32_t loader, uint32_t told, uint64_t boot_tsc)
{
	cpu_start();
	serial_start();
	boot_info_read(loader, told);
	screen_start();
	parameters_read();
	name_node();
	memory_start();
	screen_map();
	cpu_features();
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
	process_load();
	time_calibrate();
	emulator_start();
	if (parameters.selftest && !selftest(parameters.selftest))
		panic("selftest %s failed", parameters.selftest);
	if (parameters.crash)
		crash(parameters.crash);
	process_start();
}
