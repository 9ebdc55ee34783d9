/*
 * Benchmark: interrupts that the kernel counts in a second of computing without messages. Prints
 * "quiet_interrupts_RANK N".
 */
#include <margay.h>
#include <margay/counters.h>
#include <stdio.h>
#include <time.h>

#include "measure.h"

int main(void)
{
	uint64_t before[COUNTER_COUNT], after[COUNTER_COUNT];
	double end = seconds() + 1;
	volatile unsigned work = 0;

	margay_counters(before, COUNTER_COUNT);
	while (seconds() < end)
		for (int i = 0; i < 1000; i++)
			work += i;
	margay_counters(after, COUNTER_COUNT);
	printf("quiet_interrupts_%d %lu\n", margay_rank(),
	       (unsigned long)(after[COUNTER_INTERRUPTS] - before[COUNTER_INTERRUPTS]));
	return 0;
}
