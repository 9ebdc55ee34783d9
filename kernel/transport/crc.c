/*
 * The checksum of frames (net/port.h), by the processor's instruction if it has one. Called by the
 * link for every frame. No data.
 */
#include "kernel/cpu/cpu.h"
#include "net/link/wire.h"
#include "net/port.h"

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

static inline uint64_t add(uint64_t sum, const uint8_t *bytes)
{
	__asm__("crc32q %1, %0" : "+r"(sum) : "rm"(*(const word *)bytes));
	return sum;
}

static inline uint64_t add_four(uint64_t sum, const uint8_t *bytes)
{
	return add(add(add(add(sum, bytes), bytes + 8), bytes + 16), bytes + 24);
}

static uint32_t by_instruction(uint32_t crc, const uint8_t *bytes, uint64_t n)
{
	uint64_t sum = (uint32_t)~crc;

	for (; n >= 64; n -= 64, bytes += 64)
		sum = add_four(add_four(sum, bytes), bytes + 32);
	if (n >= 32) {
		sum = add_four(sum, bytes);
		n -= 32;
		bytes += 32;
	}
	for (; n >= 8; n -= 8, bytes += 8)
		sum = add(sum, bytes);
	for (; n; n--, bytes++)
		__asm__("crc32b %1, %0" : "+r"(sum) : "rm"(*bytes));
	return ~(uint32_t)sum;
}

uint32_t port_crc32c(uint32_t crc, const void *bytes, uint64_t n)
{
	if (__builtin_expect(!cpu_has_crc32, 0))
		return wire_crc32c(crc, bytes, n);
	return by_instruction(crc, bytes, n);
}
