/*
 * ofi_death WHAT: the test kills rank 1 during operations of the others with it. Operations whose
 * failure the kernel can detect end with FI_EIO.
 *
 *   writes    endless writes to it: the last ones end with FI_EIO
 *   reads     endless reads from it: likewise
 *   sends     long sends to it: those whose header it received end only with the job
 *   receives  receives from it and fetches of its long messages: nothing arrives any more, and the
 *             end of the job ends this rank
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
			if (start(o, what, entry.op_context))
				break;
			continue;
		}
		EQUAL(found, -FI_EAVAIL);
		EQUAL(fi_cq_readerr(o->cq, &error, 0), 1);
		EQUAL(error.err, FI_EIO);
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

int main(int argc, char **argv)
{
	struct fid_mr *mr;
	struct ofi o;

	CHECK(argc == 2);
	ofi_open(&o);
	OK(fi_mr_reg(o.domain, bytes, sizeof(bytes), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
		     0));
	ofi_barrier();
	if (o.rank == 1)
		serve(&o, argv[1]);
	if (o.rank == 0 || strcmp(argv[1], "receives"))
		operate(&o, argv[1]);
	return 0;
}
