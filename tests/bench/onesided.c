/*
 * Benchmark of one-sided operations of 8 bytes by Portals, each completed before the next one: the
 * limit of MPI's calls of the same names, each with a flush (tests/bench/mpi.py). Rank 1 waits in a
 * barrier. One line per figure on stdout: NAME VALUE, in us.
 *
 *   onesided ROUNDS    put_us (with an ack), get_us, fetch_and_op_us, accumulate_us
 */
#include "../../apps/job.h"

enum { PORTAL = 1, BYTES = sizeof(uint64_t) };

static struct job job;
static ptl_handle_md_t local;
static ptl_process_id_t peer;
static uint64_t memory[3];      /* value, result, target */

static int put(void)
{
	return PtlPutRegion(local, 0, BYTES, PTL_ACK_REQ, peer, PORTAL, 0, 0, 0, 0);
}

static int get(void)
{
	return PtlGetRegion(local, BYTES, BYTES, peer, PORTAL, 0, 0, 0);
}

static int fetch_and_op(void)
{
	return PtlFetchAtomic(local, BYTES, local, 0, BYTES, peer, PORTAL, 0, 0, 0, 0, PTL_SUM,
	                      PTL_UINT64_T);
}

static int accumulate(void)
{
	return PtlAtomic(local, 0, BYTES, PTL_ACK_REQ, peer, PORTAL, 0, 0, 0, 0, PTL_SUM,
	                 PTL_UINT64_T);
}

/* Wait until the target has carried out the operation. */
static void await(ptl_handle_eq_t eq)
{
	ptl_event_t event;

	do
		event = job_good_event(eq);
	while (event.type != PTL_EVENT_ACK && event.type != PTL_EVENT_REPLY_END);
}

static void measure(const char *name, int (*start)(void), ptl_handle_eq_t eq, long rounds)
{
	struct timespec begin, end;

	for (long i = -rounds / 10; i < rounds; i++) {
		if (i == 0)
			clock_gettime(CLOCK_MONOTONIC, &begin);
		job_check(start(), name);
		await(eq);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%s %.4f\n", name, ((end.tv_sec - begin.tv_sec) * 1e6 +
	                           (end.tv_nsec - begin.tv_nsec) * 1e-3) / rounds);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*start)(void);
	} all[] = {
		{ "put_us", put }, { "get_us", get }, { "fetch_and_op_us", fetch_and_op },
		{ "accumulate_us", accumulate },
	};
	long rounds = argc == 2 ? atol(argv[1]) : 0;
	ptl_handle_eq_t eq;

	job_start(&job);
	if (job.size != 2 || rounds < 10)
		return fprintf(stderr, "onesided: needs 2 ranks and 10 rounds or more\n"), 2;
	peer = margay_process(1 - job.rank);
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_check(PtlMDBind(job.ni, job_memory(memory, 2 * BYTES, PTL_MD_EVENT_START_DISABLE, eq),
	                    PTL_RETAIN, &local), "PtlMDBind");
	job_expose(&job, PORTAL, 0, job_memory(&memory[2], BYTES, PTL_MD_OP_PUT | PTL_MD_OP_GET |
	           PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, PTL_EQ_NONE), PTL_RETAIN);
	job_barrier(&job);
	for (unsigned i = 0; job.rank == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		measure(all[i].name, all[i].start, eq, rounds);
	job_barrier(&job);
	return 0;
}
