/*
 * ofi_death WHAT: the test kills rank 1 during operations of the others with it. Operations whose
 * failure the kernel can detect end with FI_EIO.
 *
 *   writes    endless writes to it: the last ones end with FI_EIO
 *   reads     endless reads from it: likewise
 *   sends     long sends to it
 *   receives  receives from it and fetches of its long messages
 *   open      receives from it that are posted or wait for an entry, a FI_MULTI_RECV buffer for it,
 *             and long sends after their header has arrived: each fails at rank 0 with FI_EIO, and
 *             rank 0 still exchanges messages with rank 2
 *
 * Rank 1 receives what it can and waits; the ranks print "running" when traffic flows, and "failed"
 * when they have seen FI_EIO.
 */
#include "ofi.h"

enum { BYTES = 50000, KEY = 3, WINDOW = 16 };

static char bytes[WINDOW][BYTES];

static ssize_t start(struct ofi *o, const char *what, char *buffer)
{
	if (!strcmp(what, "sends"))
		return fi_tsend(o->ep, buffer, BYTES, 0, 1, 1, buffer);
	if (!strcmp(what, "writes"))
		return fi_write(o->ep, buffer, BYTES, 0, 1, 0, KEY, buffer);
	if (!strcmp(what, "reads"))
		return fi_read(o->ep, buffer, BYTES, 0, 1, 0, KEY, buffer);
	return fi_trecv(o->ep, buffer, BYTES, 0, 1, 1, 0, buffer);
}

/* Until an operation or its call fails. */
static void operate(struct ofi *o, const char *what)
{
	struct fi_cq_tagged_entry entry;
	ssize_t result;
	long ended = 0;

	for (int i = 0; i < WINDOW; i++)
		OK(start(o, what, bytes[i]));
	for (;;) {
		ssize_t found = fi_cq_sread(o->cq, &entry, 1, 0, -1);
		struct fi_cq_err_entry error = { 0 };

		if (found == 1) {
			if (++ended == 100) {
				printf("running\n");
				fflush(stdout);
			}
			result = start(o, what, entry.op_context);
			if (!result)
				continue;
			EQUAL(result, -FI_EIO);
			break;
		}
		EQUAL(found, -FI_EAVAIL);
		EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
		EQUAL(error.err, FI_EIO);
		/* A fetch that finds the queues damaged does not know which rank died. */
		CHECK(strstr(fi_strerror(error.err), " rank 1 of the job ") ||
		      strstr(fi_strerror(error.err), " a rank has died"));
		break;
	}
	printf("failed\n");
	fflush(stdout);
}

/* Takes the long sends of all others, and sends to those that receive. */
static void serve(struct ofi *o, const char *what)
{
	int receives = !strcmp(what, "receives");
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < WINDOW; i++)
		OK(receives ? fi_tsend(o->ep, bytes[i], BYTES, 0, 0, 1, bytes[i]) :
		   fi_trecv(o->ep, bytes[i], BYTES, 0, FI_ADDR_UNSPEC, 1, 0, bytes[i]));
	for (;;) {
		EQUAL(fi_cq_sread(o->cq, &entry, 1, 0, -1), 1);
		OK(receives ? fi_tsend(o->ep, entry.op_context, BYTES, 0, 0, 1, entry.op_context) :
		   fi_trecv(o->ep, entry.op_context, BYTES, 0, FI_ADDR_UNSPEC, 1, 0,
			    entry.op_context));
	}
}

/* There are slots for 384 long sends and match entries for 10,120 receives: the library has the
 * others. A receive from rank 2, posted before, and a send to it complete. */
static void leave_open(struct ofi *o)
{
	enum { RECEIVES = 11000, SENDS = 600 };
	static char buffer[4 * BYTES], living;
	const struct iovec many = { buffer, sizeof(buffer) };
	const struct iovec pieces[] = { { bytes[2], BYTES }, { bytes[1], 10 } };
	const struct fi_msg receive = { .msg_iov = &many, .iov_count = 1, .addr = 1,
					.context = buffer };
	struct fi_cq_tagged_entry entry;

	OK(fi_trecv(o->ep, &living, 1, 0, 2, 2, 0, &living));
	OK(fi_recvmsg(o->ep, &receive, FI_MULTI_RECV));
	for (int i = 0; i < RECEIVES; i++)
		OK(fi_trecv(o->ep, bytes[0], 8, 0, 1, 1, 0, bytes[0]));
	for (int i = 0; i < SENDS; i++)
		OK(fi_tsendv(o->ep, pieces, 0, 1 + i % 2, 1, 3, bytes[1]));
	EQUAL(fi_cq_sread(o->cq, &entry, 1, 0, 300), -FI_EAGAIN);     /* rank 1 gets the headers */
	printf("running\n");
	fflush(stdout);
	for (int i = 0; i < 1 + RECEIVES + SENDS; i++) {
		struct fi_cq_err_entry error = { 0 };

		EQUAL(fi_cq_sread(o->cq, &entry, 1, 0, HANG_MS), -FI_EAVAIL);
		EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
		EQUAL(error.err, FI_EIO);
		CHECK(strstr(fi_strerror(error.err), " rank 1 of the job "));
	}
	OK(fi_tinject(o->ep, bytes[0], 1, 2, 2));
	done(o, &living, FI_RECV | FI_TAGGED);
	quiet(o);
	printf("failed\n");
	fflush(stdout);
}

/* Rank 2: answers rank 0 once that has seen all failures. */
static void answer(struct ofi *o)
{
	static char byte;

	OK(fi_trecv(o->ep, &byte, 1, 0, 0, 2, 0, &byte));
	done(o, &byte, FI_RECV | FI_TAGGED);
	OK(fi_tinject(o->ep, &byte, 1, 0, 2));
	printf("failed\n");
}

int main(int argc, char **argv)
{
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	struct ofi o;

	CHECK(argc == 2);
	ofi_open(&o);
	OK(fi_mr_reg(o.domain, bytes, sizeof(bytes), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
		     0));
	ofi_barrier();
	if (!strcmp(argv[1], "open")) {
		if (o.rank == 1)
			fi_cq_sread(o.cq, &entry, 1, 0, -1);
		else if (o.rank == 0)
			leave_open(&o);
		else
			answer(&o);
		return 0;
	}
	if (o.rank == 1)
		serve(&o, argv[1]);
	if (o.rank == 0 || strcmp(argv[1], "receives"))
		operate(&o, argv[1]);
	return 0;
}
