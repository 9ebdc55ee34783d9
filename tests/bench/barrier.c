/*
 * Benchmark of PtlNIBarrier among all ranks: `barrier ROUNDS`. Ranks that wait for the last one
 * soon halt. Rank 0 prints "barrier_us", the time of one barrier.
 */
#include <stdlib.h>
#include <time.h>

#include "../../apps/job.h"
#include "measure.h"

enum { WARM = 10 };

static void barriers(ptl_handle_ni_t ni, unsigned long rounds)
{
	while (rounds--)
		job_check(PtlNIBarrier(ni), "PtlNIBarrier");
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	struct job job;
	double start;

	job_start(&job);
	barriers(job.ni, WARM);
	start = seconds() * 1e6;
	barriers(job.ni, rounds);
	if (job.rank == 0)
		printf("barrier_us %.3f\n", (seconds() * 1e6 - start) / rounds);
	barriers(job.ni, 1);
	return 0;
}
