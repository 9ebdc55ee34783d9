/*
 * vertex_ring [ROUNDS]: a token goes around the nodes by Vertex's calls, and each adds its number.
 *
 *     tools/margay run -n 8 build/apps/vertex_ring.elf 100
 */
#include <stdio.h>
#include <stdlib.h>
#include <nx.h>
#include <vertex.h>

int main(int argc, char *argv[])
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, node, proc, host, dim;
	int size = (int)numnodes();
	long token = 0;

	whoami(&node, &proc, &host, &dim);
	for (int round = 0; round < rounds; round++) {
		int src = -1, type = round % VERTEX_TYPES;

		if (node != 0 && nread(&token, sizeof(token), &src, &type, NULL) < 0)
			break;
		token += node;
		if (nwrite(&token, sizeof(token), (node + 1) % size, type, NULL) < 0)
			break;
		src = -1;
		if (node == 0 && nread(&token, sizeof(token), &src, &type, NULL) < 0)
			break;
	}
	if (node == 0)
		printf("dimension %d: the token is %ld\n", dim, token);
	return 0;
}
