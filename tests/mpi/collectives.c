/*
 * collectives ROUNDS SEED MOST: every collective call of MPI 4.0 within a communicator, with random
 * sizes, roots and operations, against a serial model.
 *
 * All ranks draw the same random numbers, and each element is a function of the call, its source
 * and target rank, and its index, so each rank knows what it must receive. A third of the calls
 * are nonblocking, a third persistent; some calls work in place. Calls with displacements have gaps
 * between their blocks, which must not change. At most MOST elements go from one rank to another.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENT MPI_UINT64_T
#define GAP     UINT64_C(0x6170616761706167)
#define SIZES   (1L << 27)          /* an index beyond all elements, for drawing sizes */

/* A call, or its nonblocking or its persistent form and a wait. */
#define CALL(name, nonblocking, ...) do { \
	MPI_Request request_; \
	what = #name; \
	switch (draw(3)) { \
	case 0: \
		MPI_##name(__VA_ARGS__); \
		break; \
	case 1: \
		MPI_##nonblocking(__VA_ARGS__, &request_); \
		MPI_Wait(&request_, MPI_STATUS_IGNORE); \
		break; \
	default: \
		MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_); \
		MPI_Start(&request_); \
		MPI_Wait(&request_, MPI_STATUS_IGNORE); \
		MPI_Request_free(&request_); \
	} \
} while (0)

static int rank, size, most, round_now;
static const char *what;            /* name of the current call */
static uint64_t shared;             /* state of the random numbers that all ranks draw */
static uint64_t call;               /* changes with each call */
static uint64_t *out, *in;          /* buffers for the largest call */
static int *counts, *firsts, *counts2, *firsts2;
static MPI_Datatype *types;         /* all of them ELEMENT */

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static int draw(int bound)
{
	return (shared = mix(shared)) % bound;
}

/* A random size: mostly a few elements, sometimes many. */
static int draw_count(void)
{
	return draw(draw(4) ? 9 : most + 1);
}

static uint64_t value(int from, int to, long i)
{
	return mix(call + ((uint64_t)from << 44 | (uint64_t)to << 28 | i));
}

static void check(long i, uint64_t wanted)
{
	if (in[i] == wanted)
		return;
	fprintf(stderr, "rank %d: round %d, %s: element %ld is %llx, not %llx\n", rank, round_now,
		what, i, (unsigned long long)in[i], (unsigned long long)wanted);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Check elements [first, first + count) of the block from `from` for `to`; the values' own index
 * starts at 0. */
static void check_block(long first, int count, int from, int to)
{
	for (int i = 0; i < count; i++)
		check(first + i, value(from, to, i));
}

/* Before each call: new values, this rank's data for `to`, and an empty input buffer. */
static void begin(long elements)
{
	call = mix(call);
	for (long i = 0; i < elements; i++)
		in[i] = GAP;
}

static void fill(long first, int count, int to)
{
	for (int i = 0; i < count; i++)
		out[first + i] = value(rank, to, i);
}

/* The buffer to send from: `out`, or MPI_IN_PLACE, with its elements in the input buffer. */
static const void *send_buffer(long elements)
{
	if (draw(2))
		return out;
	memcpy(in, out, elements * sizeof *in);
	return MPI_IN_PLACE;
}

/* ---- one to all, all to one ---- */

static void bcast(void)
{
	int n = draw_count(), root = draw(size);

	begin(n);
	for (int i = 0; i < n && rank == root; i++)
		in[i] = value(root, 0, i);
	CALL(Bcast, Ibcast, in, n, ELEMENT, root, MPI_COMM_WORLD);
	check_block(0, n, root, 0);
}

static void gather(void)
{
	int n = draw_count(), root = draw(size);

	begin((long)n * size);
	fill(0, n, root);
	CALL(Gather, Igather, out, n, ELEMENT, in, n, ELEMENT, root, MPI_COMM_WORLD);
	for (int r = 0; r < size && rank == root; r++)
		check_block((long)n * r, n, r, root);
}

static void scatter(void)
{
	int n = draw_count(), root = draw(size);

	begin(n);
	for (int r = 0; r < size && rank == root; r++)
		fill((long)n * r, n, r);
	CALL(Scatter, Iscatter, out, n, ELEMENT, in, n, ELEMENT, root, MPI_COMM_WORLD);
	check_block(0, n, root, rank);
}

/* Blocks of random sizes, each followed by a gap of random size. Returns their end. */
static long draw_blocks(void)
{
	long end = 0;

	for (int r = 0; r < size; r++) {
		counts[r] = draw_count();
		firsts[r] = end;
		end += counts[r] + draw(3);
	}
	return end;
}

static void check_gaps(long end)
{
	for (int r = 0; r < size; r++)
		for (long i = firsts[r] + counts[r]; i < (r + 1 < size ? firsts[r + 1] : end); i++)
			check(i, GAP);
}

static void gatherv(void)
{
	int root = draw(size);
	long end = draw_blocks();

	begin(end);
	fill(0, counts[rank], root);
	CALL(Gatherv, Igatherv, out, counts[rank], ELEMENT, in, counts, firsts, ELEMENT, root,
	     MPI_COMM_WORLD);
	for (int r = 0; r < size && rank == root; r++)
		check_block(firsts[r], counts[r], r, root);
	check_gaps(end);
}

static void scatterv(void)
{
	int root = draw(size);

	draw_blocks();
	begin(counts[rank] + 1);
	for (int r = 0; r < size; r++)
		fill(firsts[r], counts[r], r);
	CALL(Scatterv, Iscatterv, out, counts, firsts, ELEMENT, in, counts[rank], ELEMENT, root,
	     MPI_COMM_WORLD);
	check_block(0, counts[rank], root, rank);
	check(counts[rank], GAP);
}

/* ---- all to all ---- */

static void allgather(void)
{
	int n = draw_count();

	begin((long)n * size);
	fill(0, n, 0);
	CALL(Allgather, Iallgather, out, n, ELEMENT, in, n, ELEMENT, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_block((long)n * r, n, r, 0);
}

static void allgatherv(void)
{
	long end = draw_blocks();

	begin(end);
	fill(0, counts[rank], 0);
	CALL(Allgatherv, Iallgatherv, out, counts[rank], ELEMENT, in, counts, firsts, ELEMENT,
	     MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_block(firsts[r], counts[r], r, 0);
	check_gaps(end);
}

static void alltoall(void)
{
	int n = draw_count();
	const void *from;

	begin((long)n * size);
	for (int r = 0; r < size; r++)
		fill((long)n * r, n, r);
	from = send_buffer((long)n * size);
	CALL(Alltoall, Ialltoall, from, n, ELEMENT, in, n, ELEMENT, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_block((long)n * r, n, r, rank);
}

/* Each pair of ranks has its own size. Alltoallw's displacements are in bytes. */
static void alltoallv(int unit)
{
	long to_end = 0, from_end = 0;
	int bound = draw_count() + 1;

	call = mix(call);
	for (int r = 0; r < size; r++) {
		counts[r] = value(rank, r, SIZES) % bound;
		firsts[r] = to_end * unit;
		fill(to_end, counts[r], r);
		to_end += counts[r];
		counts2[r] = value(r, rank, SIZES) % bound;
		firsts2[r] = from_end * unit;
		from_end += counts2[r];
	}
	for (long i = 0; i < from_end; i++)
		in[i] = GAP;
	if (unit == 1)
		CALL(Alltoallv, Ialltoallv, out, counts, firsts, ELEMENT, in, counts2, firsts2,
		     ELEMENT, MPI_COMM_WORLD);
	else
		CALL(Alltoallw, Ialltoallw, out, counts, firsts, types, in, counts2, firsts2, types,
		     MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_block(firsts2[r] / unit, counts2[r], r, rank);
}

/* ---- reductions ---- */

/* x -> a x + b, with a and b in the halves of an element: composition is not commutative. */
static uint64_t join(uint64_t first, uint64_t then)
{
	uint32_t a = first >> 32, b = first, c = then >> 32, d = then;

	return (uint64_t)(uint32_t)(c * a) << 32 | (uint32_t)(c * b + d);
}

static void join_all(void *from, void *to, int *length, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *length; i++)
		((uint64_t *)to)[i] = join(((uint64_t *)from)[i], ((uint64_t *)to)[i]);
}

static uint64_t sum(uint64_t x, uint64_t y) { return x + y; }
static uint64_t largest(uint64_t x, uint64_t y) { return x > y ? x : y; }
static uint64_t parity(uint64_t x, uint64_t y) { return x ^ y; }

static struct {
	MPI_Op op;
	uint64_t (*model)(uint64_t, uint64_t);
} operations[] = { { 0, join }, { MPI_SUM, sum }, { MPI_MAX, largest }, { MPI_BXOR, parity } };

/* The reduction over ranks 0 to last of element i for `to`. */
static uint64_t reduced(int o, int last, int to, long i)
{
	uint64_t result = value(0, to, i);

	for (int r = 1; r <= last; r++)
		result = operations[o].model(result, value(r, to, i));
	return result;
}

static void check_reduced(long n, int o, int last, int to)
{
	for (long i = 0; i < n; i++)
		check(i, reduced(o, last, to, i));
}

static void reduce(void)
{
	int n = draw_count(), root = draw(size), o = draw(4);

	begin(n);
	fill(0, n, 0);
	CALL(Reduce, Ireduce, out, in, n, ELEMENT, operations[o].op, root, MPI_COMM_WORLD);
	if (rank == root)
		check_reduced(n, o, size - 1, 0);
}

static void allreduce(void)
{
	int n = draw_count(), o = draw(4);
	const void *from;

	begin(n);
	fill(0, n, 0);
	from = send_buffer(n);
	CALL(Allreduce, Iallreduce, from, in, n, ELEMENT, operations[o].op, MPI_COMM_WORLD);
	check_reduced(n, o, size - 1, 0);
}

static void reduce_scatter(void)
{
	int o = draw(4);
	long place = 0;

	draw_blocks();
	begin(counts[rank] + 1);
	for (int r = 0; r < size; place += counts[r++])
		fill(place, counts[r], r);
	CALL(Reduce_scatter, Ireduce_scatter, out, in, counts, ELEMENT, operations[o].op,
	     MPI_COMM_WORLD);
	check_reduced(counts[rank], o, size - 1, rank);
	check(counts[rank], GAP);
}

static void reduce_scatter_block(void)
{
	int n = draw_count(), o = draw(4);
	const void *from;

	begin(n);
	for (int r = 0; r < size; r++)
		fill((long)n * r, n, r);
	from = send_buffer((long)n * size);
	CALL(Reduce_scatter_block, Ireduce_scatter_block, from, in, n, ELEMENT, operations[o].op,
	     MPI_COMM_WORLD);
	check_reduced(n, o, size - 1, rank);
}

static void scan(void)
{
	int n = draw_count(), o = draw(4);
	const void *from;

	begin(n);
	fill(0, n, 0);
	from = send_buffer(n);
	CALL(Scan, Iscan, from, in, n, ELEMENT, operations[o].op, MPI_COMM_WORLD);
	check_reduced(n, o, rank, 0);
}

static void exscan(void)
{
	int n = draw_count(), o = draw(4);
	const void *from;

	begin(n);
	fill(0, n, 0);
	from = send_buffer(n);
	CALL(Exscan, Iexscan, from, in, n, ELEMENT, operations[o].op, MPI_COMM_WORLD);
	if (rank > 0)
		check_reduced(n, o, rank - 1, 0);
}

/* ---- neighbours, and barriers ---- */

enum { NEIGHBOURS = 4 };            /* at most: this rank and adjacent ones */

static MPI_Comm around;
static int degree, source[NEIGHBOURS], target[NEIGHBOURS];

static void create_neighbours(void)
{
	degree = size < NEIGHBOURS ? size : NEIGHBOURS;
	for (int i = 0; i < degree; i++) {
		source[i] = (rank - i + size) % size;
		target[i] = (rank + i) % size;
	}
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, source, MPI_UNWEIGHTED, degree,
				       target, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &around);
}

static void neighbor_allgather(void)
{
	int n = draw_count();

	begin((long)n * degree);
	fill(0, n, 0);
	CALL(Neighbor_allgather, Ineighbor_allgather, out, n, ELEMENT, in, n, ELEMENT, around);
	for (int i = 0; i < degree; i++)
		check_block((long)n * i, n, source[i], 0);
}

static void neighbor_allgatherv(void)
{
	long end = draw_blocks();

	begin(end);
	fill(0, counts[rank], 0);
	for (int i = 0; i < degree; i++) {
		counts2[i] = counts[source[i]];
		firsts2[i] = firsts[source[i]];
	}
	CALL(Neighbor_allgatherv, Ineighbor_allgatherv, out, counts[rank], ELEMENT, in, counts2,
	     firsts2, ELEMENT, around);
	for (int i = 0; i < degree; i++)
		check_block(firsts2[i], counts2[i], source[i], 0);
}

static void neighbor_alltoall(void)
{
	int n = draw_count();

	begin((long)n * degree);
	for (int i = 0; i < degree; i++)
		fill((long)n * i, n, target[i]);
	CALL(Neighbor_alltoall, Ineighbor_alltoall, out, n, ELEMENT, in, n, ELEMENT, around);
	for (int i = 0; i < degree; i++)
		check_block((long)n * i, n, source[i], rank);
}

/* Like alltoallv(), with the sizes that draw_blocks() draws for the senders. */
static void neighbor_alltoallv(int in_bytes)
{
	MPI_Aint to[NEIGHBOURS], from[NEIGHBOURS];
	long end = 0;

	draw_blocks();
	for (int i = 0; i < degree; i++) {
		counts2[i] = counts[source[i]];
		firsts2[i] = end;
		from[i] = end * (long)sizeof *in;
		end += counts2[i] + 1;
	}
	begin(end);
	for (int i = 0; i < degree; i++) {
		firsts[i] = i * counts[rank];
		to[i] = firsts[i] * (long)sizeof *out;
		fill(firsts[i], counts[rank], target[i]);
	}
	for (int i = 0, mine = counts[rank]; i < degree; i++)
		counts[i] = mine;
	if (in_bytes)
		CALL(Neighbor_alltoallw, Ineighbor_alltoallw, out, counts, to, types, in, counts2,
		     from, types, around);
	else
		CALL(Neighbor_alltoallv, Ineighbor_alltoallv, out, counts, firsts, ELEMENT, in,
		     counts2, firsts2, ELEMENT,
		     around);
	for (int i = 0; i < degree; i++) {
		check_block(firsts2[i], counts2[i], source[i], rank);
		check(firsts2[i] + counts2[i], GAP);
	}
}

enum { FORMS = 3 };                 /* blocking, nonblocking, persistent */

/* A window of a number at rank 0, to which each rank adds 1 before a barrier. */
static MPI_Win window;

/* A rank that leaves a barrier sees that all have entered it. */
static void barrier(int form)
{
	MPI_Request request;
	uint64_t one = 1;

	begin(1);
	what = "Barrier";
	MPI_Win_lock_all(0, window);
	MPI_Accumulate(&one, 1, ELEMENT, 0, 0, 1, ELEMENT, MPI_SUM, window);
	MPI_Win_flush(0, window);
	switch (form) {
	case 0:
		MPI_Barrier(MPI_COMM_WORLD);
		break;
	case 1:
		MPI_Ibarrier(MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		break;
	default:
		MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Request_free(&request);
	}
	MPI_Fetch_and_op(NULL, in, ELEMENT, 0, 0, MPI_NO_OP, window);
	MPI_Win_unlock_all(window);
	check(0, (uint64_t)(round_now * FORMS + form + 1) * size);
	MPI_Barrier(MPI_COMM_WORLD);        /* only now the next barrier's may add */
}

static void play_round(void)
{
	for (int form = 0; form < FORMS; form++)
		barrier(form);
	bcast();
	gather();
	gatherv();
	scatter();
	scatterv();
	allgather();
	allgatherv();
	alltoall();
	alltoallv(1);
	alltoallv(sizeof *in);
	reduce();
	allreduce();
	reduce_scatter();
	reduce_scatter_block();
	scan();
	exscan();
	neighbor_allgather();
	neighbor_allgatherv();
	neighbor_alltoall();
	neighbor_alltoallv(0);
	neighbor_alltoallv(1);
}

static void *allocate(size_t number, size_t bytes)
{
	void *memory = calloc(number, bytes);

	if (!memory) {
		fprintf(stderr, "collectives: no memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return memory;
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[1]) : 0;
	uint64_t *number;
	size_t room;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rounds < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	shared = call = mix(strtoull(argv[2], NULL, 0));
	most = atoi(argv[3]);
	room = (size_t)(most + 12) * size;
	out = allocate(room, sizeof *out);
	in = allocate(room, sizeof *in);
	counts = allocate(size, sizeof *counts);
	firsts = allocate(size, sizeof *firsts);
	counts2 = allocate(size, sizeof *counts2);
	firsts2 = allocate(size, sizeof *firsts2);
	types = allocate(size, sizeof *types);
	for (int r = 0; r < size; r++)
		types[r] = ELEMENT;
	MPI_Op_create(join_all, 0, &operations[0].op);
	create_neighbours();
	MPI_Win_allocate(sizeof *number, sizeof *number, MPI_INFO_NULL, MPI_COMM_WORLD, &number,
			 &window);
	*number = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	for (round_now = 0; round_now < rounds; round_now++)
		play_round();
	MPI_Win_free(&window);
	MPI_Comm_free(&around);
	MPI_Op_free(&operations[0].op);
	if (rank == 0)
		printf("collectives: %d rounds\n", rounds);
	MPI_Finalize();
	return 0;
}
