/*
 * Benchmark of puts between two ranks; run by bench.py and cards.py, which explain the figures. One
 * line per figure on stdout: NAME VALUE.
 *
 *   put latency ROUNDS        8 bytes there and back, both ranks poll: half, in us
 *   put sleep ROUNDS          the same, but a waiting rank is halted in the kernel
 *   put stream SIZE COUNT     COUNT puts of SIZE bytes, with 2 MiB (64 to 512 puts) unconfirmed,
 *                             for three distances between source and target: the slowest in
 *                             MB/s
 *   put streams BYTES         stream of 1024, 4096, 65536 and 1048576 bytes, so many each
 *                             time, as MBps_SIZE
 *   put received SIZE COUNT   COUNT puts of SIZE bytes into a ring of at most RING bytes; the
 *                             target takes an event for each, copies it out, and returns credit:
 *                             MB/s of a program that receives messages by Portals alone
 *   put rate COUNT            8-byte puts per second, each with an event that the
 *                             target takes; at most 512 not yet taken, as of raw frames
 *                             (kernel/selftest/selftest_frames.c)
 *   put sender RUNS           cost of an 8-byte put with an event at its sender while the target
 *                             computes: ns in the fastest of RUNS times 500 puts, which other
 *                             work on the machine hardly affects
 *   put blocking SIZE COUNT   puts, each started after the SEND_END of the one before: us each;
 *                             a waiting rank halts
 *
 * stream, streams, received and rate poll; with `asleep` at the end a waiting rank halts instead.
 */
#include <margay/abi.h>
#include <string.h>

#include "../../apps/job.h"
#include "measure.h"

enum { PORTAL = 1, BUFFER = 2 << 20 };
/* puts */
enum { LEAST_AHEAD = 64, AHEAD = 512, CREDIT = AHEAD / 4, AT_ONCE = 500, MOST_WAITING = 4096 };
enum { RING = 256 << 10 };                          /* bytes, but at least 4 slots */

static _Alignas(2 << 20) char buffer[2 * BUFFER];   /* same address on both ranks */
static _Alignas(4096) char ring[4 << 20];           /* of received() */
static struct job job;
static ptl_process_id_t peer;

static ptl_handle_eq_t queue(ptl_size_t count)
{
	ptl_handle_eq_t eq;

	job_check(PtlEQAlloc(job.ni, count, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	return eq;
}

static ptl_handle_md_t source(void *start, size_t bytes, unsigned options, ptl_handle_eq_t eq)
{
	ptl_handle_md_t md;

	job_check(PtlMDBind(job.ni, job_memory(start, bytes, options, eq), PTL_RETAIN, &md),
	          "PtlMDBind");
	return md;
}

static void put(ptl_handle_md_t md, ptl_ack_req_t ack, ptl_size_t offset)
{
	job_check(PtlPut(md, ack, peer, PORTAL, 0, 0, offset, 0), "PtlPut");
}

static void expose(void *start, size_t bytes, unsigned options, ptl_handle_eq_t eq)
{
	job_expose(&job, PORTAL, 0, job_memory(start, bytes, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE |
	                                       PTL_MD_EVENT_START_DISABLE | options, eq), PTL_RETAIN);
}

/* Poll for an event in user mode until there is one. */
static void poll_event(ptl_handle_eq_t eq)
{
	ptl_event_t event;
	int rc;

	while ((rc = PtlEQGet(eq, &event)) == PTL_EQ_EMPTY)
		;
	job_check(rc, "PtlEQGet");
}

/* The same, halted: the kernel's wait without the library's poll before it. */
static void sleep_event(ptl_handle_eq_t eq)
{
	register unsigned long timeout __asm__("rdx") = ~0UL;
	long rc;

	__asm__ volatile("syscall" : "=a"(rc) : "a"(SYS_EQ_WAIT), "D"(&eq), "S"(1UL), "r"(timeout)
	                 : "rcx", "r11", "memory");
	job_check((int)rc, "SYS_EQ_WAIT");
	poll_event(eq);
}

/* The ordinary wait of a program. */
static void wait_event(ptl_handle_eq_t eq)
{
	job_event(eq);
}

static void latency(long rounds, void (*wait)(ptl_handle_eq_t))
{
	ptl_handle_eq_t eq = queue(64);
	ptl_handle_md_t md = source(buffer, 8, 0, PTL_EQ_NONE);
	double start = 0;

	expose(buffer + BUFFER, 8, 0, eq);
	job_barrier(&job);
	for (long i = -rounds / 10; i < rounds; i++) {
		if (i == 0)
			start = seconds();
		if (job.rank == 0)
			put(md, PTL_NOACK_REQ, 0);
		wait(eq);
		if (job.rank == 1)
			put(md, PTL_NOACK_REQ, 0);
	}
	if (job.rank == 0)
		printf("half_rtt_us %.4f\n", (seconds() - start) / rounds / 2 * 1e6);
	job_barrier(&job);
}

/* How many puts of this size may be unconfirmed: 2 MiB in all, as for raw frames. */
static long ahead_of(size_t size)
{
	long puts = (2 << 20) / (long)size;

	return puts < LEAST_AHEAD ? LEAST_AHEAD : puts > AHEAD ? AHEAD : puts;
}

/* Send so many puts. The last of each half of the window asks for an ack, which shows that the
 * whole half has arrived; before it is sent, the ack of the previous half has arrived. */
static void stream_part(ptl_handle_md_t md, ptl_handle_eq_t eq, long puts, long ahead,
                        ptl_size_t offset, void (*wait)(ptl_handle_eq_t))
{
	long open = 0;

	for (long i = 1; i <= puts; i++) {
		int last = i % (ahead / 2) == 0 || i == puts;

		put(md, last ? PTL_ACK_REQ : PTL_NOACK_REQ, offset);
		open += last;
		if (open == 2) {
			wait(eq);
			open--;
		}
	}
	for (; open > 0; open--)
		wait(eq);
}

/* The slowest of three distances, in MB/s at rank 0. */
static double stream(size_t size, long count, ptl_handle_eq_t eq, void (*wait)(ptl_handle_eq_t))
{
	/* Distance between target and source, modulo the cache's alignment. */
	static const size_t distance[] = { 0, 4096, 512 << 10 };
	ptl_handle_md_t md = source(buffer, size, PTL_MD_EVENT_START_DISABLE |
	                            PTL_MD_EVENT_END_DISABLE, eq);
	long ahead = ahead_of(size);
	double slowest = 0;

	job_barrier(&job);
	for (unsigned d = 0; job.rank == 0 && d < sizeof(distance) / sizeof(distance[0]); d++) {
		double start, took;

		stream_part(md, eq, count < ahead ? count : ahead, ahead, distance[d], wait);
		start = seconds();
		stream_part(md, eq, count, ahead, distance[d], wait);
		took = seconds() - start;
		if (took > slowest)
			slowest = took;
	}
	job_barrier(&job);
	return size * (double)count / slowest / 1e6;
}

static ptl_handle_eq_t open_stream(void)
{
	expose(buffer, sizeof(buffer), 0, PTL_EQ_NONE);
	memset(buffer, 1, sizeof(buffer));
	return queue(LEAST_AHEAD);
}

static void one_stream(size_t size, long count, void (*wait)(ptl_handle_eq_t))
{
	double speed = stream(size, count, open_stream(), wait);

	if (job.rank == 0)
		printf("MBps %.2f\n", speed);
}

static void streams(size_t bytes, void (*wait)(ptl_handle_eq_t))
{
	static const size_t sizes[] = { 1024, 4096, 65536, 1048576 };
	ptl_handle_eq_t eq = open_stream();

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double speed = stream(sizes[i], bytes / sizes[i] + 1, eq, wait);

		if (job.rank == 0)
			printf("MBps_%lu %.2f\n", (unsigned long)sizes[i], speed);
	}
}

/* Rank 1 takes an event per put, copies the data out of a ring of slots, and returns credit for a
 * quarter of them. */
static void received(size_t size, long count, void (*wait)(ptl_handle_eq_t))
{
	long fit = RING / (long)size, quarter = (fit < 4 ? 4 : fit > AHEAD ? AHEAD : fit) / 4;
	ptl_handle_eq_t eq = queue(2 * AHEAD);
	ptl_handle_md_t md = source(buffer, job.rank == 0 ? size : 8, PTL_MD_EVENT_START_DISABLE |
	                            PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE);
	long credit = 4 * quarter;
	double start;

	count -= count % quarter;
	expose(ring, sizeof(ring), 0, eq);
	memset(buffer, 1, sizeof(buffer));
	memset(ring, 1, sizeof(ring));
	job_barrier(&job);
	start = seconds();
	for (long i = 0; i < count; i++) {
		size_t offset = (size_t)(i % (4 * quarter)) * size;

		if (job.rank == 1) {
			wait(eq);
			memcpy(buffer, ring + offset, size);
			if ((i + 1) % quarter == 0)
				put(md, PTL_NOACK_REQ, 0);
			continue;
		}
		if (credit == 0) {
			wait(eq);
			credit = quarter;
		}
		credit--;
		put(md, PTL_NOACK_REQ, offset);
	}
	for (; job.rank == 0 && credit < 4 * quarter; credit += quarter)
		wait(eq);
	if (job.rank == 0)
		printf("MBps %.2f\n", (double)size * (double)count / (seconds() - start) / 1e6);
	job_barrier(&job);
}

/* Rank 1 takes an event per put and returns credit for every CREDIT of them. */
static void rate(long count, void (*wait)(ptl_handle_eq_t))
{
	ptl_handle_eq_t eq = queue(2 * AHEAD);
	ptl_handle_md_t md = source(buffer, 8, 0, PTL_EQ_NONE);
	double start;

	count -= count % CREDIT;
	expose(buffer + BUFFER, 8, 0, eq);
	job_barrier(&job);
	start = seconds();
	if (job.rank == 0) {
		long credit = AHEAD;

		for (long i = 0; i < count; i++) {
			if (credit == 0) {
				wait(eq);
				credit = CREDIT;
			}
			credit--;
			put(md, PTL_NOACK_REQ, 0);
		}
		for (long open = AHEAD - credit; open > 0; open -= CREDIT)
			wait(eq);
		printf("per_s %.0f\n", count / (seconds() - start));
	} else {
		for (long i = 1; i <= count; i++) {
			wait(eq);
			if (i % CREDIT == 0)
				put(md, PTL_NOACK_REQ, 0);
		}
	}
	job_barrier(&job);
}

/* Rank 1 meanwhile polls one word, which the last put writes. */
static void sender(long runs)
{
	const volatile char *end = buffer + BUFFER + 4096;
	ptl_handle_eq_t eq = queue(2 * AHEAD);
	ptl_handle_md_t md = source(buffer, 8, 0, PTL_EQ_NONE);
	double least = 1e9;

	memset(buffer, 1, 8);
	expose(buffer + BUFFER, 2 * 4096, 0, eq);
	job_barrier(&job);
	while (job.rank == 1 && !*end)
		;
	for (long run = 0; job.rank == 0 && run < runs; run++) {
		double start = seconds(), took;

		for (int i = 0; i < AT_ONCE; i++)
			put(md, PTL_NOACK_REQ, 0);
		took = seconds() - start;
		if (took < least)
			least = took;
	}
	if (job.rank == 0) {
		put(md, PTL_NOACK_REQ, 4096);
		printf("sender_ns %.1f\n", least / AT_ONCE * 1e9);
	}
	job_barrier(&job);
}

/* Rank 1 meanwhile waits for each put. Its kernel acknowledges puts while it is not scheduled, so
 * its queue has room for many. */
static void blocking(size_t size, long count)
{
	ptl_handle_eq_t eq = queue(MOST_WAITING);
	ptl_handle_md_t md = source(buffer, size, PTL_MD_EVENT_START_DISABLE, eq);
	double start;

	expose(buffer + BUFFER, size, 0, eq);
	job_barrier(&job);
	start = seconds();
	for (long i = 0; i < count; i++) {
		if (job.rank == 0)
			put(md, PTL_NOACK_REQ, 0);
		wait_event(eq);
	}
	if (job.rank == 0)
		printf("blocking_us %.2f\n", (seconds() - start) / count * 1e6);
	job_barrier(&job);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long number = argc > 2 ? atol(argv[2]) : 0;
	void (*wait)(ptl_handle_eq_t) =
		strcmp(argv[argc - 1], "asleep") == 0 ? wait_event : poll_event;

	job_start(&job);
	if (job.size != 2 || number < 1) {
		fprintf(stderr, "put: needs 2 ranks and a mode: latency N | sleep N | "
		        "stream SIZE N [asleep] | streams N [asleep] | received SIZE N [asleep] | "
		        "rate N [asleep] | sender N | blocking SIZE N\n");
		return 2;
	}
	peer = margay_process(1 - job.rank);
	if (strcmp(mode, "latency") == 0)
		latency(number, poll_event);
	else if (strcmp(mode, "sleep") == 0)
		latency(number, sleep_event);
	else if (strcmp(mode, "stream") == 0 && argc > 3 && number <= BUFFER)
		one_stream(number, atol(argv[3]), wait);
	else if (strcmp(mode, "streams") == 0)
		streams(number, wait);
	else if (strcmp(mode, "received") == 0 && argc > 3 && number <= (long)sizeof(ring) / 4)
		received((size_t)number, atol(argv[3]), wait);
	else if (strcmp(mode, "rate") == 0)
		rate(number, wait);
	else if (strcmp(mode, "sender") == 0)
		sender(number);
	else if (strcmp(mode, "blocking") == 0 && argc > 3 && number <= BUFFER)
		blocking((size_t)number, atol(argv[3]));
	else
		return fprintf(stderr, "put: unknown mode %s\n", mode), 2;
	return 0;
}
