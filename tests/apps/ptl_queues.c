/*
 * ptl_queues: event queues and the arguments of calls. Prints "ok NAME" for each
 * case; see ptl.h for the roles.
 */
#include "ptl.h"

/* 18: START before END, paired by link; sequence counts; every field of a put's events. */
static void case_events(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t md;
	ptl_event_t event[2];
	ptl_md_t in = { .start = r->in, .length = 64, .threshold = 5, .user_ptr = &md,
	                .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, .eq_handle = r->eq };
	ptl_md_t out = { .start = r->out, .length = 9, .threshold = 7, .user_ptr = &me,
	                 .eq_handle = r->own };

	if (r->target) {    /* attach() would disable START */
		EQUAL(PtlMEAttach(r->job.ni, PT, (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY }, 0xabc, 0,
		                  PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
		EQUAL(PtlMDAttach(me, in, PTL_RETAIN, &md), PTL_OK);
	}
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t bound;
		ptl_event_t start, end;

		EQUAL(PtlMDBind(r->job.ni, out, PTL_RETAIN, &bound), PTL_OK);
		EQUAL(PtlPut(bound, PTL_NOACK_REQ, r->to, PT, 0, 0xabc, 11, 0xfeedULL << 48), PTL_OK);
		start = expect(r->own, PTL_EVENT_SEND_START);
		end = expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(start.link, end.link);
		EQUAL(end.sequence, start.sequence + 1);
		EQUAL(end.mlength, 9);
		EQUAL(end.md.threshold, 6);
		CHECK(end.md.user_ptr == &me && PtlHandleIsEqual(end.md_handle, bound));
		EQUAL(PtlMDUnlink(bound), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		event[0] = expect(r->eq, PTL_EVENT_PUT_START);
		event[1] = expect(r->eq, PTL_EVENT_PUT_END);
		EQUAL(event[0].link, event[1].link);
		EQUAL(event[1].sequence, event[0].sequence + 1);
		for (int i = 0; i < 2; i++) {
			EQUAL(event[i].initiator.nid, margay_process(0).nid);
			EQUAL(event[i].initiator.pid, margay_process(0).pid);
			EQUAL(event[i].pt_index, PT);
			EQUAL(event[i].match_bits, 0xabc);
			EQUAL(event[i].rlength, 9);
			EQUAL(event[i].mlength, 9);
			EQUAL(event[i].offset, 11);
			EQUAL(event[i].hdr_data, 0xfeedULL << 48);
			CHECK(event[i].md.user_ptr == &md && event[i].md.start == r->in);
			CHECK(PtlHandleIsEqual(event[i].md_handle, md));
			EQUAL(event[i].ni_fail_type, PTL_NI_OK);
		}
		EQUAL(event[1].md.threshold, 4);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* 20: a late reader gets the oldest remaining event, and PTL_EQ_DROPPED. */
static void case_overrun(struct roles *r)
{
	enum { PUTS = 1000 };
	ptl_handle_me_t me = 0;
	ptl_handle_eq_t small = 0;
	ptl_handle_md_t md;

	if (r->target) {
		EQUAL(PtlEQAlloc(r->job.ni, 4, PTL_EQ_HANDLER_NONE, &small), PTL_OK);
		me = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF,
		                            PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, small), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_END_DISABLE,
		                                  r->own), PTL_RETAIN, &md), PTL_OK);
		for (int i = 0; i < PUTS; i++) {
			EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 1, 0, i), PTL_OK);
			EQUAL(expect(r->own, PTL_EVENT_ACK).ni_fail_type, PTL_NI_OK);
		}
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		ptl_event_t event;
		uint64_t last;

		EQUAL(PtlEQGet(small, &event), PTL_EQ_DROPPED);
		last = event.hdr_data;
		/* a queue's size is rounded up, but bounded */
		CHECK(last >= PUTS - 64 && last < PUTS);
		while (last < PUTS - 1) {
			EQUAL(PtlEQGet(small, &event), PTL_OK);
			EQUAL(event.hdr_data, last + 1);
			last = event.hdr_data;
		}
		EQUAL(PtlEQGet(small, &event), PTL_EQ_EMPTY);
		EQUAL(PtlMEUnlink(me), PTL_OK);
		EQUAL(PtlEQFree(small), PTL_OK);
		EQUAL(PtlEQGet(small, &event), PTL_EQ_INVALID);
	}
}

/* 14: a reply is discarded if the queue has no room for it, and counted. */
static void case_reply_without_room(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_eq_t small;
	ptl_handle_md_t md;
	ptl_event_t event;
	char got[8];

	if (r->target)
		me = attach(r, 1, 0, memory(r->out, 64, PTL_MD_THRESH_INF,
		                            PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE),
		            PTL_RETAIN);
	sync_ranks(r);
	if (r->initiator) {
		ptl_sr_value_t before = status(r, PTL_SR_DROP_COUNT);
		int replies = 0;

		EQUAL(PtlEQAlloc(r->job.ni, 4, PTL_EQ_HANDLER_NONE, &small), PTL_OK);
		EQUAL(PtlMDBind(r->job.ni, memory(got, 8, PTL_MD_THRESH_INF, 0, small), PTL_RETAIN, &md),
		      PTL_OK);
		for (int i = 0; i < 200; i++)
			EQUAL(PtlGet(md, r->to, PT, 0, 1, 0), PTL_OK);
		while (status(r, PTL_SR_OP_USED))
			;
		while (PtlEQGet(small, &event) == PTL_OK) {
			EQUAL(event.type, PTL_EVENT_REPLY_END);
			replies++;
		}
		CHECK(replies >= 1 && replies <= 64);
		EQUAL(status(r, PTL_SR_DROP_COUNT), before + 200 - replies);
		EQUAL(PtlMDUnlink(md), PTL_OK);
		EQUAL(PtlEQFree(small), PTL_OK);
	}
	sync_ranks(r);
	if (r->target)
		EQUAL(PtlMEUnlink(me), PTL_OK);
}

/* 21: PtlEQPoll returns at its timeout, identifies the queue, and starves none. */
static void case_poll(struct roles *r)
{
	ptl_handle_me_t me[2] = { 0 };
	ptl_handle_eq_t eqs[3] = { r->eq, 0, 0 };
	ptl_event_t event;
	int which = -1;

	if (r->target) {
		double before = job_seconds();

		for (int i = 1; i < 3; i++)
			EQUAL(PtlEQAlloc(r->job.ni, 32, PTL_EQ_HANDLER_NONE, &eqs[i]), PTL_OK);
		EQUAL(PtlEQPoll(eqs, 3, 0, &event, &which), PTL_EQ_EMPTY);
		EQUAL(PtlEQPoll(eqs, 3, 50, &event, &which), PTL_EQ_EMPTY);
		CHECK(job_seconds() - before >= 0.050);
		EQUAL(PtlEQPoll(eqs, 0, 0, &event, &which), PTL_EQ_INVALID);
		EQUAL(PtlEQPoll(eqs, -1, 0, &event, &which), PTL_EQ_INVALID);
		eqs[2] ^= 1ULL << 40;
		EQUAL(PtlEQPoll(eqs, 3, 0, &event, &which), PTL_EQ_INVALID);
		eqs[2] ^= 1ULL << 40;
		for (int i = 0; i < 2; i++)
			me[i] = attach(r, i, 0, memory(r->in, 8, PTL_MD_THRESH_INF,
			                               PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eqs[i + 1]),
			               PTL_RETAIN);
	}
	sync_ranks(r);
	for (int i = 0; r->initiator && i < 20; i++)
		put_ok(r, 8, i % 2, 0, 8);
	sync_ranks(r);
	if (r->target) {
		int seen[3] = { 0 };

		for (int i = 0; i < 20; i++) {
			EQUAL(PtlEQPoll(eqs, 3, PTL_TIME_FOREVER, &event, &which), PTL_OK);
			CHECK(which == 1 || which == 2);
			EQUAL(event.match_bits, which - 1);
			seen[which]++;
			CHECK(seen[1] - seen[2] <= 1 && seen[2] - seen[1] <= 1);
		}
		for (int i = 0; i < 2; i++) {
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
			EQUAL(PtlEQFree(eqs[i + 1]), PTL_OK);
		}
	}
}

/* 21: polls of other sets in between do not starve a queue. */
static void case_poll_sets(struct roles *r)
{
	enum { EACH = 12 };
	ptl_handle_me_t me[3] = { 0 };
	ptl_handle_eq_t eqs[3] = { 0 };
	ptl_event_t event;
	int which;

	for (int i = 0; r->target && i < 3; i++) {
		EQUAL(PtlEQAlloc(r->job.ni, 32, PTL_EQ_HANDLER_NONE, &eqs[i]), PTL_OK);
		me[i] = attach(r, i, 0, memory(r->in, 8, PTL_MD_THRESH_INF,
		                               PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eqs[i]), PTL_RETAIN);
	}
	sync_ranks(r);
	for (int i = 0; r->initiator && i < 3 * EACH; i++)
		put_ok(r, 8, i % 3, 0, 8);
	sync_ranks(r);
	if (r->target) {
		int seen[3] = { 0 };

		for (int i = 0; i < EACH; i++) {          /* in between the third one alone */
			EQUAL(PtlEQPoll(eqs, 2, 0, &event, &which), PTL_OK);
			EQUAL(event.match_bits, which);
			seen[which]++;
			EQUAL(PtlEQPoll(&eqs[2], 1, 0, &event, &which), PTL_OK);
			EQUAL(event.match_bits, 2);
		}
		EQUAL(seen[0], seen[1]);
		for (int i = 0; i < EACH / 2; i++) {      /* it was just the first one's turn */
			EQUAL(PtlEQPoll(eqs, 1, 0, &event, &which), PTL_OK);
			EQUAL(PtlEQPoll(eqs, 3, 0, &event, &which), PTL_OK);
			EQUAL(which, 1);
		}
		EQUAL(PtlEQPoll(eqs, 3, 0, &event, &which), PTL_EQ_EMPTY);
		for (int i = 0; i < 3; i++) {
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
			EQUAL(PtlEQFree(eqs[i]), PTL_OK);
		}
	}
}

/* 13: a freed queue records no ack, without harm. */
static void case_freed_queue(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_eq_t short_lived;
	ptl_handle_md_t md;

	if (r->target)
		me = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF,
		                            PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	sync_ranks(r);
	if (r->initiator) {
		EQUAL(PtlEQAlloc(r->job.ni, 4, PTL_EQ_HANDLER_NONE, &short_lived), PTL_OK);
		EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, PTL_MD_THRESH_INF, 0, short_lived),
		                PTL_RETAIN, &md), PTL_OK);
		EQUAL(PtlEQFree(short_lived), PTL_OK);
		EQUAL(PtlEQFree(short_lived), PTL_EQ_INVALID);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
		while (PtlMDUnlink(md) == PTL_MD_IN_USE)
			;
	}
	sync_ranks(r);
	if (r->target) {
		expect(r->eq, PTL_EVENT_PUT_END);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* 33: bad arguments return their own error and change nothing. */
static void case_arguments(struct roles *r)
{
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY }, self = margay_process(r->job.rank);
	ptl_process_id_t far = { 1000, self.pid };
	ptl_handle_ni_t ni = r->job.ni, twice, bad = r->job.ni ^ 1ULL << 30;
	ptl_handle_me_t me, other;
	ptl_handle_md_t md, bound;
	ptl_md_t good = memory(r->in, 8, 1, PTL_MD_OP_PUT, r->eq), wrong;
	ptl_sr_value_t value;
	ptl_process_id_t id;

	EQUAL(PtlNIInit(1, PTL_PID_ANY, NULL, NULL, &twice), PTL_IFACE_INVALID);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &twice), PTL_OK);
	CHECK(PtlHandleIsEqual(ni, twice));
	EQUAL(PtlNIFini(twice), PTL_OK);
	EQUAL(PtlNIStatus(ni, PTL_SR_COUNT, &value), PTL_SR_INDEX_INVALID);
	EQUAL(PtlNIStatus(bad, 0, &value), PTL_NI_INVALID);
	EQUAL(PtlGetId(ni, &id), PTL_OK);
	CHECK(id.nid == self.nid && id.pid == self.pid);
	EQUAL(PtlMEAttach(bad, PT, any_process, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_NI_INVALID);
	EQUAL(PtlMEAttach(ni, 100000, any_process, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me),
	      PTL_PT_INDEX_INVALID);
	EQUAL(PtlMEAttach(ni, PT, any_process, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	EQUAL(PtlMEInsert(me ^ 1ULL << 30, any_process, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &other),
	      PTL_ME_INVALID);
	EQUAL(PtlMDAttach(r->eq, good, PTL_RETAIN, &md), PTL_ME_INVALID);
	wrong = good;
	wrong.start = (void *)16;
	EQUAL(PtlMDAttach(me, wrong, PTL_RETAIN, &md), PTL_SEGV);
	wrong = good;
	wrong.length = ~0ULL;
	EQUAL(PtlMDAttach(me, wrong, PTL_RETAIN, &md), PTL_SEGV);
	wrong = good;
	wrong.threshold = -7;
	EQUAL(PtlMDAttach(me, wrong, PTL_RETAIN, &md), PTL_MD_ILLEGAL);
	wrong = good;
	wrong.options |= 1u << 30;
	EQUAL(PtlMDAttach(me, wrong, PTL_RETAIN, &md), PTL_MD_ILLEGAL);
	wrong = good;
	wrong.eq_handle = me;
	EQUAL(PtlMDAttach(me, wrong, PTL_RETAIN, &md), PTL_EQ_INVALID);
	EQUAL(PtlMDAttach(me, good, PTL_RETAIN, &md), PTL_OK);
	EQUAL(PtlMEUnlink(md), PTL_ME_INVALID);
	EQUAL(PtlMDUnlink(me), PTL_MD_INVALID);
	EQUAL(PtlMDBind(bad, good, PTL_RETAIN, &bound), PTL_NI_INVALID);
	EQUAL(PtlMDBind(ni, good, PTL_RETAIN, &bound), PTL_OK);
	EQUAL(PtlPut(bound, PTL_NOACK_REQ, any_process, PT, 0, 1, 0, 0), PTL_PROCESS_INVALID);
	EQUAL(PtlPut(bound, PTL_NOACK_REQ, far, PT, 0, 1, 0, 0), PTL_PROCESS_INVALID);
	EQUAL(PtlPut(me, PTL_NOACK_REQ, self, PT, 0, 1, 0, 0), PTL_MD_INVALID);
	EQUAL(PtlGet(PTL_INVALID_HANDLE, self, PT, 0, 1, 0), PTL_MD_INVALID);
	EQUAL(PtlEQAlloc(bad, 4, PTL_EQ_HANDLER_NONE, &other), PTL_NI_INVALID);
	EQUAL(PtlEQFree(md), PTL_EQ_INVALID);
	EQUAL(PtlMDUnlink(bound), PTL_OK);
	EQUAL(PtlMDUnlink(bound), PTL_MD_INVALID);
	EQUAL(PtlMEUnlink(me), PTL_OK);
}

/* 34: exhausted pools give PTL_NO_SPACE, but not before their limits. */
static void case_pools(struct roles *r)
{
	static ptl_handle_any_t handle[70000];
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_ni_limits_t limits;
	ptl_handle_ni_t ni;
	int n, rc = PTL_OK;

	if (!r->target)
		return;
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &ni), PTL_OK);
	EQUAL(PtlNIFini(ni), PTL_OK);
	CHECK(limits.max_mes >= 1024 && limits.max_mds >= 1024 && limits.max_eqs >= 8);
	for (n = 0; n < 70000 && rc == PTL_OK; n++)
		rc = PtlMDBind(ni, memory(r->in, 8, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &handle[n]);
	EQUAL(rc, PTL_NO_SPACE);
	EQUAL(n - 1 + (int)r->mds, limits.max_mds);
	while (--n > 0)
		EQUAL(PtlMDUnlink(handle[n - 1]), PTL_OK);
	for (n = 0, rc = PTL_OK; n < 70000 && rc == PTL_OK; n++)
		rc = PtlMEAttach(ni, PT, any_process, n, 0, PTL_RETAIN, PTL_INS_AFTER, &handle[n]);
	CHECK(rc == PTL_NO_SPACE || rc == PTL_ME_LIST_TOO_LONG);
	CHECK(n - 1 >= limits.max_me_list || n - 1 + (int)r->mes == limits.max_mes);
	while (--n > 0)
		EQUAL(PtlMEUnlink(handle[n - 1]), PTL_OK);
	for (n = 0, rc = PTL_OK; n < 70000 && rc == PTL_OK; n++)
		rc = PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &handle[n]);
	EQUAL(rc, PTL_NO_SPACE);
	EQUAL(n - 1 + (int)r->eqs, limits.max_eqs);
	while (--n > 0)
		EQUAL(PtlEQFree(handle[n - 1]), PTL_OK);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "events", case_events }, { "overrun", case_overrun },
		{ "reply_without_room", case_reply_without_room }, { "poll", case_poll },
		{ "poll_sets", case_poll_sets },
		{ "freed_queue", case_freed_queue }, { "arguments", case_arguments },
		{ "pools", case_pools },
	};
	static struct roles roles;

	open_roles(&roles);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
