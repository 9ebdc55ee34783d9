/*
 * The fuzzer of blocks: every call on a block that a faulty neighbour changes between and during
 * calls. See fuzz.h.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_run(data, size, 1);
	return 0;
}
