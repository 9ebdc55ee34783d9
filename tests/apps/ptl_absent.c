/*
 * ptl_absent: rank 0 of two machines, of which the other is never switched on. All messages to it
 * fail, including more than can be pending at once; no call waits forever, and operations that
 * PtlMDUnlink waits for have ended when it returns. Prints "ok".
 */
#include "check.h"
#include "job.h"

enum { PUTS = 40, LONG = 100000 };

int main(void)
{
	static char bytes[LONG];
	unsigned options = PTL_MD_EVENT_START_DISABLE;
	struct job job;
	ptl_handle_md_t md, last;
	ptl_handle_eq_t eq;
	ptl_sr_value_t failed;
	ptl_event_t event;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 2 * PUTS, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_check(PtlMDBind(job.ni, job_memory(bytes, 1, options, eq), PTL_RETAIN, &md), "PtlMDBind");
	job_check(PtlMDBind(job.ni, job_memory(bytes, LONG, options, eq), PTL_RETAIN, &last),
	          "PtlMDBind");
	for (int i = 0; i < PUTS - 1; i++)
		job_check(PtlPut(md, PTL_NO_ACK_REQ, margay_process(1), 3, 0, 0, 0, 0), "PtlPut");
	job_check(PtlPut(last, PTL_NO_ACK_REQ, margay_process(1), 3, 0, 0, 0, 0), "PtlPut");
	job_check(PtlMDUnlink(last), "PtlMDUnlink");
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
	for (int i = 0; i < PUTS; i++) {
		EQUAL(PtlEQGet(eq, &event), PTL_OK);
		EQUAL(event.type, PTL_EVENT_SEND_END);
		/* A short put's payload was read within the call; its failure is counted. */
		EQUAL(event.ni_fail_type, i < PUTS - 1 ? PTL_NI_OK : PTL_NI_FAIL);
	}
	job_check(PtlNIStatus(job.ni, PTL_SR_FAILED, &failed), "PtlNIStatus");
	EQUAL(failed, PUTS);
	EQUAL(PtlNIBarrier(job.ni), PTL_FAIL);
	job_check(PtlNIFini(job.ni), "PtlNIFini");
	puts("ok");
	return 0;
}
