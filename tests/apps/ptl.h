/*
 * Two roles for the tests of the Portals rules: rank 0 starts operations, rank 1 is their target
 * (rank 0 again if the job has one rank). Further ranks only take part in sync_ranks(). Each case
 * attaches its own entries; close_case() checks that all are gone and that no event is left.
 */
#ifndef TESTS_APPS_PTL_H
#define TESTS_APPS_PTL_H
#include "check.h"
#include "job.h"
#include <string.h>

enum { PT = 4 };               /* portal index of all cases */
enum { IN_BYTES = 4096 };

struct roles {
	struct job job;
	int initiator, target;     /* this process's roles */
	ptl_process_id_t to;       /* the target */
	ptl_handle_eq_t eq;        /* the target's events */
	ptl_handle_eq_t own;       /* the initiator's events */
	ptl_sr_value_t mes, mds, eqs;
	char in[IN_BYTES];         /* the target's memory */
	char out[IN_BYTES];        /* the initiator's memory: byte i is pattern(i) */
};

static inline char pattern(size_t i)
{
	return (char)(i * 7 + (i >> 8) * 13 + 1);
}

static inline ptl_sr_value_t status(struct roles *r, ptl_sr_index_t index)
{
	ptl_sr_value_t value;

	EQUAL(PtlNIStatus(r->job.ni, index, &value), PTL_OK);
	return value;
}

static inline void open_roles(struct roles *r)
{
	job_start(&r->job);
	r->initiator = r->job.rank == 0;
	r->target = r->job.rank == 1 % r->job.size;
	r->to = margay_process(1 % r->job.size);
	EQUAL(PtlEQAlloc(r->job.ni, 64, PTL_EQ_HANDLER_NONE, &r->eq), PTL_OK);
	EQUAL(PtlEQAlloc(r->job.ni, 64, PTL_EQ_HANDLER_NONE, &r->own), PTL_OK);
	r->mes = status(r, PTL_SR_ME_USED);
	r->mds = status(r, PTL_SR_MD_USED);
	r->eqs = status(r, PTL_SR_EQ_USED);
	for (size_t i = 0; i < sizeof r->out; i++)
		r->out[i] = pattern(i);
	job_barrier(&r->job);
}

#define sync_ranks(r) job_barrier(&(r)->job)

/* The next event of a queue, which must be of this kind. */
static inline ptl_event_t expect_at(const char *file, int line, ptl_handle_eq_t eq,
                                    ptl_event_kind_t kind)
{
	ptl_event_t event;
	int which, rc = PtlEQPoll(&eq, 1, 20000, &event, &which);

	if (rc != PTL_OK || event.type != kind) {
		fprintf(stderr, "%s:%d: rank %d: wanted %s, PtlEQPoll gave %s %s\n", file, line,
		        margay_rank(), PtlEventKindStr(kind), PtlErrorStr(rc),
		        rc == PTL_OK ? PtlEventKindStr(event.type) : "");
		exit(1);
	}
	return event;
}
#define expect(eq, kind) expect_at(__FILE__, __LINE__, (eq), (kind))

static inline void expect_empty_at(const char *file, int line, ptl_handle_eq_t eq)
{
	ptl_event_t event;
	int rc = PtlEQGet(eq, &event);

	if (rc == PTL_EQ_EMPTY)
		return;
	fprintf(stderr, "%s:%d: rank %d: %s: %s left over\n", file, line, margay_rank(),
	        PtlErrorStr(rc), PtlEventKindStr(event.type));
	exit(1);
}
#define expect_empty(eq) expect_empty_at(__FILE__, __LINE__, (eq))

static inline ptl_md_t memory(void *start, size_t length, int threshold, unsigned options,
                              ptl_handle_eq_t eq)
{
	return (ptl_md_t){ .start = start, .length = length, .threshold = threshold,
	                   .options = options | PTL_MD_EVENT_START_DISABLE, .eq_handle = eq };
}

/* A match entry at the tail, with a descriptor. */
static inline ptl_handle_me_t attach(struct roles *r, uint64_t bits, uint64_t ignore, ptl_md_t md,
                                     ptl_unlink_t unlink)
{
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	EQUAL(PtlMEAttach(r->job.ni, PT, any_process, bits, ignore, unlink, PTL_INS_AFTER, &me), PTL_OK);
	EQUAL(PtlMDAttach(me, md, unlink, &handle), PTL_OK);
	return me;
}

/* Puts the first `bytes` bytes of `out` and waits for SEND_END and ACK, which arrives even if
 * the put was discarded; returns the ack. */
static inline ptl_event_t put(struct roles *r, size_t bytes, uint64_t bits, uint64_t offset,
                              uint64_t hdr_data)
{
	ptl_handle_md_t md;
	ptl_event_t sent, ack;

	EQUAL(PtlMDBind(r->job.ni, memory(r->out, bytes, PTL_MD_THRESH_INF, PTL_MD_EVENT_DROPPED,
	                                  r->own), PTL_RETAIN, &md), PTL_OK);
	EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, bits, offset, hdr_data), PTL_OK);
	sent = expect(r->own, PTL_EVENT_SEND_END);
	ack = expect(r->own, PTL_EVENT_ACK);
	EQUAL(sent.link, ack.link);
	EQUAL(PtlMDUnlink(md), PTL_OK);
	return ack;
}

/* A put that must be accepted with this manipulated length. */
static inline void put_ok(struct roles *r, size_t bytes, uint64_t bits, uint64_t offset,
                          size_t moved)
{
	ptl_event_t ack = put(r, bytes, bits, offset, 0);

	EQUAL(ack.ni_fail_type, PTL_NI_OK);
	EQUAL(ack.rlength, bytes);
	EQUAL(ack.mlength, moved);
}

static inline void put_dropped(struct roles *r, size_t bytes, uint64_t bits, uint64_t offset)
{
	ptl_event_t ack = put(r, bytes, bits, offset, 0);

	EQUAL(ack.ni_fail_type, PTL_NI_DROPPED);
	EQUAL(ack.mlength, 0);
}

/* On all ranks: checks that nothing of this case is left. */
static inline void close_case(struct roles *r, const char *name)
{
	sync_ranks(r);
	expect_empty(r->eq);
	expect_empty(r->own);
	EQUAL(status(r, PTL_SR_ME_USED), r->mes);
	EQUAL(status(r, PTL_SR_MD_USED), r->mds);
	EQUAL(status(r, PTL_SR_EQ_USED), r->eqs);
	while (status(r, PTL_SR_OP_USED))
		;                      /* the next barrier's signal may be in flight */
	memset(r->in, 0, sizeof r->in);
	sync_ranks(r);
	if (r->job.rank == 0)
		printf("ok %s\n", name);
}

struct test_case {
	const char *name;
	void (*run)(struct roles *r);
};

/* Runs the cases in turn, then ends the job; returns main's result. */
static inline int run_cases(struct roles *r, const struct test_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cases[i].run(r);
		close_case(r, cases[i].name);
	}
	job_end(&r->job);
	return 0;
}
#endif
