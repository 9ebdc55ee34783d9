/*
 * Benchmark of event handlers. One line per figure on stdout: NAME VALUE.
 *
 *   upcall instructions   one node, to oneself, under icount; ticks of rdtsc are
 *                         guest instructions: from PtlPut's call to the handler's first
 *                         instruction, and from there to PtlPut's return
 *   upcall computing      two nodes: from a put to the handler of a node that
 *                         computes, half of a round trip of handlers
 *   upcall asleep         the same while both wait, halted
 */
#include <string.h>

#include "../../apps/job.h"
#include "measure.h"

enum { PORTAL = 1, ROUNDS = 101, TRIPS = 500 };

static struct job job;
static ptl_handle_md_t md;
static volatile uint64_t entered;      /* ticks at the handler's first instruction */
static volatile uint64_t trips;

static void open_queue(ptl_eq_handler_t handler)
{
	static char in[8], out[8];
	ptl_handle_eq_t eq;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 64, handler, &eq), "PtlEQAlloc");
	job_expose(&job, PORTAL, 0, job_memory(in, sizeof(in), PTL_MD_OP_PUT |
	           PTL_MD_EVENT_START_DISABLE | PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(out, sizeof(out), 0, PTL_EQ_NONE), PTL_RETAIN, &md),
	          "PtlMDBind");
}

static void put_to(int rank)
{
	job_check(PtlPut(md, PTL_NOACK_REQ, margay_process(rank), PORTAL, 0, 0, 0, 0), "PtlPut");
}

static void note_entry(ptl_event_t *event)
{
	(void)event;
	entered = ticks();
}

static void instructions(void)
{
	static uint64_t to[ROUNDS], back[ROUNDS];

	open_queue(note_entry);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = ticks();

		put_to(0);
		back[i] = ticks() - entered;
		to[i] = entered - start;
	}
	printf("insn_upcall_to %lu\n", (unsigned long)median(to, ROUNDS));
	printf("insn_upcall_back %lu\n", (unsigned long)median(back, ROUNDS));
}

static void answer(ptl_event_t *event)
{
	(void)event;
	trips++;
	if (job.rank == 1 || trips < TRIPS)
		put_to(1 - job.rank);
}

static void round_trips(int asleep)
{
	double start;

	open_queue(answer);
	job_barrier(&job);
	start = job_seconds();
	if (job.rank == 0)
		put_to(1);
	while (trips < TRIPS)
		if (asleep)
			nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	if (job.rank == 0)
		printf("upcall_%s_us %.1f\n", asleep ? "asleep" : "computing",
		       (job_seconds() - start) / TRIPS / 2 * 1e6);
	job_end(&job);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "instructions") == 0)
		instructions();
	else
		round_trips(argc > 1 && strcmp(argv[1], "asleep") == 0);
	return 0;
}
