/*
 * ptl_ends: the first and the last rank of a job communicate, whether the others exist or not: each
 * puts to the other until the other has an entry for it, and waits for the other's put.
 */
#include "check.h"
#include "job.h"

enum { PT = 4 };

int main(void)
{
	struct job job;
	ptl_handle_eq_t came;
	ptl_event_t event;
	ptl_handle_md_t from;
	uint64_t mine, theirs = 0;
	int other;

	job_start(&job);
	other = job.size - 1 - job.rank;
	mine = 1000 + job.rank;
	job_check(PtlEQAlloc(job.ni, 8, PTL_EQ_HANDLER_NONE, &came), "PtlEQAlloc");
	job_expose(&job, PT, 1, job_memory(&theirs, sizeof theirs, PTL_MD_OP_PUT | PTL_MD_OP_GET |
	           PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, came), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(&mine, sizeof mine, PTL_MD_EVENT_START_DISABLE,
	                                       job.eq), PTL_RETAIN, &from), "PtlMDBind");
	do {                                       /* a get is always answered */
		uint64_t probe;
		ptl_handle_md_t to;

		job_check(PtlMDBind(job.ni, job_memory(&probe, sizeof probe,
		          PTL_MD_EVENT_START_DISABLE, job.eq), PTL_UNLINK, &to), "PtlMDBind");
		job_check(PtlGet(to, margay_process(other), PT, 0, 1, 0), "PtlGet");
		event = job_event(job.eq);
		job_check(PtlMDUnlink(to), "PtlMDUnlink");
	} while (event.ni_fail_type == PTL_NI_DROPPED);
	EQUAL(event.ni_fail_type, PTL_NI_OK);
	job_check(PtlPut(from, PTL_NO_ACK_REQ, margay_process(other), PT, 0, 1, 0, 0), "PtlPut");
	do
		event = job_event(came);
	while (event.type != PTL_EVENT_PUT_END);
	EQUAL(theirs, 1000 + other);
	return 0;
}
