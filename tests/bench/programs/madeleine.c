/*
 * Benchmark of Madeleine between two ranks, and of the puts below it; run by
 * tests/bench/madeleine.py, which explains the figures. One line per figure on stdout: NAME VALUE.
 *
 *   madeleine call SIZE ROUNDS   section 2.1.4 of the paper: a call with an array as argument there
 *                                and back: half, in us
 *   madeleine put SIZE ROUNDS    a put of as many bytes there and back, at minimal cost: half, in us
 *   madeleine instructions       a call with 8 bytes to the same node, under --icount
 *
 * A waiting node halts in both.
 */
#include <madeleine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "../../../apps/job.h"

enum { PORTAL = 1, MOST = 1 << 20 };

struct header {
	int type, size;
};

static _Alignas(64) char in[MOST], out[MOST];
static int me, nodes;

static void say(const char *name, double value)
{
	if (me == 0)
		printf("%s %.6g\n", name, value);
}

/* ---- calls ---- */

static void call(int to, int size)
{
	const struct header header = { 1, size };

	sendbuf_init(to);
	sendbuf_pack_byte(SND_CHEAPER | RECV_EXPRESS, &header, sizeof(header));
	sendbuf_pack_byte(SND_CHEAPER | RECV_CHEAPER, out, size);
	sendbuf_send();
}

static void handler(void)
{
	struct header header;

	recvbuf_unpack_byte(SND_CHEAPER | RECV_EXPRESS, &header, sizeof(header));
	recvbuf_unpack_byte(SND_CHEAPER | RECV_CHEAPER, in, header.size);
	recvbuf_receive_data();
}

static void calls(int size, long rounds)
{
	double start = 0;

	for (long i = -rounds / 10; i < rounds; i++) {
		if (i == 0)
			start = job_seconds();
		if (me == 0)
			call(1, size);
		recvbuf_receive(handler);
		if (me == 1)
			call(0, size);
	}
	say("half_rtt_us", (job_seconds() - start) / (double)rounds / 2 * 1e6);
}

static void instructions(void)
{
	unsigned long send = 0, receive = 0;

	for (int i = 0; i < 64; i++) {
		unsigned long first = __rdtsc(), second;

		call(0, 8);
		second = __rdtsc();
		recvbuf_receive(handler);
		receive = __rdtsc() - second;
		send = second - first;
	}
	say("send", (double)send);
	say("receive", (double)receive);
}

/* ---- puts ---- */

static void puts_there_and_back(int size, long rounds)
{
	struct job job;
	ptl_handle_eq_t eq;
	ptl_handle_md_t md;
	double start = 0;

	job_start(&job);
	me = job.rank;
	job_check(PtlEQAlloc(job.ni, 64, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	job_expose(&job, PORTAL, 0, job_memory(in, sizeof(in), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
					       PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN);
	job_check(PtlMDBind(job.ni, job_memory(out, (size_t)size, PTL_MD_EVENT_START_DISABLE |
					       PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE), PTL_RETAIN,
			    &md), "PtlMDBind");
	job_barrier(&job);
	for (long i = -rounds / 10; i < rounds; i++) {
		if (i == 0)
			start = job_seconds();
		if (me == 0)
			job_check(PtlPut(md, PTL_NO_ACK_REQ, margay_process(1), PORTAL, 0, 0, 0, 0),
				  "PtlPut");
		job_good_event(eq);
		if (me == 1)
			job_check(PtlPut(md, PTL_NO_ACK_REQ, margay_process(0), PORTAL, 0, 0, 0, 0),
				  "PtlPut");
	}
	say("half_rtt_us", (job_seconds() - start) / (double)rounds / 2 * 1e6);
	job_end(&job);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int size = argc > 2 ? atoi(argv[2]) : 0;
	long rounds = argc > 3 ? atol(argv[3]) : 0;

	if (!strcmp(what, "put") && size <= MOST && rounds > 0) {
		puts_there_and_back(size, rounds);
		return 0;
	}
	mad_init(&argc, &argv, &nodes, &me);
	if (!strcmp(what, "call") && size <= MOST && rounds > 0)
		calls(size, rounds);
	else if (!strcmp(what, "instructions"))
		instructions();
	else
		return 2;
	mad_exit();
	return 0;
}
