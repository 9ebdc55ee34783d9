/*
 * MPI_Neighbor_alltoallw and its nonblocking and persistent forms. MPICH 4.0.2 copies their counts
 * with the number of the other side's neighbours: a rank that has more neighbours on one side reads
 * counts that are not there, and waits for messages of any length.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces their objects.
 */
#include "mpiimpl.h"

/* In these files each call of MPL_malloc makes the array for the counts, right after both numbers
 * were read, and the numbers serve for nothing else from there on. */
static void *memory_of_counts(size_t bytes, int *indegree, int *outdegree)
{
	int number = *indegree;

	*indegree = *outdegree;
	*outdegree = number;
	return malloc(bytes);
}

#undef MPL_malloc
#define MPL_malloc(bytes, class) memory_of_counts(bytes, &indegree, &outdegree)
#include "neighbor_alltoallw.c"
#include "ineighbor_alltoallw.c"
#include "neighbor_alltoallw_init.c"
