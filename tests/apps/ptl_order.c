/*
 * ptl_order ROUNDS: rank 0 puts to rank 1, long and short, with and without ack. Rank 1 puts back
 * as soon as it sees PUT_END, and rank 0 must see its own SEND_END before that put: no effect of a
 * message is visible before the message's SEND_END. All of rank 0's events are in one queue. Prints
 * "ok order" and how many puts came back.
 */
#include <stdlib.h>
#include "check.h"
#include "job.h"

enum { PT = 4, LONGEST = 1 << 20, EVENTS = 16 };

static const unsigned long sizes[] = { LONGEST, 65536, LONGEST, 4096, LONGEST, 200 };
static const unsigned long replies[] = { 0, 8, 64, 200, 20000 };
static struct job job;
static ptl_handle_eq_t eq;
static char out[LONGEST], in[LONGEST];

static ptl_handle_md_t bind(size_t bytes)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(out, bytes, PTL_MD_EVENT_START_DISABLE, eq),
	                    PTL_RETAIN, &md), "PtlMDBind");
	return md;
}

static void put(size_t bytes, ptl_ack_req_t ack)
{
	ptl_handle_md_t md = bind(bytes);
	int came_back = 0, acked = ack == PTL_NOACK_REQ;
	ptl_event_t event;

	job_check(PtlPut(md, ack, margay_process(1), PT, 0, 1, 0, 0), "PtlPut");
	event = job_good_event(eq);
	EQUAL(event.type, PTL_EVENT_SEND_END);
	EQUAL(event.mlength, bytes);
	while (!came_back || !acked) {
		event = job_good_event(eq);
		if (event.type == PTL_EVENT_ACK)
			EQUAL(acked++, 0);
		else
			EQUAL(event.type, PTL_EVENT_PUT_END);
		came_back += event.type == PTL_EVENT_PUT_END;
	}
	EQUAL(came_back, 1);
	job_check(PtlMDUnlink(md), "PtlMDUnlink");
}

/* The descriptors are made in advance, so that nothing delays the puts. */
static void put_back(unsigned rounds)
{
	enum { REPLIES = sizeof replies / sizeof *replies };
	ptl_handle_md_t md[REPLIES];
	ptl_event_t event;

	for (unsigned i = 0; i < REPLIES; i++)
		md[i] = bind(replies[i]);
	for (unsigned round = 0; round < rounds; round++) {
		do
			event = job_good_event(eq);
		while (event.type != PTL_EVENT_PUT_END);
		job_check(PtlPut(md[round % REPLIES], PTL_NOACK_REQ, margay_process(0), PT, 0, 1, 0, 0),
		          "PtlPut");
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, EVENTS, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_expose(&job, PT, 1, job_memory(in, LONGEST, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE |
	           PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN);
	EQUAL(PtlNIBarrier(job.ni), PTL_OK);
	if (job.rank == 1)
		put_back(2 * rounds);
	for (unsigned round = 0; job.rank == 0 && round < rounds; round++) {
		size_t bytes = sizes[round % (sizeof sizes / sizeof *sizes)];

		put(bytes, PTL_ACK_REQ);
		put(bytes, PTL_NOACK_REQ);
	}
	EQUAL(PtlNIBarrier(job.ni), PTL_OK);
	if (job.rank == 0)
		printf("ok order, %u puts\n", 2 * rounds);
	return 0;
}
