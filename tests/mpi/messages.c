/*
 * messages ROUNDS SEED MOST: messages and one-sided operations of random sizes, all data checked.
 *
 * In a round each rank sends some messages to each rank, itself included, of 0 to MOST bytes, with
 * tags that are received in a different order; half of the receives are posted before the sends
 * begin. Messages of one tag between two ranks must keep their order. Then each rank puts a block
 * into the window of each rank, adds to a number there, and gets another's blocks back.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EACH = 4, TAGS = 2 };            /* messages between two ranks in a round; tags of them */

static int rank, size, most, round_now;
static uint64_t seed;

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t value(int from, int to, int message, uint64_t what)
{
	return mix(seed + mix(((uint64_t)round_now << 32 | (uint64_t)from << 16 | (uint64_t)to) +
			      mix((uint64_t)message << 40 | what)));
}

/* A random length, mostly short; it is the value with `what` 0. */
static int length(int from, int to, int message)
{
	uint64_t drawn = value(from, to, message, 0);

	return (drawn >> 8) % ((drawn & 3 ? 200 : most) + 1);
}

static void fill(unsigned char *to, int bytes, uint64_t start)
{
	for (int i = 0; i < bytes; i++)
		to[i] = start + i * 7 + (i >> 8);
}

static void fail(const char *what, int from, int message, long i)
{
	fprintf(stderr, "rank %d: round %d: %s: message %d of rank %d is wrong at %ld\n", rank,
		round_now, what, message, from, i);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(const char *what, const unsigned char *got, int bytes, int from, int message,
		  uint64_t start)
{
	for (int i = 0; i < bytes; i++)
		if (got[i] != (unsigned char)(start + i * 7 + (i >> 8)))
			fail(what, from, message, i);
}

/* ---- messages ---- */

static void post(unsigned char *in, MPI_Request *requests, int tag)
{
	for (int from = 0; from < size; from++)
		for (int m = tag; m < EACH; m += TAGS) {
			int place = from * EACH + m;

			MPI_Irecv(in + (size_t)place * most, most, MPI_BYTE, from, tag,
				  MPI_COMM_WORLD, &requests[place]);
		}
}

static void exchange(unsigned char *in, unsigned char *out)
{
	MPI_Request requests[2 * EACH * size];
	MPI_Status statuses[2 * EACH * size];
	int bytes;

	post(in, requests, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		for (int m = 0, to = (rank + i) % size; m < EACH; m++) {
			int place = to * EACH + m;

			bytes = length(rank, to, m);
			fill(out + (size_t)place * most, bytes, value(rank, to, m, 1));
			MPI_Isend(out + (size_t)place * most, bytes, MPI_BYTE, to, m % TAGS,
				  MPI_COMM_WORLD, &requests[size * EACH + place]);
		}
	post(in, requests, 0);
	MPI_Waitall(2 * EACH * size, requests, statuses);
	for (int from = 0; from < size; from++)
		for (int m = 0; m < EACH; m++) {
			int place = from * EACH + m;

			MPI_Get_count(&statuses[place], MPI_BYTE, &bytes);
			if (bytes != length(from, rank, m))
				fail("length", from, m, bytes);
			check("data", in + (size_t)place * most, bytes, from, m,
			      value(from, rank, m, 1));
		}
}

/* ---- one-sided ---- */

/* A block for each rank, followed by a number. */
static void put_and_get(unsigned char *memory, unsigned char *out, unsigned char *in, MPI_Win window)
{
	size_t end = (size_t)most * size;
	int next = (rank + 1) % size;
	uint64_t one = rank + 1, sum;

	MPI_Win_fence(0, window);
	for (int to = 0; to < size; to++) {
		int bytes = length(rank, to, EACH);

		fill(out + (size_t)to * most, bytes, value(rank, to, EACH, 1));
		MPI_Put(out + (size_t)to * most, bytes, MPI_BYTE, to, (MPI_Aint)rank * most, bytes,
			MPI_BYTE, window);
		MPI_Accumulate(&one, 1, MPI_UINT64_T, to, end, 1, MPI_UINT64_T, MPI_SUM, window);
	}
	MPI_Win_fence(0, window);
	memcpy(&sum, memory + end, sizeof sum);
	if (sum != (uint64_t)(round_now + 1) * size * (size + 1) / 2)
		fail("sum", rank, 0, (long)sum);
	for (int from = 0; from < size; from++)
		check("put", memory + (size_t)from * most, length(from, rank, EACH), from, EACH,
		      value(from, rank, EACH, 1));
	MPI_Get(in, end, MPI_BYTE, next, 0, end, MPI_BYTE, window);
	MPI_Win_fence(0, window);
	for (int from = 0; from < size; from++)
		check("get", in + (size_t)from * most, length(from, next, EACH), from, EACH,
		      value(from, next, EACH, 1));
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[1]) : 0;
	unsigned char *in, *out, *memory;
	MPI_Win window;
	size_t bytes;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rounds < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	seed = strtoull(argv[2], NULL, 0);
	most = atoi(argv[3]) / 8 * 8 + 8;       /* the number after the blocks is aligned */
	bytes = (size_t)most * size * EACH;
	in = malloc(bytes);
	out = malloc(bytes);
	MPI_Win_allocate((size_t)most * size + sizeof(uint64_t), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
			 &memory, &window);
	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 3);
	memset(memory, 0, (size_t)most * size + sizeof(uint64_t));
	for (round_now = 0; round_now < rounds; round_now++) {
		exchange(in, out);
		put_and_get(memory, out, in, window);
	}
	MPI_Win_free(&window);
	if (rank == 0)
		printf("messages: %d rounds\n", rounds);
	MPI_Finalize();
	return 0;
}
