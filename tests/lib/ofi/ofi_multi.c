/*
 * ofi_multi: FI_MULTI_RECV. Buffers fill up and are released in order, whether posted before or
 * after their messages; and they are cancelled while messages are in them. Around a ring of ranks.
 */
#include "ofi.h"

enum { BUFFER = 10000, BUFFERS = 8, MESSAGES = 400 };

static char in[BUFFERS][BUFFER];
static char out[BUFFER];

static void post(struct ofi *o, int buffer, size_t bytes)
{
	const struct iovec iov = { in[buffer], bytes };
	const struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC,
				    .context = in[buffer] };

	OK(fi_recvmsg(o->ep, &msg, FI_MULTI_RECV));
}

static size_t length_of(int number)
{
	return (size_t)(number * 37 % 900);
}

/* Sends all messages and receives those of the left neighbour, posting a buffer again when it is
 * released. Each message is checked in place. */
static void stream(struct ofi *o, int early)
{
	int received = 0, sent = 0, ended = 0, open = 0;
	static char outs[MESSAGES][900];

	if (!early)
		for (; open < 2; open++)
			post(o, open, BUFFER);
	ofi_barrier();
	while (received < MESSAGES || ended < MESSAGES) {
		struct fi_cq_tagged_entry entry;

		if (sent < MESSAGES && (!early || sent < MESSAGES / 2 || open)) {
			fill(outs[sent], length_of(sent), sent);
			OK(fi_senddata(o->ep, outs[sent], length_of(sent), 0, sent, o->right, 0));
			sent++;
		}
		if (early && sent == MESSAGES / 2 && !open)
			for (; open < 2; open++)
				post(o, open, BUFFER);
		if (fi_cq_read(o->cq, &entry, 1) != 1)
			continue;
		ended += !!(entry.flags & FI_SEND);
		if (entry.flags & FI_RECV) {
			size_t n = length_of(received);

			EQUAL(entry.flags & FI_MSG, FI_MSG);
			EQUAL(entry.data, received);
			EQUAL(entry.len, n);
			CHECK((char *)entry.buf >= (char *)entry.op_context);
			CHECK((char *)entry.buf + n <= (char *)entry.op_context + BUFFER);
			CHECK(is_filled(entry.buf, n, received));
			received++;
		}
		if (entry.flags & FI_MULTI_RECV) {
			memset(entry.op_context, 0, BUFFER);
			post(o, (int)(((char *)entry.op_context - in[0]) / BUFFER), BUFFER);
		}
	}
}

/* Cancels the remaining buffers. */
static void drain(struct ofi *o, int buffers)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < buffers; i++) {
		int error = fi_cancel(&o->ep->fid, in[i]);

		CHECK(error == 0 || error == -FI_ENOENT); /* ENOENT: its release was not yet read */
		if (next(o->cq, &entry) == 1) {
			EQUAL(entry.flags, FI_MULTI_RECV);
			CHECK(entry.op_context == in[i]);
		} else {
			failed(o, in[i], FI_ECANCELED);
		}
	}
}

static void posted(struct ofi *o)
{
	size_t least = 1000;

	OK(fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	stream(o, 0);
	ofi_barrier();
	drain(o, 2);
}

static void early(struct ofi *o)
{
	stream(o, 1);
	ofi_barrier();
	drain(o, 2);
}

/* A buffer with unread completions is cancelled: those completions come first. */
static void cancelled(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	int received = 0;

	fill(out, 100, 2);
	memset(in, 0, sizeof(in));
	post(o, 0, BUFFER);
	ofi_barrier();
	for (int i = 0; i < 5; i++)
		OK(fi_injectdata(o->ep, out, 100, i, o->right));
	while (((volatile char *)in[0])[499] != out[99])
		usleep(100);                    /* all have arrived */
	OK(fi_cancel(&o->ep->fid, in[0]));
	post(o, 1, BUFFER);                     /* a buffer that might replace it */
	while (next(o->cq, &entry) == 1) {
		CHECK(entry.op_context == in[0] && (entry.flags & FI_RECV));
		EQUAL(entry.data, received);
		received++;
	}
	EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
	CHECK(error.op_context == in[0] && error.err == FI_ECANCELED);
	EQUAL(received, 5);
	OK(fi_cancel(&o->ep->fid, in[1]));
	failed(o, in[1], FI_ECANCELED);
}

/* A buffer is cancelled while a long message is fetched into it. */
static void cancelled_fetching(struct ofi *o)
{
	static char a;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	int received = 0, sent = 0, ended = 0;

	fill(out, 8000, 5);
	memset(in, 0, sizeof(in));
	OK(fi_send(o->ep, out, 8000, 0, o->right, &a));
	ofi_barrier();
	usleep(10000);
	post(o, 0, BUFFER - 1);
	OK(fi_cancel(&o->ep->fid, in[0]));
	while (!received || !sent || !ended)
		if (next(o->cq, &entry) == 1) {
			sent += entry.op_context == &a;
			received += entry.op_context == in[0];
			if (entry.op_context == in[0]) {
				CHECK(!ended && is_filled(in[0], 8000, 5));
				EQUAL(entry.len, 8000);
			}
		} else {
			EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
			CHECK(error.op_context == in[0] && error.err == FI_ECANCELED);
			ended = 1;
		}
	EQUAL(received, 1);
}

static void arguments(struct ofi *o)
{
	const struct iovec iov[2] = { { in[0], 100 }, { in[1], 100 } };
	const struct fi_msg msg = { .msg_iov = iov, .iov_count = 2, .addr = FI_ADDR_UNSPEC };
	struct fi_msg bad = { .msg_iov = &(struct iovec){ (void *)0x10, 5000 }, .iov_count = 1,
			      .addr = FI_ADDR_UNSPEC };

	EQUAL(fi_recvmsg(o->ep, &msg, FI_MULTI_RECV), -FI_EINVAL);
	EQUAL(fi_recvmsg(o->ep, &bad, FI_MULTI_RECV), -FI_EFAULT);
}

/* A buffer takes an early message before it is posted, which fails, as its end is not the program's
 * memory: the message completes, and then the buffer fails. */
static void beyond_memory(struct ofi *o)
{
	static char a;
	const struct iovec iov = { in[0], 1UL << 39 };
	const struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC,
				    .context = in[0] };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	int sent = 0, received = 0, ended = 0;
	ssize_t posted;

	fill(out, 8000, 6);
	OK(fi_send(o->ep, out, 8000, 0, o->right, &a));
	while ((posted = fi_recvmsg(o->ep, &msg, FI_MULTI_RECV)) == -FI_EFAULT)
		sent += fi_cq_read(o->cq, &entry, 1) == 1;      /* takes the message's event */
	OK(posted);
	while (!sent || !received || !ended)
		if (next(o->cq, &entry) == 1) {
			sent += entry.op_context == &a;
			received += entry.op_context == in[0];
		} else {
			EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
			CHECK(error.op_context == in[0] && error.err == FI_EFAULT);
			EQUAL(received, 1);
			ended++;
		}
	CHECK(is_filled(in[0], 8000, 6));
}

/* Many buffers, each of which is filled by one message and released. */
static void many_buffers(struct ofi *o)
{
	enum { N = 3000 };
	static char small[N][16];
	struct fi_cq_tagged_entry entry;
	size_t least = 10;
	int received = 0, released = 0, ended = 0;

	OK(fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	for (int i = 0; i < N; i++) {
		const struct iovec iov = { small[i], 16 };
		const struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1,
					    .addr = FI_ADDR_UNSPEC, .context = small[i] };

		OK(fi_recvmsg(o->ep, &msg, FI_MULTI_RECV));
	}
	ofi_barrier();
	for (int i = 0; i < N; i++)
		OK(fi_senddata(o->ep, out, 8, 0, i, o->right, 0));
	while (received < N || released < N || ended < N) {
		EQUAL(next(o->cq, &entry), 1);
		if (entry.flags & FI_RECV) {
			EQUAL(entry.data, received);
			CHECK(entry.op_context == small[received] && entry.buf == small[received]);
			received++;
		}
		released += !!(entry.flags & FI_MULTI_RECV);
		ended += !!(entry.flags & FI_SEND);
	}
}

/* Fills the entries that the kernel has for receives with buffers of one message each. */
enum { FULL = 10300, SMALL = 16 };

/* More receives than the kernel has pieces for */
enum { SCATTERED = 200, PIECES = 32 };

static char many[FULL][SMALL], scattered[2 * PIECES];

static void post_many(struct ofi *o, int count)
{
	size_t least = 10;

	OK(fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	for (int i = 0; i < count; i++) {
		const struct iovec iov = { many[i], SMALL };
		const struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1,
					    .addr = FI_ADDR_UNSPEC, .context = many[i] };

		OK(fi_recvmsg(o->ep, &msg, FI_MULTI_RECV));
	}
}

static void fill_many(struct ofi *o, int count)
{
	struct fi_cq_tagged_entry entry;
	int received = 0, released = 0, ended = 0;

	for (int i = 0; i < count; i++)
		OK(fi_senddata(o->ep, out, 8, 0, i, o->right, 0));
	ofi_barrier();
	while (received < count || released < count || ended < count) {
		EQUAL(next(o->cq, &entry), 1);
		if (entry.flags & FI_RECV) {
			EQUAL(entry.data, received);
			CHECK(entry.op_context == many[received]);
			received++;
		}
		released += !!(entry.flags & FI_MULTI_RECV);
		ended += !!(entry.flags & FI_SEND);
	}
}

/* More messages are under way than the queue has room for, if each releases its buffer. */
static void released_at_once(struct ofi *o)
{
	enum { FLOOD = 3000, N = 7000 };
	static char a, b;
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < FLOOD; i++)         /* early messages widen the window */
		OK(fi_tsend(o->ep, out, 8, 0, o->right, 1, &a));
	ofi_barrier();
	for (int i = 0; i < FLOOD; i++)
		OK(fi_trecv(o->ep, in[0], 8, 0, o->left, 1, 0, &b));
	for (int i = 0; i < 2 * FLOOD; i++)
		EQUAL(next(o->cq, &entry), 1);
	post_many(o, N);
	ofi_barrier();
	fill_many(o, N);
}

/* Buffers wait for room. A tagged receive behind them takes its early message. */
static void behind(struct ofi *o)
{
	static char a, b;
	struct fi_cq_tagged_entry entry;

	post_many(o, FULL);
	OK(fi_tsend(o->ep, out, 8, 0, o->right, 1, &a));
	done(o, &a, FI_SEND | FI_TAGGED);
	ofi_barrier();
	usleep(10000);
	EQUAL(fi_cq_read(o->cq, &entry, 1), -FI_EAGAIN);        /* takes the message's event */
	OK(fi_trecv(o->ep, in[0], 8, 0, o->left, 1, 0, &b));
	done(o, &b, FI_RECV | FI_TAGGED);
	ofi_barrier();
	fill_many(o, FULL);
}

/* `count` receives from a rank, of one byte in each of `pieces` pieces: the kernel has no room for
 * all of them, so later buffers wait behind the last. */
static void post_pieces(struct ofi *o, int count, int pieces, int source, int is_tagged)
{
	struct iovec iov[PIECES];
	const struct fi_msg msg = { .msg_iov = iov, .iov_count = pieces, .addr = source,
				    .context = scattered };

	for (int i = 0; i < pieces; i++)
		iov[i] = (struct iovec){ scattered + 2 * i, 1 };
	for (int i = 0; i < count; i++)
		if (is_tagged)
			OK(fi_trecvv(o->ep, iov, 0, pieces, source, 3, 0, scattered));
		else
			OK(fi_recvmsg(o->ep, &msg, 0));
}

/* Their messages. */
static void send_pieces(struct ofi *o, int count, int pieces, int to, int is_tagged)
{
	static char a;

	for (int i = 0; i < count; i++)
		if (is_tagged)
			OK(fi_tsend(o->ep, out, pieces, 0, to, 3, &a));
		else
			OK(fi_send(o->ep, out, pieces, 0, to, &a));
	for (int sent = 0, received = 0; sent < count || received < count; ) {
		struct fi_cq_tagged_entry entry;

		EQUAL(next(o->cq, &entry), 1);
		sent += entry.op_context == &a;
		if (entry.op_context != scattered)
			continue;
		received++;
		EQUAL(entry.len, pieces);
	}
}

/* Buffers wait behind receives that get no message before the buffers have got theirs. */
static void past(struct ofi *o, int count, int pieces, int is_tagged)
{
	int from = is_tagged ? o->left : o->rank, to = is_tagged ? o->right : o->rank;
	size_t least = 64;

	OK(fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	post_pieces(o, count, pieces, from, is_tagged);
	stream(o, 0);
	ofi_barrier();
	drain(o, 2);
	ofi_barrier();
	send_pieces(o, count, pieces, to, is_tagged);
}

/* Untagged receives that name another source, where there is one */
static void overtaking(struct ofi *o)
{
	past(o, SCATTERED, PIECES, 1);
	past(o, FULL, 1, 1);
	if (o->size > 1)
		past(o, SCATTERED, PIECES, 0);
}

int main(void)
{
	static const struct ofi_case cases[] = {
		{ "posted", posted }, { "early", early }, { "cancelled", cancelled },
		{ "cancelled_fetching", cancelled_fetching }, { "arguments", arguments },
		{ "beyond_memory", beyond_memory }, { "many_buffers", many_buffers },
		{ "released_at_once", released_at_once }, { "behind", behind }, { "overtaking", overtaking },
	};
	struct ofi o;

	ofi_open(&o);
	RUN_CASES(&o, cases);
	ofi_close(&o);
	return 0;
}
