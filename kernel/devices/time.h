/*
 * Time: the time stamp counter, calibrated once, and one one-shot timer (the
 * local APIC's). There is no tick. Times are nanoseconds since the node's
 * first instruction; NEVER is later than all of them.
 */
#ifndef KERNEL_TIME_H
#define KERNEL_TIME_H
#include <stdbool.h>
#include <stdint.h>

#define NEVER     UINT64_MAX
#define NS_PER_S  1000000000UL
#define NS_PER_US 1000UL

void time_start(uint64_t boot_tsc);   /* first thing: clocks run, tsc_hz is a guess until */
void time_calibrate(void);            /* this, at least 1 ms later, sets node.tsc_hz */

uint64_t now_ns(void);
uint64_t tsc_to_ns(uint64_t tsc);     /* a reading of rdtsc as a time */

/* CLOCK_REALTIME is `realtime` now, ns since 1970: the launcher's (region_node.start_ns). */
void wall_set(uint64_t realtime);

/* CLOCK_REALTIME: what the launcher, or else the battery-backed clock, said once, and the time
 * since. */
uint64_t wall_ns(void);

/* Waits until the battery-backed clock begins its next second, which it returns, counted from 1970.
 * CLOCK_REALTIME is exact from then on; otherwise it is up to a second late. */
uint64_t wall_next_second(void);

/* One interrupt at `deadline`, or some time before it; a later call replaces an
 * earlier one. NEVER switches it off. */
void ktimer_arm(uint64_t deadline);

/* The same, unless the timer is set for an earlier time already. */
void ktimer_arm_by(uint64_t deadline);

/* Like ktimer_arm_by, but replaces a time that is earlier by more than `early`, which would end the
 * halt too soon. */
void ktimer_arm_within(uint64_t deadline, uint64_t early);

/* The application's deadline, independent of the kernel's: one interrupt at `deadline`; a later
 * call replaces an earlier one. NEVER switches it off. */
void ktimer_alarm(uint64_t deadline);

/* After the timer's interrupt, which switched it off. True if the application's deadline has
 * passed; it becomes NEVER. */
bool ktimer_fired(void);

/* now + ns without overflow; ns = ~0 is NEVER. */
static inline uint64_t deadline_in(uint64_t ns)
{
	uint64_t now = now_ns();

	return ns > NEVER - now ? NEVER : now + ns;
}

#endif
