/*
 * quiet: the ranks pass a barrier and compute; then none sends anything. After the barrier's last
 * frames a node takes no interrupt at all: each must find half a second without one, within ten of
 * them. Prints "ok quiet" on rank 0.
 */
#include "check.h"
#include "job.h"
#include <margay/counters.h>

enum { PERIODS = 10 };

static uint64_t interrupts(void)
{
	uint64_t counters[COUNTER_COUNT];

	margay_counters(counters, COUNTER_COUNT);
	return counters[COUNTER_INTERRUPTS];
}

/* How many interrupts came while it computed for half a second. */
static uint64_t compute(void)
{
	uint64_t before = interrupts();
	double end = job_seconds() + 0.5;
	volatile unsigned work = 0;

	while (job_seconds() < end)
		for (int i = 0; i < 1000; i++)
			work += i;
	return interrupts() - before;
}

int main(void)
{
	struct job job;
	int periods = 0;

	job_start(&job);
	job_barrier(&job);
	while (compute() != 0)
		CHECK(++periods < PERIODS);
	job_barrier(&job);
	job_end(&job);
	if (job.rank == 0)
		puts("ok quiet");
	return 0;
}
