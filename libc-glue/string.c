/*
 * Memory and strings, eight bytes at a time, which suits an emulated processor. (It executes `rep
 * movs` element by element, and vectors through memory.) Reads never touch a word that has none of
 * the requested bytes. Replaces musl's functions.
 */
#include <stdint.h>
#include <string.h>

#define WEAK __attribute__((weak))      /* an application may have its own */

/* Words at any address, of objects of any type. */
typedef uint64_t __attribute__((may_alias, aligned(1))) word;
typedef uint32_t __attribute__((may_alias, aligned(1))) half;
typedef uint16_t __attribute__((may_alias, aligned(1))) quarter;

#define WORD   sizeof(word)
#define ONES   0x0101010101010101UL
#define HIGHS  0x8080808080808080UL

static inline uint64_t load(const void *from)
{
	return *(const word *)from;
}

static inline void store(void *to, uint64_t value)
{
	*(word *)to = value;
}

/* The lowest set bit marks the first zero byte. */
static inline uint64_t zero_bytes(uint64_t value)
{
	return (value - ONES) & ~value & HIGHS;
}

/* At most 16 bytes, all read before the first is written. */
static inline void copy_few(char *to, const char *from, size_t bytes)
{
	if (bytes >= 8) {
		uint64_t first = load(from), last = load(from + bytes - 8);

		store(to, first);
		store(to + bytes - 8, last);
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

/* 17 to 32 bytes, all read before the first is written. */
static inline void copy_some(char *to, const char *from, size_t bytes)
{
	uint64_t a = load(from), b = load(from + 8);
	uint64_t c = load(from + bytes - 16), d = load(from + bytes - 8);

	store(to, a);
	store(to + 8, b);
	store(to + bytes - 16, c);
	store(to + bytes - 8, d);
}

/*
 * 64 bytes, all read before the first is written. An emulated processor looks up pages in a table
 * where two of them may share an entry: the fewer alternations, the better.
 */
static inline void copy_64(char *to, const char *from)
{
	uint64_t a = load(from), b = load(from + 8), c = load(from + 16), d = load(from + 24);
	uint64_t e = load(from + 32), f = load(from + 40), g = load(from + 48), h = load(from + 56);

	store(to, a);
	store(to + 8, b);
	store(to + 16, c);
	store(to + 24, d);
	store(to + 32, e);
	store(to + 40, f);
	store(to + 48, g);
	store(to + 56, h);
}

/* At most 64 bytes, in any direction. */
static inline void copy_rest(char *to, const char *from, size_t bytes)
{
	if (bytes > 32) {
		uint64_t a = load(from), b = load(from + 8), c = load(from + 16), d = load(from + 24);
		size_t last = bytes - 32;
		uint64_t e = load(from + last), f = load(from + last + 8);
		uint64_t g = load(from + last + 16), h = load(from + last + 24);

		store(to, a);
		store(to + 8, b);
		store(to + 16, c);
		store(to + 24, d);
		store(to + last, e);
		store(to + last + 8, f);
		store(to + last + 16, g);
		store(to + last + 24, h);
	} else if (bytes > 16) {
		copy_some(to, from, bytes);
	} else {
		copy_few(to, from, bytes);
	}
}

/* Also for overlapping memory if `to` is below `from`. */
static inline void copy_up(char *to, const char *from, size_t bytes)
{
	for (; bytes > 64; bytes -= 64, to += 64, from += 64)
		copy_64(to, from);
	copy_rest(to, from, bytes);
}

static inline void copy_down(char *to, const char *from, size_t bytes)
{
	for (; bytes > 64; bytes -= 64)
		copy_64(to + bytes - 64, from + bytes - 64);
	copy_rest(to, from, bytes);
}

static inline void copy_32(char *to, const char *from)
{
	uint64_t a = load(from), b = load(from + 8), c = load(from + 16), d = load(from + 24);

	store(to, a);
	store(to + 8, b);
	store(to + 16, c);
	store(to + 24, d);
}

/* Without overlap, short pieces are copied by halves: with so few registers none must be saved,
 * which would cost as much as the copy. */
WEAK void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	char *next = to;
	const char *source = from;

	for (; bytes > 64; bytes -= 64, next += 64, source += 64)
		copy_64(next, source);
	if (bytes > 32) {
		copy_32(next, source);
		copy_32(next + bytes - 32, source + bytes - 32);
	} else {
		copy_rest(next, source, bytes);
	}
	return to;
}

WEAK void *memmove(void *to, const void *from, size_t bytes)
{
	if ((uintptr_t)to - (uintptr_t)from >= bytes)
		copy_up(to, from, bytes);
	else
		copy_down(to, from, bytes);
	return to;
}

WEAK void *memset(void *to, int byte, size_t bytes)
{
	uint64_t value = ONES * (unsigned char)byte;
	char *next = to, *end = next + bytes;

	if (bytes < 8) {
		while (next < end)
			*next++ = (char)byte;
		return to;
	}
	for (; end - next > 64; next += 64) {
		store(next, value);
		store(next + 8, value);
		store(next + 16, value);
		store(next + 24, value);
		store(next + 32, value);
		store(next + 40, value);
		store(next + 48, value);
		store(next + 56, value);
	}
	for (; end - next > 8; next += 8)
		store(next, value);
	store(end - 8, value);
	return to;
}

/* Compares two words as byte strings: the first byte is the lowest. */
static inline int order(uint64_t a, uint64_t b)
{
	return __builtin_bswap64(a) < __builtin_bswap64(b) ? -1 : 1;
}

WEAK int memcmp(const void *left, const void *right, size_t bytes)
{
	const unsigned char *a = left, *b = right;

	for (; bytes >= 32; bytes -= 32, a += 32, b += 32) {
		uint64_t a0 = load(a), a1 = load(a + 8), a2 = load(a + 16), a3 = load(a + 24);

		if ((a0 ^ load(b)) | (a1 ^ load(b + 8)) | (a2 ^ load(b + 16)) | (a3 ^ load(b + 24)))
			break;
	}
	for (; bytes >= 8; bytes -= 8, a += 8, b += 8)
		if (load(a) != load(b))
			return order(load(a), load(b));
	for (; bytes; bytes--, a++, b++)
		if (*a != *b)
			return *a - *b;
	return 0;
}

/* Whole words, by fours where all four are in one page. */
WEAK size_t strlen(const char *text)
{
	const char *next = (const char *)((uintptr_t)text & -WORD);
	uint64_t before = ((uintptr_t)text & 7) * 8;
	uint64_t ends = zero_bytes(load(next) | ((1UL << before) - 1));

	while (!ends && (uintptr_t)(next += WORD) % (4 * WORD))
		ends = zero_bytes(load(next));
	if (!ends) {
		while (!(zero_bytes(load(next)) | zero_bytes(load(next + 8)) |
			 zero_bytes(load(next + 16)) | zero_bytes(load(next + 24))))
			next += 4 * WORD;
		while (!(ends = zero_bytes(load(next))))
			next += WORD;
	}
	return (size_t)(next + __builtin_ctzl(ends) / 8 - text);
}

/* Bytes from here to the end of the page; the next one may not be mapped. */
static inline size_t in_page(const void *place)
{
	return 4096 - ((uintptr_t)place & 4095);
}

static inline size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Word by word as long as both stay in their pages, and then one byte at a time. */
static inline int compare(const char *left, const char *right, size_t bytes)
{
	const unsigned char *a = (const unsigned char *)left, *b = (const unsigned char *)right;

	while (bytes) {
		size_t words = least(bytes, least(in_page(a), in_page(b))) / WORD;

		bytes -= words * WORD;
		for (; words; words--, a += WORD, b += WORD) {
			uint64_t x = load(a), y = load(b), ends = zero_bytes(x);

			if (x == y && !ends)
				continue;
			if (x == y)
				return 0;
			if (!ends)
				return order(x, y);
			bytes += WORD;          /* the difference is in this word */
			break;
		}
		for (size_t few = least(bytes, WORD); few; few--, a++, b++, bytes--)
			if (*a != *b || !*a)
				return *a - *b;
	}
	return 0;
}

WEAK int strncmp(const char *left, const char *right, size_t bytes)
{
	return compare(left, right, bytes);
}

WEAK int strcmp(const char *left, const char *right)
{
	return compare(left, right, SIZE_MAX);
}
