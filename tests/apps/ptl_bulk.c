/*
 * ptl_bulk LARGEST [FILE]: puts and gets of many sizes and alignments between rank 0 and rank 1,
 * every byte compared, also those around the written range. Then a stream without acks whose events
 * must come in the order of its puts. With FILE both are repeated until FILE exists.
 */
#include "ptl.h"
#include <unistd.h>

enum { EDGE = 64, STREAM = 3000 };

static char byte_at(uint64_t seed, size_t i)
{
	uint64_t x = (seed + i) * 0x9e3779b97f4a7c15ULL;

	return (char)(x >> 56);
}

static void fill(char *at, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = byte_at(seed, i);
}

/* Check memory of `bytes` bytes from `seed`, with zeros on both sides. */
static void verify(const char *at, size_t bytes, uint64_t seed, const char *what)
{
	for (size_t i = 0; i < EDGE; i++)
		if (at[(long)i - EDGE] || at[bytes + i]) {
			fprintf(stderr, "%s: %zu bytes: written outside\n", what, bytes);
			exit(1);
		}
	for (size_t i = 0; i < bytes; i++)
		if (at[i] != byte_at(seed, i)) {
			fprintf(stderr, "%s: byte %zu of %zu is wrong\n", what, i, bytes);
			exit(1);
		}
}

static void transfer(struct roles *r, char *in, char *out, size_t bytes, uint64_t seed)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t md;

	if (r->target) {
		memset(in - EDGE, 0, bytes + 2 * EDGE);
		me = attach(r, 1, 0, memory(in, bytes, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
		                            PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	}
	if (r->initiator)
		fill(out, bytes, seed);
	sync_ranks(r);
	if (r->initiator) {
		EQUAL(PtlMDBind(r->job.ni, memory(out, bytes, PTL_MD_THRESH_INF, 0, r->own), PTL_RETAIN,
		                &md), PTL_OK);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(expect(r->own, PTL_EVENT_ACK).mlength, bytes);
		memset(out - EDGE, 0, bytes + 2 * EDGE);
		EQUAL(PtlGet(md, r->to, PT, 0, 1, 0), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, bytes);
		verify(out, bytes, seed, "get");
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		expect(r->eq, PTL_EVENT_PUT_END);
		expect(r->eq, PTL_EVENT_GET_END);
		verify(in, bytes, seed, "put");
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
	sync_ranks(r);
}

/* 30: events and data come in the order of the puts. */
static void in_order(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t md;
	ptl_handle_eq_t eq = 0;

	if (r->target) {
		EQUAL(PtlEQAlloc(r->job.ni, 4096, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
		me = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF,
		                            PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, PTL_MD_THRESH_INF,
		                                  PTL_MD_EVENT_END_DISABLE, r->own), PTL_RETAIN, &md),
		      PTL_OK);
		for (int i = 0; i < STREAM; i++)
			EQUAL(PtlPut(md, PTL_NOACK_REQ, r->to, PT, 0, 1, 0, i), PTL_OK);
		while (PtlMDUnlink(md) == PTL_MD_IN_USE)
			;
	}
	for (int i = 0; r->target && i < STREAM; i++)
		EQUAL(expect(eq, PTL_EVENT_PUT_END).hdr_data, i);
	sync_ranks(r);
	if (r->target) {
		EQUAL(PtlMEUnlink(me), PTL_OK);
		EQUAL(PtlEQFree(eq), PTL_OK);
	}
}

/* Rank 0 checks for the file, and renames it before the barrier, so that all ranks return the
 * same. */
static int is_over(struct roles *r, const char *file)
{
	static const char told[] = "ptl_bulk.over";

	if (!file)
		return 1;
	if (r->job.rank == 0)
		rename(file, told);
	sync_ranks(r);
	return access(told, F_OK) == 0;
}

static int transfers(struct roles *r, char *in, char *out, size_t largest)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 65535, 65536,
	                                65537, 1048576, 1048577, 3000001, 8388608 };
	int count = 0;

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= largest; i++)
		for (int shift = 0; shift < (sizes[i] < 5000 ? 16 : 2); shift++, count++)
			transfer(r, in + EDGE + (shift & 3) * 3, out + EDGE + (shift >> 2) * 5 + shift % 2,
			         sizes[i], 1000003 * i + shift);
	return count;
}

int main(int argc, char **argv)
{
	static struct roles r;
	size_t largest = argc > 1 ? strtoul(argv[1], NULL, 0) : 1 << 20;
	char *in = malloc(largest + 3 * EDGE), *out = malloc(largest + 3 * EDGE);
	int count;

	CHECK(in && out);
	open_roles(&r);
	do {
		count = transfers(&r, in, out, largest);
		close_case(&r, "transfers");
		in_order(&r);
		close_case(&r, "order");
	} while (!is_over(&r, argc > 2 ? argv[2] : NULL));
	job_end(&r.job);
	if (r.job.rank == 0)
		printf("%d transfers\n", count);
	return 0;
}
