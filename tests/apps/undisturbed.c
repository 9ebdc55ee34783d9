/*
 * Rank 0 puts a thousand times into memory of rank 1 that records no events; rank 1 meanwhile waits
 * for another message, halted, and those puts must not wake it. It prints how many doorbells it
 * received.
 */
#include "job.h"
#include <margay/counters.h>

enum { PORTAL = 1, PUTS = 1000 };

int main(void)
{
	static char memory[64];
	uint64_t before[COUNTER_COUNT], after[COUNTER_COUNT];
	struct job job;

	job_start(&job);
	job_expose(&job, PORTAL, 0, job_memory(memory, sizeof(memory), PTL_MD_OP_PUT |
	                                       PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	job_barrier(&job);
	margay_counters(before, COUNTER_COUNT);
	if (job.rank == 0) {
		ptl_handle_md_t md;

		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);   /* rank 1 halts */
		job_check(PtlMDBind(job.ni, job_memory(memory, sizeof(memory), 0, PTL_EQ_NONE),
		                    PTL_RETAIN, &md), "PtlMDBind");
		for (int i = 0; i < PUTS; i++)
			job_check(PtlPut(md, PTL_NOACK_REQ, margay_process(1), PORTAL, 0, 0, 0, 0),
			          "PtlPut");
	}
	job_barrier(&job);
	margay_counters(after, COUNTER_COUNT);
	if (job.rank == 1)
		printf("bells %lu\n", (unsigned long)(after[COUNTER_BELLS_RECEIVED] -
		                                      before[COUNTER_BELLS_RECEIVED]));
	return 0;
}
