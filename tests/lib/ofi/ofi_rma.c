/*
 * ofi_rma: reads and writes of the right neighbour's regions: results, keys and bounds, pieces,
 * order, and that a write has arrived when its completion is read. Around a ring of ranks.
 */
#include "ofi.h"

enum { BYTES = 1 << 20, KEY = 77, READ_ONLY = 78, WRITE_ONLY = 79 };
#define ALL (1ULL << 63 | KEY)          /* another key, of MPICH's form */

static const uint64_t written = FI_RMA | FI_WRITE, fetched = FI_RMA | FI_READ;
static char region[BYTES], local[BYTES + 1];
static struct fid_mr *mr, *read_only, *write_only;
static char a;

static void open_regions(struct ofi *o)
{
	OK(fi_mr_reg(o->domain, region, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, 0));
	OK(fi_mr_reg(o->domain, region, BYTES, FI_REMOTE_READ, 0, READ_ONLY, 0, &read_only, 0));
	OK(fi_mr_reg(o->domain, region, BYTES, FI_REMOTE_WRITE, 0, WRITE_ONLY, 0, &write_only, 0));
	EQUAL(fi_mr_key(mr), KEY);
	ofi_barrier();
}

static void sizes(struct ofi *o)
{
	static const size_t lengths[] = { 0, 1, 8, 100, 4096, 4097, 65536, BYTES };

	for (int i = 0; i < 8; i++) {
		size_t n = lengths[i], at = (BYTES - n) / 3;

		memset(region, 0, BYTES);
		fill(local, n, i);
		ofi_barrier();
		OK(fi_write(o->ep, local, n, 0, o->right, at, KEY, &a));
		done(o, &a, written);
		ofi_barrier();             /* it arrives without a call of this rank */
		CHECK(is_filled(region + at, n, i));
		CHECK(at == 0 || region[at - 1] == 0);
		CHECK(at + n == BYTES || region[at + n] == 0);
		memset(local, 0, BYTES);
		OK(fi_read(o->ep, local, n, 0, o->right, at, KEY, &a));
		done(o, &a, fetched);
		CHECK(is_filled(local, n, i));
		ofi_barrier();
	}
}

static void pieces(struct ofi *o)
{
	const struct iovec iov[] = { { local, 10 }, { local + 100, 0 }, { local + 200, 5000 },
				     { local + 9000, 3 } };
	const struct fi_rma_iov remote[] = { { 50, 5, KEY }, { 60, 0, KEY }, { 70, 8, KEY },
					     { 20000, 5000, KEY } };
	const struct fi_msg_rma msg = { .msg_iov = iov, .iov_count = 4, .addr = o->right,
					.rma_iov = remote, .rma_iov_count = 4, .context = &a };
	static char wanted[10000];      /* the pieces in `local`, and 0 between them */

	fill(local, sizeof(wanted), 1);
	for (int i = 0; i < 4; i++)
		memcpy(wanted + ((char *)iov[i].iov_base - local), iov[i].iov_base, iov[i].iov_len);
	memset(region, 0, BYTES);
	ofi_barrier();
	OK(fi_writemsg(o->ep, &msg, FI_DELIVERY_COMPLETE));
	done(o, &a, written);
	ofi_barrier();
	CHECK(!memcmp(region + 50, local, 5) && !memcmp(region + 70, local + 5, 5));
	CHECK(!memcmp(region + 75, local + 200, 3) && !memcmp(region + 20000, local + 203, 4997));
	CHECK(!memcmp(region + 24997, local + 9000, 3) && region[25000] == 0);
	memset(local, 0, sizeof(wanted));
	OK(fi_readmsg(o->ep, &msg, 0));
	done(o, &a, fetched);
	CHECK(!memcmp(local, wanted, sizeof(wanted)));
	OK(fi_writev(o->ep, iov, 0, 4, o->right, 100000, KEY, &a));
	done(o, &a, written);
	ofi_barrier();
	CHECK(region[99999] == 0 && !memcmp(region + 100000, wanted, 10));
	CHECK(!memcmp(region + 100010, wanted + 200, 5000));
	CHECK(!memcmp(region + 105010, wanted + 9000, 3) && region[105013] == 0);
	memset(local, 0, sizeof(wanted));
	OK(fi_readv(o->ep, iov, 0, 4, o->right, 100000, KEY, &a));
	done(o, &a, fetched);
	CHECK(!memcmp(local, wanted, sizeof(wanted)));
}

static void injected(struct ofi *o)
{
	for (int i = 0; i < 300; i++) {
		size_t n = (size_t)(i * 13 % 4097);

		fill(local, n, i);
		OK(fi_inject_write(o->ep, local, n, o->right, 0, KEY));
		memset(local, 0, n);
		if (i % 50)
			continue;
		OK(fi_read(o->ep, local, n, 0, o->right, 0, KEY, &a));
		done(o, &a, fetched);           /* after the write */
		CHECK(is_filled(local, n, i));
	}
	EQUAL(fi_inject_write(o->ep, local, 4097, o->right, 0, KEY), -FI_EMSGSIZE);
}

/* Wrong keys and bounds: the operation fails, and the neighbour's memory stays unchanged. */
static void refused(struct ofi *o)
{
	static const struct {
		uint64_t address, key;
		size_t bytes;
		int read, write;
	} wrong[] = {
		{ 0, 12345, 8, 1, 1 }, { BYTES - 4, KEY, 8, 1, 1 }, { BYTES, KEY, 1, 1, 1 },
		{ ~7ULL, KEY, 16, 1, 1 }, { 0, READ_ONLY, 8, 0, 1 }, { 0, WRITE_ONLY, 8, 1, 0 },
		{ 0, KEY, BYTES + 1, 1, 1 },
	};
	struct iovec iov = { local, 8 };
	struct fi_rma_iov remote = { 0, 9, KEY };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .addr = o->right,
				  .rma_iov = &remote, .rma_iov_count = 1 };

	memset(region, 3, BYTES);
	memset(local, 4, sizeof(local));
	ofi_barrier();
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (wrong[i].write) {
			OK(fi_write(o->ep, local, wrong[i].bytes, 0, o->right, wrong[i].address,
				    wrong[i].key, &a));
			failed(o, &a, FI_EREMOTEIO);
		}
		if (wrong[i].read) {
			OK(fi_read(o->ep, local, wrong[i].bytes, 0, o->right, wrong[i].address,
				   wrong[i].key, &a));
			failed(o, &a, FI_EREMOTEIO);
		}
	}
	ofi_barrier();
	for (int i = 0; i < BYTES; i++)
		CHECK(region[i] == 3 && local[i] == 4);
	CHECK(local[BYTES] == 4);
	EQUAL(fi_write(o->ep, local, 8, 0, o->right, 0, 1ULL << 53, &a), -FI_EINVAL);
	EQUAL(fi_read(o->ep, local, 8, 0, o->size, 0, KEY, &a), -FI_EADDRNOTAVAIL);
	EQUAL(fi_write(o->ep, (void *)0x10, 8, 0, o->right, 0, KEY, &a), -FI_EFAULT);
	EQUAL(fi_read(o->ep, (void *)0x10, 8, 0, o->right, 0, KEY, &a), -FI_EFAULT);
	EQUAL(fi_read(o->ep, (void *)(uintptr_t)refused, 8, 0, o->right, 0, KEY, &a), -FI_EFAULT);
	EQUAL(fi_writemsg(o->ep, &msg, 0), -FI_EINVAL);      /* lengths differ */
	remote.len = 8;
	EQUAL(fi_writemsg(o->ep, &msg, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
	msg.iov_count = 33;
	EQUAL(fi_readmsg(o->ep, &msg, 0), -FI_EINVAL);
}

static void registered(struct ofi *o)
{
	const struct iovec iov[2] = { { region, 8 }, { region + 8, 8 } };
	struct fid_mr *other = 0;
	static int number;

	EQUAL(fi_mr_reg(o->domain, region, 8, FI_REMOTE_READ, 0, KEY, 0, &other, 0), -FI_ENOKEY);
	EQUAL(fi_mr_reg(o->domain, region, 8, FI_REMOTE_READ, 0, 1ULL << 53, 0, &other, 0),
	      -FI_EKEYREJECTED);
	EQUAL(fi_mr_regv(o->domain, iov, 2, FI_REMOTE_READ, 0, 5, 0, &other, 0), -FI_EINVAL);
	EQUAL(fi_mr_reg(o->domain, (void *)0x10, 8, FI_REMOTE_READ, 0, 5, 0, &other, 0),
	      -FI_EFAULT);
	EQUAL(fi_mr_reg(o->domain, (void *)(uintptr_t)registered, 8, FI_REMOTE_WRITE, 0, 5, 0,
			&other, 0), -FI_EFAULT);
	EQUAL(fi_mr_bind(mr, &o->cq->fid, 0), -FI_ENOSYS);
	EQUAL(fi_mr_refresh(mr, iov, 1, 0), -FI_ENOSYS);
	/* All of memory: offsets are addresses, which are the same on each rank. */
	OK(fi_mr_reg(o->domain, 0, UINT64_MAX, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, ALL, 0, &other,
		     0));
	ofi_barrier();
	OK(fi_write(o->ep, &(int){ o->rank + 1 }, sizeof(int), 0, o->right, (uintptr_t)&number, ALL,
		    &a));
	done(o, &a, written);
	ofi_barrier();
	EQUAL(number, o->left + 1);
	OK(fi_close(&other->fid));
	ofi_barrier();
	OK(fi_write(o->ep, local, 8, 0, o->right, (uintptr_t)&number, ALL, &a));
	failed(o, &a, FI_EREMOTEIO);            /* its key is invalid */
}

/* A region is closed when its reader reports that it has the bytes: over cards this kernel may
 * not know yet that the read has ended. */
static void closed_soon(struct ofi *o)
{
	for (int i = 0; i < 20; i++) {
		struct fid_mr *soon;

		OK(fi_mr_reg(o->domain, region, BYTES, FI_REMOTE_READ, 0, 81, 0, &soon, 0));
		ofi_barrier();
		OK(fi_read(o->ep, local, 300000, 0, o->right, 0, 81, &a));
		done(o, &a, fetched);
		ofi_barrier();
		OK(fi_close(&soon->fid));
		ofi_barrier();
	}
}

/* A read after three writes to the same place finds the last one; three places at once. */
static void ordered(struct ofi *o)
{
	static const size_t lengths[] = { 8, 3000, 70000 };
	static char back[3][70000], from[9][70000];
	struct fi_cq_tagged_entry entry;

	for (int round = 0; round < 30; round++) {
		size_t n = lengths[round % 3];

		for (int i = 0; i < 9; i++) {
			fill(from[i], n, round * 9 + i);
			OK(fi_write(o->ep, from[i], n, 0, o->right, i / 3 * n, KEY, &a));
			if (i % 3 == 2)
				OK(fi_read(o->ep, back[i / 3], n, 0, o->right, i / 3 * n, KEY,
					   &a));
		}
		for (int i = 0; i < 12; i++)
			EQUAL(next(o->cq, &entry), 1);
		for (int i = 0; i < 3; i++)
			CHECK(is_filled(back[i], n, round * 9 + i * 3 + 2));
	}
}

/* A message sent after the write's completion reaches the neighbour after the data. */
static void delivered(struct ofi *o)
{
	static const size_t lengths[] = { 8, 5000, 200000 };
	static uint32_t told;
	struct fi_cq_tagged_entry entry;

	for (int round = 0; round < 60; round++) {
		size_t n = lengths[round % 3];

		fill(local, n, round);
		OK(fi_trecv(o->ep, &told, 4, 0, o->left, 1, 0, &told));
		OK(fi_write(o->ep, local, n, 0, o->right, 0, KEY, &a));
		for (int ended = 0; ended < 2; ended++) {
			EQUAL(next(o->cq, &entry), 1);
			if (entry.op_context == &a)
				OK(fi_tinject(o->ep, &round, 4, o->right, 1));
			else
				CHECK(is_filled(region, n, told));
		}
		EQUAL(told, round);
		ofi_barrier();
	}
}

/* Counters of reads and writes, and a region that outlives an endpoint. */
static void counted(struct ofi *o)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *reads, *writes;

	ofi_close_ep(o);
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, FI_SELECTIVE_COMPLETION);
	OK(fi_cntr_open(o->domain, &attr, &reads, 0));
	OK(fi_cntr_open(o->domain, &attr, &writes, 0));
	OK(fi_ep_bind(o->ep, &reads->fid, FI_READ));
	OK(fi_ep_bind(o->ep, &writes->fid, FI_WRITE));
	OK(fi_enable(o->ep));
	ofi_barrier();
	for (int i = 0; i < 1000; i++) {
		OK(fi_write(o->ep, local, 8, 0, o->right, i * 8, KEY, 0));
		OK(fi_inject_write(o->ep, local, 8, o->right, i * 8, KEY));
		OK(fi_read(o->ep, local, 8, 0, o->right, i * 8, KEY, 0));
	}
	OK(fi_cntr_wait(writes, 2000, HANG_MS));
	OK(fi_cntr_wait(reads, 1000, HANG_MS));
	EQUAL(fi_cntr_readerr(reads), 0);
	OK(fi_write(o->ep, local, 8, 0, o->right, 0, 999, &a));
	EQUAL(fi_cntr_wait(writes, 2001, HANG_MS), -FI_EAVAIL);
	failed(o, &a, FI_EREMOTEIO);
	EQUAL(fi_cntr_readerr(writes), 1);
	ofi_close_ep(o);
	OK(fi_close(&reads->fid));
	OK(fi_close(&writes->fid));
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
	ofi_barrier();
}

int main(void)
{
	static const struct ofi_case cases[] = {
		{ "sizes", sizes }, { "pieces", pieces }, { "injected", injected },
		{ "refused", refused }, { "registered", registered },
		{ "closed_soon", closed_soon }, { "ordered", ordered },
		{ "delivered", delivered }, { "counted", counted },
	};
	struct ofi o;

	ofi_open(&o);
	open_regions(&o);
	RUN_CASES(&o, cases);
	ofi_barrier();
	OK(fi_close(&mr->fid));
	OK(fi_close(&read_only->fid));
	OK(fi_close(&write_only->fid));
	ofi_close(&o);
	return 0;
}
