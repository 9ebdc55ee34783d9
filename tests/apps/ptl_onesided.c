/*
 * ptl_onesided: PtlPutRegion, PtlGetRegion, PtlGetPut, PtlAtomic, PtlFetchAtomic,
 * with their errors. The numbers are those of the rules that a case tests. Prints
 * "ok NAME" for each case; see ptl.h for the roles.
 */
#include "ptl.h"

enum { REMOTE = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE };

static ptl_handle_md_t bind(struct roles *r, void *start, size_t length, int threshold)
{
	ptl_handle_md_t md;

	EQUAL(PtlMDBind(r->job.ni, memory(start, length, threshold, PTL_MD_EVENT_DROPPED, r->own),
	                PTL_RETAIN, &md), PTL_OK);
	return md;
}

/* Wait for the end of a put from `md` with an ack. */
static ptl_event_t acked(struct roles *r)
{
	ptl_event_t sent = expect(r->own, PTL_EVENT_SEND_END), ack = expect(r->own, PTL_EVENT_ACK);

	EQUAL(sent.link, ack.link);
	EQUAL(sent.mlength, sent.rlength);
	return ack;
}

/* 5, 7, 9: a region of the descriptor is sent or written, and nothing around it. */
static void case_regions(struct roles *r)
{
	ptl_handle_me_t me = 0;

	if (r->target)
		me = attach(r, 1, 0, memory(r->in, 256, PTL_MD_THRESH_INF, REMOTE | PTL_MD_TRUNCATE,
		                            PTL_EQ_NONE), PTL_RETAIN);
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t md = bind(r, r->out, 100, 4);
		char got[64];
		ptl_event_t reply;

		EQUAL(PtlPutRegion(md, 10, 20, PTL_ACK_REQ, r->to, PT, 0, 1, 40, 7), PTL_OK);
		EQUAL(acked(r).mlength, 20);
		EQUAL(PtlPutRegion(md, 100, 0, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 7), PTL_OK);
		EQUAL(acked(r).md.threshold, 0);
		EQUAL(PtlPutRegion(md, 0, 1, PTL_NO_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_MD_INVALID);
		EQUAL(PtlMDUnlink(md), PTL_OK);
		memset(got, 'x', sizeof got);
		md = bind(r, got, 64, PTL_MD_THRESH_INF);
		EQUAL(PtlGetRegion(md, 8, 16, r->to, PT, 0, 1, 42), PTL_OK);
		reply = expect(r->own, PTL_EVENT_REPLY_END);
		EQUAL(reply.rlength, 16);
		EQUAL(reply.mlength, 16);
		EQUAL(PtlGetRegion(md, 60, 4, r->to, PT, 0, 1, 254), PTL_OK);     /* 2 are there */
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, 2);
		for (int i = 0; i < 64; i++)
			EQUAL(got[i], i >= 8 && i < 24 ? r->out[i + 4] : i == 60 || i == 61 ? 0 : 'x');
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		for (int i = 0; i < 256; i++)
			EQUAL(r->in[i], i >= 40 && i < 60 ? r->out[i - 30] : 0);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* 33: the errors of all the calls; nothing is sent, no threshold changes, no event is recorded. */
static void case_arguments(struct roles *r)
{
	static const ptl_size_t far[][2] = { { 0, 17 }, { 16, 1 }, { 17, 0 }, { 1, 16 }, { ~0ULL, 1 },
	                                     { 8, ~0ULL }, { 0, ~0ULL }, { ~0ULL, ~0ULL } };
	ptl_process_id_t no_process = { PTL_NID_ANY, 1 }, beyond = { 12345, r->to.pid };
	ptl_handle_md_t md, off, big, text, stale;
	ptl_sr_value_t before;

	if (!r->initiator)
		return;
	md = bind(r, r->in, 16, 5);
	off = bind(r, r->in, 16, 0);
	big = bind(r, r->in, 65, 5);
	text = bind(r, (void *)case_regions, 16, 5);
	stale = bind(r, r->in, 16, 5);
	EQUAL(PtlMDUnlink(stale), PTL_OK);
	before = status(r, PTL_SR_MESSAGES_OUT);
	for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
		ptl_size_t at = far[i][0], n = far[i][1];

		EQUAL(PtlPutRegion(md, at, n, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_MD_ILLEGAL);
		EQUAL(PtlGetRegion(md, at, n, r->to, PT, 0, 1, 0), PTL_MD_ILLEGAL);
		if (n <= 64) {
			EQUAL(PtlAtomic(md, at, n, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT8_T),
			      PTL_MD_ILLEGAL);
			EQUAL(PtlFetchAtomic(md, at, md, 0, n, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT8_T),
			      PTL_MD_ILLEGAL);
			EQUAL(PtlFetchAtomic(md, 0, md, at, n, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT8_T),
			      PTL_MD_ILLEGAL);
		}
	}
	EQUAL(PtlAtomic(md, 0, 16, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0, PTL_CSWAP, PTL_INT8_T),
	      PTL_MD_ILLEGAL);                    /* sends 32 */
	EQUAL(PtlGetPut(md, big, r->to, PT, 0, 1, 0, 0), PTL_MD_ILLEGAL);
	EQUAL(PtlGetPut(text, md, r->to, PT, 0, 1, 0, 0), PTL_SEGV);
	EQUAL(PtlGetRegion(text, 0, 8, r->to, PT, 0, 1, 0), PTL_SEGV);
	EQUAL(PtlGet(text, r->to, PT, 0, 1, 0), PTL_SEGV);
	EQUAL(PtlFetchAtomic(text, 0, md, 0, 8, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT8_T), PTL_SEGV);
	for (int i = 0; i < 4; i++) {
		ptl_handle_md_t bad = i == 0 ? off : i == 1 ? stale : i == 2 ? r->own : PTL_INVALID_HANDLE;

		EQUAL(PtlPutRegion(bad, 0, 1, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_MD_INVALID);
		EQUAL(PtlGetRegion(bad, 0, 1, r->to, PT, 0, 1, 0), PTL_MD_INVALID);
		EQUAL(PtlGetPut(bad, md, r->to, PT, 0, 1, 0, 0), PTL_MD_INVALID);
		EQUAL(PtlGetPut(md, bad, r->to, PT, 0, 1, 0, 0), PTL_MD_INVALID);
		EQUAL(PtlAtomic(bad, 0, 8, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT64_T),
		      PTL_MD_INVALID);
		EQUAL(PtlFetchAtomic(bad, 0, md, 0, 8, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT64_T),
		      PTL_MD_INVALID);
		EQUAL(PtlFetchAtomic(md, 0, bad, 0, 8, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT64_T),
		      PTL_MD_INVALID);
	}
	for (int i = 0; i < 2; i++) {
		ptl_process_id_t to = i ? no_process : beyond;

		EQUAL(PtlPutRegion(md, 0, 1, PTL_ACK_REQ, to, PT, 0, 1, 0, 0), PTL_PROCESS_INVALID);
		EQUAL(PtlGetRegion(md, 0, 1, to, PT, 0, 1, 0), PTL_PROCESS_INVALID);
		EQUAL(PtlGetPut(md, md, to, PT, 0, 1, 0, 0), PTL_PROCESS_INVALID);
		EQUAL(PtlAtomic(md, 0, 8, PTL_ACK_REQ, to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT64_T),
		      PTL_PROCESS_INVALID);
		EQUAL(PtlFetchAtomic(md, 0, md, 0, 8, to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT64_T),
		      PTL_PROCESS_INVALID);
	}
	EQUAL(status(r, PTL_SR_MESSAGES_OUT), before);
	for (int i = 0; i < 4; i++) {
		ptl_handle_md_t each = i == 0 ? md : i == 1 ? off : i == 2 ? big : text;
		ptl_md_t now;

		EQUAL(PtlMDUpdate(each, &now, NULL, PTL_EQ_NONE), PTL_OK);
		EQUAL(now.threshold, each == off ? 0 : 5);
		EQUAL(PtlMDUnlink(each), PTL_OK);
	}
}

/* [M]: invalid atomic operations. */
static void case_atomic_arguments(struct roles *r)
{
	static const struct { ptl_size_t n; int operation, datatype; } bad[] = {
		{ 8, PTL_NOOP + 1, PTL_INT8_T }, { 8, -1, PTL_INT8_T }, { 8, 256, PTL_INT8_T },
		{ 8, PTL_SUM, PTL_DOUBLE + 1 }, { 8, PTL_BOR, PTL_FLOAT }, { 8, PTL_BAND, PTL_DOUBLE },
		{ 8, PTL_BXOR, PTL_FLOAT }, { 6, PTL_SUM, PTL_FLOAT }, { 12, PTL_PROD, PTL_DOUBLE },
	 { 8, PTL_SUM, -1 }, { 8, PTL_SUM, 256 },
		{ 9, PTL_SUM, PTL_INT64_T }, { 7, PTL_SUM, PTL_UINT64_T }, { 4, PTL_SUM, PTL_INT64_T },
		{ 6, PTL_SUM, PTL_UINT32_T }, { 5, PTL_SUM, PTL_INT16_T },
		{ 72, PTL_CSWAP, PTL_INT64_T }, { 1 << 20, PTL_MIN, 0 },
		{ PTL_ATOMIC_LONGEST + 1, PTL_SUM, 0 }, { PTL_ATOMIC_LONGEST + 8, PTL_MAX, PTL_DOUBLE },
	};
	ptl_handle_md_t md;

	if (!r->initiator)
		return;
	md = bind(r, r->in, 256, PTL_MD_THRESH_INF);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		EQUAL(PtlAtomic(md, 0, bad[i].n, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0, bad[i].operation,
		                bad[i].datatype), PTL_ATOMIC_INVALID);
		EQUAL(PtlFetchAtomic(md, 0, md, 128, bad[i].n, r->to, PT, 0, 1, 0, 0, bad[i].operation,
		                     bad[i].datatype), PTL_ATOMIC_INVALID);
	}
	EQUAL(PtlFetchAtomic(md, 0, md, 128, 65, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT8_T),
	      PTL_ATOMIC_INVALID);
	EQUAL(PtlFetchAtomic(md, 0, md, 128, 72, r->to, PT, 0, 1, 0, 0, PTL_SUM, PTL_INT64_T),
	      PTL_ATOMIC_INVALID);
	CHECK(strcmp(PtlErrorStr(PTL_ATOMIC_INVALID), "PTL_ATOMIC_INVALID") == 0);
	EQUAL(PtlMDUnlink(md), PTL_OK);
}

/* 7, 16, 18: PtlGetPut exchanges; the events of both sides. */
static void case_getput(struct roles *r)
{
	ptl_handle_me_t me[3] = { 0 };
	ptl_sr_value_t in = 0, out = 0;

	if (r->target) {
		memset(r->in, 'a', 64);
		me[0] = attach(r, 2, 0, memory(r->in, 64, PTL_MD_THRESH_INF,
		                               PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
		me[1] = attach(r, 2, 0, memory(r->in, 64, PTL_MD_THRESH_INF,
		                               PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
		me[2] = attach(r, 1, 0, memory(r->in, 64, 3, REMOTE | PTL_MD_TRUNCATE, r->eq), PTL_RETAIN);
		in = status(r, PTL_SR_BYTES_IN);
		out = status(r, PTL_SR_BYTES_OUT);
	}
	sync_ranks(r);
	if (r->initiator) {
		char got[64], *sent = r->out;
		ptl_handle_md_t get = bind(r, got, 64, 3), put = bind(r, sent, 64, 2), small, both;
		ptl_event_t end, reply;

		EQUAL(PtlGetPut(get, put, r->to, PT, 0, 2, 0, 0), PTL_OK);    /* puts and gets both: no */
		EQUAL(expect(r->own, PTL_EVENT_SEND_END).md.threshold, 1);
		reply = expect(r->own, PTL_EVENT_REPLY_END);
		EQUAL(reply.ni_fail_type, PTL_NI_DROPPED);
		EQUAL(reply.mlength, 0);
		EQUAL(reply.md.threshold, 2);
		EQUAL(PtlGetPut(get, put, r->to, PT, 0, 1, 0, 77), PTL_OK);
		end = expect(r->own, PTL_EVENT_SEND_END);
		reply = expect(r->own, PTL_EVENT_REPLY_END);
		CHECK(PtlHandleIsEqual(end.md_handle, put) && PtlHandleIsEqual(reply.md_handle, get));
		EQUAL(end.link, reply.link);
		EQUAL(end.md.threshold, 0);
		EQUAL(reply.md.threshold, 1);
		EQUAL(reply.rlength, 64);
		EQUAL(reply.mlength, 64);
		for (int i = 0; i < 64; i++)
			EQUAL(got[i], 'a');
		EQUAL(PtlMDUnlink(put), PTL_OK);

		put = bind(r, sent + 1, 40, 1);                 /* cut at the target: 24 remain */
		memset(got, 'x', sizeof got);
		EQUAL(PtlGetPut(get, put, r->to, PT, 0, 1, 40, 0), PTL_OK);
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, 24);
		CHECK(memcmp(got, sent + 40, 24) == 0 && got[24] == 'x');
		EQUAL(PtlMDUnlink(put), PTL_OK);
		EQUAL(PtlMDUnlink(get), PTL_OK);

		memset(got, 'b', 16);                           /* one descriptor for both; */
		both = bind(r, got, 16, 2);
		EQUAL(PtlGetPut(both, both, r->to, PT, 0, 1, 0, 0), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_SEND_END).md.threshold, 1);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).md.threshold, 0);
		CHECK(memcmp(got, sent, 16) == 0);
		EQUAL(PtlMDUnlink(both), PTL_OK);

		small = bind(r, got, 4, 1);                     /* dropped: its threshold is used up */
		put = bind(r, sent, 8, 1);
		EQUAL(PtlGetPut(small, put, r->to, PT, 0, 1, 0, 0), PTL_OK);
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).ni_fail_type, PTL_NI_DROPPED);
		EQUAL(PtlMDUnlink(small), PTL_OK);
		EQUAL(PtlMDUnlink(put), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		static const int moved[] = { 64, 24, 16 };

		for (int i = 0; i < 3; i++) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_GETPUT_END);

			EQUAL(event.mlength, moved[i]);
			EQUAL(event.md.threshold, 2 - i);
			EQUAL(event.hdr_data, i ? 0 : 77);
		}
		CHECK(memcmp(r->in + 16, r->out + 16, 24) == 0 && memcmp(r->in + 40, r->out + 1, 24) == 0);
		for (int i = 0; i < 16; i++)
			EQUAL(r->in[i], 'b');
		if (r->job.size > 1) {
			EQUAL(status(r, PTL_SR_BYTES_IN), in + 64 + 24 + 16);
			EQUAL(status(r, PTL_SR_BYTES_OUT), out + 64 + 24 + 16);
		}
		for (int i = 0; i < 3; i++)
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
	}
}

/* The result of an operation on an element. */
static uint64_t result(int operation, int bytes, int is_signed, uint64_t was, uint64_t with,
                       uint64_t compared)
{
	uint64_t mask = bytes == 8 ? ~0ULL : (1ULL << 8 * bytes) - 1;
	uint64_t sign = is_signed ? 1ULL << (8 * bytes - 1) : 0;
	int less = (was ^ sign) < (with ^ sign); /* signed: flipping the sign bit gives the order */

	switch (operation) {
	case PTL_MIN: return less ? was : with;
	case PTL_MAX: return less ? with : was;
	case PTL_SUM: return (was + with) & mask;
	case PTL_BOR: return was | with;
	case PTL_BAND: return was & with;
	case PTL_BXOR: return was ^ with;
	case PTL_SWAP: return with;
	default: return was == compared ? with : was;
	}
}

static uint64_t element(const void *from, int bytes)
{
	uint64_t value = 0;

	memcpy(&value, from, bytes);
	return value;
}

/* [M]: each operation on each type, many elements at once, at an odd address. */
static void case_atomics(struct roles *r)
{
	enum { BYTES = 64, AT = 3 };
	ptl_handle_me_t me = 0;
	char was[BYTES], want[BYTES], got[BYTES], operands[2 * BYTES];
	uint64_t state = 5;

	if (r->target) {
		for (int i = 0; i < BYTES; i++)
			r->in[AT + i] = pattern(3 * i);
		me = attach(r, 1, 0, memory(r->in, 256, PTL_MD_THRESH_INF, REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	}
	for (int i = 0; i < BYTES; i++)
		want[i] = pattern(3 * i);
	sync_ranks(r);
	for (int which = 0; r->initiator && which < 2 * 8 * 8; which++) {
		int operation = which / 2 % 8, type = which / 16, bytes = 1 << type / 2;
		ptl_handle_md_t put = bind(r, operands, 2 * BYTES, PTL_MD_THRESH_INF);
		ptl_handle_md_t get = bind(r, got, BYTES, 1);

		memcpy(was, want, BYTES);
		for (int i = 0; i < 2 * BYTES; i++)
			operands[i] = (char)((state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 56);
		if (operation == PTL_CSWAP)               /* every other element is as expected */
			for (int i = 0; i < BYTES; i += 2 * bytes)
				memcpy(operands + i, was + i, bytes);
		for (int i = 0; i < BYTES; i += bytes) {
			int with = operation == PTL_CSWAP ? BYTES + i : i;
			uint64_t value = result(operation, bytes, type % 2 == 0, element(was + i, bytes),
			                        element(operands + with, bytes), element(operands + i, bytes));

			memcpy(want + i, &value, bytes);
		}
		if (which % 2) {
			EQUAL(PtlFetchAtomic(get, 0, put, 0, BYTES, r->to, PT, 0, 1, AT, 0, operation, type),
			      PTL_OK);
			EQUAL(expect(r->own, PTL_EVENT_SEND_END).mlength, BYTES);
			EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, BYTES);
			CHECK(memcmp(got, was, BYTES) == 0);
		} else {
			EQUAL(PtlAtomic(put, 0, BYTES, PTL_ACK_REQ, r->to, PT, 0, 1, AT, 0, operation, type),
			      PTL_OK);
			expect(r->own, PTL_EVENT_SEND_END);
			EQUAL(expect(r->own, PTL_EVENT_ACK).mlength, BYTES);
		}
		EQUAL(PtlMDUnlink(put), PTL_OK);
		EQUAL(PtlMDUnlink(get), PTL_OK);
		put = bind(r, got, BYTES, 1);
		EQUAL(PtlGet(put, r->to, PT, 0, 1, AT), PTL_OK);
		expect(r->own, PTL_EVENT_REPLY_END);
		CHECK(memcmp(got, want, BYTES) == 0);
		EQUAL(PtlMDUnlink(put), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		CHECK(r->in[AT - 1] == 0 && r->in[AT + BYTES] == 0);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* [M]: operations of more than 64 bytes, several under way: sums of integers and, at an odd address,
 * of doubles, then replacements, of which the last ones stay. */
static void case_long_atomics(struct roles *r)
{
	enum { WORDS = PTL_ATOMIC_LONGEST / 8, DOUBLES = 700, TIMES = 10, LAST = 100 };
	static uint64_t words[WORDS], sums[WORDS];
	static double doubles[DOUBLES];
	static char others[DOUBLES * sizeof(double) + 1];
	ptl_handle_me_t me[2] = { 0 };

	for (uint64_t i = 0; i < WORDS; i++)
		words[i] = i << 40 | i;
	for (int i = 0; i < DOUBLES; i++)
		doubles[i] = i + 0.5;
	memset(sums, 0, sizeof sums);
	memset(others, 0, sizeof others);
	if (r->target) {
		me[0] = attach(r, 1, 0, memory(sums, sizeof sums, PTL_MD_THRESH_INF, REMOTE, PTL_EQ_NONE),
		               PTL_RETAIN);
		me[1] = attach(r, 2, 0, memory(others, sizeof others, PTL_MD_THRESH_INF, REMOTE,
		                               PTL_EQ_NONE), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t put = bind(r, words, sizeof words, PTL_MD_THRESH_INF);
		ptl_handle_md_t real = bind(r, doubles, sizeof doubles, PTL_MD_THRESH_INF);
		int acks = 0;

		for (int i = 0; i < TIMES; i++) {
			EQUAL(PtlAtomic(put, 0, sizeof words, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0, PTL_SUM,
			                PTL_UINT64_T), PTL_OK);
			EQUAL(PtlAtomic(real, 0, sizeof doubles, PTL_ACK_REQ, r->to, PT, 0, 2, 1, 0, PTL_SUM,
			                PTL_DOUBLE), PTL_OK);
		}
		for (int i = 0; i < TIMES; i++)           /* `sums` begins with words LAST - 1 - i */
			EQUAL(PtlAtomic(put, 8 * (LAST - 1 - i), 8 * (WORDS / 2 - i), PTL_ACK_REQ, r->to, PT,
			                0, 1, 0, 0, PTL_SWAP, PTL_UINT64_T), PTL_OK);
		while (acks < 3 * TIMES)
			acks += job_good_event(r->own).type == PTL_EVENT_ACK;
		EQUAL(PtlMDUnlink(put), PTL_OK);
		EQUAL(PtlMDUnlink(real), PTL_OK);
	}
	sync_ranks(r);
	if (!r->target)
		return;
	for (uint64_t i = 0; i < WORDS; i++) {
		uint64_t last = WORDS / 2 - 1 - i < TIMES - 1 ? WORDS / 2 - 1 - i : TIMES - 1;

		EQUAL(sums[i], i < WORDS / 2 ? words[i + LAST - 1 - last] : TIMES * words[i]);
	}
	for (int i = 0; i < DOUBLES; i++) {
		double sum;

		memcpy(&sum, others + 1 + i * sizeof sum, sizeof sum);
		CHECK(sum == TIMES * doubles[i]);
	}
	EQUAL(others[0], 0);
	EQUAL(PtlMEUnlink(me[0]), PTL_OK);
	EQUAL(PtlMEUnlink(me[1]), PTL_OK);
}

/* [M]: which descriptors accept atomic operations, with which events; whole elements only. */
static void case_atomic_events(struct roles *r)
{
	ptl_handle_me_t me[3] = { 0 };
	uint64_t one[2] = { 1, 1 }, old[2] = { 9, 9 };

	if (r->target) {
		me[0] = attach(r, 1, 0, memory(r->in, 64, PTL_MD_THRESH_INF, PTL_MD_OP_GET |
		                               PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
		me[1] = attach(r, 1, 0, memory(r->in + 64, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                               PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
		me[2] = attach(r, 1, 0, memory(r->in + 128, 12, PTL_MD_THRESH_INF, REMOTE |
		                               PTL_MD_TRUNCATE, r->eq), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t put = bind(r, one, 16, 4), get = bind(r, old, 16, 1);

		EQUAL(PtlAtomic(put, 0, 8, PTL_NO_ACK_REQ, r->to, PT, 0, 1, 0, 5, PTL_SUM, PTL_INT64_T),
		      PTL_OK);                              /* to the second */
		EQUAL(expect(r->own, PTL_EVENT_SEND_END).md.threshold, 3);
		EQUAL(PtlFetchAtomic(get, 0, put, 0, 16, r->to, PT, 0, 1, 0, 6, PTL_SUM, PTL_INT64_T),
		      PTL_OK);                              /* to the third: 12 bytes, 1 element */
		EQUAL(expect(r->own, PTL_EVENT_SEND_END).md.threshold, 2);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, 8);
		CHECK(old[0] == 0 && old[1] == 9);
		EQUAL(PtlAtomic(put, 0, 8, PTL_ACK_REQ, r->to, PT, 0, 2, 0, 0, PTL_SUM, PTL_INT64_T),
		      PTL_OK);                              /* matches nothing */
		EQUAL(acked(r).ni_fail_type, PTL_NI_DROPPED);
		EQUAL(PtlMDUnlink(put), PTL_OK);
		EQUAL(PtlMDUnlink(get), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

		CHECK(event.md.start == r->in + 64 && event.mlength == 8 && event.hdr_data == 5);
		event = expect(r->eq, PTL_EVENT_GETPUT_END);
		CHECK(event.md.start == r->in + 128 && event.mlength == 8 && event.rlength == 16 &&
		      event.hdr_data == 6);
		EQUAL(element(r->in + 64, 8), 1);
		EQUAL(element(r->in + 128, 8), 1);
		EQUAL(element(r->in + 136, 8), 0);
		for (int i = 0; i < 3; i++)
			EQUAL(PtlMEUnlink(me[i]), PTL_OK);
	}
}

/* Bytes that pass through a buffer are counted at the initiator, others are not. Over network
 * cards these short ones need no buffer of the initiator. */
static void case_copied(struct roles *r)
{
	enum { SHORT = 24, LONG = 200 };
	ptl_handle_me_t me = 0;

	if (r->target)
		me = attach(r, 1, 0, memory(r->in, 256, PTL_MD_THRESH_INF, REMOTE, PTL_EQ_NONE),
		            PTL_RETAIN);
	sync_ranks(r);
	if (r->initiator) {
		ptl_md_iovec_t pieces[2] = { { r->out, SHORT / 2 }, { r->out + 100, SHORT / 2 } };
		ptl_md_t in_pieces = memory(pieces, 2, PTL_MD_THRESH_INF, PTL_MD_IOVEC, r->own);
		ptl_handle_md_t md = bind(r, r->out, LONG, PTL_MD_THRESH_INF), gather;
		ptl_sr_value_t before = status(r, PTL_SR_COPIED), once;

		EQUAL(PtlMDBind(r->job.ni, in_pieces, PTL_RETAIN, &gather), PTL_OK);
		EQUAL(PtlPutRegion(md, 0, SHORT, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
		acked(r);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
		acked(r);
		EQUAL(PtlGet(md, r->to, PT, 0, 1, 0), PTL_OK);
		expect(r->own, PTL_EVENT_REPLY_END);
		EQUAL(status(r, PTL_SR_COPIED) - before, 0);
		EQUAL(PtlGetRegion(md, 0, SHORT, r->to, PT, 0, 1, 0), PTL_OK);
		expect(r->own, PTL_EVENT_REPLY_END);
		once = status(r, PTL_SR_COPIED) - before;
		CHECK(once == SHORT || once == 0);
		EQUAL(PtlPut(gather, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
		acked(r);
		EQUAL(status(r, PTL_SR_COPIED) - before, 2 * once);
		EQUAL(PtlMDUnlink(gather), PTL_OK);
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target)
		EQUAL(PtlMEUnlink(me), PTL_OK);
}

/* [M]: a put or an atomic operation up to the interface's inline size has read its memory when
 * the call returns, for any kind of descriptor and with as many pending as possible. */
static void case_inline(struct roles *r)
{
	enum { SLOTS_ = 60, MOST_ = 4096, KINDS = 5 };
	static char window[SLOTS_ * MOST_], sent[MOST_], got[SLOTS_ * MOST_];
	ptl_sr_value_t most = status(r, PTL_SR_INLINE);
	size_t bytes = most < MOST_ ? most : MOST_;
	ptl_handle_me_t me = 0;

	if (r->target)
		me = attach(r, 1, 0, memory(window, sizeof window, PTL_MD_THRESH_INF, REMOTE,
		                            PTL_EQ_NONE), PTL_RETAIN);
	sync_ranks(r);
	if (r->initiator) {
		ptl_md_iovec_t pieces[2] = { { sent, bytes / 3 }, { sent + bytes / 3, bytes - bytes / 3 } };
		ptl_handle_md_t md[KINDS], fetch;

		EQUAL(PtlMDBind(r->job.ni, memory(sent, bytes, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
		                PTL_RETAIN, &md[0]), PTL_OK);
		EQUAL(PtlMDBind(r->job.ni, memory(pieces, 2, PTL_MD_THRESH_INF, PTL_MD_IOVEC,
		                                  PTL_EQ_NONE), PTL_RETAIN, &md[1]), PTL_OK);
		EQUAL(PtlMDBind(r->job.ni, memory(NULL, UINT64_MAX, PTL_MD_THRESH_INF, PTL_MD_SPAN,
		                                  PTL_EQ_NONE), PTL_RETAIN, &md[2]), PTL_OK);
		EQUAL(PtlMDBind(r->job.ni, memory(sent, bytes, PTL_MD_THRESH_INF,
		                                  PTL_MD_EVENT_END_DISABLE, r->own), PTL_RETAIN, &md[3]),
		      PTL_OK);
		md[4] = md[0];         /* an atomic operation */
		fetch = bind(r, got, sizeof got, PTL_MD_THRESH_INF);
		for (int i = 0; i < SLOTS_; i++) {
			int kind = i % KINDS;
			ptl_size_t at = kind == 2 ? (uintptr_t)sent : 0;

			memset(sent, i + 1, bytes);
			if (kind == 4)
				EQUAL(PtlAtomic(md[4], 0, 64, PTL_NO_ACK_REQ, r->to, PT, 0, 1,
				                (ptl_size_t)i * MOST_, 0, PTL_SWAP, PTL_UINT64_T), PTL_OK);
			else
				EQUAL(PtlPutRegion(md[kind], at, bytes, PTL_NO_ACK_REQ, r->to, PT, 0, 1,
				                   (ptl_size_t)i * MOST_, 0), PTL_OK);
			memset(sent, 0x7f, bytes);
		}
		EQUAL(PtlGet(fetch, r->to, PT, 0, 1, 0), PTL_OK);
		expect(r->own, PTL_EVENT_REPLY_END);
		for (int i = 0; i < SLOTS_; i++)
			for (size_t j = 0; j < (i % KINDS == 4 ? 64 : bytes); j++)
				EQUAL(got[i * MOST_ + j], i + 1);
		for (int kind = 0; kind < 4; kind++)
			EQUAL(PtlMDUnlink(md[kind]), PTL_OK);
		EQUAL(PtlMDUnlink(fetch), PTL_OK);
	}
	sync_ranks(r);
	if (r->target)
		EQUAL(PtlMEUnlink(me), PTL_OK);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "regions", case_regions }, { "arguments", case_arguments },
		{ "atomic_arguments", case_atomic_arguments }, { "getput", case_getput },
		{ "atomics", case_atomics }, { "long_atomics", case_long_atomics },
		{ "atomic_events", case_atomic_events },
		{ "copied", case_copied }, { "inline", case_inline },
	};
	static struct roles roles;

	open_roles(&roles);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
