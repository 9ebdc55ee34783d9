/*
 * ptl_rules: which messages an entry and its descriptor accept, and where the
 * bytes go. The numbers are those of the rules that a case tests. Prints
 * "ok NAME" for each case; see ptl.h for the roles.
 */
#include "ptl.h"

/* 3: ignored bits do not count, and the first matching entry wins. */
static void case_match_bits(struct roles *r)
{
	ptl_handle_me_t me[3] = { 0 };

	if (r->target) {
		unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;

		me[0] = attach(r, 0x10, 0, memory(r->in, 8, PTL_MD_THRESH_INF, options, r->eq),
		               PTL_RETAIN);
		me[1] = attach(r, 0x8000000000000020, 0xf,
		               memory(r->in + 8, 8, PTL_MD_THRESH_INF, options, r->eq), PTL_RETAIN);
		me[2] = attach(r, 0x10, 0xffff, memory(r->in + 16, 8, PTL_MD_THRESH_INF, options, r->eq),
		               PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		put_ok(r, 1, 0x10, 0, 1);
		put_ok(r, 2, 0x800000000000002a, 0, 2);
		put_ok(r, 3, 0x2a, 0, 3);
		put_dropped(r, 4, 0x8000000000000030, 0);
	}
	sync_ranks(r);
	if (r->target) {
		for (int i = 0; i < 3; i++) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

			EQUAL(event.mlength, i + 1);
			CHECK(memcmp(r->in + 8 * i, r->out, i + 1) == 0);
			EQUAL(r->in[8 * i + i + 1], 0);
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
		}
	}
}

/* 3: an entry for another process does not match, one for this process does. */
static void case_source(struct roles *r)
{
	ptl_process_id_t from = margay_process(0), other = from;
	ptl_handle_me_t me[4] = { 0 };
	ptl_handle_md_t md;

	if (r->target) {
		ptl_process_id_t who[4] = { other, other, { from.nid, PTL_PID_ANY }, from };

		who[0].nid++;
		who[1].pid++;
		for (int i = 0; i < 4; i++) {
			ptl_md_t memory_i = memory(r->in + 8 * i, 8, 1, PTL_MD_OP_PUT, r->eq);

			EQUAL(PtlMEAttach(r->job.ni, PT, who[i], 5, 0, PTL_RETAIN, PTL_INS_AFTER, &me[i]),
			      PTL_OK);
			EQUAL(PtlMDAttach(me[i], memory_i, PTL_RETAIN, &md), PTL_OK);
		}
	}
	sync_ranks(r);
	if (r->initiator) {
		put_ok(r, 8, 5, 0, 8);
		put_ok(r, 8, 5, 0, 8);
		put_dropped(r, 8, 5, 0);
	}
	sync_ranks(r);
	if (r->target) {
		for (int i = 2; i < 4; i++) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

			EQUAL(event.initiator.nid, from.nid);
			EQUAL(event.initiator.pid, from.pid);
			CHECK(memcmp(r->in + 8 * i, r->out, 8) == 0);
		}
		EQUAL(r->in[0] | r->in[8], 0);
		for (int i = 0; i < 4; i++)
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
	}
}

/* PtlMEAttach at the head, PtlMEInsert before and after: the order of the list counts. */
static void case_positions(struct roles *r)
{
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_me_t me[4] = { 0 };
	ptl_handle_md_t md;

	if (r->target) {
		EQUAL(PtlMEAttach(r->job.ni, PT, any_process, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me[2]), PTL_OK);
		EQUAL(PtlMEAttach(r->job.ni, PT, any_process, 1, 0, PTL_RETAIN, PTL_INS_BEFORE, &me[0]),
		      PTL_OK);
		EQUAL(PtlMEInsert(me[2], any_process, 1, 0, PTL_RETAIN, PTL_INS_BEFORE, &me[1]), PTL_OK);
		EQUAL(PtlMEInsert(me[2], any_process, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me[3]), PTL_OK);
		for (int i = 0; i < 4; i++)
			EQUAL(PtlMDAttach(me[i], memory(r->in + i, 1, 1, PTL_MD_OP_PUT, r->eq), PTL_RETAIN,
			                  &md), PTL_OK);
		EQUAL(PtlMDAttach(me[0], memory(r->in, 1, 1, PTL_MD_OP_PUT, r->eq), PTL_RETAIN, &md),
		      PTL_ME_IN_USE);
	}
	sync_ranks(r);
	for (int i = 0; r->initiator && i < 4; i++)
		EQUAL(put(r, 1, 1, 0, i).ni_fail_type, PTL_NI_OK);
	sync_ranks(r);
	if (r->target) {
		for (int i = 0; i < 4; i++) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

			EQUAL(event.hdr_data, i);
			CHECK(event.md.start == r->in + i);
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
		}
	}
}

/* 5: the local offset advances; MANAGE_REMOTE takes the request's. */
static void case_offsets(struct roles *r)
{
	ptl_handle_me_t me[2] = { 0 };

	if (r->target) {
		me[0] = attach(r, 1, 0, memory(r->in, 24, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, r->eq),
		               PTL_RETAIN);
		me[1] = attach(r, 2, 0, memory(r->in + 64, 24, PTL_MD_THRESH_INF,
		                               PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		put_ok(r, 10, 1, 100, 10);                /* local: 0 */
		put_ok(r, 10, 1, 100, 10);                /* local: 10 */
		put_dropped(r, 10, 1, 0);                 /* 4 bytes are left */
		put_ok(r, 4, 1, 0, 4);
		put_ok(r, 8, 2, 16, 8);
		put_ok(r, 8, 2, 3, 8);
		put_ok(r, 0, 2, 24, 0);
		put_dropped(r, 8, 2, 17);
		put_dropped(r, 8, 2, ~0ULL);              /* sum overflows */
		put_dropped(r, 8, 2, ~0ULL - 7);
	}
	sync_ranks(r);
	if (r->target) {
		static const int offsets[] = { 0, 10, 20, 16, 3, 24 };

		for (int i = 0; i < 6; i++)
			EQUAL(expect(r->eq, PTL_EVENT_PUT_END).offset, offsets[i]);
		CHECK(memcmp(r->in, r->out, 10) == 0 && memcmp(r->in + 10, r->out, 10) == 0 &&
		      memcmp(r->in + 20, r->out, 4) == 0 && r->in[24] == 0);
		CHECK(memcmp(r->in + 64 + 16, r->out, 8) == 0 && memcmp(r->in + 64 + 3, r->out, 8) == 0);
		EQUAL(r->in[64 + 24], 0);
		EQUAL(PtlMEUnlink(me[0]), PTL_OK);
		EQUAL(PtlMEUnlink(me[1]), PTL_OK);
	}
}

/* 4, 5: a message that is too long is rejected, or cut with TRUNCATE; the search continues after
 * a rejection. */
static void case_truncate(struct roles *r)
{
	ptl_handle_me_t me[3] = { 0 };

	if (r->target) {
		unsigned cut = PTL_MD_OP_PUT | PTL_MD_TRUNCATE;

		me[0] = attach(r, 1, 0, memory(r->in, 10, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, r->eq),
		               PTL_RETAIN);
		me[1] = attach(r, 1, 0, memory(r->in + 16, 10, PTL_MD_THRESH_INF, cut, r->eq),
		               PTL_RETAIN);
		me[2] = attach(r, 2, 0, memory(r->in + 32, 10, PTL_MD_THRESH_INF,
		                               cut | PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		put_ok(r, 10, 1, 0, 10);
		put_ok(r, 11, 1, 0, 10);
		put_ok(r, 11, 1, 0, 0);
		put_ok(r, 11, 2, 7, 3);
		put_ok(r, 11, 2, 10, 0);
		put_ok(r, 11, 2, 1000, 0);
		put_ok(r, 11, 2, ~0ULL, 0);
	}
	sync_ranks(r);
	if (r->target) {
		static const int moved[] = { 10, 10, 0, 3, 0, 0, 0 };

		for (int i = 0; i < 7; i++) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

			EQUAL(event.mlength, moved[i]);
			EQUAL(event.rlength, i ? 11 : 10);
		}
		CHECK(memcmp(r->in, r->out, 10) == 0 && r->in[10] == 0);
		CHECK(memcmp(r->in + 16, r->out, 10) == 0 && r->in[26] == 0);
		CHECK(memcmp(r->in + 39, r->out, 3) == 0 && r->in[42] == 0 && r->in[38] == 0);
		for (int i = 0; i < 3; i++)
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
	}
}

/* 4: a descriptor rejects an operation that is not enabled. */
static void case_operations(struct roles *r)
{
	ptl_handle_me_t me[2] = { 0 };
	ptl_handle_md_t md;
	char got[8] = { 0 };

	if (r->target) {
		memcpy(r->in, r->out, 16);
		me[0] = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF,
		                               PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
		me[1] = attach(r, 1, 0, memory(r->in + 8, 8, PTL_MD_THRESH_INF,
		                               PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		put_ok(r, 8, 1, 0, 8);                    /* skips the first */
		EQUAL(PtlMDBind(r->job.ni, memory(got, 8, PTL_MD_THRESH_INF, 0, r->own), PTL_RETAIN, &md),
		      PTL_OK);
		EQUAL(PtlGet(md, r->to, PT, 0, 1, 0), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, 8);
		CHECK(memcmp(got, r->out, 8) == 0);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		EQUAL(expect(r->eq, PTL_EVENT_PUT_END).mlength, 8);
		EQUAL(expect(r->eq, PTL_EVENT_GET_END).mlength, 8);
		CHECK(memcmp(r->in + 8, r->out, 8) == 0);
		EQUAL(PtlMEUnlink(me[0]), PTL_OK);
		EQUAL(PtlMEUnlink(me[1]), PTL_OK);
	}
}

/* 4, 7: a threshold counts down at the target; at 0 the descriptor rejects. */
static void case_threshold(struct roles *r)
{
	ptl_handle_me_t me[3] = { 0 };

	if (r->target) {
		me[0] = attach(r, 1, 0, memory(r->in, 64, 0, PTL_MD_OP_PUT, r->eq), PTL_RETAIN);
		me[1] = attach(r, 1, 0, memory(r->in, 64, 2, PTL_MD_OP_PUT, r->eq), PTL_RETAIN);
		me[2] = attach(r, 1, 0, memory(r->in, 64, 1, PTL_MD_OP_PUT, r->eq), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		for (int i = 0; i < 3; i++)
			put_ok(r, 8, 1, 0, 8);
		put_dropped(r, 8, 1, 0);
	}
	sync_ranks(r);
	if (r->target) {
		static const int left[] = { 1, 0, 0 };

		for (int i = 0; i < 3; i++)
			EQUAL(expect(r->eq, PTL_EVENT_PUT_END).md.threshold, left[i]);
		for (int i = 0; i < 3; i++)
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
	}
}

/* 7: at the initiator a put takes 1 when sent and 1 for its ack. */
static void case_initiator_threshold(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t md;

	if (r->target)
		me = attach(r, 1, 0, memory(r->in, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, PTL_EQ_NONE),
		            PTL_RETAIN);
	sync_ranks(r);
	if (r->initiator) {
		EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, 3, 0, r->own), PTL_RETAIN, &md), PTL_OK);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_SEND_END).md.threshold, 2);
		EQUAL(expect(r->own, PTL_EVENT_ACK).md.threshold, 1);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_SEND_END).md.threshold, 0);
		EQUAL(expect(r->own, PTL_EVENT_ACK).md.threshold, 0);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_MD_INVALID);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target)
		EQUAL(PtlMEUnlink(me), PTL_OK);
}

/* 8, 17: an exhausted descriptor with PTL_UNLINK is unlinked with its entry; the handles are
 * then stale. */
static void case_unlink(struct roles *r)
{
	ptl_handle_me_t me[2] = { 0 }, again;

	if (r->target) {
		me[0] = attach(r, 1, 0, memory(r->in, 8, 1, PTL_MD_OP_PUT, r->eq), PTL_UNLINK);
		me[1] = attach(r, 1, 0, memory(r->in + 8, 8, 2, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
		                               r->eq), PTL_UNLINK);
	}
	sync_ranks(r);
	if (r->initiator) {
		for (int i = 0; i < 3; i++)
			put_ok(r, 8, 1, 0, 8);
		put_dropped(r, 8, 1, 0);
	}
	sync_ranks(r);
	if (r->target) {
		ptl_event_t end = expect(r->eq, PTL_EVENT_PUT_END);
		ptl_event_t gone = expect(r->eq, PTL_EVENT_UNLINK);

		CHECK(PtlHandleIsEqual(end.md_handle, gone.md_handle));
		EQUAL(PtlMDUnlink(gone.md_handle), PTL_MD_INVALID);
		EQUAL(PtlMEUnlink(me[0]), PTL_ME_INVALID);
		expect(r->eq, PTL_EVENT_PUT_END);
		expect(r->eq, PTL_EVENT_PUT_END);
		expect(r->eq, PTL_EVENT_UNLINK);
		EQUAL(PtlMEUnlink(me[1]), PTL_ME_INVALID);
		again = attach(r, 9, 0, memory(r->in, 8, 1, PTL_MD_OP_PUT, r->eq), PTL_UNLINK);
		EQUAL(PtlMEUnlink(me[0]), PTL_ME_INVALID);    /* not taken for its successor */
		EQUAL(PtlMEUnlink(me[1]), PTL_ME_INVALID);
		EQUAL(PtlMEUnlink(again), PTL_OK);
	}
}

/* 1, 2, 16: a discarded request is counted, and answered if the initiator waits. */
static void case_drops(struct roles *r)
{
	ptl_sr_value_t before = 0;
	ptl_handle_md_t md;
	ptl_handle_me_t me = 0;
	char got[8];

	if (r->target) {
		before = status(r, PTL_SR_DROP_COUNT);
		me = attach(r, 1, 0, memory(r->in, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, r->eq),
		            PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		ptl_sr_value_t refused;
		ptl_event_t reply;

		refused = status(r, PTL_SR_REFUSED);
		EQUAL(PtlMDBind(r->job.ni, memory(got, 8, 4, 0, r->own), PTL_RETAIN, &md), PTL_OK);
		EQUAL(PtlPut(md, PTL_NOACK_REQ, r->to, PT, 0, 99, 0, 0), PTL_OK);  /* silent */
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 99, 0, 0), PTL_OK);    /* silent too */
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(PtlAtomic(md, 0, 8, PTL_ACK_REQ, r->to, PT, 0, 99, 0, 0, PTL_SUM, PTL_INT64_T),
		      PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_SEND_END).md.threshold, 1);
		while (status(r, PTL_SR_OP_USED) > 0)                              /* but they end */
			continue;
		EQUAL(status(r, PTL_SR_REFUSED), refused + 2);
		expect_empty(r->own);
		EQUAL(PtlMDUnlink(md), PTL_OK);
		EQUAL(PtlMDBind(r->job.ni, memory(got, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_DROPPED, r->own),
		                PTL_RETAIN, &md), PTL_OK);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, 60000, 0, 1, 0, 0), PTL_OK);  /* portal index */
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(expect(r->own, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
		for (int cookie = 1; cookie < 4; cookie++) {                       /* access control */
			EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, cookie, 1, 0, 0), PTL_OK);
			expect(r->own, PTL_EVENT_SEND_END);
			EQUAL(expect(r->own, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
		}
		EQUAL(PtlGet(md, r->to, PT, 0, 1, 0), PTL_OK);   /* OP_GET is not enabled */
		reply = expect(r->own, PTL_EVENT_REPLY_END);
		EQUAL(reply.ni_fail_type, PTL_NI_DROPPED);
		EQUAL(reply.mlength, 0);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		EQUAL(status(r, PTL_SR_DROP_COUNT), before + 8);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* 12, 15: which puts get an ack, and its contents. */
static void case_acks(struct roles *r)
{
	ptl_handle_me_t me[2] = { 0 };
	ptl_handle_md_t md;

	if (r->target) {
		me[0] = attach(r, 0x77, 0, memory(r->in, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                                  PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, PTL_EQ_NONE),
		               PTL_RETAIN);
		me[1] = attach(r, 0x78, 0, memory(r->in, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                                  PTL_MD_MANAGE_REMOTE | PTL_MD_ACK_DISABLE,
		                                  PTL_EQ_NONE), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		ptl_event_t ack = put(r, 16, 0x77, 60, 0x1234);

		EQUAL(ack.mlength, 4);
		EQUAL(ack.rlength, 16);
		EQUAL(ack.offset, 60);
		EQUAL(ack.match_bits, 0x77);
		EQUAL(ack.pt_index, PT);
		EQUAL(ack.initiator.nid, r->to.nid);
		EQUAL(ack.initiator.pid, r->to.pid);
		EQUAL(PtlMDBind(r->job.ni, memory(r->out, 16, PTL_MD_THRESH_INF, 0, r->own), PTL_RETAIN,
		                &md), PTL_OK);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 0x78, 0, 0), PTL_OK);    /* disabled there */
		expect(r->own, PTL_EVENT_SEND_END);
		/* not requested */
		EQUAL(PtlPut(md, PTL_NOACK_REQ, r->to, PT, 0, 0x77, 0, 0), PTL_OK);
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	for (int i = 0; r->target && i < 2; i++)
		EQUAL(PtlMEUnlink(me[i]), PTL_OK);
}

/* Gets at an offset, cut at the target, with the local offset, and their events. */
static void case_gets(struct roles *r)
{
	static const struct { int bits, offset, bytes, moved, from; } gets[] = {
		{ 1, 100, 50, 50, 100 }, { 1, 0, 1, 1, 0 }, { 1, 190, 20, 10, 190 }, { 1, 500, 20, 0, 0 },
		{ 2, 7, 30, 30, 0 }, { 2, 7, 30, 30, 30 }, { 1, 0, 0, 0, 0 },
	};
	enum { GETS = sizeof gets / sizeof gets[0] };
	ptl_handle_me_t me[2] = { 0 };
	char got[64];

	if (r->target) {
		memcpy(r->in, r->out, 300);
		me[0] = attach(r, 1, 0, memory(r->in, 200, PTL_MD_THRESH_INF, PTL_MD_OP_GET |
		                               PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, r->eq), PTL_RETAIN);
		me[1] = attach(r, 2, 0, memory(r->in, 200, PTL_MD_THRESH_INF, PTL_MD_OP_GET, r->eq),
		               PTL_RETAIN);
	}
	sync_ranks(r);
	for (int i = 0; r->initiator && i < GETS; i++) {
		ptl_handle_md_t md;
		ptl_event_t reply;

		memset(got, 'x', sizeof got);
		EQUAL(PtlMDBind(r->job.ni, memory(got, gets[i].bytes, 1, 0, r->own), PTL_RETAIN, &md),
		      PTL_OK);
		EQUAL(PtlGet(md, r->to, PT, 0, gets[i].bits, gets[i].offset), PTL_OK);
		reply = expect(r->own, PTL_EVENT_REPLY_END);
		EQUAL(reply.ni_fail_type, PTL_NI_OK);
		EQUAL(reply.mlength, gets[i].moved);
		EQUAL(reply.rlength, gets[i].bytes);
		EQUAL(reply.md.threshold, 0);
		CHECK(memcmp(got, r->out + gets[i].from, gets[i].moved) == 0);
		EQUAL(got[gets[i].moved], 'x');
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		for (int i = 0; i < GETS; i++) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_GET_END);

			EQUAL(event.mlength, gets[i].moved);
			EQUAL(event.rlength, gets[i].bytes);
		}
		EQUAL(PtlMEUnlink(me[0]), PTL_OK);
		EQUAL(PtlMEUnlink(me[1]), PTL_OK);
	}
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "match_bits", case_match_bits }, { "source", case_source },
		{ "positions", case_positions }, { "offsets", case_offsets },
		{ "truncate", case_truncate }, { "operations", case_operations },
		{ "threshold", case_threshold }, { "initiator_threshold", case_initiator_threshold },
		{ "unlink", case_unlink }, { "drops", case_drops }, { "acks", case_acks },
		{ "gets", case_gets },
	};
	static struct roles roles;

	open_roles(&roles);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
