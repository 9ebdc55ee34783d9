/*
 * ptl_trust DROPS: rank 0 of three starts five operations at rank 1 at a time, repeatedly, until
 * DROPS unexpected answers were dropped: tests/test_trust.py sends them in the name of rank 2,
 * which is silent. Whatever they claim, each operation ends once, with the bytes that rank 1 has.
 * Prints "ok trust" and how many were dropped.
 */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "job.h"

#define TEXT "what is sent: it is const, so nothing may write here"

enum { PT = 4, SHORT = sizeof TEXT, LONG = 1000, WORD = 8 };
enum op { PUT, ADD, GET, GET_LONG, SWAP, OPS };

static const char sent[SHORT] = TEXT;
static char table[LONG], sink[SHORT], got[LONG], got_long[LONG];
static uint64_t counter, word = 1, one = 1, next_word, last_word;
static struct job job;
static ptl_handle_eq_t own;
static ptl_handle_md_t from, adds, to, to_long, word_out, word_in;

static char byte_of(int i)
{
	return (char)(i * 7 + i / 251);
}

static ptl_handle_md_t bind(const void *start, size_t bytes, int op)
{
	ptl_md_t md = job_memory((void *)(uintptr_t)start, bytes, PTL_MD_EVENT_START_DISABLE, own);
	ptl_handle_md_t handle;

	md.user_ptr = (void *)(intptr_t)op;
	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), "PtlMDBind");
	return handle;
}

static void answer_others(void)
{
	unsigned silent = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE |
	                  PTL_MD_MANAGE_REMOTE | PTL_MD_OP_GET | PTL_MD_OP_PUT;

	for (int i = 0; i < LONG; i++)
		table[i] = byte_of(i);
	job_expose(&job, PT, GET, job_memory(table, LONG, silent, PTL_EQ_NONE), PTL_RETAIN);
	job_expose(&job, PT, PUT, job_memory(sink, SHORT, silent, PTL_EQ_NONE), PTL_RETAIN);
	job_expose(&job, PT, ADD, job_memory(&counter, WORD, silent, PTL_EQ_NONE), PTL_RETAIN);
	job_expose(&job, PT, SWAP, job_memory(&word, WORD, silent, PTL_EQ_NONE), PTL_RETAIN);
}

/* The five at once; then each of their events once, and the bytes. */
static void ask(uint64_t round)
{
	ptl_process_id_t rank1 = margay_process(1);
	int ends[OPS] = { 0 };
	ptl_event_t event;

	memset(got, 0, sizeof got);
	memset(got_long, 0, sizeof got_long);
	next_word = round + 2;
	EQUAL(PtlPut(from, PTL_ACK_REQ, rank1, PT, 0, PUT, 0, round), PTL_OK);
	EQUAL(PtlAtomic(adds, 0, WORD, PTL_ACK_REQ, rank1, PT, 0, ADD, 0, 0, PTL_SUM, PTL_UINT64_T),
	      PTL_OK);
	EQUAL(PtlGet(to, rank1, PT, 0, GET, 0), PTL_OK);
	EQUAL(PtlGet(to_long, rank1, PT, 0, GET, 0), PTL_OK);
	EQUAL(PtlGetPut(word_in, word_out, rank1, PT, 0, SWAP, 0, 0), PTL_OK);
	for (int left = OPS + 3; left > 0; left--) {
		enum op op;

		job_check(PtlEQWait(own, &event), "PtlEQWait");
		op = (enum op)(intptr_t)event.md.user_ptr;
		EQUAL(event.ni_fail_type, PTL_NI_OK);
		if (event.type == PTL_EVENT_SEND_END)
			continue;
		EQUAL(event.type, op <= ADD ? PTL_EVENT_ACK : PTL_EVENT_REPLY_END);
		EQUAL(event.initiator.nid, rank1.nid);
		EQUAL(event.mlength, op == PUT || op == GET ? SHORT : op == GET_LONG ? LONG : WORD);
		ends[op]++;
	}
	for (int op = 0; op < OPS; op++)
		EQUAL(ends[op], 1);
	EQUAL(PtlEQGet(own, &event), PTL_EQ_EMPTY);
	for (int i = 0; i < LONG; i++) {
		EQUAL(got_long[i], byte_of(i));
		EQUAL(got[i], i < SHORT ? byte_of(i) : 0);
	}
	EQUAL(last_word, round + 1);
	EQUAL(memcmp(sent, TEXT, SHORT), 0);
}

int main(int argc, char **argv)
{
	ptl_sr_value_t drops = 0;

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &own), "PtlEQAlloc");
	answer_others();
	from = bind(sent, SHORT, PUT);
	adds = bind(&one, WORD, ADD);
	to = bind(got, SHORT, GET);
	to_long = bind(got_long, LONG, GET_LONG);
	word_out = bind(&next_word, WORD, SWAP);
	word_in = bind(&last_word, WORD, SWAP);
	EQUAL(PtlNIBarrier(job.ni), PTL_OK);
	if (job.rank == 0) {
		puts("asks");
		fflush(stdout);
		for (uint64_t round = 0; drops < strtoul(argc > 1 ? argv[1] : "0", 0, 10); round++) {
			ask(round);
			job_check(PtlNIStatus(job.ni, PTL_SR_DROP_COUNT, &drops), "PtlNIStatus");
		}
		printf("ok trust, %lu dropped\n", (unsigned long)drops);
	}
	EQUAL(PtlNIBarrier(job.ni), PTL_OK);
	return 0;
}
