/*
 * Shared by the test programs of Madeleine, which use only Madeleine, so that they run on MPI as
 * well. Included by tests/lib/madeleine/ only.
 */
#ifndef TESTS_LIB_MAD_TEST_H
#define TESTS_LIB_MAD_TEST_H
#include <madeleine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, nodes;

#define CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, me, \
			#condition); \
		exit(1); \
	} \
} while (0)

#define EQUAL(value, wanted) do { \
	long long value_ = (long long)(value), wanted_ = (long long)(wanted); \
	if (value_ != wanted_) { \
		fprintf(stderr, "%s:%d: rank %d: %s is %lld, wanted %s = %lld\n", __FILE__, \
			__LINE__, me, #value, value_, #wanted, wanted_); \
		exit(1); \
	} \
} while (0)

static inline char pattern(unsigned int seed, size_t i)
{
	return (char)(seed * 31 + i * 7 + (i >> 8) * 13 + 1);
}

static inline void fill(char *bytes, size_t count, unsigned int seed)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = pattern(seed, i);
}

static inline int is_filled(const char *bytes, size_t count, unsigned int seed)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != pattern(seed, i))
			return 0;
	return 1;
}
#endif
