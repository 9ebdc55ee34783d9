/*
 * The harness of the host tests. TEST(name) { ... } defines a test and registers it; CHECK states
 * what must hold; if it does not, the test fails and goes on. check.c has main: it runs every test
 * of the program, or those whose name contains one of the arguments (and none of those that begin
 * with "-"), and ends with "N passed, N failed".
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H
#include <stdint.h>
#include <string.h>

void check_register(const char *name, void (*run)(void));
void check_failed(const char *file, int line, const char *what);
void check_differs(const char *file, int line, const char *what, long long is, long long want);

/* A generator whose seed is printed: the same numbers in every run. */
uint64_t check_random(uint64_t *state);

#define TEST(name) \
	static void name(void); \
	__attribute__((constructor)) static void register_##name(void) \
	{ \
		check_register(#name, name); \
	} \
	static void name(void)

/* Defines a test that runs twice. The second time check_split is set: messages that could be
 * delivered in one step are then delivered by begin, data and end (world.c). */
extern int check_split;
#define TEST_PATHS(name) \
	static void name(void); \
	static void name##_split(void) \
	{ \
		check_split = 1; \
		name(); \
		check_split = 0; \
	} \
	__attribute__((constructor)) static void register_##name(void) \
	{ \
		check_register(#name, name); \
		check_register(#name "_split", name##_split); \
	} \
	static void name(void)

#define CHECK(condition) \
	do { \
		if (!(condition)) \
			check_failed(__FILE__, __LINE__, #condition); \
	} while (0)

/* Compares integers and shows both. */
#define CHECK_IS(is, want) \
	do { \
		long long is_ = (long long)(is), want_ = (long long)(want); \
		if (is_ != want_) \
			check_differs(__FILE__, __LINE__, #is, is_, want_); \
	} while (0)

/* Compares texts and shows the wrong one. */
#define CHECK_TEXT(is, want) \
	do { \
		const char *is_ = (is); \
		if (strcmp(is_, want)) \
			check_failed(__FILE__, __LINE__, is_); \
	} while (0)

#endif
