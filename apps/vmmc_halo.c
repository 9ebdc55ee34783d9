/*
 * vmmc_halo [STEPS]: heat along a rod. Each rank has a piece of it and sends its ends to its
 * neighbours by virtual memory-mapped communication (lib/vmmc).
 *
 *     tools/margay run -n 4 build/apps/vmmc_halo.elf 2000
 *
 * Each rank exports two cells next to its piece, only to its neighbours, which write their edge
 * values straight into them. The number of the step follows each value in a second message, which
 * is delivered later: the receiver waits for that word, and makes no other call. There are two sets
 * of cells, for even and odd steps, as a neighbour is at most one step ahead.
 */
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <vmmc.h>

enum { CELLS = 64, LEFT = 0, RIGHT = 1 };

/* What a neighbour writes: the value first. */
struct edge {
	double value;
	uint32_t step, unused;
};

static struct edge edges[2][2];            /* [side][step % 2]: exported */
static double cells[2][CELLS];

static void check(int result, const char *what)
{
	if (result == VMMC_OK)
		return;
	fprintf(stderr, "halo: %s: %s\n", what, vmmc_error(result));
	exit(1);
}

/* The neighbour's value of this step. */
static double edge_of(int side, int neighbour, uint32_t step)
{
	struct edge *edge = &edges[side][step % 2];
	volatile uint32_t *word = &edge->step;
	uint32_t seen;

	while ((seen = *word) != step)
		check(vmmc_wait(word, seen, neighbour, -1), "vmmc_wait");
	return edge->value;
}

/* Writes this rank's value into the neighbour's cell at `side` of it. */
static void tell(vmmc_proxy_t proxy, int side, double value, uint32_t step)
{
	vmmc_proxy_t at = proxy + ((uint64_t)side * 2 + step % 2) * sizeof(struct edge);

	check(SendMsg(&value, at + offsetof(struct edge, value), sizeof value), "SendMsg");
	check(SendMsg(&step, at + offsetof(struct edge, step), sizeof step), "SendMsg");
}

int main(int argc, char **argv)
{
	uint32_t steps = argc > 1 ? (uint32_t)atoi(argv[1]) : 2000;
	int rank, size, neighbours[2], count = 0, admitted[2];
	vmmc_proxy_t proxies[2];
	vmmc_export_t exported;
	double sum = 0;

	check(vmmc_init(), "vmmc_init");
	rank = margay_rank();
	size = margay_size();
	neighbours[LEFT] = rank - 1;
	neighbours[RIGHT] = rank + 1 < size ? rank + 1 : -1;
	for (int side = LEFT; side <= RIGHT; side++)
		if (neighbours[side] >= 0)
			admitted[count++] = neighbours[side];
	check(vmmc_export("edges", edges, sizeof edges, admitted, count, 0, NULL, NULL, &exported),
	      "vmmc_export");
	for (int side = LEFT; side <= RIGHT; side++)
		if (neighbours[side] >= 0)
			check(vmmc_import(neighbours[side], "edges", -1, &proxies[side], NULL),
			      "vmmc_import");
	if (rank == 0)
		cells[0][0] = 1000;
	for (uint32_t step = 1; step <= steps; step++) {
		const double *old = cells[(step - 1) % 2];
		double *new = cells[step % 2], beside[2] = { old[0], old[CELLS - 1] };

		for (int side = LEFT; side <= RIGHT; side++) {
			if (neighbours[side] >= 0)
				tell(proxies[side], !side, beside[side], step);
		}
		for (int side = LEFT; side <= RIGHT; side++)
			if (neighbours[side] >= 0)
				beside[side] = edge_of(side, neighbours[side], step);
		for (int i = 0; i < CELLS; i++) {
			double left = i > 0 ? old[i - 1] : beside[LEFT];
			double right = i < CELLS - 1 ? old[i + 1] : beside[RIGHT];

			new[i] = old[i] + 0.25 * (left - 2 * old[i] + right);
		}
	}
	for (int i = 0; i < CELLS; i++)
		sum += cells[steps % 2][i];
	printf("heat %.6f, first cell %.6f\n", sum, cells[steps % 2][0]);
	check(vmmc_barrier(), "vmmc_barrier");
	check(vmmc_fini(), "vmmc_fini");
	return 0;
}
