/*
 * The smallest parallel program: every rank prints its number.
 *
 *     tools/margay run -n 4 build/apps/hello.elf
 *
 * It needs no messages, so it opens no interface.
 */
#include <margay.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char node[64];

	gethostname(node, sizeof node);
	printf("hello from rank %d of %d on %s\n", margay_rank(), margay_size(), node);
	for (int i = 1; i < argc; i++)
		printf("argument %d: %s\n", i, argv[i]);
	return 0;
}
