/*
 * accumulates ROUNDS: long and short accumulates of several ranks change the same elements, and
 * none is lost. Rank 0 has the elements and only waits. Rank 1 adds to all of them at once, the
 * others to one at a time. Even rounds fetch the old values as well.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 600, SINGLE = 10 };   /* 4,800 bytes; single adds in a round */

static int rank, size;
static long ones[ELEMENTS], old[ELEMENTS];

static void add(int round, int first, int count, MPI_Win window)
{
	if (round % 2)
		MPI_Accumulate(ones, count, MPI_LONG, 0, first, count, MPI_LONG, MPI_SUM, window);
	else
		MPI_Get_accumulate(ones, count, MPI_LONG, old, count, MPI_LONG, 0, first, count,
				   MPI_LONG, MPI_SUM, window);
}

static void add_all(int rounds, MPI_Win window)
{
	for (int round = 0; round < rounds; round++) {
		if (rank == 1)
			add(round, 0, ELEMENTS, window);
		for (int i = 0; rank > 1 && i < SINGLE; i++)
			add(round, (round * SINGLE + i) * 7 % ELEMENTS, 1, window);
		MPI_Win_flush(0, window);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	long *elements, sum = 0, expected;
	MPI_Win window;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Win_allocate(ELEMENTS * sizeof(*elements), sizeof(*elements), MPI_INFO_NULL,
			 MPI_COMM_WORLD, &elements, &window);
	for (int i = 0; i < ELEMENTS; i++) {
		elements[i] = 0;
		ones[i] = 1;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, window);
	if (rank > 0)
		add_all(rounds, window);
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < ELEMENTS; i++)
		sum += elements[i];
	expected = (long)rounds * (ELEMENTS + (size - 2) * SINGLE);
	if (rank == 0 && sum != expected) {
		fprintf(stderr, "the sum is %ld, not %ld\n", sum, expected);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (rank == 0)
		printf("accumulates: %d rounds\n", rounds);
	MPI_Win_free(&window);
	MPI_Finalize();
	return 0;
}
