/*
 * The order in which a node boots. Data: node. Called once, by multiboot.asm.
 */
#include "node.h"

#include "../drivers/screen.h"
#include "../drivers/serial.h"
#include "acpi.h"
#include "apic.h"
#include "boot_info.h"
#include "cards.h"
#include "console.h"
#include "cpu.h"
#include "emulator.h"
#include "crash.h"
#include "format.h"
#include "image.h"
#include "machine.h"
#include "memory.h"
#include "panic.h"
#include "parameters.h"
#include "pci.h"
#include "process.h"
#include "selftest.h"
#include "string.h"
#include "files/files.h"
#include "time.h"
#include "upcall.h"

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
