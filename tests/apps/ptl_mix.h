/*
 * What both halves of ptl_mix.c share, and the half of the target: the memory that a rank offers, and
 * the events of others' operations on it. Included by ptl_mix.c only.
 */
#ifndef TESTS_APPS_PTL_MIX_H
#define TESTS_APPS_PTL_MIX_H
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "job.h"
#include "random.h"

enum {
	PT = 4, MOST_RANKS = 4,
	REGION = 300000, LOG = 200000, COMMON = 200000, COUNTERS = 2048, PIECES = 37,
	OPS = 40, BOXES = 4, BOX = 150000, LONGEST = REGION, EVENTS = 4000
};
enum bits { BITS_PLAIN, BITS_PIECES, BITS_SPAN, BITS_LOG, BITS_LOG_READ, BITS_COMMON, BITS_COUNTERS,
            BITS_SUMS, BITS_SHARES, BITS_NOWHERE, BITS_BOX = 1000 };
enum kind { PUT, ATOMIC, GET, FETCH, EXCHANGE, LOGGED, BOXED, SHARED, COUNTED, NOWHERE, NOWHERE_GET,
            KINDS };
static const char *const names[] = { "put", "atomic", "get", "fetch", "exchange", "logged", "boxed",
                                     "shared", "counted", "nowhere", "nowhere get" };

static struct job job;
static ptl_handle_eq_t eq;
static int me, n;
static unsigned long seed;

/* What this rank offers, by initiator. */
static unsigned char region[MOST_RANKS][REGION], logs[MOST_RANKS][LOG];
static unsigned char box[MOST_RANKS][BOXES][BOX];
static unsigned char common[COMMON];
static unsigned char shares[MOST_RANKS][COMMON / 8];  /* a bit for each byte written in `common` */
static uint64_t counters[COUNTERS], sums[MOST_RANKS][COUNTERS];
static ptl_handle_md_t log_md[MOST_RANKS];
static ptl_md_t log_args[MOST_RANKS];
static uint64_t last_number[MOST_RANKS];
static int boxes_done[MOST_RANKS];

/* What this rank knows of its regions at the targets. */
static unsigned char model[MOST_RANKS][REGION], log_model[MOST_RANKS][LOG];
static uint64_t log_used[MOST_RANKS];
static uint64_t added[MOST_RANKS][COUNTERS];
static unsigned char shared[MOST_RANKS][COMMON / 8];  /* this rank's bits for the target's `shares` */

struct op {
	enum kind kind;
	int target, acks, pieces, by, datatype, operation;
	uint64_t number, bytes, at, moved;
	int missing;                 /* events that are still to come */
	int ended_send;
	ptl_handle_md_t md, get_md;
	unsigned char *out;          /* bytes to send */
	unsigned char *in;           /* received */
	unsigned char *old;          /* what is fetched */
	unsigned char *after;        /* region [at, at + moved) after a write */
	ptl_md_iovec_t list[PIECES];
};
static struct op ops[OPS];
static uint64_t number;

/* The bytes of message `number` of a rank. */
static unsigned char byte_of(int rank, uint64_t number, uint64_t at)
{
	uint64_t x = at / 8 * 0x9E3779B97F4A7C15ull + number * 0xD1B54A32D192ED03ull + rank * 77;

	x ^= x >> 29;
	x *= 0xBF58476D1CE4E5B9ull;
	return (unsigned char)(x >> (at % 8 * 8));
}

static void fill(unsigned char *to, int rank, uint64_t number, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		to[i] = byte_of(rank, number, i);
}

static void fail(const struct op *op, const char *what, uint64_t a, uint64_t b)
{
	fprintf(stderr, "rank %d: %s: %llu, should be %llu; op %llu %s to %d at %llu bytes %llu by %d "
	        "pieces %d acks %d\n", me, what, (unsigned long long)a, (unsigned long long)b,
	        (unsigned long long)op->number, names[op->kind], op->target,
	        (unsigned long long)op->at, (unsigned long long)op->bytes, op->by, op->pieces,
	        op->acks);
	for (int i = 0; i < OPS; i++)
		if (ops[i].number)
			fprintf(stderr, " op %llu %s to %d at %llu bytes %llu by %d missing %d\n",
			        (unsigned long long)ops[i].number, names[ops[i].kind],
			        ops[i].target, (unsigned long long)ops[i].at,
			        (unsigned long long)ops[i].bytes, ops[i].by, ops[i].missing);
	exit(1);
}

/* ---- the target ---- */

static unsigned cut(ptl_md_iovec_t *list, unsigned char *start, uint64_t bytes, unsigned most)
{
	unsigned pieces = 1 + below(most);
	uint64_t at = 0;

	for (unsigned i = 0; i < pieces; i++) {
		uint64_t left = bytes - at, some = below(3) ? below(left + 1) : below(40);

		if (some > left)
			some = left;
		if (i + 1 == pieces)
			some = left;
		list[i] = (ptl_md_iovec_t){ start + at, some };
		at += some;
	}
	return pieces;
}

static ptl_handle_md_t offer(int from, uint64_t bits, ptl_md_t md, ptl_unlink_t unlink)
{
	ptl_process_id_t sender = margay_process(from < 0 ? 0 : from);
	ptl_handle_me_t entry;
	ptl_handle_md_t handle;

	if (from < 0)
		sender = (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY };
	job_check(PtlMEAttach(job.ni, PT, sender, bits, 0, unlink, PTL_INS_AFTER, &entry), "PtlMEAttach");
	job_check(PtlMDAttach(entry, md, unlink, &handle), "PtlMDAttach");
	return handle;
}

static void offer_all(void)
{
	static ptl_md_iovec_t lists[MOST_RANKS][PIECES];
	unsigned options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;

	for (int from = 0; from < n; from++) {
		ptl_md_t md = job_memory(region[from], REGION, options, eq);
		void *tag = (void *)(uintptr_t)(1000 + from);

		if (from == me)
			continue;
		md.user_ptr = tag;
		offer(from, BITS_PLAIN, md, PTL_RETAIN);
		md.length = cut(lists[from], region[from], REGION, PIECES);
		md.start = lists[from];
		md.options |= PTL_MD_IOVEC;
		offer(from, BITS_PIECES, md, PTL_RETAIN);
		md.start = 0;
		md.length = UINT64_MAX;
		md.options = options | PTL_MD_SPAN;
		offer(from, BITS_SPAN, md, PTL_RETAIN);
		log_args[from] = job_memory(logs[from], LOG, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, eq);
		log_args[from].user_ptr = tag;
		log_md[from] = offer(from, BITS_LOG, log_args[from], PTL_RETAIN);
		md = job_memory(logs[from], LOG, options, eq);
		md.user_ptr = tag;
		offer(from, BITS_LOG_READ, md, PTL_RETAIN);
		md = job_memory(sums[from], sizeof sums[from], options, PTL_EQ_NONE);
		offer(from, BITS_SUMS, md, PTL_RETAIN);
		md = job_memory(shares[from], sizeof shares[from], options, PTL_EQ_NONE);
		offer(from, BITS_SHARES, md, PTL_RETAIN);
	}
	offer(-1, BITS_COMMON, job_memory(common, COMMON, options, PTL_EQ_NONE), PTL_RETAIN);
	offer(-1, BITS_COUNTERS, job_memory(counters, sizeof counters, options, PTL_EQ_NONE),
	      PTL_RETAIN);
}

static uint64_t box_bytes(uint64_t round, int from, int to, int i)
{
	uint64_t x = (round * 64 + from * 16 + to * 4 + i + seed) * 0x9E3779B97F4A7C15ull;

	x ^= x >> 31;
	x *= 0xBF58476D1CE4E5B9ull;
	x >>= 20;
	return x % 4 == 0 ? 1 + x / 4 % 200 : 1 + x / 4 % BOX;
}

static uint64_t the_round;

static void offer_boxes(void)
{
	for (int from = 0; from < n; from++) {
		boxes_done[from] = 0;
		for (int i = 0; from != me && i < BOXES; i++) {
			ptl_md_t md = job_memory(box[from][i], box_bytes(the_round, from, me, i),
			                         PTL_MD_OP_PUT | PTL_MD_TRUNCATE, eq);

			md.threshold = 1;
			md.user_ptr = (void *)(uintptr_t)(2000 + from * BOXES + i);
			memset(box[from][i], 0x11, BOX);
			offer(from, BITS_BOX + i, md, PTL_UNLINK);
		}
	}
}

static uint64_t box_number[MOST_RANKS][BOXES], box_moved[MOST_RANKS][BOXES];

static void box_event(ptl_event_t event, unsigned which)
{
	unsigned from = which / BOXES, i = which % BOXES;
	unsigned char *got = box[from][i];

	if (event.type == PTL_EVENT_PUT_END) {
		box_number[from][i] = event.hdr_data;
		box_moved[from][i] = event.mlength;
	}
	if (event.type != PTL_EVENT_UNLINK)
		return;
	for (uint64_t k = 0; k < BOX; k++)
		if (got[k] != (k < box_moved[from][i] ?
		               byte_of(from, box_number[from][i], k) : 0x11)) {
			fprintf(stderr, "rank %d: box %u of %u: byte %llu of %llu\n", me, i, from,
			        (unsigned long long)k,
			        (unsigned long long)box_moved[from][i]);
			exit(1);
		}
	memset(got, 0x5a, BOX);
	boxes_done[from]++;
}

/* An event of a descriptor that others use. */
static void target_event(ptl_event_t event, unsigned which)
{
	unsigned from = which >= 2000 ? (which - 2000) / BOXES : which - 1000;

	if (event.ni_fail_type != PTL_NI_OK) {
		fprintf(stderr, "rank %d: event %s fails\n", me, PtlEventKindStr(event.type));
		exit(1);
	}
	if (event.type == PTL_EVENT_PUT_END || event.type == PTL_EVENT_GETPUT_END) {
		if (event.hdr_data <= last_number[from]) {
			fprintf(stderr, "rank %d: END of %llu after %llu of %u\n", me,
			        (unsigned long long)event.hdr_data,
			        (unsigned long long)last_number[from], from);
			exit(1);
		}
		last_number[from] = event.hdr_data;
	}
	if (which >= 2000)
		box_event(event, which - 2000);
}
#endif
