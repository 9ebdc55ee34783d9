/*
 * The copy routines of the message path (net/port.h), in integer registers:
 * the kernel is compiled without vector registers, and eight loads followed by
 * eight stores are the fastest form under emulation, where SSE and AVX are
 * function calls (docs/measurements.md). They run at the speed of the cache on
 * a real processor. Any context; never faults: ranges are checked before.
 */
#include <stdint.h>

#include "net/port.h"

#define BLOCK 64u

/* Unaligned access to 8 bytes of any type. */
typedef uint64_t __attribute__((may_alias, aligned(1))) word;
typedef uint32_t __attribute__((may_alias, aligned(1))) half;
typedef uint16_t __attribute__((may_alias, aligned(1))) quarter;

/* All loads come before all stores, so overlap within one block is harmless. */
static inline void copy_block(uint8_t *to, const uint8_t *from)
{
	const word *f = (const word *)from;
	word *t = (word *)to;
	uint64_t a = f[0], b = f[1], c = f[2], d = f[3];
	uint64_t e = f[4], g = f[5], h = f[6], i = f[7];

	t[0] = a, t[1] = b, t[2] = c, t[3] = d;
	t[4] = e, t[5] = g, t[6] = h, t[7] = i;
}

/* Fewer than 8 bytes, by two overlapping accesses: all loads before all stores. */
static inline void copy_few(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	if (bytes >= 4) {
		uint32_t first = *(const half *)from, last = *(const half *)(from + bytes - 4);

		*(half *)to = first;
		*(half *)(to + bytes - 4) = last;
	} else if (bytes >= 2) {
		uint16_t first = *(const quarter *)from;
		uint16_t last = *(const quarter *)(from + bytes - 2);

		*(quarter *)to = first;
		*(quarter *)(to + bytes - 2) = last;
	} else if (bytes) {
		*to = *from;
	}
}

void port_copy(void *to, const void *from, uint64_t bytes)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	for (; bytes >= BLOCK; bytes -= BLOCK, t += BLOCK, f += BLOCK)
		copy_block(t, f);
	for (; bytes >= 8; bytes -= 8, t += 8, f += 8)
		*(word *)t = *(const word *)f;
	copy_few(t, f, bytes);
}

void port_move(void *to, const void *from, uint64_t bytes)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	/* Copying forwards is right unless the target begins inside the source. */
	if ((uint64_t)(t - f) >= bytes) {
		port_copy(to, from, bytes);
		return;
	}
	for (; bytes >= BLOCK; bytes -= BLOCK)
		copy_block(t + bytes - BLOCK, f + bytes - BLOCK);
	for (; bytes >= 8; bytes -= 8)
		*(word *)(t + bytes - 8) = *(const word *)(f + bytes - 8);
	copy_few(t, f, bytes);
}
