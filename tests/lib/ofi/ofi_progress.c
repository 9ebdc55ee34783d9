/*
 * ofi_progress: started operations are carried out while both sides compute: neither makes a call,
 * and each only polls its memory. Rank 0 sends, rank 1 receives. The receiver writes into the
 * sender's memory to show that it has seen the data.
 */
#include "ofi.h"
#include <margay/counters.h>
#include <time.h>

enum { MOST = 1 << 20, MANY = 1000, KEY = 6, ROUNDS = 101, OPEN = 64, FRESH = 40 };

static char out[MOST], in[MOST];
static volatile uint64_t seen;          /* at the sender, written by the receiver */
static struct fid_mr *mr;
static char a, b;

/* Computes until all bytes have arrived; the last one of a message may arrive before others. */
static void compute_until(const char *bytes, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; )
		if (((const volatile char *)bytes)[i] == pattern(seed, i))
			i++;
}

static void tell(struct ofi *o, uint64_t number)
{
	OK(fi_inject_write(o->ep, &number, sizeof(number), 0, 0, KEY));
}

static void await(uint64_t number)
{
	while (seen != number)
		;
}

static void transfers(struct ofi *o, int before)
{
	static uint64_t number;

	for (size_t n = 8; n <= MOST; n *= 4) {
		struct fi_cq_tagged_entry entry;

		number++;
		memset(in, 0, sizeof(in));
		if (before && o->rank == 1)
			OK(fi_trecv(o->ep, in, n, 0, 0, 1, 0, &b));
		ofi_barrier();
		if (o->rank == 0) {
			fill(out, n, number);
			OK(fi_tsend(o->ep, out, n, 0, 1, 1, &a));
			await(number);
			done(o, &a, FI_SEND | FI_TAGGED);
		} else {
			if (!before) {          /* when the message, or its header, has arrived */
				while (fi_trecvmsg(o->ep, &(struct fi_msg_tagged){
					.addr = 0, .tag = 1, .context = &a }, FI_PEEK) == -FI_ENOMSG)
					;
				done(o, &a, FI_RECV | FI_TAGGED);
				OK(fi_trecv(o->ep, in, n, 0, 0, 1, 0, &b));
			}
			compute_until(in, n, number);
			tell(o, number);
			entry = done(o, &b, FI_RECV | FI_TAGGED);
			EQUAL(entry.len, n);
		}
		ofi_barrier();
	}
}

static void posted(struct ofi *o)
{
	transfers(o, 1);
}

static void early(struct ofi *o)
{
	transfers(o, 0);
}

/* The first window has room for FRESH short messages of the longest kind: all arrive although the
 * sender makes no further call and no receive is posted. Runs first, because windows grow. */
static void fresh(struct ofi *o)
{
	struct fi_msg_tagged last = { .addr = 0, .tag = FRESH - 1, .context = &a };

	ofi_barrier();
	for (int i = 0; i < FRESH && o->rank == 0; i++)
		OK(fi_tsend(o->ep, out, 4096, 0, 1, i, &a));
	if (o->rank == 0) {
		await(FRESH);
	} else {
		while (fi_trecvmsg(o->ep, &last, FI_PEEK) == -FI_ENOMSG)
			;
		done(o, &a, FI_RECV | FI_TAGGED);
		tell(o, FRESH);
	}
	for (int i = 0; i < FRESH; i++) {
		if (o->rank == 1)
			OK(fi_trecv(o->ep, in, 4096, 0, 0, i, 0, &a));
		done(o, &a, FI_TAGGED | (o->rank == 1 ? FI_RECV : FI_SEND));
	}
}

/* More messages than any window has units: the receiver's kernel returns the credit. */
static void many(struct ofi *o)
{
	static const size_t lengths[] = { 8, 1000, 3000 };

	for (int round = 0; round < 3; round++) {
		size_t n = lengths[round];
		char *all = malloc(MANY * n);

		fill(all, MANY * n, o->rank == 0 ? 50 + round : 0);
		for (int i = 0; i < MANY && o->rank == 1; i++)
			OK(fi_trecv(o->ep, all + i * n, n, 0, 0, i, 0, &b));
		ofi_barrier();
		if (o->rank == 0) {
			for (int i = 0; i < MANY; i++)
				OK(fi_tsend(o->ep, all + i * n, n, 0, 1, i, &a));
			for (int i = 0; i < MANY; i++)
				done(o, &a, FI_SEND | FI_TAGGED);
			await(1000 + round);
		} else {
			compute_until(all, MANY * n, 50 + round);
			tell(o, 1000 + round);
			for (int i = 0; i < MANY; i++)
				done(o, &b, FI_RECV | FI_TAGGED);
		}
		ofi_barrier();
		free(all);
	}
}

/* Reads from and writes to a rank that computes. */
static void onesided(struct ofi *o)
{
	if (o->rank == 0) {
		await(5000);
		compute_until(out, MOST, 9);
		return;
	}
	fill(in, MOST, 9);
	OK(fi_write(o->ep, in, MOST, 0, 0, (uintptr_t)out, KEY + 1, &a));
	done(o, &a, FI_RMA | FI_WRITE);
	memset(in, 0, MOST);
	OK(fi_read(o->ep, in, MOST, 0, 0, (uintptr_t)out, KEY + 1, &a));
	done(o, &a, FI_RMA | FI_READ);
	CHECK(is_filled(in, MOST, 9));
	tell(o, 5000);
}

static uint64_t counted(int which)
{
	uint64_t counters[COUNTER_COUNT];

	CHECK(margay_counters(counters, COUNTER_COUNT) > which);
	return counters[which];
}

static uint64_t halts(void)
{
	return counted(COUNTER_HALTS);
}

/* OPEN pending messages need more units than the smallest window has. The window grows even if
 * all of them match posted receives, in which case the receiver's kernel need not acknowledge
 * each. */
static void window(struct ofi *o)
{
	uint64_t before = counted(COUNTER_FRAMES_OUT);

	for (int i = 0; i < 2 * OPEN && o->rank == 1; i++)
		OK(fi_trecv(o->ep, in, 4096, 0, 0, 1, 0, &b));
	ofi_barrier();
	for (int i = 0; i < 2 * MANY; i++) {
		if (o->rank == 0 && i >= OPEN)
			done(o, &a, FI_SEND | FI_TAGGED);
		if (o->rank == 0)
			OK(fi_tsend(o->ep, out, 4096, 0, 1, 1, &a));
		if (o->rank == 1)
			done(o, &b, FI_RECV | FI_TAGGED);
		if (o->rank == 1 && i < 2 * MANY - 2 * OPEN)
			OK(fi_trecv(o->ep, in, 4096, 0, 0, 1, 0, &b));
	}
	for (int i = 0; i < OPEN && o->rank == 0; i++)
		done(o, &a, FI_SEND | FI_TAGGED);
	if (o->rank == 1)
		CHECK(counted(COUNTER_FRAMES_OUT) - before < MANY);
}

/* A poll without a completion does not halt a caller that has just written, as the caller may
 * wait only for the end of that write. */
static void busy(struct ofi *o)
{
	static volatile uint64_t word;
	uint64_t before = halts();

	for (uint64_t i = 1; i <= 1000; i++) {
		struct fi_cq_tagged_entry entry;

		OK(fi_inject_write(o->ep, &i, sizeof(i), o->rank, (uintptr_t)&word, KEY + 1));
		EQUAL(fi_cq_read(o->cq, &entry, 1), -FI_EAGAIN);
		EQUAL(word, i);
	}
	EQUAL(halts() - before, 0);
}

static long us_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000000 + (now.tv_nsec - start->tv_nsec) / 1000;
}

static void compute_us(long us)
{
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (us_since(&start) < us)
		;
}

/* Polls until a completion arrives; returns the number of polls. */
static int look(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;
	int looks = 1;

	for (; fi_cq_read(o->cq, &entry, 1) == -FI_EAGAIN; looks++)
		;
	CHECK(entry.op_context == &b);
	return looks;
}

/* Polls until one waited although nothing came. */
static void wait_without_event(struct ofi *o)
{
	struct timespec start;

	do {
		clock_gettime(CLOCK_MONOTONIC, &start);
		quiet(o);
	} while (us_since(&start) < 500);
}

/* Returns in how many of ROUNDS rounds the program was halted after a few polls, as that was right in
 * earlier rounds. Whenever the host takes the processor away between two polls, it learns anew. */
static int halted_soon(struct ofi *o, int waits_between)
{
	int few = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int looks;

		OK(fi_trecv(o->ep, in, 8, 0, 1 - o->rank, 1, 0, &b));
		if (o->rank == 0)
			OK(fi_tinject(o->ep, out, 8, 1, 1));
		looks = look(o);
		few += looks > 1 && looks <= 12;
		compute_us(300);
		if (o->rank == 1)
			OK(fi_tinject(o->ep, out, 8, 0, 1));
		if (waits_between && o->rank == 0) {
			wait_without_event(o);
			compute_us(20);
			quiet(o);
		}
	}
	return few;
}

/* A program that waits long is halted after a few polls, once halting was right several times. A
 * program that polls less often and computes in between is not halted. */
static void learned(struct ofi *o)
{
	uint64_t before;

	CHECK(halted_soon(o, 0) > 0);
	before = halts();
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < 3; j++)
			quiet(o);
		compute_us(20);
	}
	EQUAL(halts() - before, 0);
}

/* The first poll after a wait comes late, as the node has to be woken. That is no sign that the program
 * computes. */
static void patient(struct ofi *o)
{
	CHECK(halted_soon(o, 1) > 0 || o->rank != 0);
}

int main(void)
{
	static const struct ofi_case cases[] = {
		{ "fresh", fresh }, { "posted", posted }, { "early", early }, { "many", many },
		{ "onesided", onesided }, { "busy", busy }, { "learned", learned },
		{ "patient", patient }, { "window", window },
	};
	struct fid_mr *whole;
	struct ofi o;

	ofi_open(&o);
	OK(fi_mr_reg(o.domain, (void *)&seen, sizeof(seen), FI_REMOTE_WRITE, 0, KEY, 0, &mr, 0));
	OK(fi_mr_reg(o.domain, 0, UINT64_MAX, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, KEY + 1, 0,
		     &whole, 0));
	ofi_barrier();
	RUN_CASES(&o, cases);
	ofi_barrier();
	OK(fi_close(&mr->fid));
	OK(fi_close(&whole->fid));
	ofi_close(&o);
	return 0;
}
