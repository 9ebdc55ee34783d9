/*
 * Random numbers, from the processor's instruction or the clocks. No data.
 */
#include "random.h"

#include <stdbool.h>

#include "kernel/base/x86.h"
#include "time.h"

uint64_t random_number(void)
{
	uint64_t value;
	bool there = false;

	/* RDRAND fails while its source is drained, at most ten times in a row (Intel's manual,
	 * volume 1, 7.3.17.1). */
	for (int i = 0; i < 10 && !there && (cpuid(1, 0).ecx & CPUID1_ECX_RDRAND); i++)
		__asm__ volatile("rdrand %0" : "=r"(value), "=@ccc"(there));
	return there ? value : rdtsc() ^ wall_ns() << 24;
}
