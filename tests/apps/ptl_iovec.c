/*
 * ptl_iovec: descriptors of several pieces on either side, and on both (rule 10).
 * The numbers are those of the rules that a case tests. Prints "ok NAME" for each
 * case; see ptl.h for the roles.
 */
#include "ptl.h"

enum { MOST = 256, CANARY = 0x5a };

/* Cut `bytes` bytes of `start` into pieces of different lengths, some empty, with gaps between
 * them, in mixed order; returns the number of pieces. */
static int cut(char *start, size_t bytes, unsigned seed, ptl_md_iovec_t *pieces)
{
	size_t at = 0;
	int n = 0;

	while (bytes) {
		size_t length = (seed = seed * 1103515245 + 12345) >> 16 & 63;

		if (length > bytes || n == MOST - 1)
			length = bytes;
		pieces[n++] = (ptl_md_iovec_t){ length ? start + at : NULL, length };
		at += length + 1 + n % 3;
		bytes -= length;
	}
	for (int i = 0; i + 1 < n; i += 3) {
		ptl_md_iovec_t one = pieces[i];

		pieces[i] = pieces[i + 1];
		pieces[i + 1] = one;
	}
	return n;
}

/* Copy the pieces' bytes to `flat` in order, or back. */
static void gather(const ptl_md_iovec_t *pieces, int n, char *flat)
{
	for (int i = 0; i < n; flat += pieces[i++].iov_len)
		memcpy(flat, pieces[i].iov_base, pieces[i].iov_len);
}

static void scatter(const ptl_md_iovec_t *pieces, int n, const char *flat)
{
	for (int i = 0; i < n; flat += pieces[i++].iov_len)
		memcpy(pieces[i].iov_base, flat, pieces[i].iov_len);
}

/* Check memory of CANARY bytes, cut into pieces, after a message of `bytes` bytes at `offset` of
 * the logical buffer. */
static void compare(const char *memory, size_t size, const ptl_md_iovec_t *pieces, int n,
                    const char *data, size_t offset, size_t bytes)
{
	static char want[IN_BYTES], flat[IN_BYTES];
	ptl_md_iovec_t copy[MOST];

	memset(want, CANARY, size);
	memset(flat, CANARY, sizeof flat);
	memcpy(flat + offset, data, bytes);
	for (int i = 0; i < n; i++) {
		copy[i] = pieces[i];
		if (copy[i].iov_len)
			copy[i].iov_base = want + ((char *)pieces[i].iov_base - memory);
	}
	scatter(copy, n, flat);
	CHECK(memcmp(memory, want, size) == 0);
}

static ptl_md_t in_pieces(ptl_md_iovec_t *pieces, int n, unsigned options, ptl_handle_eq_t eq)
{
	return memory(pieces, n, PTL_MD_THRESH_INF, options | PTL_MD_IOVEC, eq);
}

/* 5, 9, 10: puts of all lengths; pieces at the target, at the initiator, at both. */
static void case_puts(struct roles *r)
{
	static const int lengths[] = { 0, 1, 7, 63, 64, 65, 200, 1000, 1500 };
	static char shadow[IN_BYTES];
	ptl_md_iovec_t there[MOST], here[MOST];
	char flat[2048];
	ptl_handle_me_t me = 0;
	int n = cut(r->in, 1500, 3, there), m = cut(r->out, 1500, 77, here);

	gather(here, m, flat);
	for (int round = 0; round < 9 * 4; round++) {
		int bytes = lengths[round / 4], iovec_here = round % 2, iovec_there = round / 2 % 2;
		size_t at = (round * 37) % (1500 - bytes + 1), from = (round * 53) % (1500 - bytes + 1);

		if (r->target) {
			memset(r->in, CANARY, IN_BYTES);
			me = attach(r, 1, 0, iovec_there ?
			            in_pieces(there, n, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, r->eq) :
			            memory(r->in, 1500, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
			                   PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
			if (iovec_there)
				memset(there, 0, sizeof there);  /* it has been copied */
			n = cut(r->in, 1500, 3, there);
		}
		sync_ranks(r);
		if (r->initiator) {
			ptl_handle_md_t md;

			EQUAL(PtlMDBind(r->job.ni, iovec_here ? in_pieces(here, m, 0, r->own) :
			                memory(flat, 1500, PTL_MD_THRESH_INF, 0, r->own), PTL_RETAIN, &md),
			      PTL_OK);
			EQUAL(PtlPutRegion(md, from, bytes, PTL_ACK_REQ, r->to, PT, 0, 1, at, 0), PTL_OK);
			expect(r->own, PTL_EVENT_SEND_END);
			EQUAL(expect(r->own, PTL_EVENT_ACK).mlength, bytes);
			EQUAL(PtlMDUnlink(md), PTL_OK);
		}
		sync_ranks(r);
		if (r->target) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

			EQUAL(event.mlength, bytes);
			EQUAL(event.offset, at);
			if (iovec_there) {
				CHECK(event.md.start == there && (event.md.options & PTL_MD_IOVEC));
				EQUAL(event.md.length, n);
				compare(r->in, IN_BYTES, there, n, flat + from, at, bytes);
			} else {
				memset(shadow, CANARY, IN_BYTES);
				memcpy(shadow + at, flat + from, bytes);
				CHECK(memcmp(r->in, shadow, IN_BYTES) == 0);
			}
			EQUAL(PtlMEUnlink(me), PTL_OK);
		}
	}
}

/* 10: gets, exchanges and atomic operations with pieces. */
static void case_fetches(struct roles *r)
{
	ptl_md_iovec_t there[MOST], here[MOST], odd[4];
	static char got[IN_BYTES];
	char flat[2048];
	ptl_handle_me_t me = 0;
	int n = cut(r->in, 1500, 9, there), m = cut(got, 1500, 5, here);

	if (r->target) {
		scatter(there, n, r->out);
		me = attach(r, 1, 0, in_pieces(there, n, PTL_MD_OP_PUT | PTL_MD_OP_GET |
		                               PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t md, put;
		uint64_t one[2] = { 1, 0x100 };
		char small[16];

		for (int bytes = 0; bytes <= 1400; bytes += bytes < 70 ? 1 : 190) {
			memset(got, CANARY, sizeof got);
			EQUAL(PtlMDBind(r->job.ni, in_pieces(here, m, 0, r->own), PTL_RETAIN, &md), PTL_OK);
			EQUAL(PtlGetRegion(md, 20, bytes, r->to, PT, 0, 1, 70), PTL_OK);
			EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, bytes);
			compare(got, sizeof got, here, m, r->out + 70, 20, bytes);
			EQUAL(PtlMDUnlink(md), PTL_OK);
		}
		odd[0] = (ptl_md_iovec_t){ small + 9, 5 };
		odd[1] = (ptl_md_iovec_t){ NULL, 0 };
		odd[2] = (ptl_md_iovec_t){ small, 3 };
		odd[3] = (ptl_md_iovec_t){ small + 4, 4 };
		EQUAL(PtlMDBind(r->job.ni, in_pieces(odd, 4, 0, r->own), PTL_RETAIN, &md), PTL_OK);
		EQUAL(PtlMDBind(r->job.ni, memory(one, 16, PTL_MD_THRESH_INF, 0, r->own), PTL_RETAIN,
		                &put), PTL_OK);
		EQUAL(PtlFetchAtomic(md, 4, put, 8, 8, r->to, PT, 0, 1, 123, 0, PTL_SUM, PTL_INT64_T),
		      PTL_OK);
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, 8);
		gather(odd, 4, flat);
		CHECK(memcmp(flat + 4, r->out + 123, 8) == 0);
		memcpy(small, r->out, 16);
		gather(odd, 4, flat);                     /* what the exchange sends */
		EQUAL(PtlGetPut(put, md, r->to, PT, 0, 1, 301, 0), PTL_OK);
		expect(r->own, PTL_EVENT_SEND_END);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, 12);
		CHECK(memcmp(one, r->out + 301, 12) == 0);
		EQUAL(PtlGetRegion(md, 0, 12, r->to, PT, 0, 1, 301), PTL_OK);
		expect(r->own, PTL_EVENT_REPLY_END);
		gather(odd, 4, flat + 100);
		CHECK(memcmp(flat, flat + 100, 12) == 0);
		EQUAL(PtlMDUnlink(md), PTL_OK);
		EQUAL(PtlMDUnlink(put), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		uint64_t before, after;

		gather(there, n, flat);
		memcpy(&before, r->out + 123, 8);
		memcpy(&after, flat + 123, 8);
		EQUAL(after, before + 0x100);
		CHECK(memcmp(flat, r->out, 123) == 0 && memcmp(flat + 131, r->out + 131, 170) == 0 &&
		      memcmp(flat + 313, r->out + 313, 1500 - 313) == 0);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* 5, 6, 10: local offset, truncation and max_size count the bytes of all pieces. */
static void case_one_buffer(struct roles *r)
{
	ptl_md_iovec_t there[3] = { { r->in, 10 }, { r->in + 100, 20 }, { r->in + 50, 30 } };
	ptl_handle_me_t me = 0;

	if (r->target) {
		ptl_md_t md = in_pieces(there, 3, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_MAX_SIZE, r->eq);

		md.max_size = 5;
		me = attach(r, 1, 0, md, PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		put_ok(r, 25, 1, 0, 25);
		put_ok(r, 30, 1, 0, 30);                  /* 5 are left: enough */
		put_ok(r, 9, 1, 0, 5);
		put_dropped(r, 1, 1, 0);
	}
	sync_ranks(r);
	if (r->target) {
		char flat[60];

		for (int i = 0; i < 3; i++)
			EQUAL(expect(r->eq, PTL_EVENT_PUT_END).offset, i == 0 ? 0 : i == 1 ? 25 : 55);
		gather(there, 3, flat);
		CHECK(memcmp(flat, r->out, 25) == 0 && memcmp(flat + 25, r->out, 30) == 0 &&
		      memcmp(flat + 55, r->out, 5) == 0);
		CHECK(r->in[10] == 0 && r->in[49] == 0 && r->in[80] == 0 && r->in[99] == 0 &&
		      r->in[120] == 0);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* 33, 34: pieces are checked like memory, and their pool can be exhausted and refilled. */
static void case_arguments(struct roles *r)
{
	static ptl_md_iovec_t pieces[MOST + 1];
	ptl_md_t md = in_pieces(pieces, 4, PTL_MD_OP_PUT, PTL_EQ_NONE);
	ptl_handle_md_t handle[64];
	int n, rc;

	if (!r->target)
		return;
	for (int i = 0; i <= MOST; i++)
		pieces[i] = (ptl_md_iovec_t){ r->in + i, 1 };
	for (int i = 0; i < 4; i++) {
		ptl_md_iovec_t good = pieces[i];
		static const ptl_md_iovec_t bad[] = {
			{ (void *)8, 1 }, { (void *)case_puts, 1 }, { NULL, 1 }, { (void *)~0UL, 2 },
		};

		for (int k = 0; k < 4; k++) {
			pieces[i] = bad[k];
			EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_SEGV);
		}
		pieces[i] = (ptl_md_iovec_t){ r->in, ~0ULL };
		EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_SEGV);
		pieces[i] = (ptl_md_iovec_t){ (void *)8, 0 };     /* empty: any address is valid */
		EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_OK);
		EQUAL(PtlMDUnlink(*handle), PTL_OK);
		pieces[i] = (ptl_md_iovec_t){ (void *)case_puts, 1 };
		md.options &= ~PTL_MD_OP_PUT;                     /* text is readable */
		EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_OK);
		EQUAL(PtlGet(*handle, r->to, PT, 0, 1, 0), PTL_SEGV);
		EQUAL(PtlMDUnlink(*handle), PTL_OK);
		md.options |= PTL_MD_OP_PUT;
		pieces[i] = good;
	}
	md.start = (char *)pieces + 4;
	EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_SEGV);
	md.start = (void *)4096;
	EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_SEGV);
	md.start = pieces;
	md.length = MOST + 1;
	EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_MD_ILLEGAL);
	md.length = 1ULL << 60;
	EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_MD_ILLEGAL);
	md.length = 0;
	EQUAL(PtlMDBind(r->job.ni, md, PTL_RETAIN, handle), PTL_OK);
	EQUAL(PtlMDUnlink(*handle), PTL_OK);
	EQUAL(status(r, PTL_SR_PIECE_USED), 0);
	md.length = MOST;
	for (n = 0, rc = PTL_OK; n < 64 && rc == PTL_OK; n++)
		rc = PtlMDBind(r->job.ni, md, PTL_RETAIN, &handle[n]);
	EQUAL(rc, PTL_NO_SPACE);
	EQUAL(n - 1, 4096 / MOST);
	EQUAL(status(r, PTL_SR_PIECE_USED), 4096);
	EQUAL(status(r, PTL_SR_PIECE_HIGH), 4096);
	md = memory(r->in, 8, 1, 0, PTL_EQ_NONE);
	EQUAL(PtlMDUpdate(handle[0], NULL, &md, PTL_EQ_NONE), PTL_OK);       /* frees its pieces */
	EQUAL(status(r, PTL_SR_PIECE_USED), 4096 - MOST);
	while (--n > 0)
		EQUAL(PtlMDUnlink(handle[n - 1]), PTL_OK);
	EQUAL(status(r, PTL_SR_PIECE_USED), 0);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "puts", case_puts }, { "fetches", case_fetches }, { "one_buffer", case_one_buffer },
		{ "arguments", case_arguments },
	};
	static struct roles roles;

	open_roles(&roles);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
