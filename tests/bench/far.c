/*
 * Benchmark of an 8-byte put to another node, for counting instructions: steps_far.py
 * steps through it. Rank 1 answers each put of rank 0 by one of its own, and between two
 * rounds it is quiet for so long that nothing is left to be acknowledged. The last
 * ROUNDS are not answered, so that an acknowledgement comes by itself.
 *
 * On rank 0, one line on stdout: insn_put_far VALUE, ticks of rdtsc from the call of
 * PtlPut to its return, the median: guest instructions under icount.
 */
#include <string.h>

#include "../../apps/job.h"

enum { PORTAL = 1, ROUNDS = 60, QUIET_NS = 2000000 };

static char out[8], in[8];

static uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static uint64_t samples[ROUNDS];
	ptl_process_id_t peer;
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	struct job job;

	job_start(&job);
	if (job.size != 2)
		return fprintf(stderr, "far: needs 2 ranks\n"), 2;
	peer = margay_process(!job.rank);
	job_check(PtlEQAlloc(job.ni, 4 * ROUNDS, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_check(PtlMDBind(job.ni, job_memory(out, sizeof(out), 0, PTL_EQ_NONE), PTL_RETAIN, &md),
	          "PtlMDBind");
	job_expose(&job, PORTAL, 0, job_memory(in, sizeof(in), PTL_MD_OP_PUT |
	           PTL_MD_EVENT_START_DISABLE | PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN);
	job_barrier(&job);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		uint64_t start, after;

		if (job.rank == 0) {
			nanosleep(&(struct timespec){ .tv_nsec = QUIET_NS }, NULL);
			start = ticks();
			job_check(PtlPut(md, PTL_NOACK_REQ, peer, PORTAL, 0, 0, 0, 0), "PtlPut");
			after = ticks();
			if (i < ROUNDS)
				samples[i] = after - start;
		}
		if (job.rank == 1 || i < ROUNDS)
			job_good_event(eq);
		if (job.rank == 1 && i < ROUNDS)
			job_check(PtlPut(md, PTL_NOACK_REQ, peer, PORTAL, 0, 0, 0, 0), "PtlPut");
	}
	qsort(samples, ROUNDS, sizeof(*samples), by_value);
	if (job.rank == 0)
		printf("insn_put_far %lu\n", (unsigned long)samples[ROUNDS / 2]);
	job_end(&job);
	return 0;
}
