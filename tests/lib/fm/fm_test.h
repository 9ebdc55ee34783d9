/*
 * Shared by the tests of Fast Messages: checks that end the process, contents by number, and cases
 * that all ranks run together. Include it in one source file per program.
 */
#ifndef FM_TEST_H
#define FM_TEST_H
#include <errno.h>
#include <fm.h>
#include <fm1.h>
#undef FM_extract
#include <margay.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OK(call) check((call) >= 0, #call, __LINE__)
#define TRUE(what) check((what) != 0, #what, __LINE__)
#define FAILS(call, error) \
	check((errno = 0, (call) == -1 && errno == (error)), #call " fails with " #error, __LINE__)

/* Memory that no process has. The kernel reads messages of so few bytes over all links. */
#define UNREADABLE ((void *)(uintptr_t)0x7fffffff0000)
enum { FEW_BYTES = 40 };

static unsigned rank, ranks;

static inline void check(int good, const char *what, int line)
{
	if (good)
		return;
	fprintf(stderr, "line %d: rank %u: %s (errno %d: %s)\n", line, rank, what, errno,
		strerror(errno));
	fflush(stderr);
	margay_end_job(1);
}

static inline void open_test(void)
{
	OK(FM_initialize());
	rank = (unsigned)margay_rank();
	ranks = (unsigned)margay_size();
}

/* Byte `at` of message `number`. */
static inline unsigned char content(unsigned number, size_t at)
{
	return (unsigned char)(number * 37u + at * 7u + (at >> 8));
}

static inline void fill(unsigned char *to, size_t bytes, unsigned number, size_t from)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = content(number, from + i);
}

static inline int is_content(const unsigned char *bytes, size_t count, unsigned number,
			     size_t from)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != content(number, from + i))
			return 0;
	return 1;
}

/* Extracts until *count is at least `wanted`. The wait halts; only the job's time limit ends it. */
static inline void extract_until(const volatile unsigned *count, unsigned wanted)
{
	while (*count < wanted) {
		if (FM_extract(SIZE_MAX) == 0)
			OK(FM_wait(1000));
	}
}

static inline void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, 0);
}

/* For a rank that is never without a message: another one keeps it busy until it sends back. The
 * messages have no handler. */
enum { NO_HANDLER = 200, ENOUGH };

static volatile unsigned enough;

static inline int on_enough(FM_stream *stream, unsigned sender)
{
	(void)stream, (void)sender;
	enough = 1;
	return FM_CONTINUE;
}

static inline void keep_busy(unsigned other)
{
	OK(FM_register(ENOUGH, on_enough));
	while (!enough) {
		OK(FM_send_4(other, NO_HANDLER, 0, 0, 0, 0));
		pause_ms(5);
		OK(FM_extract(SIZE_MAX));
	}
}

static inline void end_busy(unsigned other)
{
	FM_stream *stream = FM_begin_message(other, 0, ENOUGH);

	TRUE(stream);
	OK(FM_end_message(stream));
}

struct test_case {
	const char *name;
	void (*run)(void);
};

/* Runs each case between two barriers; rank 0 prints those that passed. */
static inline void run_cases(const struct test_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		OK(FM_barrier());
		cases[i].run();
		OK(FM_barrier());
		if (rank == 0)
			printf("ok %s\n", cases[i].name);
	}
	OK(FM_finalize());
}
#define RUN_CASES(cases) run_cases(cases, sizeof(cases) / sizeof((cases)[0]))
#endif
