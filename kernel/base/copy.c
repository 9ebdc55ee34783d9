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

/* 32 bytes at 0, and 32 at `second`. All loads come before all stores, so they may overlap. */
static inline void copy_ends(uint8_t *to, const uint8_t *from, uint64_t second)
{
	const word *f = (const word *)from, *g = (const word *)(from + second);
	word *t = (word *)to, *u = (word *)(to + second);
	uint64_t a = f[0], b = f[1], c = f[2], d = f[3];
	uint64_t e = g[0], h = g[1], i = g[2], j = g[3];

	t[0] = a, t[1] = b, t[2] = c, t[3] = d;
	u[0] = e, u[1] = h, u[2] = i, u[3] = j;
}

static inline void copy_block(uint8_t *to, const uint8_t *from)
{
	copy_ends(to, from, BLOCK / 2);
}

/* At most 64 bytes: the first and the last 1, 2, 4, 8, 16 or 32, which may overlap. All loads come
 * before all stores. */
static inline void copy_rest(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	if (bytes >= 32) {
		copy_ends(to, from, bytes - 32);
	} else if (bytes >= 16) {
		const word *f = (const word *)from, *l = (const word *)(from + bytes - 16);
		word *t = (word *)to, *m = (word *)(to + bytes - 16);
		uint64_t a = f[0], b = f[1], c = l[0], d = l[1];

		t[0] = a, t[1] = b;
		m[0] = c, m[1] = d;
	} else if (bytes >= 8) {
		uint64_t first = *(const word *)from, last = *(const word *)(from + bytes - 8);

		*(word *)to = first;
		*(word *)(to + bytes - 8) = last;
	} else if (bytes >= 4) {
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

	for (; bytes > BLOCK; bytes -= BLOCK, t += BLOCK, f += BLOCK)
		copy_block(t, f);
	copy_rest(t, f, bytes);
}

void port_move(void *to, const void *from, uint64_t bytes)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	/* A short move has no direction: copy_rest loads everything first. Copying forwards is right
	 * unless the target begins inside the source. */
	if (bytes > BLOCK && (uint64_t)(t - f) >= bytes) {
		port_copy(to, from, bytes);
		return;
	}
	for (; bytes > BLOCK; bytes -= BLOCK)
		copy_block(t + bytes - BLOCK, f + bytes - BLOCK);
	copy_rest(t, f, bytes);
}
