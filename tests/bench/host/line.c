/*
 * Benchmark: how long a cache line takes from one processor to another and back, natively. On a
 * virtual machine this changes when the host moves its processors, and with it every figure of two
 * nodes that share memory. One line: line_ns VALUE, the median of some short measurements, of which
 * other programs disturb few.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 5000, PARTS = 21 };

static _Alignas(128) atomic_int word;   /* the next turn */
static cpu_set_t processors[2];
static double took[PARTS];              /* ns a round */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

/* The turns 0, 2, 4 ... or 1, 3, 5 ... */
static void bounce(int first)
{
	int turn = first;

	sched_setaffinity(0, sizeof(processors[first]), &processors[first]);
	for (int part = 0; part < PARTS; part++) {
		double start = now_ns();

		for (int i = 0; i < ROUNDS; i++, turn += 2) {
			while (atomic_load(&word) != turn)
				;
			atomic_store(&word, turn + 1);
		}
		if (!first)
			took[part] = (now_ns() - start) / ROUNDS;
	}
}

static void *other(void *unused)
{
	bounce(1);
	return unused;
}

int main(void)
{
	pthread_t thread;
	cpu_set_t all;
	int found = 0;

	CPU_ZERO(&all);
	if (sched_getaffinity(0, sizeof(all), &all)) {
		perror("line: sched_getaffinity");
		return 1;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &processors[found++]);
	if (found < 2) {
		fprintf(stderr, "line: this process may use one processor only; give it two\n");
		return 1;
	}
	if (pthread_create(&thread, NULL, other, NULL)) {
		fprintf(stderr, "line: no second thread could be started\n");
		return 1;
	}
	bounce(0);
	pthread_join(thread, NULL);
	qsort(took, PARTS, sizeof(took[0]), by_size);
	printf("line_ns %.1f\n", took[PARTS / 2]);
	return 0;
}
