/*
 * waiting: rank 1 posts receives of more pieces than the kernel has, so that some wait in the
 * library, and only waits for them. Rank 0 first makes accumulates by active messages, which use up
 * all of rank 1's buffers for these several times, and then sends the messages.
 */
#include <mpi.h>
#include <stdio.h>

enum { RECEIVES = 200, PIECES = 32, ELEMENTS = 1000, ACCUMULATES = 1200 };

int main(int argc, char **argv)
{
	static int received[RECEIVES][2 * PIECES], sent[PIECES];
	static long double elements[ELEMENTS], ones[ELEMENTS];
	MPI_Request requests[RECEIVES];
	MPI_Datatype pieces;
	MPI_Win window;
	int rank, wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Type_vector(PIECES, 1, 2, MPI_INT, &pieces);
	MPI_Type_commit(&pieces);
	MPI_Win_create(elements, sizeof(elements), sizeof(*elements), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &window);
	for (int i = 0; i < RECEIVES && rank == 1; i++)
		MPI_Irecv(received[i], 1, pieces, 0, i, MPI_COMM_WORLD, &requests[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		for (int i = 0; i < ELEMENTS; i++)
			ones[i] = 1;
		MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
		for (int i = 0; i < ACCUMULATES; i++)
			MPI_Accumulate(ones, ELEMENTS, MPI_LONG_DOUBLE, 1, 0, ELEMENTS,
				       MPI_LONG_DOUBLE, MPI_SUM, window);
		MPI_Win_unlock(1, window);
		for (int i = 0; i < RECEIVES; i++) {
			for (int j = 0; j < PIECES; j++)
				sent[j] = i + j;
			MPI_Send(sent, PIECES, MPI_INT, 1, i, MPI_COMM_WORLD);
		}
	} else if (rank == 1) {
		MPI_Waitall(RECEIVES, requests, MPI_STATUSES_IGNORE);
		for (int i = 0; i < RECEIVES; i++)
			for (int j = 0; j < PIECES; j++)
				wrong += received[i][2 * j] != i + j;
		for (int i = 0; i < ELEMENTS; i++)
			wrong += elements[i] != ACCUMULATES;
	}
	MPI_Win_free(&window);
	MPI_Type_free(&pieces);
	if (wrong)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (rank == 1)
		printf("waiting: %d accumulates\n", ACCUMULATES);
	MPI_Finalize();
	return 0;
}
