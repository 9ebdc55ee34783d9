/*
 * Time: rdtsc scaled in user mode, without a system call. Owns the scale, computed at the first
 * use. At the start the kernel gives the counter's rate and the clocks' values; a 128-bit product
 * keeps the error under one part in 2^50, so nothing drifts.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "linux.h"
#include "syscall.h"

#define SECOND      1000000000ULL
#define SCALE_SHIFT 56
#define TICKS       100          /* ticks of times() per second, the value of sysconf(_SC_CLK_TCK) */

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

/* 0 if there is such a clock. The name of a CPU time clock may include a process or thread: its
 * lowest three bits say which of the two. */
static long read_clock(clockid_t clock, uint64_t *ns)
{
	if (clock < 0)
		clock = (clock & 7) == 2 ? CLOCK_PROCESS_CPUTIME_ID :
			(clock & 7) == 6 ? CLOCK_THREAD_CPUTIME_ID : clock;
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*ns = glue_start.wall_ns + since_start();
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*ns = glue_start.mono_ns + since_start();
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = usage().user_ns;
		return 0;
	default:
		return -EINVAL;
	}
}

long linux_clock_gettime(clockid_t clock, struct timespec *time)
{
	uint64_t ns;
	long result = read_clock(clock, &ns);

	if (result == 0)
		*time = to_timespec(ns);
	return result;
}

long linux_clock_getres(clockid_t clock, struct timespec *resolution)
{
	uint64_t ns;
	long result = read_clock(clock, &ns);

	if (result == 0 && resolution)
		*resolution = (struct timespec){ 0, 1 };
	return result;
}

long linux_gettimeofday(struct timeval *time)
{
	if (time)
		*time = to_timeval(glue_start.wall_ns + since_start());
	return 0;
}

uint64_t glue_now_ns(void)
{
	return glue_start.mono_ns + since_start();
}

int64_t time_ns(const struct timespec *time)
{
	if (time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= (long)SECOND)
		return -1;
	if ((uint64_t)time->tv_sec >= INT64_MAX / SECOND)
		return INT64_MAX;
	return (int64_t)((uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec);
}

long linux_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *left)
{
	int64_t wanted = time_ns(time);
	uint64_t now, mono, end;
	long result;

	if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME) ||
	    wanted < 0)
		return -EINVAL;
	read_clock(clock, &now);
	mono = glue_now_ns();
	if (flags & TIMER_ABSTIME)
		wanted = (uint64_t)wanted > now ? wanted - (int64_t)now : 0;
	end = mono + (uint64_t)wanted;
	result = wait_until(end);
	if (left && !(flags & TIMER_ABSTIME)) {         /* may be `time` itself: sleep() does so */
		now = glue_now_ns();
		*left = to_timespec(result && end > now ? end - now : 0);
	}
	return result;
}

long linux_getrusage(int who, struct rusage *used)
{
	if (who != RUSAGE_SELF && who != RUSAGE_CHILDREN && who != RUSAGE_THREAD)
		return -EINVAL;
	/* Clears what Linux would fill, not musl's reserved members. */
	memset(used, 0, offsetof(struct rusage, __reserved));
	if (who != RUSAGE_CHILDREN) {
		used->ru_utime = to_timeval(usage().user_ns);
		used->ru_maxrss = (long)(memory_most_bytes() / 1024);
	}
	return 0;
}

long linux_times(struct tms *used)
{
	if (used) {
		*used = (struct tms){ 0 };
		used->tms_utime = (clock_t)(usage().user_ns / (SECOND / TICKS));
	}
	return (long)(glue_now_ns() / (SECOND / TICKS));
}
