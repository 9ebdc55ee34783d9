/*
 * sort FROM TO: a sample sort of unsigned 8-byte numbers. Then rank 0 sorts FROM alone and compares.
 *
 *     tools/mpicc -O2 apps/mpi/sort.c -o sort.elf
 *     tools/margay run -n 4 sort.elf numbers sorted
 *
 * Each rank reads its part of the file and sorts it. All ranks gather some samples of each part. The
 * numbers between two splitters, which are evenly spaced among the samples, go to one rank. It sorts
 * what it gets, and writes it after the numbers of the lower ranks.
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
static MPI_File open_file(MPI_Comm comm, const char *name, int mode)
{
	MPI_File file;

	if (MPI_File_open(comm, name, mode, MPI_INFO_NULL, &file)) {
		fprintf(stderr, "sort: %s cannot be opened\n", name);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
	return file;
}

/* Part number `me` of `of`. */
static uint64_t *read_part(MPI_Comm comm, const char *name, int me, int of, int *count)
{
	MPI_File file = open_file(comm, name, MPI_MODE_RDONLY);
	MPI_Offset bytes, first;
	uint64_t *part;

	MPI_File_get_size(file, &bytes);
	first = bytes / 8 * me / of;
	*count = bytes / 8 * (me + 1) / of - first;
	part = numbers(*count);
	MPI_File_read_at_all(file, first * 8, part, *count, MPI_UINT64_T, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	return part;
}

static void write_part(const char *name, const uint64_t *part, int count)
{
	MPI_Offset mine = count, before = 0, all;
	MPI_File file = open_file(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY);

	MPI_Exscan(&mine, &before, 1, MPI_OFFSET, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&mine, &all, 1, MPI_OFFSET, MPI_SUM, MPI_COMM_WORLD);
	MPI_File_set_size(file, all * 8);
	MPI_File_write_at_all(file, before * 8, part, count, MPI_UINT64_T, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

/* On rank 0 alone. */
static int differs(const char *from, const char *to)
{
	int count, written, differ = 0;
	uint64_t *wanted = read_part(MPI_COMM_SELF, from, 0, 1, &count);
	uint64_t *found = read_part(MPI_COMM_SELF, to, 0, 1, &written);

	qsort(wanted, count, sizeof *wanted, compare);
	for (int i = 0; i < count || i < written; i++)
		differ += i >= count || i >= written || found[i] != wanted[i];
	printf("sort: %d numbers, %d differ from one rank's\n", written, differ);
	return differ;
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
	for (int i = 1; i < size; i++) {
		to_first[i] = to_first[i - 1] + to[i - 1];
		from_first[i] = from_first[i - 1] + from[i - 1];
	}
	*count = from_first[size - 1] + from[size - 1];
	received = numbers(*count);
	MPI_Alltoallv(part, to, to_first, MPI_UINT64_T, received, from, from_first, MPI_UINT64_T,
	              MPI_COMM_WORLD);
	free(to);
	return received;
}

int main(int argc, char **argv)
{
	uint64_t *part, *sorted;
	int count, wrong;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 3) {
		fprintf(stderr, "usage: sort FROM TO\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	part = read_part(MPI_COMM_WORLD, argv[1], rank, size, &count);
	qsort(part, count, sizeof *part, compare);
	sorted = distribute(part, &count, choose_splitters(part, count));
	qsort(sorted, count, sizeof *sorted, compare);
	write_part(argv[2], sorted, count);
	wrong = rank == 0 && differs(argv[1], argv[2]);
	MPI_Finalize();
	return wrong;
}
