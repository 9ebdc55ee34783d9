/*
 * Benchmark of MPI; run by tests/bench/mpi.py, which explains the figures. One line per figure on
 * stdout: NAME VALUE. Each runs once before it is measured, as an emulator translates code at its
 * first execution.
 *
 *   mpi latency SIZE ROUNDS [BEHIND]
 *                              MPI_Send there and back: half, in us. Both ranks have posted BEHIND
 *                              other receives before (0), which no message matches
 *   mpi stream SIZE COUNT      MPI_Isend of COUNT messages in MB/s, as `put stream` sends puts
 *                              (tests/bench/put.c): from one buffer into another, as many not yet
 *                              complete, the slowest of the same three distances. The receiver has
 *                              posted twice as many
 *   mpi rate COUNT             8-byte messages per second, in windows of 64
 *   mpi posted N ROUNDS        N receives are posted, and matched by N messages from the last to
 *                              the first: us per message
 *   mpi bypass SIZE WORK       figures 5 and 6 of the Portals paper: 10 messages of SIZE bytes each
 *                              way, WORK ms of computing without a call, then the time of
 *                              MPI_Waitall in ms: the median of some rounds
 *   mpi collective ROUNDS      barrier_us, allreduce8_us
 *   mpi rma ROUNDS             put_us, get_us, fetch_and_op_us, accumulate_us: 8 bytes and a flush
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, BATCH = 10, WARM = 2, WARM_COLLECTIVES = 20, REPEATS = 5 };
enum { AHEAD_BYTES = 2 << 20, LEAST_AHEAD = 64, MOST_AHEAD = 512, SENDS = 2, RECEIVES = 4 };

static int rank, ranks;

static char *memory(size_t bytes)
{
	char *made = malloc(bytes ? bytes : 1);

	if (!made)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(made, 1, bytes);
	return made;
}

static void say(const char *name, double value)
{
	if (rank == 0)
		printf("%s %.6g\n", name, value);
}

static void latency(int size, int rounds, int behind)
{
	MPI_Request *others = (MPI_Request *)memory((size_t)behind * sizeof(*others));
	char *buffer = memory((size_t)size);
	double start = 0;

	for (int i = 0; i < behind; i++)
		MPI_Irecv(NULL, 0, MPI_BYTE, 1 - rank, 1 + i, MPI_COMM_WORLD, &others[i]);
	for (int i = -rounds / 10; i < rounds; i++) {
		if (i == 0)
			start = MPI_Wtime();
		if (rank == 0)
			MPI_Send(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(buffer, size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
	say("half_rtt_us", (MPI_Wtime() - start) / rounds / 2 * 1e6);
	for (int i = 0; i < behind; i++)
		MPI_Cancel(&others[i]);
	MPI_Waitall(behind, others, MPI_STATUSES_IGNORE);
	free(others);
	free(buffer);
}

/* Seconds per message for COUNT messages, sent in whole windows. */
static double windows(int size, int count)
{
	char *buffer = memory((size_t)size);
	MPI_Request requests[WINDOW];
	double start;

	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (int done = 0; done < count; done += WINDOW) {
		for (int i = 0; i < WINDOW; i++)
			if (rank == 1)
				MPI_Irecv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
			else
				MPI_Isend(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
		MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
	}
	if (rank == 1)
		MPI_Send(0, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
	else
		MPI_Recv(0, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	free(buffer);
	return (MPI_Wtime() - start) / ((count + WINDOW - 1) / WINDOW * WINDOW);
}

/* Start half of the messages that may be open, from or into the buffer. */
static void begin(char *buffer, int size, int half, MPI_Request *requests)
{
	for (int i = 0; i < half; i++)
		if (rank == 1)
			MPI_Irecv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
		else
			MPI_Isend(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
}

/* Returns the seconds for so many halves. */
static double halves(char *buffer, int size, int half, int count)
{
	static MPI_Request requests[RECEIVES][MOST_AHEAD / 2];
	int open = rank == 1 ? RECEIVES : SENDS, begun = 0;
	double start;

	while (rank == 1 && begun < open && begun < count)
		begin(buffer, size, half, requests[begun++]);
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (int done = 0; done < count; done++) {
		for (; begun < done + open && begun < count; begun++)
			begin(buffer, size, half, requests[begun % open]);
		MPI_Waitall(half, requests[done % open], MPI_STATUSES_IGNORE);
	}
	if (rank == 1)
		MPI_Send(0, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
	else
		MPI_Recv(0, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return MPI_Wtime() - start;
}

static void stream(int size, int count)
{
	/* Distance between target and source, modulo the cache's alignment. */
	static const int distance[] = { 0, 4096, 512 << 10 };
	int ahead = AHEAD_BYTES / size, half;
	char *buffer = memory((size_t)size + (512 << 10));
	double slowest = 0;

	ahead = ahead < LEAST_AHEAD ? LEAST_AHEAD : ahead > MOST_AHEAD ? MOST_AHEAD : ahead;
	half = ahead / 2;
	count = (count + half - 1) / half;
	for (int d = 0; d < 3; d++) {
		char *at = buffer + (rank == 1 ? distance[d] : 0);
		double took;

		halves(at, size, half, count < RECEIVES ? count : RECEIVES);
		took = halves(at, size, half, count);
		if (took > slowest)
			slowest = took;
	}
	say("MBps", (double)size * half * count / slowest / 1e6);
	free(buffer);
}

static void posted(int n, int rounds)
{
	MPI_Request *requests = (MPI_Request *)memory((size_t)n * sizeof(*requests));
	char *buffer = memory((size_t)n * 8);
	double spent = 0;

	for (int round = -1; round < rounds; round++) {
		if (round == 0)
			spent = 0;
		if (rank == 1)
			for (int i = 0; i < n; i++)
				MPI_Irecv(buffer + i * 8, 8, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
		MPI_Barrier(MPI_COMM_WORLD);
		spent -= MPI_Wtime();
		if (rank == 1)
			MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		else
			for (int i = n - 1; i >= 0; i--)
				MPI_Send(buffer, 8, MPI_BYTE, 1, i, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		spent += MPI_Wtime();
	}
	say("us", spent / rounds / n * 1e6);
	free(requests);
	free(buffer);
}

static void compute(double seconds)
{
	double end = MPI_Wtime() + seconds;

	while (MPI_Wtime() < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void bypass(int size, double work)
{
	char *buffer = memory((size_t)size * 2 * BATCH);
	MPI_Request requests[2 * BATCH];
	double waits[REPEATS], start, wait;

	for (int round = -WARM; round < REPEATS; round++) {
		for (int i = 0; i < BATCH; i++)
			MPI_Irecv(buffer + (size_t)i * (size_t)size, size, MPI_BYTE, 1 - rank, i,
				  MPI_COMM_WORLD, &requests[i]);
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < BATCH; i++)
			MPI_Isend(buffer + (size_t)(BATCH + i) * (size_t)size, size, MPI_BYTE, 1 - rank, i,
				  MPI_COMM_WORLD, &requests[BATCH + i]);
		compute(work / 1000);
		start = MPI_Wtime();
		MPI_Waitall(2 * BATCH, requests, MPI_STATUSES_IGNORE);
		wait = MPI_Wtime() - start;
		if (round >= 0)
			waits[round] = wait;
	}
	qsort(waits, REPEATS, sizeof(waits[0]), by_value);
	say("wait_ms", waits[REPEATS / 2] * 1000);
	MPI_Barrier(MPI_COMM_WORLD);
	free(buffer);
}

static void collective(int rounds)
{
	long in = rank, out;
	double start;

	for (int i = 0; i < WARM_COLLECTIVES; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	}
	start = MPI_Wtime();
	for (int i = 0; i < rounds; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	say("barrier_us", (MPI_Wtime() - start) / rounds * 1e6);
	start = MPI_Wtime();
	for (int i = 0; i < rounds; i++)
		MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	say("allreduce8_us", (MPI_Wtime() - start) / rounds * 1e6);
}

static void rma(int rounds)
{
	long *base, value = 1, result;
	double start;
	MPI_Win win;

	MPI_Win_allocate(1 << 16, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_lock_all(0, win);
#define MEASURE(name, call) \
	MPI_Barrier(MPI_COMM_WORLD); \
	start = 0; \
	for (int i = -rounds / 10; rank == 0 && i < rounds; i++) { \
		if (i == 0) \
			start = MPI_Wtime(); \
		call; \
		MPI_Win_flush(1, win); \
	} \
	say(name, (MPI_Wtime() - start) / rounds * 1e6)
	MEASURE("put_us", MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
	MEASURE("get_us", MPI_Get(&result, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
	MEASURE("fetch_and_op_us", MPI_Fetch_and_op(&value, &result, MPI_LONG, 1, 8, MPI_SUM, win));
	MEASURE("accumulate_us",
		MPI_Accumulate(&value, 1, MPI_LONG, 1, 16, 1, MPI_LONG, MPI_SUM, win));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int first = argc > 2 ? atoi(argv[2]) : 0, second = argc > 3 ? atoi(argv[3]) : 0;
	int third = argc > 4 ? atoi(argv[4]) : 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!strcmp(what, "latency") && (argc == 4 || argc == 5)) {
		latency(first, second, third);
	} else if (!strcmp(what, "stream") && argc == 4) {
		stream(first, second);
	} else if (!strcmp(what, "rate") && argc == 3) {
		windows(8, first / 10);
		say("per_s", 1 / windows(8, first));
	} else if (!strcmp(what, "posted") && argc == 4) {
		posted(first, second);
	} else if (!strcmp(what, "bypass") && argc == 4) {
		bypass(first, atof(argv[3]));
	} else if (!strcmp(what, "collective") && argc == 3) {
		collective(first);
	} else if (!strcmp(what, "rma") && argc == 3) {
		rma(first);
	} else {
		fprintf(stderr, "mpi: see the head of tests/bench/programs/mpi.c\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_Finalize();
	return 0;
}
