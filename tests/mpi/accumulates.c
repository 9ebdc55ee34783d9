/*
 * accumulates ROUNDS: long and short accumulates of several ranks change the same elements, and
 * none is lost. Rank 0 has the elements and only waits. Rank 1 adds to all of them at once, the
 * others to one at a time. Even rounds fetch the old values as well: each has what its rank has added
 * before, and none is fetched twice.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 600, SINGLE = 10 };   /* 4,800 bytes; single adds in a round */

static int rank, size;
static long ones[ELEMENTS], old[ELEMENTS];
static long own[ELEMENTS], all[ELEMENTS];       /* what this rank has added, all ranks will add */
static long limit;                              /* above all of them */
static unsigned char *fetched;                  /* how often each value of each element was */

static void fail(const char *what, long value)
{
	fprintf(stderr, "rank %d: %s: %ld\n", rank, what, value);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void add(int round, int first, int count, MPI_Win window)
{
	if (round % 2)
		MPI_Accumulate(ones, count, MPI_LONG, 0, first, count, MPI_LONG, MPI_SUM, window);
	else
		MPI_Get_accumulate(ones, count, MPI_LONG, old + first, count, MPI_LONG, 0, first,
				   count, MPI_LONG, MPI_SUM, window);
}

/* After a flush: the old values that were fetched, and what this rank has added. */
static void take(int round, int first, int count)
{
	for (int i = first; i < first + count; i++) {
		if (round % 2 == 0) {
			if (old[i] < own[i] || old[i] >= all[i])
				fail("an old value is out of range", old[i]);
			fetched[i * limit + old[i]]++;
			old[i] = -1;
		}
		own[i]++;
	}
}

static int single(int round, int i)
{
	return (round * SINGLE + i) * 7 % ELEMENTS;
}

static void add_all(int rounds, MPI_Win window)
{
	for (int round = 0; round < rounds; round++) {
		if (rank == 1)
			add(round, 0, ELEMENTS, window);
		for (int i = 0; rank > 1 && i < SINGLE; i++)
			add(round, single(round, i), 1, window);
		MPI_Win_flush(0, window);
		if (rank == 1)
			take(round, 0, ELEMENTS);
		for (int i = 0; rank > 1 && i < SINGLE; i++)
			take(round, single(round, i), 1);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	long *elements;
	MPI_Win window;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Win_allocate(ELEMENTS * sizeof(*elements), sizeof(*elements), MPI_INFO_NULL,
			 MPI_COMM_WORLD, &elements, &window);
	for (int i = 0; i < ELEMENTS; i++) {
		elements[i] = 0;
		ones[i] = 1;
		old[i] = -1;
		all[i] = rounds;
	}
	for (int i = 0; i < rounds * SINGLE; i++)
		all[single(0, i)] += size - 2;
	for (int i = 0; i < ELEMENTS; i++)
		limit = all[i] > limit ? all[i] : limit;
	fetched = calloc(ELEMENTS, limit);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, window);
	if (rank > 0)
		add_all(rounds, window);
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < ELEMENTS && rank == 0; i++)
		if (elements[i] != all[i])
			fail("an element is not what all have added", elements[i]);
	MPI_Reduce(rank ? fetched : MPI_IN_PLACE, fetched, (int)(ELEMENTS * limit),
		   MPI_UNSIGNED_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
	for (long i = 0; i < ELEMENTS * limit && rank == 0; i++)
		if (fetched[i] > 1)
			fail("an old value was fetched twice", i % limit);
	free(fetched);
	if (rank == 0)
		printf("accumulates: %d rounds\n", rounds);
	MPI_Win_free(&window);
	MPI_Finalize();
	return 0;
}
