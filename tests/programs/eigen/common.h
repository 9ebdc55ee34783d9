/*
 * What the three programs of Eigen share: matrices that are the same on every machine, a table of
 * cases by name, and the lines that compare.py reads. Each result is a line "NAME VALUES"; the
 * program itself says whether its residual is small, and its status is 1 if it is not.
 */
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <Eigen/Dense>

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/* Numbers between -1 and 1: rand() differs between C libraries. */
class Numbers {
public:
	explicit Numbers(std::uint64_t seed) : state(seed) {}

	double next()
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return static_cast<double>(state >> 11) / 4503599627370496.0 - 1.0;
	}

	Matrix matrix(int rows, int columns)
	{
		Matrix made(rows, columns);
		for (int column = 0; column < columns; column++)
			for (int row = 0; row < rows; row++)
				made(row, column) = next();
		return made;
	}

	/* Symmetric and positive definite, with a condition number of some hundreds. */
	Matrix definite(int size)
	{
		Matrix half = matrix(size, size);
		return half * half.transpose() + Matrix::Identity(size, size);
	}

private:
	std::uint64_t state;
};

inline void print(const char *name, const Vector &values)
{
	std::printf("%s", name);
	for (double value : values)
		std::printf(" %.16e", value);
	std::printf("\n");
}

/* A residual is rounding, which may differ by machine: it has a bound and is not compared. */
inline bool small(const char *name, double residual, double bound = 1e-12)
{
	bool good = residual <= bound;
	std::printf("# residual of %s: %.1e, %s %.0e\n", name, residual,
		    good ? "at most" : "MORE THAN", bound);
	return good;
}

struct Case {
	const char *name;
	bool (*run)(int size);
};

template <std::size_t count>
int run_case(const Case (&cases)[count], int argc, char **argv)
{
	if (argc == 3)
		for (const Case &one : cases)
			if (!std::strcmp(one.name, argv[1]))
				return one.run(std::stoi(argv[2])) ? 0 : 1;
	std::fprintf(stderr, "usage: %s CASE SIZE; cases:", argv[0]);
	for (const Case &one : cases)
		std::fprintf(stderr, " %s", one.name);
	std::fprintf(stderr, "\n");
	return 2;
}
