/*
 * Eigenvalue problems: self-adjoint ones, real and complex, generalised ones, and one of a matrix
 * that is not symmetric. Vectors are determined but for a factor: they are not printed, the
 * residual has them.
 */
#include <algorithm>
#include <complex>
#include <vector>

#include "common.h"

#include <Eigen/Eigenvalues>

namespace {

bool self_adjoint(int size)
{
	Matrix half = Numbers(size).matrix(size, size), a = half + half.transpose();
	Eigen::SelfAdjointEigenSolver<Matrix> solver(a);
	const Matrix &vectors = solver.eigenvectors();
	print("values", solver.eigenvalues());
	return small("the vectors", (a * vectors - vectors * solver.eigenvalues().asDiagonal()).norm() /
		     a.norm()) &&
		small("their products", (vectors.transpose() * vectors -
		      Matrix::Identity(size, size)).norm());
}

bool hermitian(int size)
{
	Numbers numbers(size);
	Eigen::MatrixXcd half(size, size);
	half.real() = numbers.matrix(size, size);
	half.imag() = numbers.matrix(size, size);
	Eigen::MatrixXcd a = half + half.adjoint();
	Eigen::SelfAdjointEigenSolver<Eigen::MatrixXcd> solver(a);
	print("values", solver.eigenvalues());
	return small("the vectors", (a * solver.eigenvectors() - solver.eigenvectors() *
		     solver.eigenvalues().asDiagonal()).norm() / a.norm());
}

bool generalised(int size)
{
	Numbers numbers(size);
	Matrix half = numbers.matrix(size, size), a = half + half.transpose();
	Matrix b = numbers.definite(size);
	Eigen::GeneralizedSelfAdjointEigenSolver<Matrix> solver(a, b);
	print("values", solver.eigenvalues());
	return small("the vectors", (a * solver.eigenvectors() - b * solver.eigenvectors() *
		     solver.eigenvalues().asDiagonal()).norm() / (a.norm() + b.norm()));
}

/* By falling real part, those of a pair by their imaginary one: rounding must not change it. */
bool general(int size)
{
	Matrix a = Numbers(size).matrix(size, size);
	Eigen::EigenSolver<Matrix> solver(a);
	std::vector<std::complex<double>> values(solver.eigenvalues().begin(),
						 solver.eigenvalues().end());
	std::sort(values.begin(), values.end(), [](auto one, auto other) {
		return std::abs(one.real() - other.real()) > 1e-9 ? one.real() > other.real()
								  : one.imag() > other.imag();
	});
	Vector parts(2 * size);
	for (int at = 0; at < size; at++)
		parts.segment(2 * at, 2) << values[at].real(), values[at].imag();
	print("values", parts);
	return small("the vectors", (a.cast<std::complex<double>>() * solver.eigenvectors() -
		     solver.eigenvectors() * solver.eigenvalues().asDiagonal()).norm() / a.norm());
}

const Case CASES[] = {
	{"self-adjoint", self_adjoint},
	{"hermitian", hermitian},
	{"generalised", generalised},
	{"general", general},
};

} /* namespace */

int main(int argc, char **argv)
{
	return run_case(CASES, argc, argv);
}
