/*
 * The harness: list of tests, main. See check.h. With CHECK_NAMES in the environment it prints the
 * name of each test before it runs it.
 */
#include "check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TESTS 1024

static struct {
	const char *name;
	void (*run)(void);
} tests[MOST_TESTS];
static int count, failures;
int check_split;

void check_register(const char *name, void (*run)(void))
{
	if (count == MOST_TESTS) {
		fprintf(stderr, "%s: more than MOST_TESTS (%d) tests: raise it in check.c\n", name,
			MOST_TESTS);
		exit(1);
	}
	tests[count].name = name;
	tests[count++].run = run;
}

void check_failed(const char *file, int line, const char *what)
{
	printf("%s:%d: not so: %s\n", file, line, what);
	failures++;
}

void check_differs(const char *file, int line, const char *what, long long is, long long want)
{
	printf("%s:%d: %s is %lld, should be %lld\n", file, line, what, is, want);
	failures++;
}

uint64_t check_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static int chosen(const char *name, int argc, char **argv)
{
	int wanted = 0;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && strstr(name, argv[i] + 1))
			return 0;
		if (argv[i][0] == '-' || strstr(name, argv[i]))
			wanted = 1;
	}
	return wanted || argc < 2;
}

int main(int argc, char **argv)
{
	int passed = 0, failed = 0;

	setvbuf(stdout, 0, _IOLBF, 0);
	for (int i = 0; i < count; i++) {
		if (!chosen(tests[i].name, argc, argv))
			continue;
		if (getenv("CHECK_NAMES"))
			printf("RUNS %s\n", tests[i].name);
		failures = 0;
		tests[i].run();
		if (failures) {
			printf("FAILED %s\n", tests[i].name);
			failed++;
		} else {
			passed++;
		}
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed;
}
