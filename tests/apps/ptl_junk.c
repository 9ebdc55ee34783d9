/*
 * ptl_junk ROUNDS LENGTH: rank 1 puts long messages, in turn to a buffer that is never read and to memory
 * of its own at rank 0. The other ranks, rank 0 too, put messages of LENGTH bytes into the unread
 * buffer. The memory then holds what rank 1 has sent. Prints "ok junk".
 */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "job.h"

enum { PT = 4, JUNK, GOOD, BYTES = 300000, LONG_PUTS = 4, PUTS = 100, BURST = 20 };

static struct job job;
static ptl_handle_eq_t eq;
static unsigned char junk[BYTES], good[BYTES], out[BYTES];
static ptl_handle_md_t md;

static void put_long(void)
{
	for (unsigned i = 0; i < LONG_PUTS; i++)
		job_check(PtlPut(md, PTL_ACK_REQ, margay_process(0), PT, 0, i % 2 ? GOOD : JUNK, 0, 0),
		          "PtlPut");
	for (unsigned i = 0; i < LONG_PUTS; i++)
		EQUAL(job_good_event(eq).type, PTL_EVENT_ACK);
}

static void put_junk(uint64_t length)
{
	for (unsigned i = 0; i < PUTS * BURST; i++) {
		int ends = i % BURST == BURST - 1;

		job_check(PtlPutRegion(md, 0, length, ends ? PTL_ACK_REQ : PTL_NOACK_REQ,
		                       margay_process(0), PT, 0, JUNK,
		                       (uint64_t)rand() % (BYTES - length), 0), "PtlPutRegion");
		if (ends)
			EQUAL(job_good_event(eq).type, PTL_EVENT_ACK);
	}
}

int main(int argc, char **argv)
{
	const unsigned silent = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	const unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | silent;
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
	uint64_t length = argc > 2 ? (uint64_t)atoi(argv[2]) : 120;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_expose(&job, PT, JUNK, job_memory(junk, BYTES, options, eq), PTL_RETAIN);
	job_expose(&job, PT, GOOD, job_memory(good, BYTES, options, eq), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(out, BYTES, silent, eq), PTL_RETAIN, &md), "PtlMDBind");
	for (unsigned round = 0; round < rounds; round++) {
		memset(out, job.rank == 1 ? (int)(1 + round % 100) : 200, BYTES);
		job_check(PtlNIBarrier(job.ni), "PtlNIBarrier");
		if (job.rank == 1)
			put_long();
		else
			put_junk(length);
		job_check(PtlNIBarrier(job.ni), "PtlNIBarrier");
		for (unsigned i = 0; job.rank == 0 && i < BYTES; i++)
			EQUAL(good[i], 1 + round % 100);
	}
	if (job.rank == 0)
		puts("ok junk");
	job_end(&job);
	return 0;
}
