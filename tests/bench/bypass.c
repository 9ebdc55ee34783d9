/*
 * Benchmark of application bypass: the experiment of section 5.3 of the Portals paper
 * (figures 5 and 6), with puts. Two ranks, each of which works.
 *
 *   bypass SIZE REPEATS WORK...
 *
 * attaches entries for ten messages of SIZE bytes, enters a barrier, puts ten to the other rank,
 * works for WORK ms without a call, and then waits for its ten and for the end of its own puts. The
 * work is a fixed number of loop iterations, which take WORK ms on a quiet network; it is measured
 * alone before each repetition. One line per figure on stdout, the medians of rank 0:
 *
 *   wait_WORK VALUE     ms to wait after the work
 *   post_WORK VALUE     ms in the ten calls of PtlPut
 *   extra_WORK VALUE    ms of everything from the first put on, minus the work alone
 *
 * In the paper one rank works, and the other waits; here no rank waits in a call that could
 * move the messages.
 */
#include <string.h>

#include "../../apps/job.h"

enum { PORTAL = 1, MESSAGES = 10, MOST_SIZE = 1 << 20, MOST_REPEATS = 101, WARM = 2 };

static char out[MESSAGES][MOST_SIZE], in[MESSAGES][MOST_SIZE];
static struct job job;
static ptl_handle_eq_t eq_out, eq_in;

/* Loop iterations that the compiler cannot remove. */
static void work(uint64_t turns)
{
	uint64_t x = turns;

	for (uint64_t i = 0; i < turns; i++)
		__asm__ volatile("imul $3, %0, %0" : "+r"(x));
}

static uint64_t turns_per_ms(void)
{
	enum { TURNS = 20000000 };
	double start = job_seconds();

	work(TURNS);
	return (uint64_t)(TURNS / ((job_seconds() - start) * 1e3));
}

/* The byte that fills message `m` of repetition `i` from this rank. */
static int filling(int i, int m, int rank)
{
	return (i * 31 + m * 3 + rank + 1) & 0xff;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what, const char *ms, double *samples, int n)
{
	qsort(samples, n, sizeof(*samples), by_value);
	printf("%s_%s %.4f\n", what, ms, samples[n / 2] * 1e3);
}

static void wait_for(ptl_handle_eq_t eq, int events)
{
	while (events--)
		job_good_event(eq);
}

static void check(int i, size_t size)
{
	for (int m = 0; m < MESSAGES; m++) {
		char right = (char)filling(i, m, !job.rank);

		if (in[m][0] != right || in[m][size / 2] != right || in[m][size - 1] != right) {
			fprintf(stderr, "bypass: message %d is not what was sent\n", m);
			exit(1);
		}
	}
}

static void experiment(size_t size, int repeats, const char *ms, uint64_t turns)
{
	static double waits[MOST_REPEATS], posts[MOST_REPEATS], extras[MOST_REPEATS];
	ptl_process_id_t peer = margay_process(!job.rank);
	ptl_handle_md_t md[MESSAGES];

	for (int m = 0; m < MESSAGES; m++)
		job_check(PtlMDBind(job.ni, job_memory(out[m], size, PTL_MD_EVENT_START_DISABLE,
		                                       eq_out), PTL_RETAIN, &md[m]), "PtlMDBind");
	for (int i = 0; i < WARM + repeats; i++) {
		double t0, t1, t2, t3, alone;
		int at = i < WARM ? 0 : i - WARM;

		for (int m = 0; m < MESSAGES; m++) {
			ptl_md_t memory = job_memory(in[m], size, PTL_MD_OP_PUT |
			                             PTL_MD_EVENT_START_DISABLE, eq_in);

			memory.threshold = 1;
			memset(out[m], filling(i, m, job.rank), size);
			job_expose(&job, PORTAL, m, memory, PTL_UNLINK);
		}
		alone = job_seconds();
		work(turns);
		alone = job_seconds() - alone;
		job_barrier(&job);
		t0 = job_seconds();
		for (int m = 0; m < MESSAGES; m++)
			job_check(PtlPut(md[m], PTL_NOACK_REQ, peer, PORTAL, 0, m, 0, 0), "PtlPut");
		t1 = job_seconds();
		work(turns);
		t2 = job_seconds();
		wait_for(eq_in, 2 * MESSAGES);     /* PUT_END and UNLINK */
		wait_for(eq_out, MESSAGES);        /* SEND_END */
		t3 = job_seconds();
		check(i, size);
		waits[at] = t3 - t2, posts[at] = t1 - t0, extras[at] = t3 - t0 - alone;
		job_barrier(&job);
	}
	for (int m = 0; m < MESSAGES; m++)
		job_check(PtlMDUnlink(md[m]), "PtlMDUnlink");
	if (job.rank == 0) {
		say("wait", ms, waits, repeats);
		say("post", ms, posts, repeats);
		say("extra", ms, extras, repeats);
	}
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], 0, 10) : 0;
	int repeats = argc > 2 ? atoi(argv[2]) : 0;
	uint64_t per_ms;

	job_start(&job);
	if (job.size != 2 || argc < 4 || size < 1 || size > MOST_SIZE || repeats < 1 ||
	    repeats > MOST_REPEATS)
		return fprintf(stderr, "bypass: SIZE REPEATS WORK..., on 2 ranks\n"), 2;
	job_check(PtlEQAlloc(job.ni, 4 * MESSAGES, PTL_EQ_HANDLER_NONE, &eq_in), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 4 * MESSAGES, PTL_EQ_HANDLER_NONE, &eq_out), "PtlEQAlloc");
	job_barrier(&job);
	per_ms = turns_per_ms();
	for (int w = 3; w < argc; w++)
		experiment(size, repeats, argv[w], per_ms * strtoul(argv[w], 0, 10));
	job_end(&job);
	return 0;
}
