/*
 * elements ROUNDS SEED: messages of random datatypes that are received into pieces. Each arrives
 * whole, without an error of its datatype, and MPI_Get_elements counts it as the list of the
 * datatype's basic elements does. Each rank sends to the next; all make the same datatypes.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2000, SPAN = 1 << 22 };     /* basic elements, bytes of memory for a message */

/* A datatype, and the bytes of its basic elements in their order; negative for the second of a
 * pair: no message ends within one, as MPICH unpacks pairs as a whole. */
struct type {
	MPI_Datatype type;
	int count, bytes[MOST];
};

static int rank, size;
static unsigned int state;

static int draw(int below)
{
	state = state * 1103515245u + 12345u;
	return (int)((state >> 8) % (unsigned int)below);
}

static void fail(const char *what, int round)
{
	fprintf(stderr, "rank %d, round %d: %s\n", rank, round, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void basic(struct type *made)
{
	static const struct {
		MPI_Datatype type;
		int count, bytes[2];
	} all[] = {
		{ MPI_BYTE, 1, { 1 } }, { MPI_SHORT, 1, { 2 } }, { MPI_INT, 1, { 4 } },
		{ MPI_DOUBLE, 1, { 8 } }, { MPI_FLOAT_INT, 2, { 4, 4 } },
		{ MPI_DOUBLE_INT, 2, { 8, 4 } }, { MPI_SHORT_INT, 2, { 2, 4 } },
		{ MPI_2INT, 2, { 4, 4 } }, { MPI_LONG_INT, 2, { 8, 4 } },
	};
	int i = draw(sizeof all / sizeof *all);

	MPI_Type_dup(all[i].type, &made->type);
	made->count = all[i].count;
	made->bytes[0] = all[i].bytes[0];
	made->bytes[1] = -all[i].bytes[1];
}

/* Appends the elements of `times` of a type. Without room for all it is full, and is not used. */
static void append(struct type *to, const struct type *from, int times)
{
	for (; times > 0 && to->count + from->count < MOST; times--) {
		memcpy(to->bytes + to->count, from->bytes, from->count * sizeof *from->bytes);
		to->count += from->count;
	}
	if (times > 0)
		to->count = MOST;
}

static MPI_Datatype spread(MPI_Datatype old, int extent)
{
	MPI_Datatype made;

	MPI_Type_create_resized(old, 0, extent, &made);
	return made;
}

static int darray(MPI_Datatype old, MPI_Datatype *made)
{
	const int grid[] = { 2, 1 }, global[] = { 4, 3 };
	const int kinds[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK };
	const int defaults[] = { MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG };

	MPI_Type_create_darray(2, 0, 2, global, kinds, defaults, grid, MPI_ORDER_C, old, made);
	return 6;
}

static int subarray(MPI_Datatype old, MPI_Datatype *made)
{
	const int all[] = { 3, 4 }, part[] = { 2, 1 + draw(3) }, start[] = { 1, 0 };

	MPI_Type_create_subarray(2, all, part, start, MPI_ORDER_C, old, made);
	return part[0] * part[1];
}

static int hindexed(MPI_Datatype old, int extent, MPI_Datatype *made)
{
	const int lengths[] = { draw(3), draw(2), 1 + draw(2) };
	const MPI_Aint places[] = { 12 * extent, 8 * extent, 0 };

	MPI_Type_create_hindexed(3, lengths, places, old, made);
	return lengths[0] + lengths[1] + lengths[2];
}

static void structure(const struct type *first, int extent, struct type *made)
{
	int lengths[] = { 1 + draw(2), draw(3) };
	const MPI_Aint places[] = { 0, 4 * extent };
	struct type second;
	MPI_Datatype types[2];

	basic(&second);
	types[0] = first->type;
	types[1] = second.type;
	MPI_Type_create_struct(2, lengths, places, types, &made->type);
	append(made, first, lengths[0]);
	append(made, &second, lengths[1]);
	MPI_Type_free(&second.type);
}

/* A random type of this many levels, with gaps. */
static void make(int levels, struct type *made)
{
	MPI_Aint low, extent;
	MPI_Datatype old;
	struct type *inner;
	int times = 1 + draw(3), length = 1 + draw(3), step;

	if (levels == 0) {
		basic(made);
		return;
	}
	inner = malloc(sizeof *inner);
	make(levels - 1, inner);
	MPI_Type_get_extent(inner->type, &low, &extent);
	step = (int)(extent + 15) / 8 * 8;
	old = spread(inner->type, step);
	made->count = 0;
	switch (draw(7)) {
	case 0:
		MPI_Type_contiguous(times, old, &made->type);
		append(made, inner, times);
		break;
	case 1:
		MPI_Type_vector(times, length, length + 1, old, &made->type);
		append(made, inner, times * length);
		break;
	case 2:
		append(made, inner, subarray(old, &made->type));
		break;
	case 3:
		append(made, inner, darray(old, &made->type));
		break;
	case 4:
		append(made, inner, hindexed(old, step, &made->type));
		break;
	case 5:         /* of no elements, in a structure */
		MPI_Type_free(&old);
		MPI_Type_contiguous(0, inner->type, &old);
		inner->count = 0;
		MPI_Type_free(&inner->type);
		MPI_Type_dup(old, &inner->type);
		structure(inner, step, made);
		break;
	default:
		structure(inner, step, made);
	}
	MPI_Type_free(&old);
	MPI_Type_free(&inner->type);
	free(inner);
}

/* Sends the first `elements` basic elements of `count` of the type, and receives with the type. */
static void exchange(const struct type *type, int count, int elements, int round)
{
	static char from[SPAN], to[SPAN];
	int bytes = 0, at = 0, counted;
	MPI_Request request;
	MPI_Status status;

	while (elements && type->bytes[elements % type->count] < 0)
		elements--;
	for (int i = 0; i < elements; i++)
		bytes += abs(type->bytes[i % type->count]);
	for (int i = 0; i < bytes; i++)
		from[i] = (char)(i + round);
	memset(to, 0, sizeof to);
	MPI_Irecv(to, count, type->type, (rank + size - 1) % size, round, MPI_COMM_WORLD, &request);
	if (round % 2)
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(from, bytes, MPI_PACKED, (rank + 1) % size, round, MPI_COMM_WORLD);
	MPI_Wait(&request, &status);
	MPI_Get_elements(&status, type->type, &counted);
	if (counted != elements)
		fail("MPI_Get_elements counts wrongly", round);
	memset(from, 0, sizeof from);
	MPI_Pack(to, count, type->type, from, sizeof from, &at, MPI_COMM_WORLD);
	for (int i = 0; i < at; i++)
		if (from[i] != (i < bytes ? (char)(i + round) : 0))
			fail("a byte is wrong", round);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100, count;
	static struct type type;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	state = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	for (int round = 0; round < rounds; round++) {
		MPI_Aint low, extent;

		make(1 + round % 4, &type);
		MPI_Type_get_extent(type.type, &low, &extent);
		count = 1 + draw(3);
		if (type.count < MOST && low >= 0 && count * extent < SPAN) {
			MPI_Type_commit(&type.type);
			exchange(&type, count, count * type.count, round);
			exchange(&type, count, type.count ? draw(count * type.count + 1) : 0, round);
		}
		MPI_Type_free(&type.type);
	}
	if (rank == 0)
		printf("elements: %d rounds\n", rounds);
	MPI_Finalize();
	return 0;
}
