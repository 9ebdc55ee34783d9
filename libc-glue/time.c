/*
 * Time: rdtsc scaled in user mode, with no call of the kernel. Owns the scale,
 * computed at the first use. The kernel says at the start how fast the counter
 * runs and what the clocks showed then; a 128-bit product keeps the error under
 * one part in 2^50, so nothing drifts.
 */
#include <limits.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include "syscall.h"

#define SECOND      1000000000ULL
#define SCALE_SHIFT 56

int _gettimeofday(struct timeval *time, void *zone);

static uint64_t since_start(void)
{
	static uint64_t scale;          /* nanoseconds a tick, times 2^SCALE_SHIFT */
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	if (!scale)
		scale = (uint64_t)(((unsigned __int128)SECOND << SCALE_SHIFT) / glue_start.tsc_hz);
	return (uint64_t)(((uint64_t)high << 32 | low) - glue_start.tsc_start) *
	       (unsigned __int128)scale >> SCALE_SHIFT;
}

static struct margay_rusage usage(void)
{
	struct margay_rusage used = { 0 };

	glue_call1(SYS_RUSAGE, (long)&used);
	return used;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / SECOND), (long)(ns % SECOND) };
}

static struct timeval to_timeval(uint64_t ns)
{
	return (struct timeval){ (time_t)(ns / SECOND), (suseconds_t)(ns % SECOND / 1000) };
}

/* 0 if there is such a clock. */
static int read_clock(clockid_t clock, uint64_t *ns)
{
	switch (clock) {
	case CLOCK_REALTIME:
		*ns = glue_start.wall_ns + since_start();
		return 0;
	case CLOCK_MONOTONIC:
		*ns = glue_start.mono_ns + since_start();
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = usage().user_ns;
		return 0;
	default:
		errno = EINVAL;
		return -1;
	}
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	uint64_t ns;

	if (read_clock(clock, &ns))
		return -1;
	*time = to_timespec(ns);
	return 0;
}

int clock_getres(clockid_t clock, struct timespec *resolution)
{
	uint64_t ns;

	if (read_clock(clock, &ns))
		return -1;
	if (resolution)
		*resolution = (struct timespec){ 0, 1 };
	return 0;
}

int _gettimeofday(struct timeval *time, void *zone)
{
	(void)zone;
	*time = to_timeval(glue_start.wall_ns + since_start());
	return 0;
}

uint64_t glue_now_ns(void)
{
	return glue_start.mono_ns + since_start();
}

/* An upcall ends the kernel's part early: then what is left. */
static int sleep_ns(uint64_t ns)
{
	uint64_t now = glue_now_ns(), end = ns > ~0UL - now ? ~0UL : now + ns;
	long result = glue_call1(SYS_NANOSLEEP, (long)ns);

	while (result == -EINTR && (now = glue_now_ns()) < end)
		result = glue_call1(SYS_NANOSLEEP, (long)(end - now));
	return (int)glue_result(result == -EINTR ? 0 : result);
}

static int valid(const struct timespec *time)
{
	if (time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < (long)SECOND)
		return 1;
	errno = EINVAL;
	return 0;
}

/* Past 2^63 ns, 292 years, is as good as for ever. */
static uint64_t to_ns(const struct timespec *time)
{
	if ((uint64_t)time->tv_sec >= INT64_MAX / SECOND)
		return INT64_MAX;
	return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	uint64_t ns;

	if (!valid(time))
		return -1;
	ns = to_ns(time);
	if (left)               /* may be `time` itself: sleep() does so */
		*left = (struct timespec){ 0, 0 };
	return sleep_ns(ns);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	int before = errno, error = 0;
	uint64_t now, until;

	if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || !valid(time)) {
		errno = before;
		return EINVAL;
	}
	read_clock(clock, &now);
	until = to_ns(time);
	if (!(flags & TIMER_ABSTIME))
		error = sleep_ns(until);
	else if (until > now)
		error = sleep_ns(until - now);
	if (left && !(flags & TIMER_ABSTIME))
		*left = (struct timespec){ 0, 0 };
	error = error ? errno : 0;
	errno = before;
	return error;
}

int getrusage(int who, struct rusage *used)
{
	if (who != RUSAGE_SELF && who != RUSAGE_CHILDREN) {
		errno = EINVAL;
		return -1;
	}
	*used = (struct rusage){ 0 };
	if (who == RUSAGE_SELF)
		used->ru_utime = to_timeval(usage().user_ns);
	return 0;
}

/* Ticks are microseconds: CLOCKS_PER_SEC and sysconf(_SC_CLK_TCK) say so. */
clock_t _times(struct tms *used)
{
	if (used) {
		*used = (struct tms){ 0 };
		used->tms_utime = (clock_t)(usage().user_ns / 1000);
	}
	return (clock_t)((glue_start.mono_ns + since_start()) / 1000);
}
