/*
 * The cost of a received byte. Rank 1 puts COUNT times SIZE bytes to rank 0, at most 8 unconfirmed;
 * rank 0 waits for the events. One line per figure on stdout: NAME VALUE.
 *
 *   received SIZE COUNT   busy_ns_per_byte: time at rank 0 that it was not halted, over the
 *                         bytes. With --icount a ns is an instruction: kernel, library
 *                         and looks for events together
 */
#include <margay/counters.h>

#include "../../apps/job.h"

enum { PORTAL = 1, WINDOW = 8, MOST_SIZE = 1 << 20 };

static _Alignas(4096) char buffer[MOST_SIZE];
static struct job job;

static double busy_ns(void)
{
	uint64_t counters[COUNTER_COUNT];

	margay_counters(counters, COUNTER_COUNT);
	return job_seconds() * 1e9 - (double)counters[COUNTER_HALTED_NS];
}

static void send_all(size_t size, long count, ptl_handle_eq_t eq)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(buffer, size, PTL_MD_EVENT_START_DISABLE |
	                                       PTL_MD_EVENT_END_DISABLE, eq), PTL_RETAIN, &md),
	          "PtlMDBind");
	for (long i = 0; i < count + WINDOW; i++) {
		if (i >= WINDOW)
			job_good_event(eq);
		if (i < count)
			job_check(PtlPut(md, PTL_ACK_REQ, margay_process(0), PORTAL, 0, 0, 0, 0),
			          "PtlPut");
	}
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], 0, 10) : 0;
	long count = argc > 2 ? atol(argv[2]) : 0;
	ptl_handle_eq_t eq;
	double start;

	job_start(&job);
	if (job.size != 2 || size < 1 || size > MOST_SIZE || count < WINDOW)
		return fprintf(stderr, "received: SIZE COUNT, on 2 ranks\n"), 2;
	job_check(PtlEQAlloc(job.ni, 1024, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	if (job.rank == 0)
		job_expose(&job, PORTAL, 0, job_memory(buffer, size, PTL_MD_OP_PUT |
		                                       PTL_MD_MANAGE_REMOTE |
		                                       PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN);
	start = busy_ns();   /* the first bytes may arrive before this rank has left the barrier */
	job_barrier(&job);
	if (job.rank == 0) {
		for (long i = 0; i < count; i++)
			job_good_event(eq);
		printf("busy_ns_per_byte %.4f\n", (busy_ns() - start) / ((double)size * (double)count));
	} else {
		send_all(size, count, eq);
	}
	job_barrier(&job);
	job_end(&job);
	return 0;
}
