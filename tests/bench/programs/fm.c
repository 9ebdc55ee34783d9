/*
 * Benchmark of Fast Messages between two ranks; run by tests/bench/fm.py, which explains the
 * figures. One line per figure on stdout: NAME VALUE.
 *
 *   fm two SIZE COUNT      COUNT messages of SIZE bytes by the calls of 2.x: MB/s
 *   fm one SIZE COUNT      the same with those of 1.1
 *   fm latency ROUNDS      8 bytes there and back by 2.x: half, in us
 *
 * A waiting rank polls; with `asleep` as the last word it halts instead.
 */
#include <fm.h>
#include <fm1.h>
#undef FM_extract
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGEST = 1 << 20, DATA = 1, DATA_1 = 2, DONE = 3, ECHO = 4 };

static _Alignas(1 << 20) char buffer[2 * LARGEST];
static long arrived;
static int asleep;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(1);
}

static int data(FM_stream *stream, unsigned sender)
{
	(void)sender;
	check(FM_receive(stream, buffer, FM_stream_bytes(stream)), "FM_receive");
	arrived++;
	return FM_CONTINUE;
}

static int data_1(void *buf, size_t bytes, unsigned sender)
{
	(void)sender;
	memcpy(buffer, buf, bytes);
	arrived++;
	return FM_CONTINUE;
}

static int count_1(void *buf, size_t bytes, unsigned sender)
{
	(void)buf, (void)bytes, (void)sender;
	arrived++;
	return FM_CONTINUE;
}

static void wait_for(long count)
{
	while (arrived < count)
		if (FM_extract(SIZE_MAX) == 0 && asleep)
			check(FM_wait(-1), "FM_wait");
}

static void send_two(const void *from, size_t size, unsigned handler)
{
	FM_stream *stream = FM_begin_message(1u - (unsigned)margay_rank(), size, handler);

	check(stream ? 0 : -1, "FM_begin_message");
	check(FM_send_piece(stream, from, size), "FM_send_piece");
	check(FM_end_message(stream), "FM_end_message");
}

static void send_one(const void *from, size_t size, unsigned handler)
{
	check(FM_send(1u - (unsigned)margay_rank(), handler, from, size), "FM_send");
}

/* Rank 1 answers when all messages have arrived. */
static void stream(void (*send)(const void *, size_t, unsigned), unsigned handler, size_t size,
		   long count)
{
	double start = 0;

	for (int part = 0; part < 2; part++) {
		long number = part ? count : count / 10 + 1;

		arrived = 0;            /* before the barrier, in which messages may arrive already */
		FM_barrier();
		start = seconds();
		if (margay_rank() == 0) {
			for (long i = 0; i < number; i++)
				send(buffer + LARGEST, size, handler);
			wait_for(1);
		} else {
			wait_for(number);
			FM_send_4(0, DONE, 0, 0, 0, 0);
		}
	}
	if (margay_rank() == 0)
		printf("MBps %.3f\n", (double)size * (double)count / (seconds() - start) / 1e6);
}

static void latency(long rounds)
{
	double start = 0;

	for (long i = -rounds / 10; i < rounds; i++) {
		long before = arrived;

		if (i == 0)
			start = seconds();
		if (margay_rank() == 0)
			send_two(buffer, 8, DATA);
		wait_for(before + 1);
		if (margay_rank() == 1)
			send_two(buffer, 8, DATA);
	}
	if (margay_rank() == 0)
		printf("half_rtt_us %.4f\n", (seconds() - start) / (double)rounds / 2 * 1e6);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int is_stream = !strcmp(mode, "two") || !strcmp(mode, "one");
	size_t size = is_stream && argc > 2 ? strtoul(argv[2], 0, 0) : 0;
	int counted = is_stream ? 3 : 2;
	long count = argc > counted ? atol(argv[counted]) : 0;

	asleep = !strcmp(argv[argc - 1], "asleep");
	check(FM_initialize(), "FM_initialize");
	FM_register(DATA, data);
	FM_register_1(DATA_1, data_1);
	FM_register_1(DONE, count_1);
	memset(buffer, 1, sizeof(buffer));
	FM_barrier();
	if (margay_size() != 2 || (is_stream && size > LARGEST) || count < 1)
		return fprintf(stderr, "fm: two ranks, and: two|one SIZE COUNT, latency N [asleep]\n"), 2;
	if (!strcmp(mode, "two"))
		stream(send_two, DATA, size, count);
	else if (!strcmp(mode, "one"))
		stream(send_one, DATA_1, size, count);
	else
		latency(count);
	check(FM_finalize(), "FM_finalize");
	return 0;
}
