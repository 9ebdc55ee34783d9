/*
 * Switching the machine off: by QEMU's debug-exit device if the launcher added one, by ACPI, or
 * else by halting for ever, so that the output stays on the screen.
 */
#include "power.h"

#include "kernel/base/x86.h"
#include "kernel/console/console.h"
#include "kernel/loader/parameters.h"
#include "acpi.h"
#include "time.h"

/* QEMU stops its processors a moment after the write. */
#define POWER_OFF_NS 1000000000u

void halt_for_good(void)
{
	console_panic();
	console_line("halted; this machine may be switched off");
	cpu_stop();
}

void power_off(unsigned status)
{
	uint64_t end;

	if (parameters.exit_port)
		outl(parameters.exit_port, status);
	if (parameters.stay)
		halt_for_good();
	acpi_power_off();
	end = deadline_in(POWER_OFF_NS);
	while (now_ns() < end)
		cpu_relax();
	console_panic();
	console_line("this machine cannot switch itself off; halted");
	cpu_stop();
}
