/*
 * phases PHASE: one of twenty kinds of communication in an endless loop, while the test ends the
 * machine of a rank. Rank 0 prints "running" after some rounds. Errors are MPI's own: they end the
 * job.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ELEMENTS = 5000,                /* of one block: more than the eager limit */
	ROUNDS = 20                     /* before "running" */
};

static int rank, size, next, before;
static long *from, *to;                 /* a block for each rank */
static int *counts, *pairs, *firsts;     /* sizes of blocks, by rank and by pair; displacements */
static MPI_Win window;

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(void)
{
	static int root;

	MPI_Bcast(from, ELEMENTS, MPI_LONG, root++ % size, MPI_COMM_WORLD);
}

static void reduce(void)
{
	MPI_Reduce(from, to, ELEMENTS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(void)
{
	MPI_Allreduce(from, to, ELEMENTS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(void)
{
	MPI_Gather(from, ELEMENTS, MPI_LONG, to, ELEMENTS, MPI_LONG, size - 1, MPI_COMM_WORLD);
}

static void scatter(void)
{
	MPI_Scatter(from, ELEMENTS, MPI_LONG, to, ELEMENTS, MPI_LONG, 0, MPI_COMM_WORLD);
}

static void allgather(void)
{
	MPI_Allgather(from, ELEMENTS, MPI_LONG, to, ELEMENTS, MPI_LONG, MPI_COMM_WORLD);
}

static void alltoall(void)
{
	MPI_Alltoall(from, ELEMENTS, MPI_LONG, to, ELEMENTS, MPI_LONG, MPI_COMM_WORLD);
}

static void alltoallv(void)
{
	MPI_Alltoallv(from, pairs, firsts, MPI_LONG, to, pairs, firsts, MPI_LONG, MPI_COMM_WORLD);
}

static void reduce_scatter(void)
{
	MPI_Reduce_scatter(from, to, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(void)
{
	MPI_Scan(from, to, ELEMENTS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

static void nonblocking(void)
{
	MPI_Request requests[2];

	MPI_Iallreduce(from, to, ELEMENTS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void put(void)
{
	MPI_Put(from, ELEMENTS, MPI_LONG, next, 0, ELEMENTS, MPI_LONG, window);
	MPI_Win_fence(0, window);
}

static void get(void)
{
	MPI_Get(to, ELEMENTS, MPI_LONG, next, 0, ELEMENTS, MPI_LONG, window);
	MPI_Win_fence(0, window);
}

static void accumulate(void)
{
	MPI_Accumulate(from, ELEMENTS, MPI_LONG, next, 0, ELEMENTS, MPI_LONG, MPI_SUM, window);
	MPI_Win_fence(0, window);
}

static void lock(void)
{
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window);
	MPI_Put(from, ELEMENTS, MPI_LONG, next, 0, ELEMENTS, MPI_LONG, window);
	MPI_Win_unlock(next, window);
}

static void fetch(void)
{
	long one = 1, old;

	MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window);
	MPI_Fetch_and_op(&one, &old, MPI_LONG, next, 0, MPI_SUM, window);
	MPI_Win_flush(next, window);
	MPI_Compare_and_swap(&one, &old, &old, MPI_LONG, next, 0, window);
	MPI_Win_unlock(next, window);
}

static void post(void)
{
	MPI_Group world, source, target;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &before, &source);
	MPI_Group_incl(world, 1, &next, &target);
	MPI_Win_post(source, 0, window);
	MPI_Win_start(target, 0, window);
	MPI_Put(from, ELEMENTS, MPI_LONG, next, 0, ELEMENTS, MPI_LONG, window);
	MPI_Win_complete(window);
	MPI_Win_wait(window);
	MPI_Group_free(&source);
	MPI_Group_free(&target);
	MPI_Group_free(&world);
}

static void create(void)
{
	MPI_Comm copy;
	MPI_Win other;

	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Win_create(to, ELEMENTS * sizeof *to, sizeof *to, MPI_INFO_NULL, copy, &other);
	MPI_Win_free(&other);
	MPI_Comm_free(&copy);
}

/* One-sided only: no rank waits for another. */
static void flush(void)
{
	MPI_Put(from, ELEMENTS, MPI_LONG, next, 0, ELEMENTS, MPI_LONG, window);
	MPI_Win_flush(next, window);
}

static void (*const phases[])(void) = {
	barrier, bcast, reduce, allreduce, gather, scatter, allgather, alltoall, alltoallv,
	reduce_scatter, scan, nonblocking, create, put, get, accumulate, lock, fetch, post, flush
};

int main(int argc, char **argv)
{
	void (*phase)(void) = phases[argc > 1 ? atoi(argv[1]) : 0];
	long *memory;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	from = calloc((size_t)size * ELEMENTS, sizeof *from);
	to = calloc((size_t)size * ELEMENTS, sizeof *to);
	counts = calloc(size, sizeof *counts);
	pairs = calloc(size, sizeof *pairs);
	firsts = calloc(size, sizeof *firsts);
	for (int i = 0; i < size; i++) {
		counts[i] = ELEMENTS - i;
		pairs[i] = ELEMENTS - i - rank;
		firsts[i] = i * ELEMENTS;
	}
	MPI_Win_allocate(ELEMENTS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
			 &memory, &window);
	if (phase == put || phase == get || phase == accumulate)
		MPI_Win_fence(0, window);
	if (phase == flush)
		MPI_Win_lock_all(0, window);
	for (int i = 0;; i++) {
		phase();
		if (i == ROUNDS && rank == 0) {
			printf("running\n");
			fflush(stdout);
		}
	}
}
