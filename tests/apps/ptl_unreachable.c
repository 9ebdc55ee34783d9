/*
 * A put to rank 1 of a job of two without a link, and one to a rank that does not exist. Prints
 * what the calls return and which events come.
 */
#include "job.h"

static void put_to(struct job *job, ptl_handle_md_t md, ptl_nid_t nid)
{
	ptl_process_id_t target = { .nid = nid, .pid = 1 };
	ptl_event_t event;

	printf("to %u: %s\n", (unsigned)nid,
	       PtlErrorStr(PtlPut(md, PTL_ACK_REQ, target, 3, 0, 0, 0, 0)));
	while (PtlEQGet(job->eq, &event) == PTL_OK)
		printf("%s fail %u\n", PtlEventKindStr(event.type), (unsigned)event.ni_fail_type);
}

int main(void)
{
	static char byte;
	struct job job;
	ptl_handle_md_t md;

	job_start(&job);
	job_check(PtlMDBind(job.ni, job_memory(&byte, 1, PTL_MD_EVENT_START_DISABLE, job.eq),
	                    PTL_RETAIN, &md), "PtlMDBind");
	put_to(&job, md, 1);
	put_to(&job, md, 70);
	return 0;
}
