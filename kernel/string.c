/*
 * The four memory functions that the compiler calls on its own, and string
 * comparison. Compiled without link-time optimisation (build.mk), because the
 * compiler finds out too late that it needs them. Any context.
 */
#include <stddef.h>
#include <stdint.h>
#include "string.h"

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	void *result = to;
	size_t words = bytes / 8, rest = bytes % 8;

	__asm__ volatile("rep movsq\n\tmov %3, %2\n\trep movsb"
	                 : "+D"(to), "+S"(from), "+c"(words) : "r"(rest) : "memory");
	return result;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	if ((uintptr_t)(t - f) >= bytes)
		return memcpy(to, from, bytes);
	while (bytes--)
		t[bytes] = f[bytes];
	return to;
}

void *memset(void *to, int value, size_t bytes)
{
	void *result = to;
	size_t words = bytes / 8, rest = bytes % 8;
	uint64_t pattern = (uint8_t)value * 0x0101010101010101UL;

	__asm__ volatile("rep stosq\n\tmov %2, %1\n\trep stosb"
	                 : "+D"(to), "+c"(words) : "r"(rest), "a"(pattern) : "memory");
	return result;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const uint8_t *x = a, *y = b;

	for (; bytes; bytes--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

size_t strlen(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (uint8_t)*a - (uint8_t)*b;
}
