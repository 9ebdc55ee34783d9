/*
 * Under TCG, QEMU's emulator: make its translation cache (TLB) large. It starts with 256
 * entries, directly mapped, and doubles when a flush finds it nearly full; so
 * a kernel that never flushes would keep the small one, and two places that
 * are equal modulo 1 MiB would displace each other (docs/measurements.md, The
 * emulator's translation cache). Runs once, at boot. Does nothing anywhere else.
 */
#include "tcg_tlb.h"

#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "kernel/memory/memory.h"

#define ENTRIES_FIRST  256u
#define ENTRIES_WANTED 4096u       /* pages of 4 KiB: 16 MiB */

void tcg_tlb_grow(void)
{
	const volatile uint8_t *pages;

	if (cpu_hypervisor() != HYPERVISOR_TCG)
		return;
	pages = memory_repeat_page(ENTRIES_WANTED / 2);
	for (uint32_t entries = ENTRIES_FIRST; entries < ENTRIES_WANTED; entries *= 2) {
		for (uint32_t i = 0; i < entries; i++)
			(void)pages[i * PAGE_BYTES];
		WRITE_CR(3, READ_CR(3));
	}
}
