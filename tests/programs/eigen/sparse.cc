/*
 * Sparse systems of equations, of a square grid of SIZE by SIZE points: heat conduction, which is
 * symmetric, and the same with a wind, which is not. By factorisations and by iterations.
 */
#include <vector>

#include "common.h"

#include <Eigen/Sparse>

namespace {

using Sparse = Eigen::SparseMatrix<double>;

/* Five points; `wind` makes the two neighbours in a row differ. */
Sparse grid(int side, double wind)
{
	std::vector<Eigen::Triplet<double>> entries;
	auto at = [side](int row, int column) { return row * side + column; };
	for (int row = 0; row < side; row++)
		for (int column = 0; column < side; column++) {
			int here = at(row, column);
			entries.emplace_back(here, here, 4.0 + 0.01 * (row + column) / side);
			if (row > 0)
				entries.emplace_back(here, at(row - 1, column), -1.0);
			if (row < side - 1)
				entries.emplace_back(here, at(row + 1, column), -1.0);
			if (column > 0)
				entries.emplace_back(here, at(row, column - 1), -1.0 - wind);
			if (column < side - 1)
				entries.emplace_back(here, at(row, column + 1), -1.0 + wind);
		}
	Sparse made(side * side, side * side);
	made.setFromTriplets(entries.begin(), entries.end());
	return made;
}

template <class Solver>
bool solve(int side, double wind, void (*prepare)(Solver &) = nullptr)
{
	Sparse a = grid(side, wind);
	Vector b = Numbers(side).matrix(side * side, 1);
	Solver solver;
	if (prepare)
		prepare(solver);
	solver.compute(a);
	Vector x = solver.solve(b);
	std::printf("entries %ld status %d\n", static_cast<long>(a.nonZeros()), solver.info());
	print("x", x);
	return solver.info() == Eigen::Success &&
		small("the solution", (a * x - b).norm() / b.norm());
}

/* Iterations end long below the tolerance of the comparison. */
template <class Solver>
void exactly(Solver &solver)
{
	solver.setTolerance(1e-14);
	solver.setMaxIterations(2000);
}

template <class Solver>
bool factorise(int side)
{
	return solve<Solver>(side, 0.0);
}

bool sparse_lu(int side)
{
	return solve<Eigen::SparseLU<Sparse>>(side, 0.3);
}

bool sparse_qr(int side)
{
	return solve<Eigen::SparseQR<Sparse, Eigen::COLAMDOrdering<int>>>(side, 0.3);
}

bool gradients(int side)
{
	return solve(side, 0.0, exactly<Eigen::ConjugateGradient<Sparse, Eigen::Lower | Eigen::Upper>>);
}

bool bicgstab(int side)
{
	return solve(side, 0.3, exactly<Eigen::BiCGSTAB<Sparse, Eigen::IncompleteLUT<double>>>);
}

const Case CASES[] = {
	{"cholesky", factorise<Eigen::SimplicialLLT<Sparse>>},
	{"ldlt", factorise<Eigen::SimplicialLDLT<Sparse>>},
	{"lu", sparse_lu},
	{"qr", sparse_qr},
	{"gradients", gradients},
	{"bicgstab", bicgstab},
};

} /* namespace */

int main(int argc, char **argv)
{
	return run_case(CASES, argc, argv);
}
