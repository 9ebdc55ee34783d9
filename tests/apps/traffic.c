/*
 * traffic [ROUNDS FILE]: every rank puts to and gets from all others, in turn, small and large,
 * forever, or for ROUNDS rounds after FILE exists. Rank 0 prints "running" when all do so.
 *
 * Puts go to one memory, gets come from another one. At the end both must have brought all bytes.
 *
 * If an operation ends with PTL_NI_FAIL, a peer has died: the rank prints "rank R: peer P failed"
 * and exits with status 0, which a survivor must be able to do.
 */
#include "job.h"
#include <string.h>
#include <unistd.h>

enum { PT = 4, LARGE = 40000, SMALL = 64, LOOK = 16 /* rounds */ };

static struct job job;
static ptl_handle_eq_t own;
/* A peer that has exited discards a put, and the ack shows it. */
#define OPTIONS (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_DROPPED)

enum { BITS_IN = 1, BITS_SOURCE };
static char in[LARGE], out[LARGE];      /* what others put; what this rank puts */
static char source[LARGE], got[LARGE];  /* what others get; what this rank gets */

/* The next event of a queue; exits if the operation's peer is dead. */
static ptl_event_t next_event(ptl_handle_eq_t eq, int peer)
{
	ptl_event_t event = job_event(eq);

	if (event.ni_fail_type == PTL_NI_OK)
		return event;
	printf("rank %d: peer %d failed: %s\n", job.rank, peer, PtlEventKindStr(event.type));
	fflush(stdout);
	exit(0);
}

static void done(int peer)
{
	next_event(own, peer);
}

static ptl_handle_md_t bind(void *start, size_t bytes)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(start, bytes, OPTIONS, own),
	                    PTL_RETAIN, &md), "PtlMDBind");
	return md;
}

static void visit(int peer, ptl_handle_md_t put, ptl_handle_md_t get)
{
	job_check(PtlPut(put, PTL_ACK_REQ, margay_process(peer), PT, 0, BITS_IN, 0, 0),
	          "PtlPut");
	done(peer);      /* SEND_END */
	done(peer);      /* ACK */
	job_check(PtlGet(get, margay_process(peer), PT, 0, BITS_SOURCE, 0), "PtlGet");
	done(peer);      /* REPLY_END */
}

/* Before "running" all ranks have left the barrier, where a death would block them forever. */
static void say_running(void)
{
	const int left = sizeof job.arrived / sizeof job.arrived[0] - 1;

	if (job.rank) {
		ptl_event_t event;

		job_signal(&job, 0, left);
		while ((event = next_event(job.eq, 0)).type == PTL_EVENT_PUT_END)
			job.arrived[event.match_bits]++;   /* from ranks that have already passed */
		return;
	}
	while (job.arrived[left] < (unsigned)job.size - 1)
		job_take(&job, 0);
	puts("running");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *file = argc > 2 ? argv[2] : NULL;
	long last = file ? atol(argv[1]) : 0, round;
	ptl_handle_md_t put[2], get[2];
	int is_open = 1;               /* FILE does not exist yet */

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	job_expose(&job, PT, BITS_IN, job_memory(in, sizeof in, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
	           PTL_EQ_NONE), PTL_RETAIN);
	job_expose(&job, PT, BITS_SOURCE, job_memory(source, sizeof source, PTL_MD_OP_GET |
	           PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	for (int i = 0; i < 2; i++) {
		put[i] = bind(out, i ? SMALL : LARGE);
		get[i] = bind(got, i ? SMALL : LARGE);
	}
	memset(out, 'x', sizeof out);
	memset(source, 's', sizeof source);
	job_barrier(&job);
	say_running();
	for (round = 0; is_open || round < last; round++) {
		for (int step = 1; step < job.size; step++)
			visit((job.rank + step) % job.size, put[round % 8 != 0], get[round % 8 != 0]);
		if (is_open && file && round % LOOK == 0 && access(file, F_OK) == 0) {
			is_open = 0;
			last += round;
		}
	}
	job_end(&job);          /* others' puts have ended */
	if (memcmp(in, out, sizeof in) || memcmp(got, source, sizeof got)) {
		fprintf(stderr, "rank %d: wrong bytes\n", job.rank);
		return 1;
	}
	printf("rank %d: done\n", job.rank);
	return 0;
}
