/*
 * The copy routines of the message path (net/port.h), in integer registers:
 * the kernel is compiled without vector registers, and eight loads followed by
 * eight stores are the fastest form under emulation, where SSE and AVX are
 * function calls (docs/measurements.md). They run at the speed of the cache on
 * a real processor. Long copies write eight cache lines in turns, as the target
 * is often in another processor's cache. Any context; never faults: ranges are
 * checked before.
 */
#include <stdint.h>

#include "net/port.h"

#define BLOCK 64u               /* a cache line, if the target is aligned */
#define TURNS 8u                /* blocks that are written in turns */

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

/* One word of each of TURNS blocks. */
static inline void copy_turn(uint8_t *to, const uint8_t *from)
{
	const word *f = (const word *)from;
	word *t = (word *)to;
	uint64_t a = f[0], b = f[8], c = f[16], d = f[24];
	uint64_t e = f[32], h = f[40], i = f[48], j = f[56];

	t[0] = a, t[8] = b, t[16] = c, t[24] = d;
	t[32] = e, t[40] = h, t[48] = i, t[56] = j;
}

/* Also right if the target begins before the source and overlaps it. */
static inline void copy_forwards(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	for (; bytes > BLOCK; bytes -= BLOCK, to += BLOCK, from += BLOCK)
		copy_block(to, from);
	copy_rest(to, from, bytes);
}

/* The receiver has often read what the target held before. Then the lines are in its processor's
 * cache. The first turn asks for eight of them at once, so that their transfers overlap
 * (docs/measurements.md, "Lines in another processor's cache"). linker.ld puts this function at the
 * beginning of a page, as the emulator looks up each jump to another one. */
__attribute__((noinline))
static void copy_long(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	do {
#pragma GCC unroll 8
		for (unsigned int at = 0; at < BLOCK; at += sizeof(word))
			copy_turn(to + at, from + at);
		to += TURNS * BLOCK;
		from += TURNS * BLOCK;
		bytes -= TURNS * BLOCK;
	} while (bytes > TURNS * BLOCK);
	copy_forwards(to, from, bytes);
}

void port_copy(void *to, const void *from, uint64_t bytes)
{
	if (bytes > TURNS * BLOCK)
		copy_long(to, from, bytes);
	else
		copy_forwards(to, from, bytes);
}

void port_move(void *to, const void *from, uint64_t bytes)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	/* A short move has no direction: copy_rest loads everything first. Copying forwards is right
	 * unless the target begins inside the source. */
	if (bytes > BLOCK && (uint64_t)(t - f) >= bytes) {
		copy_forwards(t, f, bytes);
		return;
	}
	for (; bytes > BLOCK; bytes -= BLOCK)
		copy_block(t + bytes - BLOCK, f + bytes - BLOCK);
	copy_rest(t, f, bytes);
}
