/*
 * waits HOW: a rank that does nothing by itself, for the tests of signals and deaths. It prints
 * "rank R waits" and then, by HOW:
 *   event   waits for an event that never arrives
 *   alone   the same, without a barrier first
 *   sleep   sleeps for an hour
 *   spin    computes forever
 *   stdin   reads standard input
 */
#include "job.h"
#include <string.h>
#include <unistd.h>

static __attribute__((noinline)) void wait_for_event(int alone)
{
	struct job job;

	job_start(&job);
	if (!alone)
		job_barrier(&job);
	printf("rank %d waits\n", job.rank);
	fflush(stdout);
	job_event(job.eq);
}

static __attribute__((noinline)) void compute(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "event";
	char c;

	if (strcmp(how, "event") == 0 || strcmp(how, "alone") == 0)
		wait_for_event(strcmp(how, "alone") == 0);
	printf("rank %d waits\n", margay_rank());
	fflush(stdout);
	if (strcmp(how, "spin") == 0)
		compute();
	else if (strcmp(how, "stdin") == 0)
		return read(0, &c, 1) == 1 ? 1 : 0;
	else
		sleep(3600);
	return 0;
}
