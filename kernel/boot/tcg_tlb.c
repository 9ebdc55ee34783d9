/*
 * For QEMU's emulator, TCG: makes its translation caches (TLB) large. They start with 256 entries,
 * directly mapped, and double when a flush finds them nearly full. A kernel that never flushes
 * would keep the small ones, and two addresses equal modulo 1 MiB would evict each other
 * (docs/measurements.md, The emulator's translation cache). Kernel and application have a cache
 * each: this file grows the kernel's at boot, and crt0 the application's, with the page that it
 * gets from here. Does nothing on other machines.
 */
#include "tcg_tlb.h"

#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "kernel/memory/memory.h"

#define ENTRIES_FIRST  256u
#define ENTRIES_WANTED 4096u       /* pages of 4 KiB: 16 MiB */

uint64_t tcg_tlb_pages(void)
{
	return cpu_hypervisor() == HYPERVISOR_TCG ? ENTRIES_WANTED / 2 : 0;
}

void tcg_tlb_grow(void)
{
	const volatile uint8_t *pages;

	if (!tcg_tlb_pages())
		return;
	pages = memory_repeat_page(tcg_tlb_pages());
	for (uint32_t entries = ENTRIES_FIRST; entries < ENTRIES_WANTED; entries *= 2) {
		for (uint32_t i = 0; i < entries; i++)
			(void)pages[i * PAGE_BYTES];
		WRITE_CR(3, READ_CR(3));
	}
}
