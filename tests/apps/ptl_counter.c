/*
 * ptl_counter ROUNDS: all ranks change words of rank 0 at once, only by atomic operations and
 * exchanges; no update may be lost, and no value seen twice.
 *
 *   tickets   PTL_SUM with fetch: each number of 0 to n - 1 is given out once
 *   sums      PTL_SUM without fetch, of neighbouring bytes, words and quads
 *   swaps     PTL_CSWAP until it succeeds
 *   lock      a lock by PtlGetPut around a get and a put of a plain word
 */
#include "check.h"
#include "job.h"
#include <stddef.h>
#include <string.h>

enum { PT = 4, OPTIONS = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE };

struct words {
	uint64_t ticket, lock, guarded, swapped;
	uint64_t quads[2];
	uint16_t halves[4];
	uint8_t  bytes[8];
	uint64_t canary;
};

static struct job job;
static ptl_handle_eq_t eq;
static struct words words;                        /* those at rank 0 count */
static uint64_t out[2], in;
static ptl_handle_md_t out_md, in_md;
static int rounds;

#define AT(field) offsetof(struct words, field)

static void wait_for(ptl_event_kind_t kind)
{
	ptl_event_t event = job_good_event(eq);

	EQUAL(event.type, kind);
	EQUAL(event.mlength, event.rlength);
}

static uint64_t fetch(ptl_size_t at, ptl_op_t operation, ptl_datatype_t type)
{
	EQUAL(PtlFetchAtomic(in_md, 0, out_md, 0, 8, margay_process(0), PT, 0, 1, at, 0, operation, type),
	      PTL_OK);
	wait_for(PTL_EVENT_REPLY_END);
	return in;
}

static void add(ptl_size_t at, ptl_size_t bytes, ptl_datatype_t type)
{
	EQUAL(PtlAtomic(out_md, 0, bytes, PTL_ACK_REQ, margay_process(0), PT, 0, 1, at, 0, PTL_SUM, type),
	      PTL_OK);
	wait_for(PTL_EVENT_ACK);
}

static void tickets(void)
{
	static uint64_t mine[1 << 16];
	static uint8_t given[1 << 20];
	ptl_md_t md = job_memory(given, sizeof given, OPTIONS | PTL_MD_EVENT_START_DISABLE |
	                         PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE);

	if (job.rank == 0)
		job_expose(&job, PT, 2, md, PTL_RETAIN);
	job_barrier(&job);
	out[0] = 1;
	for (int i = 0; i < rounds; i++) {
		mine[i] = fetch(AT(ticket), PTL_SUM, PTL_UINT64_T);
		CHECK(i == 0 || mine[i] > mine[i - 1]);
	}
	for (int i = 0; i < rounds; i++) {
		EQUAL(PtlAtomic(out_md, 0, 1, PTL_ACK_REQ, margay_process(0), PT, 0, 2, mine[i], 0, PTL_SUM,
		                PTL_UINT8_T), PTL_OK);
		wait_for(PTL_EVENT_ACK);
	}
	job_barrier(&job);
	if (job.rank == 0) {
		EQUAL(words.ticket, rounds * job.size);
		for (int i = 0; i < rounds * job.size; i++)
			EQUAL(given[i], 1);
	}
}

static void sums(void)
{
	for (int i = 0; i < rounds; i++) {
		out[0] = 1ULL << 32 | 1;
		out[1] = 3;
		add(AT(quads), 16, PTL_INT64_T);
		memset(out, 1, sizeof out);
		add(AT(bytes), 8, PTL_UINT8_T);
		add(AT(halves), 8, PTL_UINT16_T);
	}
	job_barrier(&job);
	if (job.rank == 0) {
		uint64_t n = rounds * job.size;

		EQUAL(words.quads[0], n << 32 | n);
		EQUAL(words.quads[1], 3 * n);
		for (int i = 0; i < 8; i++)
			EQUAL(words.bytes[i], (uint8_t)n);
		for (int i = 0; i < 4; i++)
			EQUAL(words.halves[i], (uint16_t)(0x101 * n));
	}
}

static void swaps(void)
{
	for (int i = 0; i < rounds; i++) {
		uint64_t seen = 0, was = 0;

		do {
			seen = was;
			out[0] = seen;
			out[1] = seen + 1;
			was = fetch(AT(swapped), PTL_CSWAP, PTL_INT64_T);
		} while (was != seen);
	}
	job_barrier(&job);
	if (job.rank == 0)
		EQUAL(words.swapped, rounds * job.size);
}

static uint64_t exchange(uint64_t value)
{
	ptl_handle_md_t put;

	out[0] = value;
	EQUAL(PtlMDBind(job.ni, job_memory(out, 8, PTL_MD_EVENT_START_DISABLE, PTL_EQ_NONE), PTL_RETAIN,
	                &put), PTL_OK);
	EQUAL(PtlGetPut(in_md, put, margay_process(0), PT, 0, 1, AT(lock), 0), PTL_OK);
	wait_for(PTL_EVENT_REPLY_END);
	EQUAL(PtlMDUnlink(put), PTL_OK);
	return in;
}

static void lock(void)
{
	for (int i = 0; i < rounds / 4; i++) {
		while (exchange(1))
			;
		EQUAL(PtlGet(in_md, margay_process(0), PT, 0, 1, AT(guarded)), PTL_OK);
		wait_for(PTL_EVENT_REPLY_END);
		out[0] = in + 1;
		EQUAL(PtlPutRegion(out_md, 0, 8, PTL_ACK_REQ, margay_process(0), PT, 0, 1, AT(guarded), 0),
		      PTL_OK);
		wait_for(PTL_EVENT_ACK);
		EQUAL(exchange(0), 1);
	}
	job_barrier(&job);
	if (job.rank == 0)
		EQUAL(words.guarded, rounds / 4 * job.size);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "tickets", tickets }, { "sums", sums }, { "swaps", swaps }, { "lock", lock },
	};
	unsigned silent = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;

	rounds = argc > 1 ? atoi(argv[1]) : 100;
	job_start(&job);
	CHECK(rounds <= 1 << 16 && rounds * job.size <= 1 << 20);
	EQUAL(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	EQUAL(PtlMDBind(job.ni, job_memory(out, 16, silent, eq), PTL_RETAIN, &out_md), PTL_OK);
	EQUAL(PtlMDBind(job.ni, job_memory(&in, 8, PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &in_md),
	      PTL_OK);
	if (job.rank == 0)
		job_expose(&job, PT, 1, job_memory(&words, sizeof words, OPTIONS | silent, PTL_EQ_NONE),
		           PTL_RETAIN);
	job_barrier(&job);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		cases[i].run();
		EQUAL(words.canary, 0);
		if (job.rank == 0)
			printf("ok %s\n", cases[i].name);
	}
	job_end(&job);
	return 0;
}
