/*
 * The fuzzer of messages: arbitrary messages, in any interleaving of begin,
 * data and end, against blocks that the engine itself has made. See fuzz.h.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_run(data, size, 0);
	return 0;
}
