/*
 * Benchmark of tagged messages over Fast Messages between two ranks, linked with either layer;
 * tests/bench/fm.py runs it. One line on stdout: MBps VALUE.
 *
 *   fm_match SIZE COUNT    COUNT messages of SIZE bytes into receives that are posted: each half
 *                          of these is confirmed when it is posted again. A rank that waits
 *                          polls; with `asleep` behind them it is halted
 */
#include <fm.h>
#include <fm_match.h>
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGEST = 1 << 20, POSTED = 64, HALF = POSTED / 2, TAG = 5, CONFIRM = 6 };

static _Alignas(1 << 20) char buffer[2 * LARGEST];
static int asleep;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	perror(what);
	exit(1);
}

/* Polls or halts, like the streams with which it is compared. */
static void complete(struct FMM_request *request)
{
	int ended;

	while ((ended = FMM_test(request, 0)) == 0)
		if (asleep)
			check(FM_wait(-1) < 0, "FM_wait");
	check(ended < 0, "FMM_test");
}

static void receive(size_t size, long count)
{
	static struct FMM_request requests[POSTED];

	for (long i = 0; i < POSTED; i++)
		check(FMM_irecv(0, TAG, buffer, size, &requests[i]), "FMM_irecv");
	check(FMM_send(0, TAG, 0, 0), "FMM_send");
	for (long i = 0; i < count; i++) {
		struct FMM_request *request = &requests[i % POSTED];

		complete(request);
		if (i + POSTED < count)
			check(FMM_irecv(0, TAG, buffer, size, request), "FMM_irecv");
		if ((i + 1) % HALF == 0)
			check(FMM_send(0, CONFIRM, 0, 0), "FMM_send");
	}
	check(FMM_send(0, TAG, 0, 0), "FMM_send");
}

static void await(int tag)
{
	struct FMM_request request;

	check(FMM_irecv(1, tag, 0, 0, &request), "FMM_irecv");
	complete(&request);
}

static void send(size_t size, long count)
{
	long confirmed = 0;
	double start;

	check(FMM_recv(1, TAG, 0, 0, 0), "FMM_recv");
	start = seconds();
	for (long i = 0; i < count; i++) {
		for (; i >= confirmed + POSTED; confirmed += HALF)
			await(CONFIRM);
		check(FMM_send(1, TAG, buffer + LARGEST, size), "FMM_send");
	}
	for (; confirmed + HALF <= count; confirmed += HALF)
		await(CONFIRM);
	await(TAG);
	printf("MBps %.3f\n", (double)size * (double)count / (seconds() - start) / 1e6);
}

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? strtoul(argv[1], 0, 0) : 0;
	long count = argc > 2 ? atol(argv[2]) : 0;

	asleep = !strcmp(argv[argc - 1], "asleep");
	check(FMM_initialize(), "FMM_initialize");
	if (margay_size() != 2 || size > LARGEST || count < POSTED)
		return fprintf(stderr, "fm_match: two ranks, and: SIZE COUNT (64 or more) [asleep]\n"), 2;
	memset(buffer, 1, sizeof(buffer));
	if (margay_rank() == 0)
		send(size, count);
	else
		receive(size, count);
	check(FMM_finalize(), "FMM_finalize");
	return 0;
}
