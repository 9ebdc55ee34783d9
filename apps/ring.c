/*
 * ring LAPS: a token goes around all ranks and is incremented at every step.
 *
 *     tools/margay run -n 4 build/apps/ring.elf 1000
 *
 * Each rank exposes one word of memory for the token. Receiving means waiting for the PUT_END event
 * of that memory: by then the sender's kernel has put the token there. Every rank checks the value;
 * rank 0 prints the result. A job of one rank sends the token to itself.
 */
#include "job.h"

enum { TOKEN_PORTAL = 4, TOKEN_BITS = 0x70 };

struct ring {
	struct job job;
	ptl_handle_eq_t eq;       /* events of `token` and `out` */
	ptl_handle_md_t out_md;   /* sends `out` */
	uint64_t token;           /* written by the rank before */
	uint64_t out;             /* what this rank passes on */
};

/* PTL_MD_MANAGE_REMOTE: every put names its offset, 0, so each replaces the last. */
static void ring_open(struct ring *ring)
{
	struct job *job = &ring->job;

	job_start(job);
	job_check(PtlEQAlloc(job->ni, 16, PTL_EQ_HANDLER_NONE, &ring->eq), "PtlEQAlloc");
	job_expose(job, TOKEN_PORTAL, TOKEN_BITS,
	           job_memory(&ring->token, sizeof ring->token, PTL_MD_OP_PUT |
	                      PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, ring->eq),
	           PTL_RETAIN);
	job_check(PtlMDBind(job->ni, job_memory(&ring->out, sizeof ring->out,
	                                        PTL_MD_EVENT_START_DISABLE, ring->eq),
	                    PTL_RETAIN, &ring->out_md), "PtlMDBind");
	job_barrier(job);
}

static void pass(struct ring *ring, uint64_t value)
{
	ptl_process_id_t next = margay_process((ring->job.rank + 1) % ring->job.size);

	ring->out = value;
	job_check(PtlPut(ring->out_md, PTL_NOACK_REQ, next, TOKEN_PORTAL, 0, TOKEN_BITS, 0, 0),
	          "PtlPut");
}

/* Waits for the token; the SEND_END of our own put may come in between. */
static uint64_t receive(struct ring *ring)
{
	while (job_good_event(ring->eq).type != PTL_EVENT_PUT_END)
		;
	return ring->token;
}

/* One rank's part: the token's value is the number of steps that it has made. */
static void run(struct ring *ring, long laps)
{
	int rank = ring->job.rank, size = ring->job.size;

	if (rank == 0)
		pass(ring, 1);
	for (long lap = 0; lap < laps; lap++) {
		uint64_t wanted = (uint64_t)lap * size + (rank ? rank : size);
		uint64_t token = receive(ring);

		if (token != wanted) {
			fprintf(stderr, "ring: rank %d got %llu in lap %ld instead of %llu\n", rank,
			        (unsigned long long)token, lap, (unsigned long long)wanted);
			exit(1);
		}
		if (rank || lap + 1 < laps)
			pass(ring, token + 1);
	}
}

int main(int argc, char **argv)
{
	static struct ring ring;
	char *end = "";
	long laps = argc == 2 ? strtol(argv[1], &end, 10) : 0;
	double start;

	if (laps < 1 || *end) {
		if (margay_rank() == 0)
			fprintf(stderr, "usage: ring LAPS (1 or more)\n");
		return 2;
	}
	ring_open(&ring);
	start = job_seconds();
	run(&ring, laps);
	if (ring.job.rank == 0)
		printf("ring: %ld laps over %d ranks, %ld steps, %.2f us each\n", laps, ring.job.size,
		       laps * ring.job.size,
		       (job_seconds() - start) * 1e6 / laps / ring.job.size);
	job_end(&ring.job);
	return 0;
}
