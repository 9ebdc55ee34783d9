/* All ranks compute pi, with MPI's binding for C and with that for C++. */
#include <cstdio>
#include <iostream>
#include <mpi.h>
#include <stdexcept>

int main(int argc, char **argv)
{
	const int steps = 10000;
	double part = 0, pi = 0;

	MPI::Init(argc, argv);
	const int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();
	for (int i = rank; i < steps; i += size) {
		double x = (i + 0.5) / steps;
		part += 4 / (1 + x * x) / steps;
	}
	MPI_Allreduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	try {
		throw std::runtime_error("C++");
	} catch (const std::exception &error) {
		if (rank == 0)
			std::cout << error.what() << ", " << size << " ranks: ";
	}
	std::cout.flush();
	if (rank == 0)
		std::printf("%.5f\n", pi);
	MPI::Finalize();
}
