/* All ranks compute pi, and rank 0 prints it. With "abort N" the last rank aborts, with "leave
 * N" the first one exits early. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const int steps = 10000;
	double part = 0, pi;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 2 && !strcmp(argv[1], "abort") && rank == size - 1)
		MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "leave") && rank == 0)
		return atoi(argv[2]);
	for (int i = rank; i < steps; i += size) {
		double x = (i + 0.5) / steps;

		part += 4 / (1 + x * x) / steps;
	}
	MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("C, %d ranks: %.5f\n", size, round(pi * 1e5) / 1e5);
	MPI_Finalize();
	return 0;
}
