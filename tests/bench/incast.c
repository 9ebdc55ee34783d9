/*
 * Benchmark: all ranks but 0 put to rank 0 at once, each to its own place. One line per
 * figure on stdout: NAME VALUE.
 *
 *   incast SIZE COUNT    COUNT puts of SIZE bytes by each, at most 8 not yet confirmed:
 *                        MBps, the total at rank 0; slowest_share, the bytes per second of
 *                        the slowest rank divided by the mean of all ranks
 *
 * Before that each rank puts WARM times, also all at once, as an emulator translates code at its
 * first execution, in 16 nodes at once.
 */
#include "../../apps/job.h"

enum { PORTAL = 1, WINDOW = 8, WARM = 200, MOST_SIZE = 1 << 20, MOST_RANKS = 64 };

static char buffer[MOST_SIZE];
static struct job job;

static uint64_t speeds[MOST_RANKS];    /* at rank 0: of each rank, in bytes per second */

/* Puts, waits until all are confirmed, and returns the bytes per second. */
static uint64_t put_all(ptl_handle_md_t md, ptl_handle_eq_t eq, size_t size, long count)
{
	double start = job_seconds();

	for (long i = 0; i < count + WINDOW; i++) {
		if (i >= WINDOW)
			job_good_event(eq);
		if (i < count)
			job_check(PtlPut(md, PTL_ACK_REQ, margay_process(0), PORTAL, 0, job.rank, 0,
			                 0), "PtlPut");
	}
	return (uint64_t)(size * (double)count / (job_seconds() - start));
}

static ptl_handle_md_t bind(void *start, size_t bytes, ptl_handle_eq_t eq)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(start, bytes, PTL_MD_EVENT_START_DISABLE |
	                                       PTL_MD_EVENT_END_DISABLE, eq), PTL_RETAIN, &md),
	          "PtlMDBind");
	return md;
}

static void report(ptl_handle_eq_t eq, uint64_t speed)
{
	job_check(PtlPut(bind(&speed, sizeof(speed), eq), PTL_ACK_REQ, margay_process(0), PORTAL, 0,
	                 MOST_RANKS, job.rank * sizeof(speed), 0), "PtlPut");
	job_good_event(eq);
}

static void expose(uint64_t bits, void *start, size_t bytes)
{
	job_expose(&job, PORTAL, bits, job_memory(start, bytes, PTL_MD_OP_PUT |
	           PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
	           PTL_EQ_NONE), PTL_RETAIN);
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], 0, 10) : 0;
	long count = argc > 2 ? atol(argv[2]) : 0;
	ptl_handle_eq_t eq;
	ptl_handle_md_t md = PTL_INVALID_HANDLE;
	uint64_t speed = 0;
	double start, took;

	job_start(&job);
	if (job.size < 2 || size < 1 || size > MOST_SIZE || count < WINDOW)
		return fprintf(stderr, "incast: SIZE COUNT, on 2 ranks or more\n"), 2;
	if (job.rank == 0) {
		for (int rank = 1; rank < job.size; rank++) {
			char *place = malloc(size);

			if (!place)
				return fprintf(stderr, "incast: no memory (--mem)\n"), 1;
			expose(rank, place, size);
		}
		expose(MOST_RANKS, speeds, sizeof(speeds));
	} else {
		job_check(PtlEQAlloc(job.ni, 4 * WINDOW, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
		md = bind(buffer, size, eq);
	}
	job_barrier(&job);
	if (job.rank != 0)
		put_all(md, eq, size, WARM);
	job_barrier(&job);
	start = job_seconds();
	if (job.rank != 0)
		speed = put_all(md, eq, size, count);
	job_barrier(&job);
	took = job_seconds() - start;
	if (job.rank != 0)
		report(eq, speed);
	job_barrier(&job);
	if (job.rank == 0) {
		double slowest = 1e30, sum = 0;

		for (int rank = 1; rank < job.size; rank++) {
			sum += speeds[rank];
			if (speeds[rank] < slowest)
				slowest = speeds[rank];
		}
		printf("MBps %.2f\n", (job.size - 1) * (double)size * count / took / 1e6);
		printf("slowest_share %.3f\n", slowest * (job.size - 1) / sum);
	}
	job_end(&job);
	return 0;
}
