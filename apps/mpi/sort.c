/*
 * sort FROM TO: a sample sort of a file that no rank holds as a whole.
 *
 *     tools/mpicc -O2 apps/mpi/sort.c -o sort.elf
 *     tools/margay run -n 4 sort.elf numbers sorted
 *
 * FROM holds unsigned numbers of 8 bytes, and so does TO, in ascending order.
 *
 *   1. Each rank reads its part of the file, all of them collectively, and sorts it.
 *   2. It takes a few of them, its samples. All ranks gather all samples and sort them. Some,
 *      evenly spaced, are the splitters: the numbers between two splitters are for one rank.
 *   3. Every rank tells every other how many numbers it will get; then all numbers are exchanged.
 *   4. Each rank sorts its numbers, and writes them after those of the lower ranks.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 32 };          /* samples of each rank */

static int rank, size;

static uint64_t *numbers(size_t count)
{
	uint64_t *memory = malloc((count + 1) * sizeof *memory);

	if (!memory)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return memory;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* By default errors of files do not end the job, unlike all others. */
static MPI_File open_file(const char *name, int mode)
{
	MPI_File file;

	if (MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file)) {
		fprintf(stderr, "sort: %s cannot be opened\n", name);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
	return file;
}

static uint64_t *read_part(const char *name, int *count)
{
	MPI_File file = open_file(name, MPI_MODE_RDONLY);
	MPI_Offset bytes, first, end;
	uint64_t *part;

	MPI_File_get_size(file, &bytes);
	first = bytes / 8 * rank / size;
	end = bytes / 8 * (rank + 1) / size;
	*count = end - first;
	part = numbers(*count);
	MPI_File_read_at_all(file, first * 8, part, *count, MPI_UINT64_T, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	return part;
}

static void write_part(const char *name, const uint64_t *part, int count)
{
	MPI_Offset mine = count, before = 0, all;
	MPI_File file = open_file(name, MPI_MODE_CREATE | MPI_MODE_WRONLY);

	MPI_Exscan(&mine, &before, 1, MPI_OFFSET, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&mine, &all, 1, MPI_OFFSET, MPI_SUM, MPI_COMM_WORLD);
	MPI_File_set_size(file, all * 8);
	MPI_File_write_at_all(file, before * 8, part, count, MPI_UINT64_T, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	if (rank == 0)
		printf("sort: %lld numbers\n", (long long)all);
}

/* The first numbers for the ranks 1 to size - 1. A rank without numbers contributes the largest number. */
static uint64_t *choose_splitters(const uint64_t *part, int count)
{
	uint64_t mine[SAMPLES], *all = numbers((size_t)SAMPLES * size);

	for (long i = 0; i < SAMPLES; i++)
		mine[i] = count ? part[count * i / SAMPLES] : UINT64_MAX;
	MPI_Allgather(mine, SAMPLES, MPI_UINT64_T, all, SAMPLES, MPI_UINT64_T, MPI_COMM_WORLD);
	qsort(all, (size_t)SAMPLES * size, sizeof *all, compare);
	for (int i = 1; i < size; i++)
		all[i - 1] = all[i * SAMPLES];
	return all;
}

/* Prefix sums: where each rank's numbers begin. Returns the sum of all counts. */
static int places(const int *counts, int *first)
{
	int sum = 0;

	for (int i = 0; i < size; i++) {
		first[i] = sum;
		sum += counts[i];
	}
	return sum;
}

/* Sends each rank its numbers; returns this rank's numbers and their count. */
static uint64_t *distribute(const uint64_t *part, int *count, const uint64_t *splitters)
{
	int *to = calloc(4 * size, sizeof *to), *from = to + size;
	int *to_first = from + size, *from_first = to_first + size;
	uint64_t *received;

	for (int i = 0, r = 0; i < *count; i++) {
		while (r < size - 1 && part[i] >= splitters[r])
			r++;
		to[r]++;
	}
	MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
	places(to, to_first);
	*count = places(from, from_first);
	received = numbers(*count);
	MPI_Alltoallv(part, to, to_first, MPI_UINT64_T, received, from, from_first, MPI_UINT64_T,
	              MPI_COMM_WORLD);
	free(to);
	return received;
}

int main(int argc, char **argv)
{
	uint64_t *part, *sorted;
	int count;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 3) {
		fprintf(stderr, "usage: sort FROM TO\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	part = read_part(argv[1], &count);
	qsort(part, count, sizeof *part, compare);
	sorted = distribute(part, &count, choose_splitters(part, count));
	qsort(sorted, count, sizeof *sorted, compare);
	write_part(argv[2], sorted, count);
	MPI_Finalize();
	return 0;
}
