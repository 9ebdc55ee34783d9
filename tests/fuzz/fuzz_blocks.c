/*
 * The fuzzer of blocks: every call against a block that a damaged neighbour
 * changes between the calls, and during them. See fuzz.h.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_run(data, size, 1);
	return 0;
}
