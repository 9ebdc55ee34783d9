/*
 * Dense systems of equations by each of Eigen's factorisations: the solution, the determinant or
 * the rank, and the residual.
 */
#include "common.h"

namespace {

/* |A x - b| in units of |A| |x| + |b|. */
bool solved(const char *name, const Matrix &a, const Vector &x, const Vector &b)
{
	print("x", x);
	return small(name, (a * x - b).norm() / (a.norm() * x.norm() + b.norm()));
}

template <class Factorisation, bool definite = false>
bool solve(int size)
{
	Numbers numbers(size);
	Matrix a = definite ? numbers.definite(size) : numbers.matrix(size, size);
	Vector b = numbers.matrix(size, 1);
	Factorisation factors(a);
	return solved("the solution", a, factors.solve(b), b);
}

/* Determinant and inverse of a matrix, and the rank of one that has not the full one. */
bool rank(int size)
{
	Numbers numbers(size);
	Matrix a = numbers.matrix(size, size / 2) * numbers.matrix(size / 2, size);
	std::printf("ranks %ld %ld\n", static_cast<long>(Eigen::FullPivLU<Matrix>(a).rank()),
		    static_cast<long>(Eigen::ColPivHouseholderQR<Matrix>(a).rank()));
	Matrix full = numbers.matrix(size, size);
	Eigen::PartialPivLU<Matrix> factors(full);
	print("determinant", Vector::Constant(1, factors.determinant()));
	Matrix inverse = factors.inverse();
	print("inverse", inverse.reshaped());
	return small("the inverse", (full * inverse - Matrix::Identity(size, size)).norm() /
		     (full.norm() * inverse.norm()));
}

/* More equations than unknowns: the normal equations hold. */
bool least_squares(int size)
{
	Numbers numbers(size);
	Matrix a = numbers.matrix(2 * size, size);
	Vector b = numbers.matrix(2 * size, 1);
	Vector x = Eigen::BDCSVD<Matrix>(a, Eigen::ComputeThinU | Eigen::ComputeThinV).solve(b);
	Vector other = a.householderQr().solve(b);
	print("x", x);
	print("x by qr", other);
	return small("the normal equations", (a.transpose() * (a * x - b)).norm() /
		     (a.squaredNorm() * x.norm())) &&
		small("svd against qr", (x - other).norm() / x.norm(), 1e-11);
}

bool singular_values(int size)
{
	Matrix a = Numbers(size).matrix(size + 5, size);
	Eigen::JacobiSVD<Matrix> svd(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
	print("values", svd.singularValues());
	return small("the decomposition", (svd.matrixU() * svd.singularValues().asDiagonal() *
		     svd.matrixV().transpose() - a).norm() / a.norm());
}

const Case CASES[] = {
	{"partial-lu", solve<Eigen::PartialPivLU<Matrix>>},
	{"full-lu", solve<Eigen::FullPivLU<Matrix>>},
	{"cholesky", solve<Eigen::LLT<Matrix>, true>},
	{"ldlt", solve<Eigen::LDLT<Matrix>, true>},
	{"qr", solve<Eigen::HouseholderQR<Matrix>>},
	{"column-qr", solve<Eigen::ColPivHouseholderQR<Matrix>>},
	{"orthogonal", solve<Eigen::CompleteOrthogonalDecomposition<Matrix>>},
	{"rank", rank},
	{"least-squares", least_squares},
	{"singular-values", singular_values},
};

} /* namespace */

int main(int argc, char **argv)
{
	return run_case(CASES, argc, argv);
}
