/*
 * Benchmark: bytes of a process block by its limits. Runs on the host, as the engine's layout is
 * the same there. One line per figure: NAME VALUE.
 *
 *   node_block_bytes       with the machine's limits, which every node has
 *   node_block_bytes_N     with N match entries and N descriptors, else the same
 */
#include <stdio.h>
#include "../../../net/portals/block.h"

int main(void)
{
	static const unsigned int entries[] = { 64, 1024, 4096, 16384, 65534 };
	struct block_limits limits = BLOCK_DEFAULT_LIMITS;

	printf("node_block_bytes %llu\n", (unsigned long long)block_bytes(&limits));
	for (unsigned int i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		limits.mes = limits.mds = entries[i];
		printf("node_block_bytes_%u %llu\n", entries[i],
		       (unsigned long long)block_bytes(&limits));
	}
	return 0;
}
