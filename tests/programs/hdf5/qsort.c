/*
 * A qsort that keeps the order of equal elements, for HDF5's parallel tests: a merge sort.
 *
 * HDF5 1.10.8 hands the chunks that several ranks write back to them sorted by rank, and each rank
 * then waits for the data of its own chunks in the order of that list. That ends only if the lists
 * have the chunks in one order, which qsort need not keep, and musl's does not: every rank waits
 * in MPI_Mprobe for ever. C says nothing of the order; glibc's qsort keeps it.
 */
#include <stdlib.h>
#include <string.h>

typedef int compare(const void *, const void *);

/* Sorts count elements of size bytes at base; spare has room for as many. */
static void merge_sort(char *base, char *spare, size_t count, size_t size, compare *order)
{
	size_t half = count / 2, left = 0, right = half;

	if (count < 2)
		return;
	merge_sort(base, spare, half, size, order);
	merge_sort(base + half * size, spare, count - half, size, order);
	for (size_t i = 0; i < count; i++) {
		int take_left = right == count ||
			(left < half && order(base + left * size, base + right * size) <= 0);

		memcpy(spare + i * size, base + (take_left ? left++ : right++) * size, size);
	}
	memcpy(base, spare, count * size);
}

void qsort(void *base, size_t count, size_t size, compare *order)
{
	char *spare = malloc(count * size + 1);

	if (!spare)
		abort();
	merge_sort(base, spare, count, size, order);
	free(spare);
}
