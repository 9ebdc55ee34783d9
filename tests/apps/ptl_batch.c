/*
 * ptl_batch CASE: short puts that no process waits for, several of which network cards send in one
 * frame (net/link/batch.c).
 *
 *   order     both ranks send thousands in bursts, with some longer puts and gets in between:
 *             each arrives once, in order, with the right bytes
 *   computes  rank 0 makes no call after its last put; rank 1 still gets it at once
 *   looks     rank 0 only calls PtlEQGet after its last put
 *   leaves    rank 0's main returns right after its last put
 *
 * Prints "ok CASE".
 */
#include "ptl.h"

enum { ROUNDS = 40, PUTS = 120, SHORT = 64, LONGER = 700 };

static char out[PUTS][LONGER], in[PUTS][LONGER], fetched[8];
static volatile char answered[8];

static char byte(int round, int i, int at)
{
	return (char)(round * 31 + i * 7 + at * 3 + 1);
}

static size_t bytes_of(int round, int i)
{
	return i % 50 == 49 && round % 2 ? LONGER : (size_t)(round * 13 + i * 5) % (SHORT + 1);
}

static ptl_handle_md_t bind(struct roles *r, void *start, size_t bytes)
{
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r->job.ni, memory(start, bytes, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
	                PTL_RETAIN, &md), PTL_OK);
	return md;
}

static void send(ptl_handle_md_t md, ptl_process_id_t to, uint64_t offset, uint64_t data)
{
	EQUAL(PtlPut(md, PTL_NO_ACK_REQ, to, PT, 0, 1, offset, data), PTL_OK);
}

/* This rank's half of a burst. */
static void burst(struct roles *r, ptl_process_id_t to, ptl_handle_md_t sink, int round)
{
	for (int i = 0; i < PUTS; i++) {
		size_t bytes = bytes_of(round, i);
		ptl_handle_md_t md = bind(r, out[i], bytes);

		for (size_t at = 0; at < bytes; at++)
			out[i][at] = byte(round, i, (int)at);
		send(md, to, (uint64_t)i * LONGER, (uint64_t)(round * PUTS + i));
		if (i % 40 == 39)
			EQUAL(PtlGet(sink, to, PT, 0, 2, 0), PTL_OK);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
}

static void check_burst(struct roles *r, int round)
{
	for (int i = 0; i < PUTS; i++) {
		size_t bytes = bytes_of(round, i);
		ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

		EQUAL(event.hdr_data, round * PUTS + i);
		EQUAL(event.mlength, bytes);
		for (size_t at = 0; at < bytes; at++)
			EQUAL(in[i][at], byte(round, i, (int)at));
	}
}

static void order(struct roles *r)
{
	ptl_process_id_t to = margay_process(1 - r->job.rank);
	ptl_handle_md_t sink = bind(r, fetched, sizeof fetched);
	ptl_handle_eq_t eq;

	EQUAL(PtlEQAlloc(r->job.ni, 2 * PUTS, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	r->eq = eq;
	attach(r, 1, 0, memory(in, sizeof in, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
	                       PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN);
	attach(r, 2, 0, memory(in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
	                       PTL_EQ_NONE), PTL_RETAIN);
	for (int round = 0; round < ROUNDS; round++) {
		sync_ranks(r);
		burst(r, to, sink, round);
		check_burst(r, round);
	}
	sync_ranks(r);
}

/* The first put is sent at once; the others would wait in a batch. */
static void few(struct roles *r)
{
	ptl_handle_md_t md = bind(r, r->out, 8);

	for (uint64_t i = 0; i < 4; i++)
		send(md, r->to, 0, i);
}

static void expose(struct roles *r)
{
	if (r->target)
		attach(r, 1, 0, memory(in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                       PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, r->eq),
		       PTL_RETAIN);
	else
		attach(r, 1, 0, memory((void *)answered, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                       PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, r->own),
		       PTL_RETAIN);
	sync_ranks(r);
}

static void take_few(struct roles *r)
{
	static char yes[8] = "yes";

	for (uint64_t i = 0; i < 4; i++)
		EQUAL(expect(r->eq, PTL_EVENT_PUT_END).hdr_data, i);
	send(bind(r, yes, sizeof yes), margay_process(0), 0, 0);
}

static void computes(struct roles *r)
{
	expose(r);
	if (r->initiator) {
		few(r);
		while (!answered[0])
			continue;
	} else {
		take_few(r);
	}
	sync_ranks(r);
}

static void looks(struct roles *r)
{
	ptl_event_t event;

	expose(r);
	if (r->initiator) {
		few(r);
		while (PtlEQGet(r->own, &event) == PTL_EQ_EMPTY)
			continue;
		EQUAL(event.type, PTL_EVENT_PUT_END);
	} else {
		take_few(r);
	}
	sync_ranks(r);
}

static void leaves(struct roles *r)
{
	expose(r);
	if (r->initiator) {
		few(r);
		exit(0);
	}
	for (uint64_t i = 0; i < 4; i++)
		EQUAL(expect(r->eq, PTL_EVENT_PUT_END).hdr_data, i);
	puts("ok leaves");
	exit(0);
}

int main(int argc, char **argv)
{
	static struct roles r;
	static const struct { const char *name; void (*run)(struct roles *); } cases[] = {
		{ "order", order }, { "computes", computes }, { "looks", looks }, { "leaves", leaves },
	};

	open_roles(&r);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run(&r);
			if (r.target)
				printf("ok %s\n", argv[1]);
			return 0;
		}
	return 2;
}
