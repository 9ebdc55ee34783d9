/*
 * Instructions of MPI's calls, by the clock that counts them (margay run --icount over cards, two
 * ranks; tests/bench/mpi.py). Rank 0 sends to itself, so that one node does all the work. The
 * result is the same for a peer in shared memory, except for the peer's lock. One line per figure
 * on stdout: NAME VALUE, the median of ROUNDS.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

enum { ROUNDS = 63 };

static unsigned long isend[ROUNDS], irecv[ROUNDS], wait_recv[ROUNDS], wait_send[ROUNDS],
	probe[ROUNDS];

#define COUNTED(at, call) \
	do { \
		unsigned long before = __rdtsc(); \
		call; \
		at = __rdtsc() - before; \
	} while (0)

static int compare(const void *a, const void *b)
{
	unsigned long left = *(const unsigned long *)a, right = *(const unsigned long *)b;

	return (left > right) - (left < right);
}

static void say(const char *name, unsigned long *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	printf("%s %lu\n", name, values[ROUNDS / 2]);
}

static void measure(void)
{
	static long in[ROUNDS], out[ROUNDS];
	static MPI_Request receives[ROUNDS], sends[ROUNDS];
	int flag;

	for (int i = 0; i < ROUNDS; i++) {
		COUNTED(irecv[i], MPI_Irecv(&in[i], 8, MPI_BYTE, 0, i, MPI_COMM_WORLD, &receives[i]));
		COUNTED(probe[i], MPI_Iprobe(0, ROUNDS, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
	}
	for (int i = 0; i < ROUNDS; i++)
		COUNTED(isend[i], MPI_Isend(&out[i], 8, MPI_BYTE, 0, i, MPI_COMM_WORLD, &sends[i]));
	for (int i = 0; i < ROUNDS; i++) {
		COUNTED(wait_recv[i], MPI_Wait(&receives[i], MPI_STATUS_IGNORE));
		COUNTED(wait_send[i], MPI_Wait(&sends[i], MPI_STATUS_IGNORE));
	}
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		measure();      /* fills the library's caches */
		measure();
		say("isend", isend);
		say("irecv", irecv);
		say("wait_recv", wait_recv);
		say("wait_send", wait_send);
		say("iprobe_miss", probe);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
