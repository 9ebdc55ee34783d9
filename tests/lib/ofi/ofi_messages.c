/*
 * ofi_messages: all calls that send and receive, with their results and errors. Each rank sends to
 * its right neighbour in the ring of ranks and receives from its left one; a job of one rank talks
 * to itself.
 */
#include "ofi.h"

enum { MOST = 200000 };

static const uint64_t sent = FI_SEND | FI_TAGGED, sent_plain = FI_SEND | FI_MSG;
static const uint64_t got = FI_RECV | FI_TAGGED, got_plain = FI_RECV | FI_MSG;
static const size_t sizes[] = { 0, 1, 8, 255, 256, 4095, 4096, 4097, 20000, MOST };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static char out[MOST], in[MOST + 8];
static char a, b, c, d;                 /* contexts */

/* All sizes; the receive is posted before the message is sent, or after it has arrived. */
static void all_sizes(struct ofi *o, int before)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < SIZES; i++) {
		size_t n = sizes[i];

		fill(out, n, i);
		memset(in, 0, sizeof(in));
		if (before)
			OK(fi_trecv(o->ep, in, n, 0, o->left, 100 + i, 0, &b));
		ofi_barrier();
		OK(fi_tsenddata(o->ep, out, n, 0, 0xabcd0000 + i, o->right, 100 + i, &a));
		ofi_barrier();
		if (!before)
			OK(fi_trecv(o->ep, in, n, 0, o->left, 100 + i, 0, &b));
		entry = both(o, &a, sent, &b, got);
		EQUAL(entry.len, n);
		EQUAL(entry.tag, 100 + i);
		EQUAL(entry.data, 0xabcd0000 + i);
		CHECK(is_filled(in, n, i) && in[n] == 0);
	}
}

static void posted(struct ofi *o)
{
	all_sizes(o, 1);
}

static void early(struct ofi *o)
{
	all_sizes(o, 0);
}

static void untagged(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;

	for (int before = 0; before < 2; before++)
		for (int i = 0; i < SIZES; i++) {
			size_t n = sizes[i];
			const struct iovec iov = { in, n };

			fill(out, n, i);
			memset(in, 0, sizeof(in));
			if (before)
				OK(fi_recv(o->ep, in, n, 0, o->left, &b));
			ofi_barrier();
			OK(fi_senddata(o->ep, out, n, 0, i, o->right, &a));
			ofi_barrier();
			if (!before)
				OK(fi_recvv(o->ep, &iov, 0, 1, o->left, &b));
			entry = both(o, &a, sent_plain, &b, got_plain);
			EQUAL(entry.len, n);
			EQUAL(entry.data, i);
			CHECK(is_filled(in, n, i) && in[n] == 0);
		}
}

/* Tagged and untagged ones never match; tags match bit by bit, oldest first. */
static void matching(struct ofi *o)
{
	const uint64_t top = 1ULL << 55;
	struct fi_cq_tagged_entry entry;
	uint32_t word[4] = { 1, 2, 3, 4 }, got_word[4] = { 0 };

	OK(fi_tinject(o->ep, &word[0], 4, o->right, top | 1));
	OK(fi_inject(o->ep, &word[1], 4, o->right));
	OK(fi_tinject(o->ep, &word[2], 4, o->right, 2));
	OK(fi_tinject(o->ep, &word[3], 4, o->right, top | 2));
	OK(fi_recv(o->ep, &got_word[1], 4, 0, FI_ADDR_UNSPEC, &b));
	entry = done(o, &b, got_plain);
	OK(fi_trecv(o->ep, &got_word[2], 4, 0, FI_ADDR_UNSPEC, 2, 0, &c));
	entry = done(o, &c, got);
	EQUAL(entry.tag, 2);
	OK(fi_trecv(o->ep, &got_word[3], 4, 0, o->left, 2, top, &d));
	entry = done(o, &d, got);
	EQUAL(entry.tag, top | 2);
	OK(fi_trecv(o->ep, &got_word[0], 4, 0, o->left, 0, ~0ULL, &a));
	entry = done(o, &a, got);
	EQUAL(entry.tag, top | 1);
	for (uint32_t i = 0; i < 4; i++)
		EQUAL(got_word[i], i + 1);
	/* Posted receives: the first one that matches gets the message. */
	OK(fi_trecv(o->ep, &got_word[0], 4, 0, o->left, 5, 0, &a));
	OK(fi_trecv(o->ep, &got_word[1], 4, 0, FI_ADDR_UNSPEC, 4, 3, &b));
	OK(fi_trecv(o->ep, &got_word[2], 4, 0, o->left, 5, 0, &c));
	ofi_barrier();
	for (int i = 0; i < 3; i++)
		OK(fi_tinject(o->ep, &word[i], 4, o->right, 5));
	done(o, &a, got);
	done(o, &b, got);
	done(o, &c, got);
	for (uint32_t i = 0; i < 3; i++)
		EQUAL(got_word[i], i + 1);
}

static void pieces(struct ofi *o, size_t n, int before)
{
	size_t third = n / 3;
	const struct iovec from[] = { { out, third }, { out + third, 0 },
				      { out + third, 2 * third }, { out + 3 * third, n - 3 * third } };
	const struct iovec to[] = { { in, third / 2 }, { in + third / 2, n - third / 2 } };
	struct fi_cq_tagged_entry entry;

	fill(out, n, n);
	memset(in, 0, sizeof(in));
	if (before)
		OK(fi_trecvv(o->ep, to, 0, 2, o->left, 7, 0, &b));
	ofi_barrier();
	OK(fi_tsendv(o->ep, from, 0, 4, o->right, 7, &a));
	ofi_barrier();
	if (!before) {
		usleep(20000);
		OK(fi_trecvv(o->ep, to, 0, 2, o->left, 7, 0, &b));
	}
	entry = both(o, &a, sent, &b, got);
	EQUAL(entry.len, n);
	CHECK(is_filled(in, n, n) && in[n] == 0);
}

static void vectors(struct ofi *o)
{
	struct iovec many[33] = { { out, 1 } };
	const struct fi_msg msg = { .msg_iov = many, .iov_count = 33, .addr = o->right };

	for (int before = 0; before < 2; before++)
		for (int i = 0; i < SIZES; i++)
			pieces(o, sizes[i], before);
	EQUAL(fi_tsendv(o->ep, many, 0, 33, o->right, 7, &a), -FI_EINVAL);
	EQUAL(fi_trecvv(o->ep, many, 0, 33, o->left, 7, 0, &a), -FI_EINVAL);
	EQUAL(fi_sendmsg(o->ep, &msg, 0), -FI_EINVAL);
	EQUAL(fi_recvmsg(o->ep, &msg, 0), -FI_EINVAL);
	/* No pieces, on either side */
	OK(fi_tsendv(o->ep, 0, 0, 0, o->right, 7, &a));
	OK(fi_trecvv(o->ep, 0, 0, 0, o->left, 7, 0, &b));
	both(o, &a, sent, &b, got);
}

/* Too short a buffer, in one piece or several: len and olen show what was cut. */
static void cut(struct ofi *o, size_t bytes, size_t room, int before, int count)
{
	const struct iovec to[] = { { in, room / 2 }, { in + room / 2, room - room / 2 } };
	const struct iovec one = { in, room };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	int ended = 0;

	fill(out, bytes, 3);
	memset(in, 0, sizeof(in));
	if (before)
		OK(fi_trecvv(o->ep, count > 1 ? to : &one, 0, count, o->left, 9, 0, &b));
	ofi_barrier();
	OK(fi_tsenddata(o->ep, out, bytes, 0, 77, o->right, 9, &a));
	ofi_barrier();
	if (!before) {
		usleep(5000);
		OK(fi_trecvv(o->ep, count > 1 ? to : &one, 0, count, o->left, 9, 0, &b));
	}
	while (ended != 3)
		if (next(o->cq, &entry) == 1) {
			CHECK(entry.op_context == &a);
			ended |= 1;
		} else {
			EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
			ended |= 2;
		}
	CHECK(error.op_context == &b);
	EQUAL(error.err, FI_ETRUNC);
	EQUAL(error.len, room);
	EQUAL(error.olen, bytes - room);
	EQUAL(error.data, 77);
	EQUAL(error.tag, 9);
	CHECK(is_filled(in, room, 3) && in[room] == 0);
}

static void truncated(struct ofi *o)
{
	for (int before = 0; before < 2; before++)
		for (int count = 1; count < 3; count++) {
			cut(o, 8, 3, before, count);
			cut(o, 8, 0, before, count);
			cut(o, 4096, 4095, before, count);
			cut(o, 20000, 8000, before, count);
			cut(o, 20000, 100, before, count);
			cut(o, 20000, 0, before, count);
		}
}

static void injected(struct ofi *o)
{
	struct iovec iov[2] = { { out, 2000 }, { out + 2000, 2096 } };
	const struct fi_msg_tagged tagged = { .msg_iov = iov, .iov_count = 2, .addr = o->right,
					      .tag = 4, .context = &a, .data = 6 };
	struct fi_cq_tagged_entry entry;

	for (size_t n = 0; n <= 4096; n += 1024) {
		fill(out, n, n);
		OK(fi_tinjectdata(o->ep, out, n, 5, o->right, 4));
		memset(out, 0, n);              /* the caller may reuse the buffer */
		OK(fi_trecv(o->ep, in, sizeof(in), 0, o->left, 4, 0, &b));
		entry = done(o, &b, got);
		EQUAL(entry.len, n);
		EQUAL(entry.data, 5);
		CHECK(is_filled(in, n, n));
		fill(out, n, n + 1);
		OK(fi_injectdata(o->ep, out, n, 8, o->right));
		memset(out, 0, n);
		OK(fi_recv(o->ep, in, sizeof(in), 0, o->left, &b));
		entry = done(o, &b, got_plain);
		EQUAL(entry.data, 8);
		CHECK(is_filled(in, n, n + 1));
	}
	fill(out, 4096, 2);
	OK(fi_tsendmsg(o->ep, &tagged, FI_INJECT | FI_REMOTE_CQ_DATA));
	memset(out, 0, 4096);
	OK(fi_trecv(o->ep, in, sizeof(in), 0, o->left, 4, 0, &b));
	entry = both(o, &a, sent, &b, got);
	EQUAL(entry.data, 6);
	CHECK(is_filled(in, 4096, 2));
	EQUAL(fi_tinject(o->ep, out, 4097, o->right, 4), -FI_EMSGSIZE);
	EQUAL(fi_inject(o->ep, out, 4097, o->right), -FI_EMSGSIZE);
	EQUAL(fi_tinjectdata(o->ep, out, 4097, 1, o->right, 4), -FI_EMSGSIZE);
	EQUAL(fi_injectdata(o->ep, out, 4097, 1, o->right), -FI_EMSGSIZE);
	iov[1].iov_len++;
	EQUAL(fi_tsendmsg(o->ep, &tagged, FI_INJECT), -FI_EMSGSIZE);
}

static void arguments(struct ofi *o)
{
	const struct iovec iov = { in, 8 };
	const struct fi_msg_tagged tagged = { .msg_iov = &iov, .iov_count = 1, .addr = o->right,
					      .tag = 1ULL << 56 };
	const struct fi_msg_tagged untagged_bit = { .msg_iov = &iov, .iov_count = 1,
						    .addr = o->right, .tag = 1ULL << 62 };
	const struct fi_msg_tagged multi = { .msg_iov = &iov, .iov_count = 1, .addr = o->left };
	const fi_addr_t nobody = o->size;

	EQUAL(fi_tsend(o->ep, out, 8, 0, nobody, 1, 0), -FI_EADDRNOTAVAIL);
	EQUAL(fi_send(o->ep, out, 8, 0, FI_ADDR_UNSPEC, 0), -FI_EADDRNOTAVAIL);
	EQUAL(fi_tinject(o->ep, out, 8, FI_ADDR_NOTAVAIL, 1), -FI_EADDRNOTAVAIL);
	EQUAL(fi_trecv(o->ep, in, 8, 0, nobody, 1, 0, 0), -FI_EADDRNOTAVAIL);
	EQUAL(fi_recv(o->ep, in, 8, 0, nobody, 0), -FI_EADDRNOTAVAIL);
	EQUAL(fi_tsend(o->ep, out, 8, 0, o->right, 1ULL << 56, 0), -FI_EINVAL);
	EQUAL(fi_tinject(o->ep, out, 8, o->right, 1ULL << 56), -FI_EINVAL);
	EQUAL(fi_tsendv(o->ep, &iov, 0, 1, o->right, 1ULL << 63, 0), -FI_EINVAL);
	EQUAL(fi_tsendv(o->ep, &iov, 0, 1, o->right, 1ULL << 62, 0), -FI_EINVAL);
	EQUAL(fi_tsendmsg(o->ep, &tagged, 0), -FI_EINVAL);
	EQUAL(fi_tsendmsg(o->ep, &untagged_bit, 0), -FI_EINVAL);
	EQUAL(fi_trecv(o->ep, in, 8, 0, o->left, 1ULL << 56, 0, 0), -FI_EINVAL);
	EQUAL(fi_trecvmsg(o->ep, &tagged, 0), -FI_EINVAL);
	EQUAL(fi_trecvmsg(o->ep, &multi, FI_MULTI_RECV), -FI_EBADFLAGS);
}

/* A call with memory outside the program returns an error, for sends and receives. */
static void bad_memory(struct ofi *o)
{
	static const char text[64] = "constant";
	char *const nowhere = (char *)0x10, *const far = (char *)(1UL << 40);
	char *const text_area = (char *)(uintptr_t)bad_memory;
	const struct iovec split[] = { { in, 8 }, { nowhere, 8 } };
	static const size_t lengths[] = { 8, 5000 };

	for (int i = 0; i < 2; i++) {
		size_t n = lengths[i];

		EQUAL(fi_tsend(o->ep, nowhere, n, 0, o->right, 1, &a), -FI_EFAULT);
		EQUAL(fi_send(o->ep, far, n, 0, o->right, &a), -FI_EFAULT);
		EQUAL(fi_trecv(o->ep, nowhere, n, 0, o->left, 1, 0, &a), -FI_EFAULT);
		EQUAL(fi_recv(o->ep, far, n, 0, o->left, &a), -FI_EFAULT);
		EQUAL(fi_trecv(o->ep, text_area, 64, 0, o->left, 1, 0, &a), -FI_EFAULT);
		EQUAL(fi_recv(o->ep, (char *)text, 64, 0, o->left, &a), -FI_EFAULT);
	}
	EQUAL(fi_trecvv(o->ep, split, 0, 2, o->left, 1, 0, &a), -FI_EFAULT);
	EQUAL(fi_tsend(o->ep, out, 1UL << 39, 0, o->right, 1, &a), -FI_EFAULT);
	/* Read-only memory may be sent. */
	OK(fi_tsend(o->ep, text, sizeof(text), 0, o->right, 1, &a));
	OK(fi_trecv(o->ep, in, sizeof(in), 0, o->left, 1, 0, &b));
	both(o, &a, sent, &b, got);
	CHECK(!strcmp(in, text));
}

/* Returns once a message with this tag has come. */
static void await_early(struct ofi *o, uint64_t tag)
{
	const struct fi_msg_tagged msg = { .addr = o->left, .tag = tag, .context = &d };
	ssize_t seen;

	while ((seen = fi_trecvmsg(o->ep, &msg, FI_PEEK)) == -FI_ENOMSG)
		;
	OK(seen);
	done(o, &d, got);
}

/* A long message that is there already is received into memory that cannot be written: the receive
 * fails, and the send completes. */
static void unwritable(struct ofi *o)
{
	static const char text[64] = "constant";
	const struct iovec whole = { (char *)text, 64 };
	const struct iovec split[] = { { in, 8 }, { (char *)text, 8 } };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };

	for (int count = 1; count < 3; count++) {
		int ended = 0;

		OK(fi_tsend(o->ep, out, 5000, 0, o->right, 31, &a));
		await_early(o, 31);
		ofi_barrier();
		OK(fi_trecvv(o->ep, count > 1 ? split : &whole, 0, count, o->left, 31, 0, &b));
		while (ended != 3)
			if (next(o->cq, &entry) == 1) {
				CHECK(entry.op_context == &a);
				ended |= 1;
			} else {
				EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
				CHECK(error.op_context == &b);
				EQUAL(error.err, FI_EFAULT);
				EQUAL(error.len, 0);
				ended |= 2;
			}
	}
	CHECK(!strcmp(text, "constant"));
}

static void cancelled(struct ofi *o)
{
	struct fi_cq_err_entry error;
	struct fi_cq_tagged_entry entry;

	OK(fi_trecv(o->ep, in, 8, 0, o->left, 11, 0, &a));
	OK(fi_trecv(o->ep, in + 8, 8, 0, o->left, 11, 0, &b));
	OK(fi_recv(o->ep, in + 16, 8, 0, o->left, &c));
	OK(fi_cancel(&o->ep->fid, &a));
	error = failed(o, &a, FI_ECANCELED);
	EQUAL(error.len, 0);
	EQUAL(error.olen, 0);
	CHECK(error.flags & FI_RECV);
	OK(fi_cancel(&o->ep->fid, &c));
	failed(o, &c, FI_ECANCELED);
	EQUAL(fi_cancel(&o->ep->fid, &a), -FI_ENOENT);
	EQUAL(fi_cancel(&o->ep->fid, &d), -FI_ENOENT);
	ofi_barrier();
	fill(out, 8, 4);
	OK(fi_tinject(o->ep, out, 8, o->right, 11));
	ofi_barrier();
	while (!is_filled(in + 8, 8, 4))
		usleep(100);
	fi_cancel(&o->ep->fid, &b);            /* too late: it has completed */
	entry = done(o, &b, got);
	EQUAL(entry.len, 8);
}

static void peeked(struct ofi *o)
{
	struct iovec iov = { in, sizeof(in) };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = o->left, .tag = 21,
				     .context = &a };
	static const size_t lengths[] = { 0, 100, 50000 };
	struct fi_cq_tagged_entry entry;

	EQUAL(fi_trecvmsg(o->ep, &msg, FI_PEEK), -FI_ENOMSG);
	EQUAL(fi_trecvmsg(o->ep, &msg, FI_PEEK | FI_CLAIM), -FI_ENOMSG);
	EQUAL(fi_trecvmsg(o->ep, &msg, FI_PEEK | FI_DISCARD), -FI_EBADFLAGS);
	msg.context = &d;
	CHECK(fi_trecvmsg(o->ep, &msg, FI_CLAIM) < 0);        /* nothing was claimed */
	msg.context = &a;
	ofi_barrier();
	for (int i = 0; i < 3; i++) {
		size_t n = lengths[i];
		ssize_t seen;

		fill(out, n, n);
		OK(fi_tsenddata(o->ep, out, n, 0, 40 + i, o->right, 21, &c));
		OK(fi_tinject(o->ep, "next", 5, o->right, 21));
		while ((seen = fi_trecvmsg(o->ep, &msg, FI_PEEK)) == -FI_ENOMSG)
			;
		OK(seen);
		do                              /* the send may end before or after the fetch */
			EQUAL(next(o->cq, &entry), 1);
		while (entry.op_context == &c);
		CHECK(entry.op_context == &a);
		EQUAL(entry.len, n);
		EQUAL(entry.tag, 21);
		EQUAL(entry.data, 40 + i);
		OK(fi_trecvmsg(o->ep, &msg, FI_PEEK | FI_CLAIM));
		do
			EQUAL(next(o->cq, &entry), 1);
		while (entry.op_context == &c);
		EQUAL(entry.data, 40 + i);
		/* The message is claimed: another receive gets the next one. */
		OK(fi_trecv(o->ep, in, sizeof(in), 0, o->left, 21, 0, &b));
		do
			EQUAL(next(o->cq, &entry), 1);
		while (entry.op_context == &c);
		CHECK(entry.op_context == &b && !strcmp(in, "next"));
		OK(fi_trecvmsg(o->ep, &msg, FI_CLAIM));
		do
			EQUAL(next(o->cq, &entry), 1);
		while (entry.op_context == &c);
		CHECK(entry.op_context == &a && is_filled(in, n, n));
		EQUAL(entry.len, n);
		ofi_barrier();
		while (fi_cq_read(o->cq, &entry, 1) == 1)
			CHECK(entry.op_context == &c);
		usleep(1000);
		while (fi_cq_read(o->cq, &entry, 1) == 1)
			CHECK(entry.op_context == &c);
	}
}

/* FI_DELIVERY_COMPLETE: the message is in the posted receive's buffer when the send completes. */
static void delivery(struct ofi *o)
{
	static const size_t lengths[] = { 8, 0, 4096, 30000 };
	struct iovec iov = { out, 0 };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = o->right, .tag = 2,
				     .context = &a };
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 12; i++) {
		size_t n = lengths[i % 4];
		int received = 0;

		iov.iov_len = n;
		fill(out, n, i);
		OK(fi_trecv(o->ep, in, sizeof(in), 0, o->left, 2, 0, &b));
		ofi_barrier();
		OK(fi_tsendmsg(o->ep, &msg, FI_DELIVERY_COMPLETE));
		do {
			EQUAL(next(o->cq, &entry), 1);
			received += entry.op_context == &b;
		} while (entry.op_context != &a);
		ofi_barrier();
		CHECK(is_filled(in, n, i));
		if (!received)
			done(o, &b, got);
	}
	/* Empty messages that come early, more than there are slots for long ones */
	iov.iov_len = 0;
	for (int i = 0; i < 1000; i++)
		OK(fi_tsendmsg(o->ep, &msg, FI_DELIVERY_COMPLETE));
	ofi_barrier();
	for (int i = 0; i < 1000; i++)
		OK(fi_trecv(o->ep, in, sizeof(in), 0, o->left, 2, 0, &b));
	for (int i = 0; i < 2000; i++)
		EQUAL(next(o->cq, &entry), 1);
}

int main(void)
{
	static const struct ofi_case cases[] = {
		{ "posted", posted }, { "early", early }, { "untagged", untagged },
		{ "matching", matching }, { "vectors", vectors }, { "truncated", truncated },
		{ "injected", injected }, { "arguments", arguments },
		{ "bad_memory", bad_memory }, { "unwritable", unwritable },
		{ "cancelled", cancelled }, { "peeked", peeked },
		{ "delivery", delivery },
	};
	struct ofi o;

	ofi_open(&o);
	RUN_CASES(&o, cases);
	ofi_close(&o);
	return 0;
}
