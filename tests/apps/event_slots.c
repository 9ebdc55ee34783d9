/*
 * event_slots: a program that asks for 32768 event slots. Each rank prints their number and
 * PTL_SR_INLINE, "N slots, B bytes" (-1: any number), fills a queue of half as many slots at the
 * next rank, and finds all events in its own.
 */
#include "ptl.h"

MARGAY_EVENT_SLOTS(32768);

int main(void)
{
	static char memory_[8];
	struct job job;
	ptl_handle_eq_t eq, more;
	ptl_handle_md_t md;
	ptl_sr_value_t slots, most;
	ptl_event_t event;
	ptl_md_t in;

	job_start(&job);
	EQUAL(PtlNIStatus(job.ni, PTL_SR_EVENT_SLOTS, &slots), PTL_OK);
	EQUAL(PtlEQAlloc(job.ni, slots + 1, PTL_EQ_HANDLER_NONE, &eq), PTL_NO_SPACE);
	EQUAL(PtlNIStatus(job.ni, PTL_SR_INLINE, &most), PTL_OK);
	printf("%lu slots, %ld bytes\n", (unsigned long)slots, (long)most);
	slots /= 2;                    /* the job's own queue uses some */
	while (slots & (slots - 1))
		slots &= slots - 1;    /* sizes of queues are powers of two */
	EQUAL(PtlEQAlloc(job.ni, slots, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	EQUAL(PtlEQAlloc(job.ni, slots, PTL_EQ_HANDLER_NONE, &more), PTL_NO_SPACE);
	in = memory(memory_, sizeof memory_, PTL_MD_THRESH_INF,
	            PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq);
	job_expose(&job, PT, 1, in, PTL_RETAIN);
	job_barrier(&job);
	in.eq_handle = PTL_EQ_NONE;
	EQUAL(PtlMDBind(job.ni, in, PTL_RETAIN, &md), PTL_OK);
	for (uint64_t i = 0; i < slots; i++)
		EQUAL(PtlPut(md, PTL_NO_ACK_REQ, margay_process((job.rank + 1) % job.size), PT, 0, 1, 0,
		             i + 1), PTL_OK);
	for (uint64_t i = 0; i < slots; i++) {
		EQUAL(PtlEQWait(eq, &event), PTL_OK);
		EQUAL(event.hdr_data, i + 1);
	}
	job_end(&job);
	return 0;
}
