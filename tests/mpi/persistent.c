/*
 * persistent ROUNDS SEED: persistent collectives. Each round draws an operation, a root, a length, and
 * a type, which is freed as soon as the operation is made. It is started several times, each time
 * with other data, and gives what the blocking call gives.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS = 4, MOST_RANKS = 16, MOST = 20000, SPREAD = 4 };

enum { BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
	ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, OPERATIONS };

static const char *const names[OPERATIONS] = { "barrier", "bcast", "gather", "gatherv", "scatter",
	"scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce",
	"allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan" };

static int rank, size, root, n;
static int counts[MOST_RANKS], places[MOST_RANKS], byte_places[MOST_RANKS];
static MPI_Datatype type, types[MOST_RANKS];
static int *from, *to, *expected;
static unsigned int state;

static int draw(int below)
{
	state = state * 1103515245u + 12345u;
	return (int)((state >> 8) % (unsigned int)below);
}

/* Make the operation, or, if `request` is null, perform it; the result goes to `out`. */
static void perform(int operation, int *out, MPI_Request *request)
{
	const MPI_Comm all = MPI_COMM_WORLD;
	const MPI_Info none = MPI_INFO_NULL;

#define CASE(what, call, ...) \
	case what: \
		if (request) \
			call##_init(__VA_ARGS__, all, none, request); \
		else \
			call(__VA_ARGS__, all); \
		break
	switch (operation) {
	case BARRIER:
		if (request)
			MPI_Barrier_init(all, none, request);
		else
			MPI_Barrier(all);
		break;
	CASE(BCAST, MPI_Bcast, out, n, type, root);
	CASE(GATHER, MPI_Gather, from, n, type, out, n, type, root);
	CASE(GATHERV, MPI_Gatherv, from, n, type, out, counts, places, type, root);
	CASE(SCATTER, MPI_Scatter, from, n, type, out, n, type, root);
	CASE(SCATTERV, MPI_Scatterv, from, counts, places, type, out, n, type, root);
	CASE(ALLGATHER, MPI_Allgather, from, n, type, out, n, type);
	CASE(ALLGATHERV, MPI_Allgatherv, from, n, type, out, counts, places, type);
	CASE(ALLTOALL, MPI_Alltoall, from, n, type, out, n, type);
	CASE(ALLTOALLV, MPI_Alltoallv, from, counts, places, type, out, counts, places, type);
	CASE(ALLTOALLW, MPI_Alltoallw, from, counts, byte_places, types, out, counts, byte_places,
	     types);
	CASE(REDUCE, MPI_Reduce, from, out, n, MPI_INT, MPI_SUM, root);
	CASE(ALLREDUCE, MPI_Allreduce, from, out, n, MPI_INT, MPI_SUM);
	CASE(REDUCE_SCATTER, MPI_Reduce_scatter, from, out, counts, MPI_INT, MPI_SUM);
	CASE(REDUCE_SCATTER_BLOCK, MPI_Reduce_scatter_block, from, out, n, MPI_INT, MPI_SUM);
	CASE(SCAN, MPI_Scan, from, out, n, MPI_INT, MPI_SUM);
	CASE(EXSCAN, MPI_Exscan, from, out, n, MPI_INT, MPI_SUM);
	}
#undef CASE
}

/* The type of the elements: an integer, or one that has the size of SPREAD integers and skips one. */
static MPI_Datatype make_type(int is_derived)
{
	MPI_Datatype made, parts;

	if (is_derived) {
		MPI_Type_indexed(2, (int[]){ 1, 2 }, (int[]){ 0, 2 }, MPI_INT, &parts);
		MPI_Type_create_resized(parts, 0, SPREAD * sizeof(int), &made);
		MPI_Type_free(&parts);
	} else {
		MPI_Type_contiguous(1, MPI_INT, &made);
	}
	MPI_Type_commit(&made);
	return made;
}

static void fail(int operation, int round, int start, int word)
{
	fprintf(stderr, "rank %d, round %d: %s, root %d, %d elements: start %d gives %d in place of %d at "
	        "%d\n", rank, round, names[operation], root, n, start, to[word], expected[word], word);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void play(int round)
{
	int operation = draw(OPERATIONS), is_derived = draw(2), words;
	MPI_Request request;
	MPI_Datatype made;

	root = draw(size);
	n = draw(3) ? draw(40) : draw(MOST / SPREAD / size);
	made = type = make_type(is_derived);
	for (int i = 0; i < size; i++) {
		counts[i] = n;
		places[i] = i * n;
		byte_places[i] = i * n * (is_derived ? SPREAD : 1) * (int)sizeof(int);
		types[i] = type;
	}
	words = n * size * SPREAD;
	for (int i = 0; i < words; i++)
		from[i] = -1;
	perform(operation, to, &request);
	/* The operation keeps the type. The blocking calls have one like it. */
	MPI_Type_free(&made);
	type = make_type(is_derived);
	for (int i = 0; i < size; i++)
		types[i] = type;
	for (int start = 0; start < STARTS; start++) {
		for (int i = 0; i < words; i++) {
			from[i] = rank * 1000003 + round * 1009 + start * 31 + i;
			to[i] = expected[i] = operation == BCAST ? from[i] : -2;
		}
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		perform(operation, expected, NULL);
		for (int i = 0; i < words; i++)
			if (to[i] != expected[i])
				fail(operation, round, start, i);
	}
	MPI_Request_free(&request);
	MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	state = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > MOST_RANKS)
		MPI_Abort(MPI_COMM_WORLD, 1);
	from = malloc(MOST * sizeof(int));
	to = malloc(MOST * sizeof(int));
	expected = malloc(MOST * sizeof(int));
	for (int round = 0; round < rounds; round++)
		play(round);
	if (rank == 0)
		printf("persistent: %d rounds\n", rounds);
	MPI_Finalize();
	return 0;
}
