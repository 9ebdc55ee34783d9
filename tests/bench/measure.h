/*
 * Clocks and statistics for the programs of the benchmarks.
 */
#ifndef TESTS_BENCH_MEASURE_H
#define TESTS_BENCH_MEASURE_H
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* The time stamp counter; under --icount it counts instructions. */
static inline uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* The monotonic clock in seconds. */
static inline double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median of `count` samples; sorts them. */
static inline uint64_t median(uint64_t *samples, size_t count)
{
	qsort(samples, count, sizeof(*samples), by_value);
	return samples[count / 2];
}

#endif
