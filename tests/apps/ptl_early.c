/*
 * ptl_early VICTIM: the test kills rank VICTIM during its boot or soon after; no other rank may
 * wait forever.
 *
 * Each of the others gets from the victim, with any result; enters barriers with all others until
 * one fails; and then puts to the victim with an ack, which must fail. Then it prints "through".
 */
#include "check.h"
#include "job.h"

enum { PT = 4 };

static struct job job;
static char bytes[64];

static ptl_handle_md_t bind(ptl_handle_eq_t eq, unsigned options)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(bytes, sizeof bytes, PTL_MD_EVENT_START_DISABLE | options, eq),
	                    PTL_RETAIN, &md), "PtlMDBind");
	return md;
}

/* The next event, and the only one of its operation. */
static ptl_event_t next(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t event = job_event(eq);

	EQUAL(event.type, kind);
	return event;
}

int main(int argc, char **argv)
{
	ptl_handle_eq_t eq;
	int victim, result;

	CHECK(argc == 2);
	victim = atoi(argv[1]);
	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	if (job.rank != victim) {
		job_check(PtlGet(bind(eq, 0), margay_process(victim), PT, 0, 1, 0), "PtlGet");
		next(eq, PTL_EVENT_REPLY_END);
	}
	do
		result = PtlNIBarrier(job.ni);
	while (result == PTL_OK);
	EQUAL(result, PTL_FAIL);
	job_check(PtlPut(bind(eq, PTL_MD_EVENT_END_DISABLE), PTL_ACK_REQ, margay_process(victim),
	                 PT, 0, 1, 0, 0), "PtlPut");
	EQUAL(next(eq, PTL_EVENT_ACK).ni_fail_type, PTL_NI_FAIL);
	puts("through");
	return 0;
}
