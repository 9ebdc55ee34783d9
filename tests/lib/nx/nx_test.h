/*
 * Shared by the test programs of NX: bytes that depend on a seed, errors by errno. Included by
 * tests/lib/nx/ only.
 */
#ifndef TESTS_LIB_NX_TEST_H
#define TESTS_LIB_NX_TEST_H
#include "check.h"
#include "pattern.h"
#include <errno.h>
#include <nx.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The call must fail with this error. */
#define FAILS(call, error) do { \
	errno = 0; \
	EQUAL(call, -1); \
	EQUAL(errno, error); \
} while (0)

/* Rank 0 prints that all ranks have passed a case. */
static inline void passed(const char *name)
{
	gsync();
	if (mynode() == 0) {
		printf("ok %s\n", name);
		fflush(stdout);
	}
}

/* Computes, without calling the library, until *word differs from `from`, for 20 s at most. */
static inline int changes(const volatile char *word, char from)
{
	time_t end = time(NULL) + 20;

	while (*word == from)
		if (time(NULL) > end)
			return 0;
	return 1;
}
#endif
