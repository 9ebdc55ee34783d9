/*
 * darrays ROUNDS SEED: distributed arrays of random shapes. For each process of a grid, packing
 * takes the elements that the definition of MPI_Type_create_darray gives it, in memory's order.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIMENSIONS = 3, LONGEST = 7, MOST = LONGEST * LONGEST * LONGEST, DEEPEST = 15 };

static unsigned int state;

static int draw(int below)
{
	state = state * 1103515245u + 12345u;
	return (int)((state >> 8) % (unsigned int)below);
}

struct array {
	int dimensions, order, processes;
	int sizes[DIMENSIONS], distributions[DIMENSIONS], blocks[DIMENSIONS], grid[DIMENSIONS];
	int lengths[DIMENSIONS];       /* of blocks, defaults filled in */
};

static void make(struct array *a)
{
	static const int kinds[] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
	                             MPI_DISTRIBUTE_NONE };

	a->dimensions = 1 + draw(DIMENSIONS);
	a->order = draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
	a->processes = 1;
	for (int i = 0; i < a->dimensions; i++) {
		int size = 1 + draw(LONGEST), kind = kinds[draw(3)];
		int grid = kind == MPI_DISTRIBUTE_NONE ? 1 : 1 + draw(3);
		int least = (size + grid - 1) / grid, is_default = draw(2);

		a->sizes[i] = size;
		a->distributions[i] = kind;
		a->grid[i] = grid;
		a->processes *= grid;
		a->lengths[i] = kind == MPI_DISTRIBUTE_NONE ? size :
			kind == MPI_DISTRIBUTE_BLOCK ? least + (is_default ? 0 : draw(3)) :
			is_default ? 1 : 1 + draw(3);
		a->blocks[i] = is_default || kind == MPI_DISTRIBUTE_NONE ?
			MPI_DISTRIBUTE_DFLT_DARG : a->lengths[i];
	}
}

/* Whether this process has the element at this place in memory. */
static int owns(const struct array *a, int process, int element)
{
	int place[DIMENSIONS], coordinate[DIMENSIONS];

	for (int i = a->dimensions - 1; i >= 0; i--) {
		coordinate[i] = process % a->grid[i];
		process /= a->grid[i];
	}
	for (int n = 0; n < a->dimensions; n++) {
		int i = a->order == MPI_ORDER_C ? a->dimensions - 1 - n : n;

		place[i] = element % a->sizes[i];
		element /= a->sizes[i];
	}
	for (int i = 0; i < a->dimensions; i++)
		if (place[i] / a->lengths[i] % a->grid[i] != coordinate[i])
			return 0;
	return 1;
}

static void check(const struct array *a, int process, MPI_Datatype element, int words, int round)
{
	static int array[2 * MOST], packed[2 * MOST];
	int elements = 1, position = 0, bytes, n = 0, good = 1;
	MPI_Aint low, extent;
	MPI_Datatype type;

	for (int i = 0; i < a->dimensions; i++)
		elements *= a->sizes[i];
	for (int i = 0; i < words * elements; i++)
		array[i] = i;
	MPI_Type_create_darray(a->processes, process, a->dimensions, a->sizes, a->distributions,
	                       a->blocks, a->grid, a->order, element, &type);
	MPI_Type_commit(&type);
	MPI_Type_size(type, &bytes);
	MPI_Type_get_extent(type, &low, &extent);
	MPI_Pack(array, 1, type, packed, sizeof(packed), &position, MPI_COMM_SELF);
	for (int e = 0; e < elements; e++)
		for (int w = 0; owns(a, process, e) && w < words; w++)
			good &= packed[n++] == words * e + w;
	if (!good || position != 4 * n || bytes != 4 * n || low || extent != 4 * words * elements) {
		fprintf(stderr, "round %d, process %d of %d: %d dimensions, order %d\n", round, process,
		        a->processes, a->dimensions, a->order == MPI_ORDER_C);
		for (int i = 0; i < a->dimensions; i++)
			fprintf(stderr, "size %d, kind %d, block %d, grid %d\n", a->sizes[i],
			        a->distributions[i], a->lengths[i], a->grid[i]);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Type_free(&type);
}

/* Arrays of many dimensions of two elements, each with a process of its own: the last one has the
 * last element. MPICH nests types in 16 levels at most. */
static void check_deep(int kind)
{
	static int array[1 << DEEPEST];
	int sizes[DEEPEST], kinds[DEEPEST], blocks[DEEPEST], packed, position, last;
	MPI_Datatype type;

	for (int i = 0; i < 1 << DEEPEST; i++)
		array[i] = i;
	for (int n = 1; n <= DEEPEST; n++) {
		sizes[n - 1] = 2;
		kinds[n - 1] = kind;
		blocks[n - 1] = MPI_DISTRIBUTE_DFLT_DARG;
		last = (1 << n) - 1;
		position = 0;
		MPI_Type_create_darray(last + 1, last, n, sizes, kinds, blocks, sizes, MPI_ORDER_C,
		                       MPI_INT, &type);
		MPI_Type_commit(&type);
		MPI_Pack(array, 1, type, &packed, sizeof(packed), &position, MPI_COMM_SELF);
		MPI_Type_free(&type);
		if (position != sizeof(packed) || packed != last)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* Arrays of two elements, each array the element of the next one: again the last process has the
 * last element. */
static void check_nested(void)
{
	static int array[1 << DEEPEST];
	int two = 2, kind = MPI_DISTRIBUTE_BLOCK, block = MPI_DISTRIBUTE_DFLT_DARG;
	int packed, position = 0;
	MPI_Datatype type, element;

	for (int i = 0; i < 1 << DEEPEST; i++)
		array[i] = i;
	MPI_Type_dup(MPI_INT, &type);
	for (int n = 0; n < DEEPEST; n++) {
		element = type;
		MPI_Type_create_darray(2, 1, 1, &two, &kind, &block, &two, MPI_ORDER_C, element,
		                       &type);
		MPI_Type_free(&element);
	}
	MPI_Type_commit(&type);
	MPI_Pack(array, 1, type, &packed, sizeof(packed), &position, MPI_COMM_SELF);
	MPI_Type_free(&type);
	if (position != sizeof(packed) || packed != (1 << DEEPEST) - 1)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	MPI_Datatype pair;

	state = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	MPI_Init(&argc, &argv);
	MPI_Type_contiguous(2, MPI_INT, &pair);
	for (int round = 0; round < rounds; round++) {
		struct array array;

		make(&array);
		for (int process = 0; process < array.processes; process++)
			if (round % 2)
				check(&array, process, MPI_INT, 1, round);
			else
				check(&array, process, pair, 2, round);
	}
	check_deep(MPI_DISTRIBUTE_BLOCK);
	check_deep(MPI_DISTRIBUTE_CYCLIC);
	check_nested();
	printf("darrays: %d rounds\n", rounds);
	MPI_Finalize();
	return 0;
}
