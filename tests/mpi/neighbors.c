/*
 * neighbors ROUNDS SEED: random graphs, in which ranks have other numbers of neighbours on one side
 * than on the other. Each rank sends to its neighbours, by the blocking, nonblocking and persistent
 * forms of MPI_Neighbor_alltoallw, as many integers as the edge and the round say.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 8, MOST = 40 };

static int rank, size;
static unsigned int state;

static int draw(int below)
{
	state = state * 1103515245u + 12345u;
	return (int)((state >> 8) % (unsigned int)below);
}

static int length(int from, int to, int round)
{
	return (from * 7 + to * 5 + round * 3) % MOST;
}

static int word(int from, int to, int round, int i)
{
	return from << 24 | to << 16 | (round & 0xff) << 8 | i;
}

struct side {
	int n, ranks[RANKS], counts[RANKS], words[RANKS][MOST];
	MPI_Aint places[RANKS];
	MPI_Datatype types[RANKS];
};

static void add(struct side *side, int other, int count)
{
	side->ranks[side->n] = other;
	side->counts[side->n] = count;
	side->places[side->n] = (char *)side->words[side->n] - (char *)side->words;
	side->types[side->n++] = MPI_INT;
}

static void exchange(int form, struct side *to, struct side *from, MPI_Comm graph)
{
	MPI_Request request;

	if (form == 0) {
		MPI_Neighbor_alltoallw(to->words, to->counts, to->places, to->types, from->words,
		                       from->counts, from->places, from->types, graph);
		return;
	}
	if (form == 1) {
		MPI_Ineighbor_alltoallw(to->words, to->counts, to->places, to->types, from->words,
		                        from->counts, from->places, from->types, graph, &request);
	} else {
		MPI_Neighbor_alltoallw_init(to->words, to->counts, to->places, to->types,
		                            from->words, from->counts, from->places, from->types,
		                            graph, MPI_INFO_NULL, &request);
		MPI_Start(&request);
	}
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (form == 2)
		MPI_Request_free(&request);
}

static void play(int round)
{
	static struct side to, from;
	MPI_Comm graph;

	to.n = from.n = 0;
	for (int a = 0; a < size; a++)
		for (int b = 0; b < size; b++) {
			if (draw(2))
				continue;
			if (a == rank)
				add(&to, b, length(a, b, round));
			if (b == rank)
				add(&from, a, length(a, b, round));
		}
	for (int n = 0; n < to.n; n++)
		for (int i = 0; i < to.counts[n]; i++)
			to.words[n][i] = word(rank, to.ranks[n], round, i);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, from.n, from.ranks, MPI_UNWEIGHTED, to.n,
	                               to.ranks, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
	exchange(round % 3, &to, &from, graph);
	for (int n = 0; n < from.n; n++)
		for (int i = 0; i < from.counts[n]; i++)
			if (from.words[n][i] != word(from.ranks[n], rank, round, i)) {
				fprintf(stderr, "round %d: %d to %d\n", round, from.ranks[n], rank);
				MPI_Abort(MPI_COMM_WORLD, 1);
			}
	MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	state = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > RANKS)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int round = 0; round < rounds; round++)
		play(round);
	if (rank == 0)
		printf("neighbors: %d rounds\n", rounds);
	MPI_Finalize();
	return 0;
}
