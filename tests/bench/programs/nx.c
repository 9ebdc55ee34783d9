/*
 * Benchmark of NX between two ranks; run by tests/bench/nx.py, which explains the figures. One line
 * per figure on stdout: NAME VALUE.
 *
 *   nx latency SIZE ROUNDS   csend there and back, crecv begun before: half, in us
 *   nx stream SIZE COUNT     isend of COUNT messages, 32 at a time, into receives that are posted: MB/s
 *   nx global ROUNDS         us for gsync and for gdsum of one element, with any number of ranks
 *   nx instructions          of calls to the same node, under --icount
 */
#include <nx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

enum { WINDOW = 32, MOST = 1 << 20, ROUNDS = 63 };

static char buffer[2][MOST];

static void say(const char *name, double value)
{
	if (mynode() == 0)
		printf("%s %.6g\n", name, value);
}

static void latency(long size, long rounds)
{
	double start = 0;

	for (long i = -rounds / 10; i < rounds; i++) {
		long id;

		if (i == 0)
			start = dclock();
		id = irecv(1, buffer[1], size);
		if (mynode() == 0)
			csend(1, buffer[0], size, 1, 0);
		msgwait(id);
		if (mynode() == 1)
			csend(1, buffer[0], size, 0, 0);
	}
	say("half_rtt_us", (dclock() - start) / (double)rounds / 2 * 1e6);
}

/* A window begins when its receives are posted. */
static void stream(long size, long count)
{
	long ids[WINDOW], windows = (count + WINDOW - 1) / WINDOW;
	double start = dclock();

	for (long window = 0; window < windows; window++) {
		for (int i = 0; i < WINDOW; i++)
			if (mynode() == 1)
				ids[i] = irecv(1, buffer[1], size);
		if (mynode() == 1)
			csend(2, NULL, 0, 0, 0);
		else
			crecv(2, NULL, 0);
		for (int i = 0; i < WINDOW; i++)
			if (mynode() == 0)
				ids[i] = isend(1, buffer[0], size, 1, 0);
		for (int i = 0; i < WINDOW; i++)
			msgwait(ids[i]);
	}
	gsync();
	say("MBps", (double)size * (double)(windows * WINDOW) / (dclock() - start) / 1e6);
}

static void global(long rounds)
{
	double start, x = 1, work;

	gsync();
	start = dclock();
	for (long i = 0; i < rounds; i++)
		gsync();
	say("gsync_us", (dclock() - start) / (double)rounds * 1e6);
	start = dclock();
	for (long i = 0; i < rounds; i++) {
		x = 1;
		gdsum(&x, 1, &work);
	}
	say("gdsum_us", (dclock() - start) / (double)rounds * 1e6);
}

#define COUNTED(at, call) \
	do { \
		unsigned long before = __rdtsc(); \
		call; \
		at[i] = __rdtsc() - before; \
	} while (0)

static int compare(const void *a, const void *b)
{
	unsigned long left = *(const unsigned long *)a, right = *(const unsigned long *)b;

	return (left > right) - (left < right);
}

static void say_median(const char *name, unsigned long *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	say(name, (double)values[ROUNDS / 2]);
}

static void instructions(void)
{
	static unsigned long send[ROUNDS], post[ROUNDS], wait[ROUNDS], early[ROUNDS], take[ROUNDS],
		probe[ROUNDS];
	long ids[ROUNDS], value = 0;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < ROUNDS; i++)
			COUNTED(post, ids[i] = irecv(i, buffer[1] + 8 * i, 8));
		for (int i = 0; i < ROUNDS; i++)
			COUNTED(send, csend(i, &value, 8, 0, 0));
		for (int i = 0; i < ROUNDS; i++)
			COUNTED(wait, msgwait(ids[i]));
		for (int i = 0; i < ROUNDS; i++)
			COUNTED(early, csend(i, &value, 8, 0, 0));
		for (int i = 0; i < ROUNDS; i++)
			COUNTED(take, crecv(i, &value, 8));
		for (int i = 0; i < ROUNDS; i++)
			COUNTED(probe, iprobe(-1));
	}
	say_median("csend", send);
	say_median("irecv", post);
	say_median("msgwait", wait);
	say_median("csend_early", early);
	say_median("crecv_early", take);
	say_median("iprobe_miss", probe);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;

	if (!strcmp(what, "latency") && first <= MOST && second > 0)
		latency(first, second);
	else if (!strcmp(what, "stream") && first <= MOST && second > 0)
		stream(first, second);
	else if (!strcmp(what, "global") && first > 0)
		global(first);
	else if (!strcmp(what, "instructions"))
		instructions();
	else
		return 2;
	return 0;
}
