/*
 * The checksum of frames for Linux: with the processor's instruction where it
 * has one. See net/port.h. Called by the link for every frame.
 */
#include <string.h>
#include "../net/link/wire.h"
#include "../net/port.h"

#ifdef __x86_64__
__attribute__((target("sse4.2")))
static uint32_t with_instruction(uint32_t crc, const uint8_t *bytes, uint64_t n)
{
	uint64_t sum = (uint32_t)~crc, word;

	for (; n >= 8; n -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		sum = __builtin_ia32_crc32di(sum, word);
	}
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
