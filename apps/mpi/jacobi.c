/*
 * jacobi [SIDE [STEPS]]: heat in a square plate, by Jacobi's iteration on all ranks.
 *
 *     tools/mpicc -O2 apps/mpi/jacobi.c -o jacobi.elf
 *     tools/margay run -n 4 jacobi.elf 100 2000
 *
 * The plate is a grid of SIDE x SIDE points with a border that is 1 at the top and 0 elsewhere.
 * In a step each point becomes the mean of its four neighbours. The ranks form a grid too, a
 * Cartesian communicator, and each has a block of the plate with a halo around it:
 *
 *        . . . . . .         o  a point of this rank's
 *        . o o o o .         .  the halo: the border of the plate, or a copy of
 *        . o o o o .            a neighbour's outermost points
 *        . . . . . .
 *
 * A step starts sending the outermost points to the four neighbours and receiving the halo;
 * computes the inner points, which need no halo; waits; computes the outermost points. A rank at
 * the border of the plate has MPI_PROC_NULL as its neighbour, with which nothing is exchanged.
 *
 * At the end rank 0 computes the whole plate alone. Each rank compares its points, which must have
 * the same bits.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct block {
	MPI_Comm comm;              /* the ranks of the plate, a Cartesian communicator */
	int row, column;            /* position of its first point in the plate */
	int rows, columns;          /* without the halo */
	int width;                  /* columns + 2: from a point to the one below it */
	double *now, *next;         /* the values of this step and of the next */
	int up, down, left, right;  /* neighbours */
	MPI_Datatype line;          /* a column of points, which are not contiguous */
};

static void create(struct block *b, MPI_Comm comm, int side)
{
	int size, rank, shape[2] = { 0, 0 }, periodic[2] = { 0, 0 }, at[2];

	MPI_Comm_size(comm, &size);
	MPI_Dims_create(size, 2, shape);
	MPI_Cart_create(comm, 2, shape, periodic, 1, &b->comm);
	MPI_Comm_rank(b->comm, &rank);
	MPI_Cart_coords(b->comm, rank, 2, at);
	MPI_Cart_shift(b->comm, 0, 1, &b->up, &b->down);
	MPI_Cart_shift(b->comm, 1, 1, &b->left, &b->right);
	b->row = side * at[0] / shape[0];
	b->rows = side * (at[0] + 1) / shape[0] - b->row;
	b->column = side * at[1] / shape[1];
	b->columns = side * (at[1] + 1) / shape[1] - b->column;
	b->width = b->columns + 2;
	MPI_Type_vector(b->rows, 1, b->width, MPI_DOUBLE, &b->line);
	MPI_Type_commit(&b->line);
	b->now = calloc((b->rows + 2) * b->width, sizeof *b->now);
	b->next = calloc((b->rows + 2) * b->width, sizeof *b->next);
	if (!b->now || !b->next)
		MPI_Abort(comm, 1);
	for (int j = 0; b->up == MPI_PROC_NULL && j < b->width; j++)
		b->now[j] = b->next[j] = 1;
}

/* Starts the exchange of halos: eight requests. Tags are the directions of travel. */
static void exchange(struct block *b, MPI_Request requests[8])
{
	enum { UP, DOWN, LEFT, RIGHT };
	double *first = b->now + b->width + 1;                      /* this rank's corners */
	double *last = b->now + b->rows * b->width + b->columns;
	double *below = last - b->columns + 1, *beside = first + b->columns - 1;
	int n = b->columns;

	MPI_Irecv(first - b->width, n, MPI_DOUBLE, b->up, DOWN, b->comm, &requests[0]);
	MPI_Irecv(below + b->width, n, MPI_DOUBLE, b->down, UP, b->comm, &requests[1]);
	MPI_Irecv(first - 1, 1, b->line, b->left, RIGHT, b->comm, &requests[2]);
	MPI_Irecv(beside + 1, 1, b->line, b->right, LEFT, b->comm, &requests[3]);
	MPI_Isend(first, n, MPI_DOUBLE, b->up, UP, b->comm, &requests[4]);
	MPI_Isend(below, n, MPI_DOUBLE, b->down, DOWN, b->comm, &requests[5]);
	MPI_Isend(first, 1, b->line, b->left, LEFT, b->comm, &requests[6]);
	MPI_Isend(beside, 1, b->line, b->right, RIGHT, b->comm, &requests[7]);
}

/* The points of rows [top, bottom) and columns [left, right), counted from 1. */
static void compute(struct block *b, int top, int bottom, int left, int right)
{
	for (int i = top; i < bottom; i++)
		for (int j = left; j < right; j++) {
			double *p = b->now + i * b->width + j;

			b->next[i * b->width + j] =
				(p[-b->width] + p[b->width] + p[-1] + p[1]) / 4;
		}
}

static void step(struct block *b)
{
	int rows = b->rows, columns = b->columns;
	MPI_Request requests[8];
	double *now = b->now;

	exchange(b, requests);
	compute(b, 2, rows, 2, columns);
	MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
	compute(b, 1, 2, 1, columns + 1);
	compute(b, rows, rows + 1, 1, columns + 1);
	compute(b, 2, rows, 1, 2);
	compute(b, 2, rows, columns, columns + 1);
	b->now = b->next;
	b->next = now;
}

/* How many of this rank's points differ from those of the whole plate. */
static long differences(struct block *b, struct block *plate)
{
	long found = 0;

	for (int i = 1; i <= b->rows; i++)
		for (int j = 1; j <= b->columns; j++)
			found += b->now[i * b->width + j] !=
				plate->now[(b->row + i) * plate->width + b->column + j];
	return found;
}

int main(int argc, char **argv)
{
	int side = argc > 1 ? atoi(argv[1]) : 60, steps = argc > 2 ? atoi(argv[2]) : 1000;
	struct block mine, plate;
	long wrong;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (side < size)
		MPI_Abort(MPI_COMM_WORLD, 2);   /* a rank would have no points */
	create(&mine, MPI_COMM_WORLD, side);
	create(&plate, MPI_COMM_SELF, side);
	for (int i = 0; i < steps; i++)
		step(&mine);
	for (int i = 0; i < steps && rank == 0; i++)
		step(&plate);
	MPI_Bcast(plate.now, (side + 2) * plate.width, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	wrong = differences(&mine, &plate);
	MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("jacobi: %d steps, middle %.6f, %ld points differ from one rank's\n", steps,
		       plate.now[(side / 2 + 1) * plate.width + side / 2 + 1], wrong);
	MPI_Finalize();
	return rank == 0 && wrong;
}
