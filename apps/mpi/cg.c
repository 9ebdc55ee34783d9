/*
 * cg MATRIX: solves A x = b by conjugate gradients, all ranks together.
 *
 *     tools/mpicc -O2 apps/mpi/cg.c -o cg.elf
 *     tools/margay run -n 4 cg.elf matrix.mtx
 *
 * MATRIX is a file of the Matrix Market, "coordinate real symmetric", and positive definite; b is
 * such that every element of x is 1. The rows are distributed in blocks of equal size, the last of
 * them filled up with empty rows. A rank keeps its rows of A, and the matching elements of each
 * vector. Two calls of MPI are enough:
 *
 *   MPI_Allgather    the whole direction vector, before it is multiplied by A's rows
 *   MPI_Allreduce    a dot product: each rank's part, added up for all
 *
 * At the end rank 0 solves the same system alone, over MPI_COMM_SELF, and compares.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct element {
	int row, column;            /* row: relative to this rank's first one */
	double value;
};

struct matrix {
	MPI_Comm comm;              /* the ranks that share it */
	int rank, size;
	int rows, block;            /* rows of all ranks, of each rank */
	int used;                   /* elements in this rank's rows */
	struct element *elements;
};

static void check(int right, const char *what)
{
	if (!right) {
		fprintf(stderr, "cg: %s\n", what);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void keep(struct matrix *a, int row, int column, double value)
{
	row -= a->rank * a->block;
	if (row < 0 || row >= a->block)
		return;                 /* it is in another rank's rows */
	if (a->used % 1024 == 0)
		a->elements = realloc(a->elements, (a->used + 1024) * sizeof *a->elements);
	check(a->elements != NULL, "no memory for the matrix");
	a->elements[a->used++] = (struct element){ row, column, value };
}

/* Every rank reads the whole file, and keeps what is in its rows. */
static void read_matrix(struct matrix *a, const char *name)
{
	FILE *file = fopen(name, "r");
	int columns, elements, row, column;
	char line[1024] = "";
	double value;

	check(file && fgets(line, sizeof line, file) &&
	      !strcmp(line, "%%MatrixMarket matrix coordinate real symmetric\n"),
	      "the file is not there, or is no symmetric matrix of the Matrix Market");
	while (fgets(line, sizeof line, file) && line[0] == '%')
		;                       /* comments */
	check(sscanf(line, "%d %d %d", &a->rows, &columns, &elements) == 3, "no size");
	a->block = (a->rows + a->size - 1) / a->size;
	while (elements-- > 0) {
		check(fscanf(file, "%d %d %lf", &row, &column, &value) == 3 &&
		      0 < column && column <= row && row <= a->rows, "a wrong element");
		keep(a, row - 1, column - 1, value);
		if (row != column)
			keep(a, column - 1, row - 1, value);
	}
	fclose(file);
}

/* to = A x. Each rank has its part of x, and computes its part of the product. */
static void multiply(struct matrix *a, const double *x, double *whole, double *to)
{
	MPI_Allgather(x, a->block, MPI_DOUBLE, whole, a->block, MPI_DOUBLE, a->comm);
	memset(to, 0, a->block * sizeof *to);
	for (struct element *e = a->elements; e < a->elements + a->used; e++)
		to[e->row] += e->value * whole[e->column];
}

static double dot(struct matrix *a, const double *x, const double *y)
{
	double sum = 0;

	for (int i = 0; i < a->block; i++)
		sum += x[i] * y[i];
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, a->comm);
	return sum;
}

/* Returns the error of x: its distance from the vector of ones. */
static double solve(MPI_Comm comm, const char *name, int *steps)
{
	struct matrix a = { .comm = comm };

	MPI_Comm_rank(comm, &a.rank);
	MPI_Comm_size(comm, &a.size);
	read_matrix(&a, name);
	int n = a.block;
	double *x = calloc((4 + a.size) * n + 1, sizeof *x), *r = x + n, *p = r + n, *ap = p + n;
	double *whole = ap + n, first, rr;

	check(x != NULL, "no memory for the vectors");
	for (int i = 0; i < n; i++)
		p[i] = 1;
	multiply(&a, p, whole, r);      /* b, which is the residual of x = 0 */
	memcpy(p, r, n * sizeof *p);
	first = rr = dot(&a, r, r);
	for (*steps = 0; rr > 1e-24 * first && *steps < 10 * a.rows; ++*steps) {
		multiply(&a, p, whole, ap);
		double alpha = rr / dot(&a, p, ap), before = rr;
		for (int i = 0; i < n; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * ap[i];
		}
		rr = dot(&a, r, r);
		for (int i = 0; i < n; i++)
			p[i] = r[i] + rr / before * p[i];
	}
	for (int i = 0; i < n && a.rank * n + i < a.rows; i++)
		x[i] -= 1;
	return sqrt(dot(&a, x, x));
}

int main(int argc, char **argv)
{
	int rank, steps, alone;
	double error;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	check(argc == 2, "usage: cg MATRIX");
	error = solve(MPI_COMM_WORLD, argv[1], &steps);
	if (rank == 0) {
		check(solve(MPI_COMM_SELF, argv[1], &alone) < 1e-8 && error < 1e-8 &&
		      abs(steps - alone) <= 1 + alone / 20, "it is not what one rank finds");
		printf("cg: %d steps, error %.1e, alone %d steps\n", steps, error, alone);
	}
	MPI_Finalize();
	return 0;
}
