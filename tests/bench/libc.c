/*
 * Benchmark of the C library: nanoseconds of processor time of one call, on a node and with the
 * host's library. One line per figure on stdout: NAME VALUE.
 *
 *   libc MS     each case five times for MS milliseconds; the best time counts
 *
 * "apart": the two buffers lie a multiple of 1 MiB apart, where the emulator's table of pages
 * has one place for both.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MB = 1 << 20, REPEATS = 5, BLOCKS = 64 };

static char memory[4 * MB + 4096] __attribute__((aligned(4096)));
static volatile size_t result;

/* Hidden from the compiler, which must not inline them. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static int (*volatile compare_text)(const char *, const char *) = strcmp;
static size_t (*volatile length)(const char *) = strlen;
static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile give_back)(void *) = free;
static int (*volatile print)(char *, size_t, const char *, ...) = snprintf;

struct buffers { char *to, *from; size_t bytes; };

static void run_copy(const struct buffers *b)
{
	copy(b->to, b->from, b->bytes);
}

static void run_compare(const struct buffers *b)
{
	result += (size_t)compare(b->to, b->from, b->bytes);
}

static void run_compare_text(const struct buffers *b)
{
	result += (size_t)compare_text(b->to, b->from);
}

static void run_length(const struct buffers *b)
{
	result += length(b->to);
}

/* Frees one of many blocks and allocates one of another size. */
static void run_malloc(const struct buffers *b)
{
	static void *blocks[BLOCKS];
	static uint32_t random = 1;
	size_t at, bytes;

	random = random * 1664525 + 1013904223;
	at = random >> 26;
	bytes = 1 + (random >> 8) % b->bytes;
	give_back(blocks[at]);
	blocks[at] = allocate(bytes);
}

static void run_print(const struct buffers *b)
{
	static double value = 0.1;
	char text[64];

	(void)b;
	result += (size_t)print(text, sizeof text, "%.17g", value);
	value = value * 1.0000001 + 1e-9;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double spent(void (*call)(const struct buffers *), const struct buffers *b, long count)
{
	double start = now();

	for (long i = 0; i < count; i++)
		call(b);
	return now() - start;
}

static void measure(const char *name, void (*call)(const struct buffers *), size_t bytes,
                    size_t apart, double least_ns)
{
	struct buffers b = { memory + apart, memory, bytes };
	double best = 0;
	long count = 1;

	memset(memory, 'x', sizeof memory);
	b.to[bytes - 1] = b.from[bytes - 1] = 0;
	while (spent(call, &b, count) < least_ns)
		count *= 2;
	for (int i = 0; i < REPEATS; i++) {
		double ns = spent(call, &b, count) / (double)count;

		best = i && best < ns ? best : ns;
	}
	printf("%s %.2f\n", name, best);
}

int main(int argc, char **argv)
{
	enum { NEAR = 512 * 1024 + 4096 };
	double ns = (argc > 1 ? atof(argv[1]) : 20) * 1e6;

	measure("memcpy_64_ns", run_copy, 64, NEAR, ns);
	measure("memcpy_4096_ns", run_copy, 4096, NEAR, ns);
	measure("memcpy_4096_apart_ns", run_copy, 4096, 2 * MB, ns);
	measure("memcpy_1048576_ns", run_copy, MB, MB + NEAR, ns);
	measure("memcpy_1048576_apart_ns", run_copy, MB, 2 * MB, ns);
	measure("memcmp_64_ns", run_compare, 64, NEAR, ns);
	measure("memcmp_4096_ns", run_compare, 4096, NEAR, ns);
	measure("memcmp_4096_apart_ns", run_compare, 4096, 2 * MB, ns);
	measure("strcmp_24_ns", run_compare_text, 24, NEAR, ns);
	measure("strcmp_4096_ns", run_compare_text, 4096, NEAR, ns);
	measure("strcmp_4096_apart_ns", run_compare_text, 4096, 2 * MB, ns);
	measure("strlen_24_ns", run_length, 24, NEAR, ns);
	measure("strlen_4096_ns", run_length, 4096, NEAR, ns);
	measure("malloc_ns", run_malloc, 1024, NEAR, ns);
	measure("printf_double_ns", run_print, 64, NEAR, ns);
	return 0;
}
