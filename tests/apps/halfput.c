/*
 * halfput: rank 0 puts large blocks to rank 1 forever, and the test stops and kills it; rank 1
 * checks the events. A put that has begun in rank 1's memory must end there too, with PTL_NI_FAIL
 * if its initiator dies meanwhile.
 *
 * When the test has stopped rank 0 it makes the file "stopped1" (then 2, ...), and rank 1
 * answers with "1 under way" or "1 between": whether a put is pending. After the death of rank 0,
 * which rank 1 notices when a put to it fails, rank 1 prints "failed" (a put ended with a failure),
 * "between" (none was pending), "broken" (rank 0 held the lock of rank 1's block) or "hangs".
 */
#include "job.h"
#include <unistd.h>

enum { PT = 4, BYTES = 16 << 20, LOOK = 50, PATIENCE = 1000 /* ms */ };

static void send(struct job *job, char *block)
{
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;

	job_check(PtlEQAlloc(job->ni, 16, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_check(PtlMDBind(job->ni, job_memory(block, BYTES, PTL_MD_EVENT_START_DISABLE, eq),
	                    PTL_RETAIN, &md), "PtlMDBind");
	for (;;) {
		job_check(PtlPut(md, PTL_NOACK_REQ, margay_process(1), PT, 0, 1, 0, 0), "PtlPut");
		job_event(eq);
	}
}

/* Put to rank 0; *result tells whether it succeeded. Returns the result of the calls. */
static int ask(struct job *job, int *result)
{
	ptl_event_t event = { 0 };
	int rc = PtlPut(job->signal, PTL_ACK_REQ, margay_process(0), JOB_PORTAL, 0, 0, 0, 0);

	if (rc == PTL_OK)
		rc = PtlEQWait(job->eq, &event);
	*result = event.ni_fail_type;
	return rc;
}

/* The number of the newest file, 0 if there is none. */
static int newest(void)
{
	static int number;
	char name[32];

	do
		snprintf(name, sizeof name, "stopped%d", ++number);
	while (access(name, F_OK) == 0);
	return --number;
}

static const char *watch(struct job *job, ptl_handle_eq_t eq)
{
	ptl_event_t event = { .type = PTL_EVENT_PUT_END };
	int which, result = PTL_NI_OK, answered = 0;

	for (;;) {
		int is_dead = result != PTL_NI_OK, number = newest();
		int rc = PtlEQPoll(&eq, 1, is_dead ? PATIENCE : LOOK, &event, &which);
		int under_way = event.type == PTL_EVENT_PUT_START;

		if (rc == PTL_OK || rc == PTL_EQ_DROPPED) {
			if (event.ni_fail_type == PTL_NI_FAIL)
				return "failed";
			continue;
		}
		if (rc == PTL_EQ_EMPTY && is_dead)
			return under_way ? "hangs" : "between";
		if (rc == PTL_EQ_EMPTY && newest() > answered) {
			/* The file was there before the poll: rank 0 does nothing any more. */
			if (number == newest()) {
				printf("%d %s\n", answered = number,
				       under_way ? "under way" : "between");
				fflush(stdout);
			}
			continue;
		}
		if (rc != PTL_EQ_EMPTY || ask(job, &result) != PTL_OK)
			return "broken";
	}
}

int main(void)
{
	struct job job;
	ptl_handle_eq_t eq;
	char *block = calloc(1, BYTES);

	if (!block)
		return 1;
	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 1024, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_expose(&job, PT, 1, job_memory(block, BYTES, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq),
	           PTL_RETAIN);
	job_barrier(&job);
	puts("running");
	fflush(stdout);
	if (job.rank == 0)
		send(&job, block);
	puts(watch(&job, eq));
	return 0;
}
