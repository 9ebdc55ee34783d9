/*
 * Checks for the applications that test the C library: one exact line per test. Each program ends
 * with status 0 if all passed.
 */
#ifndef TESTS_APPS_LIBC_H
#define TESTS_APPS_LIBC_H
#include <stdio.h>
#include <string.h>

static int failed;

#define TEST(name, condition) \
	do { \
		if (condition) { \
			printf("ok %s\n", name); \
		} else { \
			printf("not ok %s: %s, line %d\n", name, #condition, __LINE__); \
			failed = 1; \
		} \
	} while (0)

/* Check that printf with these arguments gives this text. */
#define PRINTS(name, text, ...) \
	do { \
		char printed[400]; \
		snprintf(printed, sizeof printed, __VA_ARGS__); \
		if (strcmp(printed, text) == 0) { \
			printf("ok %s\n", name); \
		} else { \
			printf("not ok %s: \"%s\"\n", name, printed); \
			failed = 1; \
		} \
	} while (0)

#endif
