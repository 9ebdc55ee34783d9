/*
 * Shared by the tests of lib/vmmc: results that must be VMMC_OK, waits for messages, and cases that
 * all ranks pass together, for each of which rank 0 prints a line.
 */
#ifndef TESTS_LIB_VMMC_TEST_H
#define TESTS_LIB_VMMC_TEST_H
#include "check.h"

#include <string.h>
#include <time.h>
#include <vmmc.h>

enum { FOR_EVER = -1, PAGE = 4096 };

/* A call that must succeed. */
#define OK(call) do { \
	int result_ = (call); \
	if (result_ != VMMC_OK) { \
		fprintf(stderr, "%s:%d: rank %d: %s: %s\n", __FILE__, __LINE__, margay_rank(), \
		        #call, vmmc_error(result_)); \
		exit(1); \
	} \
} while (0)

/* A call that must fail with this error. */
#define FAILS(wanted, call) do { \
	int result_ = (call); \
	if (result_ != (wanted)) { \
		fprintf(stderr, "%s:%d: rank %d: %s: %s, wanted %s\n", __FILE__, __LINE__, \
		        margay_rank(), #call, vmmc_error(result_), #wanted); \
		exit(1); \
	} \
} while (0)

struct test_case {
	const char *name;
	void (*run)(void);
};

static inline void run_cases(const struct test_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cases[i].run();
		OK(vmmc_barrier());
		if (margay_rank() == 0) {
			printf("ok %s\n", cases[i].name);
			fflush(stdout);
		}
	}
}

static inline void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* Waits until a word of an exported area has a value. */
static inline void await(const volatile uint32_t *word, uint32_t value, int rank)
{
	uint32_t seen;

	while ((seen = *word) != value)
		OK(vmmc_wait(word, seen, rank, FOR_EVER));
}

/* Pseudo-random numbers, the same for the same seed. */
static inline uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33);
}
#endif
