/*
 * Benchmark of an 8-byte put to another node, for counting instructions: steps_far.py
 * steps through it, and under icount it counts by itself. Rank 1 answers each put of rank 0
 * by one of its own, and between two rounds both are quiet for so long that nothing is left to
 * be acknowledged. The last ROUNDS are not answered, so that an acknowledgement comes by
 * itself.
 *
 * On rank 0, a line each on stdout, medians of ticks of rdtsc (guest instructions under
 * icount):
 *
 *   insn_put_far       from the call of PtlPut to its return
 *   insn_arrival_far   with `far arrivals` and --control poll: a poll of the card that takes
 *                      a frame, minus one that finds none
 */
#include <margay/abi.h>
#include <string.h>

#include "../../apps/job.h"
#include "measure.h"

enum { PORTAL = 1, ROUNDS = 60, QUIET_NS = 2000000, ANSWER_TICKS = 2000000 };

static char out[8], in[8];

static void say(const char *name, uint64_t *samples, int n)
{
	printf("%s %lu\n", name, (unsigned long)median(samples, (size_t)n));
}

/* Whether the queue has an event; the kernel polls the card first. */
static int kernel_looks(ptl_handle_eq_t eq)
{
	register unsigned long timeout __asm__("rdx") = 0;
	long rc;

	__asm__ volatile("syscall" : "=a"(rc) : "a"(SYS_EQ_WAIT), "D"(&eq), "S"(1UL), "r"(timeout)
	                 : "rcx", "r11", "memory");
	return rc == PTL_OK;
}

/* Computes until the answer must have arrived, then polls. Returns false if it had not, but
 * still waits for the event. (Sometimes a timer interrupt has handled the frame; the median
 * ignores that.) */
static int look(ptl_handle_eq_t eq, uint64_t *taken)
{
	uint64_t start = ticks(), none, found;
	int early, late;

	early = kernel_looks(eq);
	none = ticks() - start;
	while (ticks() - start < ANSWER_TICKS)
		;
	start = ticks();
	late = kernel_looks(eq);
	found = ticks() - start;
	job_good_event(eq);
	*taken = found - none;
	return !early && late && found > none;
}

int main(int argc, char **argv)
{
	static uint64_t samples[ROUNDS], arrivals[ROUNDS];
	int looks = argc > 1 && strcmp(argv[1], "arrivals") == 0, arrived = 0;
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
		if (job.rank == 0 && i < ROUNDS && looks)
			arrived += look(eq, &arrivals[arrived]);
		else if (job.rank == 1 || i < ROUNDS)
			job_good_event(eq);
		if (job.rank == 1 && i < ROUNDS)
			job_check(PtlPut(md, PTL_NOACK_REQ, peer, PORTAL, 0, 0, 0, 0), "PtlPut");
	}
	if (job.rank == 0)
		say("insn_put_far", samples, ROUNDS);
	if (job.rank == 0 && arrived)
		say("insn_arrival_far", arrivals, arrived);
	job_end(&job);
	return 0;
}
