/*
 * damaged MILLISECONDS: all ranks but the last, whose kernel damages the shared region meanwhile
 * (kernel/selftest/selftest_damage.c), put to and get from each other, print, and rank 0 reads its
 * standard input. Results of calls and contents of events do not matter, but each call must return.
 * Then they enter the barrier, which the last rank never does: it ends when that node does. Prints
 * "rank R: done" then.
 */
#include <margay.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PORTAL = 4, LARGE = 40000, SMALL = 8, EVENTS = 64, LINE = 120, TEXT = 30000 };

static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq, own;
static char in[LARGE], out[LARGE], got[LARGE], text[TEXT];

static ptl_md_t memory(void *start, size_t bytes, unsigned options, ptl_handle_eq_t queue)
{
	return (ptl_md_t){ .start = start, .length = bytes, .threshold = PTL_MD_THRESH_INF,
	                   .options = options, .eq_handle = queue };
}

static void prepare(void)
{
	ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	int interfaces;

	PtlInit(&interfaces);
	PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	PtlEQAlloc(ni, EVENTS, PTL_EQ_HANDLER_NONE, &eq);
	PtlEQAlloc(ni, EVENTS, PTL_EQ_HANDLER_NONE, &own);
	if (PtlMEAttach(ni, PORTAL, any_process, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me) == PTL_OK)
		PtlMDAttach(me, memory(in, sizeof in, PTL_MD_OP_PUT | PTL_MD_OP_GET |
		                       PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN, &md);
}

/* Takes the events that have arrived, and never waits long. */
static void take(ptl_handle_eq_t queue, unsigned most)
{
	ptl_event_t event;
	int which;

	while (most--)
		if (PtlEQPoll(&queue, 1, 2, &event, &which) != PTL_OK)
			return;
}

static void visit(int peer, size_t bytes)
{
	ptl_handle_md_t put, get;
	int has_put = PtlMDBind(ni, memory(out, bytes, 0, own), PTL_RETAIN, &put) == PTL_OK;
	int has_get = PtlMDBind(ni, memory(got, bytes, 0, own), PTL_RETAIN, &get) == PTL_OK;

	if (has_put)
		PtlPut(put, PTL_ACK_REQ, margay_process(peer), PORTAL, 0, 1, 0, 0);
	if (has_get)
		PtlGet(get, margay_process(peer), PORTAL, 0, 1, 0);
	take(own, 8);
	take(eq, 8);
	if (has_put)
		PtlMDUnlink(put);
	if (has_get)
		PtlMDUnlink(get);
}

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	int rank = margay_rank(), size = margay_size() - 1;
	double end = milliseconds() + (argc > 1 ? atof(argv[1]) : 100);
	char line[LINE];

	memset(text, '.', sizeof text);
	prepare();
	for (unsigned round = 0; milliseconds() < end; round++) {
		for (int step = 1; step < size; step++)
			visit((rank + step) % size, round % 2 ? LARGE : SMALL);
		if (rank == 0 && read(0, line, sizeof line) < 0)
			puts("no input");
		if (round % 8 == 0)
			write(1, text, sizeof text);
		printf("rank %d: round %u\n", rank, round);
	}
	PtlNIBarrier(ni);
	printf("\nrank %d: done\n", rank);
	fflush(stdout);
	PtlNIFini(ni);
	return 0;
}
