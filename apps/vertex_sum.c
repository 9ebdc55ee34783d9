/*
 * vertex_sum [COUNT]: adds the numbers from 0 to COUNT - 1 on all nodes, by Vertex's calls. The nodes
 * form a cube. In step d a node exchanges partial sums with the neighbour along dimension d. Nodes
 * beyond the largest cube first send their sums to a node of it, and get the result at the end.
 *
 *     tools/margay run -n 8 build/apps/vertex_sum.elf 1000000
 */
#include <stdio.h>
#include <stdlib.h>
#include <nx.h>
#include <vertex.h>

enum { GIVE = 100, RESULT = 101 };      /* types; step d has type d */

static int failed;

static void send(const double *sum, int node, int type)
{
	failed |= nwrite(sum, sizeof(*sum), node, type, NULL) < 0;
}

static double receive(int node, int type)
{
	double sum = 0;

	failed |= nread(&sum, sizeof(sum), &node, &type, NULL) != sizeof(sum);
	return sum;
}

int main(int argc, char *argv[])
{
	long count = argc > 1 ? atol(argv[1]) : 1000;
	int node, proc, host, dim, size = (int)numnodes(), cube = 1;
	double sum = 0;

	whoami(&node, &proc, &host, &dim);
	if (count < 1)
		return fprintf(stderr, "usage: vertex_sum [COUNT]\n"), 2;
	for (long i = node; i < count; i += size)
		sum += (double)i;
	while (2 * cube <= size)
		cube *= 2;
	if (node >= cube) {
		send(&sum, node - cube, GIVE);
		sum = receive(node - cube, RESULT);
	} else {
		if (node + cube < size)
			sum += receive(node + cube, GIVE);
		for (int d = 0; 1 << d < cube; d++) {
			send(&sum, node ^ 1 << d, d);
			sum += receive(node ^ 1 << d, d);
		}
		if (node + cube < size)
			send(&sum, node + cube, RESULT);
	}
	printf("node %d of a cube of dimension %d: %.0f\n", node, dim, sum);
	return failed;
}
