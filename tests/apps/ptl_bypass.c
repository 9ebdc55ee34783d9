/*
 * ptl_bypass: the target of messages need not make any call (rule 32). Rank 1 computes and only
 * polls its own memory, while rank 0 puts there, gets from there and puts again; rank 1's queue
 * then has the events. Needs two ranks. Prints "ok bypass".
 */
#include "ptl.h"

/* Rank 1's memory: rank 0 writes `go`, rank 1 answers in `done`. */
struct shared {
	volatile uint64_t go, done;
};

enum { STEPS = 200 };

static void put_go(struct roles *r, uint64_t value)
{
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r->job.ni, memory(&value, 8, PTL_MD_THRESH_INF, 0, r->own), PTL_RETAIN, &md),
	      PTL_OK);
	EQUAL(PtlPut(md, PTL_NO_ACK_REQ, r->to, PT, 0, 1, 0, value), PTL_OK);
	expect(r->own, PTL_EVENT_SEND_END);
	EQUAL(PtlMDUnlink(md), PTL_OK);
}

/* Gets `done` until it has this value; rank 1 does not notice. */
static void get_done(struct roles *r, uint64_t value)
{
	uint64_t done = 0;
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r->job.ni, memory(&done, 8, PTL_MD_THRESH_INF, 0, r->own), PTL_RETAIN, &md),
	      PTL_OK);
	do {
		EQUAL(PtlGet(md, r->to, PT, 0, 2, 0), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, 8);
	} while (done != value);
	EQUAL(PtlMDUnlink(md), PTL_OK);
}

static void case_bypass(struct roles *r)
{
	static struct shared shared;
	ptl_handle_me_t go = 0, done = 0;
	uint64_t sum = 0, messages;

	if (r->target) {
		go = attach(r, 1, 0, memory((void *)&shared.go, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                            PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
		done = attach(r, 2, 0, memory((void *)&shared.done, 8, PTL_MD_THRESH_INF,
		                              PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
		              PTL_RETAIN);
	}
	messages = status(r, PTL_SR_MESSAGES_IN);
	sync_ranks(r);
	for (uint64_t step = 1; step <= STEPS; step++) {
		if (r->initiator)
			put_go(r, step);
		if (r->target) {
			while (shared.go != step)
				sum += step;              /* no call, no event */
			shared.done = step;
		}
		if (r->initiator)
			get_done(r, step);
	}
	sync_ranks(r);
	if (r->target) {
		ptl_event_t event = { 0 };
		int rc = PtlEQGet(r->eq, &event);

		EQUAL(rc, STEPS > 64 ? PTL_EQ_DROPPED : PTL_OK);
		while (event.hdr_data != STEPS)
			event = expect(r->eq, PTL_EVENT_PUT_END);
		CHECK(status(r, PTL_SR_MESSAGES_IN) - messages >= 2 * STEPS);
		EQUAL(PtlMEUnlink(go), PTL_OK);
		EQUAL(PtlMEUnlink(done), PTL_OK);
	}
}

int main(void)
{
	static struct roles r;

	open_roles(&r);
	case_bypass(&r);
	close_case(&r, "bypass");
	job_end(&r.job);
	return 0;
}
