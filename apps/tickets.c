/*
 * tickets [PIECES]: counters that all ranks share, without a server.
 *
 *     tools/margay run -n 4 build/apps/tickets.elf 1000
 *
 * Rank 0 exposes two counters. Each rank draws tickets from the first one by PtlFetchAtomic until
 * they are used up: a ticket is a piece of work, and none is drawn twice. Then it adds its result
 * to the second one by PtlAtomic. Rank 0 takes part like the others. A handler, which interrupts
 * its work, counts the ranks that have finished.
 */
#include "job.h"

enum { COUNTER_PORTAL = 4, NEXT_BITS = 1, SUM_BITS = 2 };

static int64_t next;                           /* next ticket */
static int64_t sum;                            /* sum of all finished pieces */
static volatile int finished;                  /* ranks, as the handler counts them */

/* Called for every event of its queue, in order, wherever the program is. */
static void on_event(ptl_event_t *event)
{
	if (event->type == PTL_EVENT_PUT_END)
		finished++;
}

/* Drawing a ticket both reads and writes the counter, and records no event; a rank's sum records
 * one. */
static void expose_counters(struct job *job)
{
	unsigned options = PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	ptl_handle_eq_t eq;

	job_check(PtlEQAlloc(job->ni, 64, on_event, &eq), "PtlEQAlloc");
	job_expose(job, COUNTER_PORTAL, NEXT_BITS,
	           job_memory(&next, sizeof next, options | PTL_MD_OP_PUT | PTL_MD_OP_GET,
	                      PTL_EQ_NONE), PTL_RETAIN);
	job_expose(job, COUNTER_PORTAL, SUM_BITS,
	           job_memory(&sum, sizeof sum, options | PTL_MD_OP_PUT, eq), PTL_RETAIN);
}

/* The next ticket: adds 1 to the counter, and returns its old value. */
static int64_t draw(ptl_handle_md_t one, ptl_handle_md_t ticket, ptl_handle_eq_t eq,
                    const int64_t *drawn)
{
	job_check(PtlFetchAtomic(ticket, 0, one, 0, sizeof(int64_t), margay_process(0),
	                         COUNTER_PORTAL, 0, NEXT_BITS, 0, 0, PTL_SUM, PTL_INT64_T),
	          "PtlFetchAtomic");
	while (job_good_event(eq).type != PTL_EVENT_REPLY_END)
		;
	return *drawn;
}

int main(int argc, char *argv[])
{
	int64_t pieces = argc > 1 ? atoi(argv[1]) : 100, one = 1, drawn, done = 0, ticket;
	ptl_handle_md_t one_md, drawn_md, done_md;
	ptl_handle_eq_t eq;
	struct job job;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 16, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_check(PtlMDBind(job.ni, job_memory(&one, sizeof one, PTL_MD_EVENT_START_DISABLE, eq),
	                    PTL_RETAIN, &one_md), "PtlMDBind");
	job_check(PtlMDBind(job.ni, job_memory(&drawn, sizeof drawn, PTL_MD_EVENT_START_DISABLE,
	                                       eq), PTL_RETAIN, &drawn_md), "PtlMDBind");
	job_check(PtlMDBind(job.ni, job_memory(&done, sizeof done, PTL_MD_EVENT_START_DISABLE, eq),
	                    PTL_RETAIN, &done_md), "PtlMDBind");
	if (job.rank == 0)
		expose_counters(&job);
	job_barrier(&job);
	while ((ticket = draw(one_md, drawn_md, eq, &drawn)) < pieces)
		done += ticket;                /* the work */
	job_check(PtlAtomic(done_md, 0, sizeof done, PTL_ACK_REQ, margay_process(0),
	                    COUNTER_PORTAL, 0, SUM_BITS, 0, 0, PTL_SUM, PTL_INT64_T), "PtlAtomic");
	while (job_good_event(eq).type != PTL_EVENT_ACK)
		;
	if (job.rank == 0) {
		while (finished < job.size)
			;                      /* the handler interrupts this */
		printf("tickets: %lld pieces, sum %lld, drawn %lld\n", (long long)pieces,
		       (long long)sum, (long long)next);
		if (sum != pieces * (pieces - 1) / 2 || next != pieces + job.size)
			return 1;
	}
	job_end(&job);
	return 0;
}
