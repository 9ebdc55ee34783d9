/*
 * Bytes that depend on a seed, for the test programs of the libraries.
 */
#ifndef TESTS_APPS_PATTERN_H
#define TESTS_APPS_PATTERN_H
#include <stddef.h>
#include <stdint.h>

static inline char pattern(uint32_t seed, size_t i)
{
	return (char)(seed * 31 + i * 7 + (i >> 8) * 13 + 1);
}

static inline void fill(char *bytes, size_t count, uint32_t seed)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = pattern(seed, i);
}

static inline int is_filled(const char *bytes, size_t count, uint32_t seed)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != pattern(seed, i))
			return 0;
	return 1;
}

#endif
