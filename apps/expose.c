/*
 * expose: memory that other ranks write and read.
 *
 *     tools/margay run -n 4 build/apps/expose.elf
 *
 * Rank 0 exposes a table with a slot for each rank. Every rank puts its line into its slot, and
 * rank 0 waits until all have arrived. Then each rank gets the whole table, for which rank 0 makes
 * no call at all.
 */
#include "job.h"
#include <string.h>

enum { TABLE_PORTAL = 4, TABLE_BITS = 0x7ab1e, LINE = 32, RANKS = 64 };

static char table[RANKS][LINE];         /* rank 0's is the exposed one */
static char line[LINE];

/* Rank 0: a request that names portal and bits reaches the table, at the offset
 * that it names. The queue gets an event for each put, none for gets. */
static ptl_handle_eq_t expose(struct job *job)
{
	ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	ptl_handle_eq_t arrivals;
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md = {
		.start = table, .length = sizeof table, .threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
		           PTL_MD_EVENT_START_DISABLE,
	};

	job_check(PtlEQAlloc(job->ni, RANKS, PTL_EQ_HANDLER_NONE, &arrivals), "PtlEQAlloc");
	md.eq_handle = arrivals;
	job_check(PtlMEAttach(job->ni, TABLE_PORTAL, any_process, TABLE_BITS, 0, PTL_RETAIN,
	                      PTL_INS_AFTER, &me), "PtlMEAttach");
	job_check(PtlMDAttach(me, md, PTL_RETAIN, &handle), "PtlMDAttach");
	return arrivals;
}

/* Every rank: puts a line into its slot, and waits until it has arrived. */
static void fill_in(struct job *job, ptl_handle_eq_t own)
{
	ptl_handle_md_t md;

	snprintf(line, sizeof line, "rank %d was here", job->rank);
	job_check(PtlMDBind(job->ni, job_memory(line, sizeof line, PTL_MD_EVENT_START_DISABLE, own),
	                    PTL_RETAIN, &md), "PtlMDBind");
	job_check(PtlPut(md, PTL_ACK_REQ, margay_process(0), TABLE_PORTAL, 0, TABLE_BITS,
	                 (ptl_size_t)job->rank * LINE, 0), "PtlPut");
	while (job_good_event(own).type != PTL_EVENT_ACK)
		;                              /* SEND_END comes before: `line` may be reused */
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
}

/* Every rank: gets the whole table. Rank 0 gets it from itself, into other memory. */
static void read_back(struct job *job, ptl_handle_eq_t own)
{
	static char copy[RANKS][LINE];
	ptl_handle_md_t md;
	char expected[LINE];

	job_check(PtlMDBind(job->ni, job_memory(copy, (size_t)job->size * LINE,
	                                        PTL_MD_EVENT_START_DISABLE, own), PTL_RETAIN, &md),
	          "PtlMDBind");
	job_check(PtlGet(md, margay_process(0), TABLE_PORTAL, 0, TABLE_BITS, 0), "PtlGet");
	if (job_good_event(own).mlength != (ptl_size_t)job->size * LINE)
		exit(1);
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
	for (int rank = 0; rank < job->size; rank++) {
		snprintf(expected, sizeof expected, "rank %d was here", rank);
		if (strcmp(copy[rank], expected) != 0) {
			fprintf(stderr, "slot %d is \"%s\"\n", rank, copy[rank]);
			exit(1);
		}
	}
}

int main(void)
{
	struct job job;
	ptl_handle_eq_t arrivals = PTL_EQ_NONE, own;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 8, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	if (job.rank == 0)
		arrivals = expose(&job);
	job_barrier(&job);                     /* the table is exposed */
	fill_in(&job, own);
	for (int rank = 0; job.rank == 0 && rank < job.size; rank++)
		job_good_event(arrivals);      /* PUT_END: a line has arrived */
	job_barrier(&job);                     /* all lines have arrived */
	read_back(&job, own);
	job_barrier(&job);
	for (int rank = 0; job.rank == 0 && rank < job.size; rank++)
		printf("%s\n", table[rank]);
	job_end(&job);
	return 0;
}
