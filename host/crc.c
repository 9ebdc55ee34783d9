/*
 * The checksum of frames for Linux, with the processor's instruction if it has one. See net/port.h.
 * Called by the link for every frame.
 */
#include <string.h>
#include "../net/link/wire.h"
#include "../net/port.h"

#ifdef __x86_64__
static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

__attribute__((target("sse4.2")))
static uint32_t with_instruction(uint32_t crc, const uint8_t *bytes, uint64_t n)
{
	uint64_t sum = (uint32_t)~crc;

	for (; n >= 64; n -= 64, bytes += 64)
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			sum = __builtin_ia32_crc32di(sum, word_at(bytes + 8 * i));
	for (; n >= 8; n -= 8, bytes += 8)
		sum = __builtin_ia32_crc32di(sum, word_at(bytes));
	while (n--)
		sum = __builtin_ia32_crc32qi((uint32_t)sum, *bytes++);
	return ~(uint32_t)sum;
}

uint32_t port_crc32c(uint32_t crc, const void *bytes, uint64_t n)
{
	if (!__builtin_cpu_supports("sse4.2"))
		return wire_crc32c(crc, bytes, n);
	return with_instruction(crc, bytes, n);
}
#else
uint32_t port_crc32c(uint32_t crc, const void *bytes, uint64_t n)
{
	return wire_crc32c(crc, bytes, n);
}
#endif
