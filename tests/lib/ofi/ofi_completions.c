/*
 * ofi_completions: queues of each format, waits, completions by selection, counters, and
 * endpoints of other capabilities and flags. Around a ring of ranks.
 */
#include "ofi.h"
#include <time.h>

static const uint64_t sent = FI_SEND | FI_TAGGED, got = FI_RECV | FI_TAGGED;
static char out[5000], in[5000];
static char a, b, c;                    /* contexts */

/* Only operations that ask for it complete, by binding and by flags; the counters count all. */
static void selective(struct ofi *o)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	const struct iovec iov_out = { out, 8 }, iov_in = { in, 8 };
	const struct fi_msg_tagged send = { .msg_iov = &iov_out, .iov_count = 1, .addr = o->right,
					    .tag = 1, .context = &a };
	const struct fi_msg_tagged receive = { .msg_iov = &iov_in, .iov_count = 1,
					       .addr = o->left, .tag = 1, .context = &b };
	struct iovec multi_iov;
	const struct fi_msg multi = { .msg_iov = &multi_iov, .iov_count = 1,
				      .addr = FI_ADDR_UNSPEC, .context = &c };
	struct fi_cq_tagged_entry entry;
	struct fid_cntr *sends, *receives;
	uint64_t flags;

	ofi_close_ep(o);
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, FI_SELECTIVE_COMPLETION);
	OK(fi_cntr_open(o->domain, &attr, &sends, 0));
	OK(fi_cntr_open(o->domain, &attr, &receives, 0));
	OK(fi_ep_bind(o->ep, &sends->fid, FI_SEND));
	OK(fi_ep_bind(o->ep, &receives->fid, FI_RECV));
	EQUAL(fi_close(&sends->fid), -FI_EBUSY);
	EQUAL(fi_cntr_wait(sends, 1, HANG_MS), -FI_EOPBADSTATE);
	EQUAL(fi_cntr_wait(sends, 1, -1), -FI_EOPBADSTATE);
	EQUAL(fi_cntr_wait(sends, 1, 0), -FI_ETIMEDOUT);
	OK(fi_cntr_wait(sends, 0, -1));
	OK(fi_enable(o->ep));
	ofi_barrier();
	OK(fi_trecv(o->ep, in, 8, 0, o->left, 1, 0, &b));
	OK(fi_tsend(o->ep, out, 8, 0, o->right, 1, &a));
	OK(fi_cntr_wait(receives, 1, HANG_MS));
	OK(fi_cntr_wait(sends, 1, HANG_MS));
	EQUAL(fi_cq_read(o->cq, &entry, 1), -FI_EAGAIN);
	OK(fi_trecvmsg(o->ep, &receive, FI_COMPLETION));
	OK(fi_tsendmsg(o->ep, &send, FI_COMPLETION));
	both(o, &a, sent, &b, got);
	EQUAL(fi_cntr_read(sends), 2);
	EQUAL(fi_cntr_read(receives), 2);
	/* Messages in a buffer of many are counted too; its end always completes. */
	multi_iov = (struct iovec){ in, 2000 };
	OK(fi_recvmsg(o->ep, &multi, FI_MULTI_RECV));
	ofi_barrier();
	OK(fi_send(o->ep, out, 1000, 0, o->right, &a));
	OK(fi_send(o->ep, out, 980, 0, o->right, &a));
	done(o, &c, FI_MULTI_RECV);
	EQUAL(fi_cntr_read(receives), 4);
	OK(fi_cntr_wait(sends, 4, HANG_MS));
	OK(fi_cntr_set(receives, 2));
	multi_iov.iov_len = 1000;
	OK(fi_recvmsg(o->ep, &multi, FI_MULTI_RECV | FI_COMPLETION));
	ofi_barrier();
	OK(fi_send(o->ep, out, 990, 0, o->right, &a));
	done(o, &c, FI_RECV | FI_MSG);
	done(o, &c, FI_MULTI_RECV);
	OK(fi_cntr_wait(sends, 5, HANG_MS));
	OK(fi_cntr_set(receives, 2));
	/* A failure always completes. */
	OK(fi_trecv(o->ep, in, 8, 0, o->left, 9, 0, &c));
	OK(fi_cancel(&o->ep->fid, &c));
	failed(o, &c, FI_ECANCELED);
	EQUAL(fi_cntr_readerr(receives), 1);
	EQUAL(fi_cntr_readerr(sends), 0);
	EQUAL(fi_cntr_wait(receives, 3, 20), -FI_ETIMEDOUT);
	OK(fi_cntr_add(receives, 5));
	OK(fi_cntr_wait(receives, 7, 0));
	OK(fi_cntr_set(receives, 1));
	EQUAL(fi_cntr_read(receives), 1);
	OK(fi_cntr_adderr(receives, 4));
	EQUAL(fi_cntr_readerr(receives), 5);
	OK(fi_cntr_seterr(receives, 0));
	EQUAL(fi_cntr_readerr(receives), 0);
	flags = FI_SEND | FI_RECV;
	CHECK(fi_ep_bind(o->ep, &sends->fid, flags) < 0);
	ofi_close_ep(o);
	EQUAL(fi_cntr_wait(sends, 1000, -1), -FI_EOPBADSTATE);
	OK(fi_close(&sends->fid));
	OK(fi_close(&receives->fid));
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
	ofi_barrier();
}

/* Each format has its own size, for any number of entries read at once. */
static void formats(struct ofi *o)
{
	static const enum fi_cq_format all[] = { FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG,
						 FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED };
	enum { N = 200 };

	for (int f = 0; f < 4; f++) {
		char area[N * sizeof(struct fi_cq_tagged_entry)];
		size_t taken = 0, bytes = f == 0 ? sizeof(struct fi_cq_entry) :
			f == 1 ? sizeof(struct fi_cq_msg_entry) :
			f == 2 ? sizeof(struct fi_cq_data_entry) : sizeof(struct fi_cq_tagged_entry);

		ofi_close_ep(o);
		ofi_open_ep(o, all[f], 0);
		OK(fi_enable(o->ep));
		ofi_barrier();
		for (int i = 0; i < N; i++)
			OK(fi_trecv(o->ep, in + i, 1, 0, o->left, i, 0, in + i));
		ofi_barrier();
		for (int i = 0; i < N; i++)
			OK(fi_tinjectdata(o->ep, out, 1, i, o->right, i));
		while (taken < N) {
			ssize_t n = fi_cq_read(o->cq, area + taken * bytes, taken < 50 ? 7 : N - taken);

			CHECK(n == -FI_EAGAIN || (n > 0 && (size_t)n <= N - taken));
			taken += n > 0 ? (size_t)n : 0;
		}
		for (int i = 0; i < N; i++) {
			const struct fi_cq_tagged_entry *entry = (const void *)(area + i * bytes);

			CHECK(entry->op_context == in + i);
			if (f > 0) {
				EQUAL(entry->flags & (FI_RECV | FI_TAGGED), got);
				EQUAL(entry->len, 1);
			}
			if (f > 1)
				EQUAL(entry->data, i);
			if (f > 2)
				EQUAL(entry->tag, i);
		}
	}
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* fi_cq_sread waits at least as long as its timeout, and ends when a completion arrives. */
static void waiting(struct ofi *o)
{
	struct fi_cq_tagged_entry entries[4];
	fi_addr_t sources[4];
	ssize_t taken;
	int64_t start = now_ms();

	EQUAL(fi_cq_sread(o->cq, entries, 4, 0, 50), -FI_EAGAIN);
	CHECK(now_ms() - start >= 50);
	EQUAL(fi_cq_sread(o->cq, entries, 4, 0, 0), -FI_EAGAIN);
	EQUAL(fi_cq_readfrom(o->cq, entries, 4, sources), -FI_EAGAIN);
	OK(fi_trecv(o->ep, in, 8, 0, o->left, 3, 0, &a));
	OK(fi_tinject(o->ep, out, 8, o->right, 3));
	EQUAL(fi_cq_sreadfrom(o->cq, entries, 4, sources, 0, -1), 1);
	CHECK(entries[0].op_context == &a);
	OK(fi_trecv(o->ep, in, 8, 0, o->left, 3, 0, &a));
	OK(fi_trecv(o->ep, in, 8, 0, o->left, 3, 0, &a));
	OK(fi_tinject(o->ep, out, 8, o->right, 3));
	EQUAL(fi_cq_sreadfrom(o->cq, entries, 1, 0, 0, -1), 1);
	OK(fi_tinject(o->ep, out, 8, o->right, 3));
	while ((taken = fi_cq_readfrom(o->cq, entries, 1, 0)) == -FI_EAGAIN)
		;
	EQUAL(taken, 1);
	OK(fi_trecv(o->ep, in, 8, 0, o->left, 3, 0, &b));
	OK(fi_cancel(&o->ep->fid, &b));
	EQUAL(fi_cq_sread(o->cq, entries, 4, 0, -1), -FI_EAVAIL);
	EQUAL(fi_cq_read(o->cq, entries, 4), -FI_EAVAIL);
	failed(o, &b, FI_ECANCELED);
	EQUAL(fi_cq_readerr(o->cq, &(struct fi_cq_err_entry){ 0 }, 0), -FI_EAGAIN);
}

/* A failure is read between the completions before it and after it, however many are asked for:
 * those that come while fi_cq_sread runs, and those that fi_cntr_read has already seen. */
static void failure_in_order(struct ofi *o)
{
	static const size_t lengths[] = { 8, 8, 100, 8, 100, 100, 8, 8 };
	enum { N = sizeof(lengths) / sizeof(lengths[0]) };
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *receives;

	ofi_close_ep(o);
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_cntr_open(o->domain, &attr, &receives, 0));
	OK(fi_ep_bind(o->ep, &receives->fid, FI_RECV));
	OK(fi_enable(o->ep));
	for (int round = 0; round < 2; round++) {
		struct fi_cq_tagged_entry entries[N];
		size_t read = 0;

		for (int i = 0; i < N; i++)
			OK(fi_trecv(o->ep, in + i, 8, 0, o->left, i, 0, in + i));
		ofi_barrier();
		for (int i = 0; i < N; i++)
			OK(fi_tinject(o->ep, out, lengths[i], o->right, i));
		ofi_barrier();
		while (round == 1 && fi_cntr_read(receives) + fi_cntr_readerr(receives) < 2 * N)
			;
		while (read < N) {
			ssize_t n = fi_cq_sread(o->cq, entries, N, 0, HANG_MS);
			struct fi_cq_err_entry failure = { 0 };

			if (n == -FI_EAVAIL) {
				EQUAL(fi_cq_readerr(o->cq, &failure, 0), 1);
				EQUAL(failure.err, FI_ETRUNC);
				CHECK(failure.op_context == in + read);
				EQUAL(lengths[read++], 100);
				continue;
			}
			CHECK(n > 0 && (size_t)n <= N - read);
			for (ssize_t i = 0; i < n; i++) {
				CHECK(entries[i].op_context == in + read);
				EQUAL(lengths[read++], 8);
			}
		}
	}
	ofi_close_ep(o);
	OK(fi_close(&receives->fid));
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
	ofi_barrier();
}

/* Without FI_DIRECTED_RECV a receive's source is ignored. */
static void undirected(struct ofi *o)
{
	uint64_t caps = o->info->caps;

	ofi_close_ep(o);
	o->info->caps &= ~FI_DIRECTED_RECV;
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
	ofi_barrier();
	OK(fi_trecv(o->ep, in, 8, 0, 0, 2, 0, &a));
	OK(fi_tinject(o->ep, out, 8, o->right, 2));
	done(o, &a, got);
	o->info->caps = caps;
	ofi_close_ep(o);
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
	ofi_barrier();
}

/* FI_INJECT as the default for all sends: longer ones are refused. */
static void inject_by_default(struct ofi *o)
{
	ofi_close_ep(o);
	o->info->tx_attr->op_flags = FI_INJECT;
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
	ofi_barrier();
	EQUAL(fi_tsend(o->ep, out, 5000, 0, o->right, 2, &a), -FI_EMSGSIZE);
	fill(out, 1000, 9);
	OK(fi_tsend(o->ep, out, 1000, 0, o->right, 2, &a));
	memset(out, 0, 1000);
	OK(fi_trecv(o->ep, in, 1000, 0, o->left, 2, 0, &b));
	both(o, &a, sent, &b, got);
	CHECK(is_filled(in, 1000, 9));
	o->info->tx_attr->op_flags = 0;
	ofi_close_ep(o);
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
	ofi_barrier();
}

int main(void)
{
	static const struct ofi_case cases[] = {
		{ "selective", selective }, { "formats", formats }, { "waiting", waiting },
		{ "failure_in_order", failure_in_order },
		{ "undirected", undirected }, { "inject_by_default", inject_by_default },
	};
	struct ofi o;

	ofi_open(&o);
	RUN_CASES(&o, cases);
	ofi_close(&o);
	return 0;
}
