/*
 * Instructions of Fast Messages, on one node, to itself, under icount: each call, and the put
 * within it. tests/bench/fm.py runs it. One line per figure on stdout: NAME VALUE.
 */
#include <fm.h>
#include <fm1.h>
#undef FM_extract
#include <fm_match.h>
#include <margay.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 101, TWO = 1, ONE = 2, BYTES = 4096, SAMPLES = 10 };

static char from[BYTES], to[BYTES];
static uint64_t samples[SAMPLES][ROUNDS];
static ptl_handle_md_t md;
static ptl_handle_eq_t eq;

static uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print(const char *name, size_t bytes, uint64_t *taken)
{
	qsort(taken, ROUNDS, sizeof(*taken), by_value);
	printf("%s_%zuB %lu\n", name, bytes, taken[ROUNDS / 2]);
}

static int two(FM_stream *stream, unsigned sender)
{
	(void)sender;
	FM_receive(stream, to, FM_stream_bytes(stream));
	return FM_CONTINUE;
}

static int one(void *buf, size_t bytes, unsigned sender)
{
	(void)buf, (void)bytes, (void)sender;
	return FM_CONTINUE;
}

/* Prepare puts of as many bytes as a message of Fast Messages has: to portal 1 with an event at
 * their target, to portal 2 without. */
static void open_put(void)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	const ptl_md_t in = { .start = to, .length = BYTES, .threshold = PTL_MD_THRESH_INF,
			      .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
					 PTL_MD_EVENT_START_DISABLE };
	const ptl_md_t out = { .start = from, .length = BYTES, .threshold = PTL_MD_THRESH_INF };
	ptl_md_t with_events = in;
	ptl_handle_md_t handle;
	ptl_handle_me_t me;
	ptl_handle_ni_t ni;

	if (PtlInit(0) != PTL_OK || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) != PTL_OK ||
	    PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq) != PTL_OK)
		exit(1);
	with_events.eq_handle = eq;
	if (PtlMEAttach(ni, 1, any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me) != PTL_OK ||
	    PtlMDAttach(me, with_events, PTL_RETAIN, &handle) != PTL_OK ||
	    PtlMEAttach(ni, 2, any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me) != PTL_OK ||
	    PtlMDAttach(me, in, PTL_RETAIN, &handle) != PTL_OK ||
	    PtlMDBind(ni, out, PTL_RETAIN, &md) != PTL_OK)
		exit(1);
}

static void measure(size_t bytes)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t[SAMPLES + 2];
		ptl_event_t event;
		FM_stream *stream;

		t[0] = ticks();
		t[1] = ticks();
		PtlPutRegion(md, 0, bytes, PTL_NOACK_REQ, margay_process(0), 1, 0, 0, 0, 0);
		t[2] = ticks();
		PtlPutRegion(md, 0, bytes, PTL_NOACK_REQ, margay_process(0), 2, 0, 0, 0, 0);
		t[3] = ticks();
		PtlEQGet(eq, &event);
		t[4] = ticks();
		stream = FM_begin_message(0, bytes, TWO);
		FM_send_piece(stream, from, bytes);
		FM_end_message(stream);
		t[5] = ticks();
		FM_extract(1);
		t[6] = ticks();
		FM_send(0, ONE, from, bytes);
		t[7] = ticks();
		FM_extract(1);
		t[8] = ticks();
		FMM_send(0, 1, from, bytes);
		t[9] = ticks();
		FMM_recv(0, 1, to, bytes, 0);
		t[10] = ticks();
		for (int k = 0; k < SAMPLES - 1; k++)
			samples[k][i] = t[k + 2] - t[k + 1] - (t[1] - t[0]);
	}
	print("insn_put", bytes, samples[0]);
	print("insn_put_unseen", bytes, samples[1]);
	print("insn_eqget", bytes, samples[2]);
	print("insn_fm2_send", bytes, samples[3]);
	print("insn_fm2_extract", bytes, samples[4]);
	print("insn_fm1_send", bytes, samples[5]);
	print("insn_fm1_extract", bytes, samples[6]);
	print("insn_match_send", bytes, samples[7]);
	print("insn_match_recv", bytes, samples[8]);
}

int main(void)
{
	if (FMM_initialize())
		return 1;
	FM_register(TWO, two);
	FM_register_1(ONE, one);
	open_put();
	measure(16);
	measure(1024);
	measure(4096);
	return FMM_finalize() != 0;
}
