/*
 * ptl_forged DROPS: barriers of six ranks while tests/test_trust.py sends rank 0 BARRIER messages
 * in the name of rank 3. These two never send to each other: not in a barrier's rounds, and not
 * here. Before each barrier rank 0 and the others write its number into each other's memory, and
 * check it after the barrier. This goes on until rank 0 has dropped DROPS messages. Rank 0 prints
 * "barriers" first, and then "ok forged" with the number of dropped messages.
 */
#include <stdlib.h>
#include "check.h"
#include "job.h"

enum { PT = 4, RANKS = 6, SILENT = 3, PEERS = RANKS - 2, WORD = sizeof(uint64_t) };

static struct job job;
static ptl_handle_eq_t own;
static ptl_handle_md_t from;
static volatile uint64_t told[RANKS];  /* word r is written by rank r */
static uint64_t value;

static void tell(int rank)
{
	ptl_event_t event;

	EQUAL(PtlPut(from, PTL_ACK_REQ, margay_process(rank), PT, 0, 1, job.rank * WORD, 0), PTL_OK);
	do
		event = job_good_event(own);
	while (event.type != PTL_EVENT_ACK);
}

/* The highest bit of rank 0's word marks the last barrier. Returns whether this is it, except at
 * the silent rank. */
static int exchange(uint64_t number, int is_last)
{
	int peers[PEERS] = { job.rank ? 0 : 1, 2, 4, 5 };
	int count = job.rank == SILENT ? 0 : job.rank ? 1 : PEERS;

	value = number | (uint64_t)is_last << 63;
	for (int i = 0; i < count; i++)
		tell(peers[i]);
	EQUAL(PtlNIBarrier(job.ni), PTL_OK);
	for (int i = 0; i < count; i++)
		EQUAL(told[peers[i]] << 1 >> 1, number);
	if (job.rank)
		is_last = told[0] >> 63;
	EQUAL(PtlNIBarrier(job.ni), PTL_OK); /* all have checked */
	return is_last;
}

static uint64_t dropped(void)
{
	ptl_sr_value_t drops;

	EQUAL(PtlNIStatus(job.ni, PTL_SR_DROP_COUNT, &drops), PTL_OK);
	return drops;
}

/* Rank 2 tells the silent rank whether that was the last one. */
static int tell_silent(int is_over)
{
	value = (uint64_t)is_over;
	if (job.rank == 2)
		tell(SILENT);
	EQUAL(PtlNIBarrier(job.ni), PTL_OK);
	return job.rank == SILENT ? (int)told[2] : is_over;
}

int main(int argc, char **argv)
{
	uint64_t most = argc > 1 ? strtoul(argv[1], 0, 10) : 0, number = 0;
	int is_over;

	job_start(&job);
	EQUAL(job.size, RANKS);
	job_check(PtlEQAlloc(job.ni, 16, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	job_expose(&job, PT, 1, job_memory((void *)told, sizeof told, PTL_MD_OP_PUT |
	           PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(&value, WORD, PTL_MD_EVENT_START_DISABLE, own),
	                    PTL_RETAIN, &from), "PtlMDBind");
	EQUAL(PtlNIBarrier(job.ni), PTL_OK);
	if (job.rank == 0) {
		puts("barriers");
		fflush(stdout);
	}
	do {
		is_over = exchange(++number, job.rank == 0 && dropped() >= most);
	} while (!tell_silent(is_over));
	if (job.rank == 0)
		printf("ok forged, %lu dropped\n", (unsigned long)dropped());
	EQUAL(PtlNIBarrier(job.ni), PTL_OK);
	return 0;
}
