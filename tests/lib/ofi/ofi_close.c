/*
 * fi_close of an endpoint with unsent injected messages: each arrives with its original bytes,
 * though the sender reuses the memory at once. Rank 0 sends messages of `bytes` bytes to rank 1,
 * which ignores them for a while. PMI is in use, as with MPI.
 *
 *   ofi_close BYTES COUNT
 *   ofi_close late            rank 1 has closed its endpoint: a long message to it fails, and so do
 *                             short ones for which there is no credit. fi_close returns
 *   ofi_close late card      the same over a card, where a put may end before it has arrived
 *   ofi_close unread          rank 1 takes the headers of long messages, and closes its endpoint: all
 *                             fail, whether they have a slot or not
 */
#include "ofi.h"
#include <pmi.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_BYTES = 4096, LONG_BYTES = 5000, HEAP_BYTES = 1 << 20, LATE_MS = 300, MANY = 1000 };

static char bytes[LONG_BYTES];

static void send_all(struct ofi *o, size_t size, int count)
{
	char *heap;

	for (int i = 0; i < count; i++) {
		fill(bytes, size, (uint32_t)i);
		while (fi_tinject(o->ep, bytes, size, 1, 1) == -FI_EAGAIN)
			fi_cq_read(o->cq, 0, 0);
	}
	OK(fi_close(&o->ep->fid));
	for (size_t block = 64; block <= HEAP_BYTES; block *= 2)
		for (size_t used = 0; used < HEAP_BYTES; used += block) {
			heap = malloc(block);
			CHECK(heap != 0);
			/* never freed, so that memory freed before is overwritten */
			memset(heap, 0xee, block);
		}
}

static void receive_all(struct ofi *o, size_t size, int count)
{
	struct timespec late = { .tv_nsec = LATE_MS * 1000000L };

	nanosleep(&late, 0);
	for (int i = 0; i < count; i++) {
		memset(bytes, 0, size);
		OK(fi_trecv(o->ep, bytes, size, 0, 0, 1, 0, bytes));
		done(o, bytes, FI_RECV | FI_TAGGED);
		CHECK(is_filled(bytes, size, (uint32_t)i));
	}
	OK(fi_close(&o->ep->fid));
}

/* The first sends have credit, and complete. */
static void send_without_credit(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	int failures = 0;

	for (int i = 0; i < MANY; i++)
		OK(fi_tsend(o->ep, bytes, 1, 0, 1, 1, bytes));
	for (int i = 0; i < MANY; i++) {
		if (next(o->cq, &entry) == 1) {
			EQUAL(failures, 0);
			continue;
		}
		EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
		EQUAL(error.err, FI_ECONNRESET);
		EQUAL(error.prov_errno, PTL_FAIL);
		failures++;
	}
	CHECK(failures > 0);
}

/* Also an empty and an injected message, if their ends tell of their delivery. */
static void send_late(struct ofi *o, int card)
{
	static char longer[16 * MOST_BYTES];
	const struct fi_msg_tagged empty = { .addr = 1, .context = bytes };
	const struct iovec iov = { bytes, MOST_BYTES };
	const struct fi_msg_tagged injected = { .msg_iov = &iov, .iov_count = 1, .addr = 1,
						.context = bytes };

	if (o->rank == 1)
		OK(fi_close(&o->ep->fid));
	EQUAL(PMI_Barrier(), PMI_SUCCESS);
	if (o->rank == 1)
		return;
	OK(fi_tsend(o->ep, longer, sizeof(longer), 0, 1, 1, longer));
	failed(o, longer, FI_ECONNRESET);
	if (card) {
		OK(fi_tsendmsg(o->ep, &empty, FI_DELIVERY_COMPLETE));
		failed(o, bytes, FI_ECONNRESET);
		OK(fi_tsendmsg(o->ep, &injected, FI_DELIVERY_COMPLETE | FI_INJECT));
		failed(o, bytes, FI_ECONNRESET);
	}
	send_without_credit(o);
	for (int i = 0; i < MANY; i++)
		OK(fi_tinject(o->ep, bytes, 1, 1, 1));
	OK(fi_close(&o->ep->fid));
}

/* Long messages, more than there are slots, without receives. */
static void send_unread(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < MANY && o->rank == 0; i++)
		OK(fi_tsend(o->ep, bytes, sizeof(bytes), 0, 1, 1, bytes));
	for (int i = 0; i < LATE_MS; i++)
		EQUAL(fi_cq_sread(o->cq, &entry, 1, 0, 1), -FI_EAGAIN);
	EQUAL(PMI_Barrier(), PMI_SUCCESS);
	if (o->rank == 0) {
		for (int i = 0; i < MANY; i++)
			failed(o, bytes, FI_ECONNRESET);
		EQUAL(fi_cq_read(o->cq, &entry, 1), -FI_EAGAIN);
	}
	OK(fi_close(&o->ep->fid));
}

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? strtoul(argv[1], 0, 10) : 0;
	int count = argc > 2 ? atoi(argv[2]) : 0, spawned;
	int late = argc > 1 && !strcmp(argv[1], "late");
	int unread = argc > 1 && !strcmp(argv[1], "unread");
	struct ofi o;

	if (!late && !unread && (size == 0 || size > MOST_BYTES || count < 1))
		return 2;
	EQUAL(PMI_Init(&spawned), PMI_SUCCESS);
	ofi_open(&o);
	if (late)
		send_late(&o, argc > 2);
	else if (unread)
		send_unread(&o);
	else if (o.rank == 0)
		send_all(&o, size, count);
	else if (o.rank == 1)
		receive_all(&o, size, count);
	else
		OK(fi_close(&o.ep->fid));
	EQUAL(PMI_Barrier(), PMI_SUCCESS);
	EQUAL(PMI_Finalize(), PMI_SUCCESS);
	if (o.rank == 0)
		puts("ok");
	return 0;
}
