/*
 * Time from the time stamp counter, and the one-shot timer. Data: the counter's first reading and
 * the factors; CLOCK_REALTIME at boot. The two deadlines, of which the timer is armed for the
 * earlier, are in struct cpu.
 *
 * Calibration compares the counter with another clock, at time_start and again at time_calibrate.
 * The node boots in between, so nothing waits. In QEMU and KVM that clock is the APIC timer, which
 * counts nanoseconds there; it takes 4 s to run out, and is restarted if booting took longer. On
 * other machines it is a clock of the board, over 10 ms (clock_rates.c).
 */
#include "time.h"

#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "apic.h"
#include "clock_rates.h"
#include "pit_regs.h"

#define CALIBRATE_NS    1000000UL  /* least time between the two comparisons */
#define COMPARISONS     8          /* in a group; the one with the fewest ticks counts */
#define RTC_TRIES       100000u    /* readings of a clock that never settles: about a second */
#define TICK_NS         1500000000UL /* by then the battery-backed clock has advanced a second */
#define FACTOR_SHIFT    32
#define GUESSED_HZ      4000000000UL
#define APIC_READINGS   1000000u   /* comparisons: some seconds */
#define TIMER_MAX       UINT32_MAX
#define LONGEST_NS      (1UL << 60) /* its timer counts fit into 64 bits */

/* Both clocks at one moment. */
struct pair { uint64_t tsc; uint32_t left; };

static uint64_t first_tsc;
static uint64_t tsc_factor;        /* ns = ticks * factor >> FACTOR_SHIFT */
static uint64_t timer_factor;      /* timer counts per ns, same form */
static bool     timer_is_ns;       /* the APIC timer's rate is known: 1 GHz */
static struct pair start_pair;
static uint64_t wall_start_ns;     /* CLOCK_REALTIME at wall_start_tsc; 0: not yet known */
static uint64_t wall_start_tsc;

static uint64_t scale(uint64_t value, uint64_t factor)
{
	return (uint64_t)((unsigned __int128)value * factor >> FACTOR_SHIFT);
}

static void set_tsc_hz(uint64_t hz)
{
	node.tsc_hz = hz;
	tsc_factor = (NS_PER_S << 30) / hz << (FACTOR_SHIFT - 30);
}

uint64_t tsc_to_ns(uint64_t tsc)
{
	return scale(tsc - first_tsc, tsc_factor);
}

uint64_t now_ns(void)
{
	return tsc_to_ns(rdtsc());
}

/* The shortest of several comparisons: nothing interrupted it. */
static struct pair compare(void)
{
	struct pair best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < COMPARISONS; i++) {
		uint64_t before = rdtsc();
		uint32_t left = apic_timer_left();
		uint64_t ticks = rdtsc() - before;

		if (ticks < least) {
			least = ticks;
			best = (struct pair){ before + ticks / 2, left };
		}
	}
	return best;
}

static void start_comparison(void)
{
	apic_timer_start(TIMER_MAX);
	start_pair = compare();
}

void time_start(uint64_t boot_tsc)
{
	first_tsc = boot_tsc;
	this_cpu()->timer_ns = this_cpu()->alarm_ns = NEVER;
	set_tsc_hz(GUESSED_HZ);
	timer_factor = 1UL << FACTOR_SHIFT;
	timer_is_ns = cpu_hypervisor() == HYPERVISOR_TCG || cpu_hypervisor() == HYPERVISOR_KVM;
	start_comparison();
}

static void calibrate_by_apic(void)
{
	struct pair end;
	uint32_t readings = APIC_READINGS;
	uint64_t ticks, ns;

	do {
		end = compare();
		if (!end.left)
			start_comparison();
		if (!--readings)
			panic("timeout: the local APIC's timer to count");
	} while (!end.left || start_pair.left - end.left < CALIBRATE_NS);
	ticks = end.tsc - start_pair.tsc;
	ns = start_pair.left - end.left;
	if (ticks < ns / 1000)
		panic("the time stamp counter does not count, or below 1 MHz");
	/* ticks * NS_PER_S would not fit; ns < 2^32, so the rest's product does */
	set_tsc_hz(ticks / ns * NS_PER_S + ticks % ns * NS_PER_S / ns);
}

static void calibrate_by_interval(void)
{
	struct clock_rates rates;

	apic_timer_start(TIMER_MAX);
	rates = clock_rates_measure();
	set_tsc_hz(rates.tsc);
	timer_factor = (rates.apic_timer << FACTOR_SHIFT) / NS_PER_S;
}

void time_calibrate(void)
{
	if (timer_is_ns)
		calibrate_by_apic();
	else
		calibrate_by_interval();
	apic_timer_start(0);
}

static void start_timer(uint64_t deadline)
{
	uint64_t now = now_ns();
	uint64_t ns = deadline > now ? deadline - now : 0;
	uint64_t counts = scale(ns < LONGEST_NS ? ns : LONGEST_NS, timer_factor);

	if (counts > TIMER_MAX)
		counts = TIMER_MAX;
	apic_timer_start(counts ? (uint32_t)counts : 1);
}

/* Sets both deadlines. */
static void set_deadlines(struct cpu *cpu, uint64_t timer_ns, uint64_t alarm_ns)
{
	uint64_t before = cpu->timer_ns < cpu->alarm_ns ? cpu->timer_ns : cpu->alarm_ns;
	uint64_t next = timer_ns < alarm_ns ? timer_ns : alarm_ns;

	cpu->timer_ns = timer_ns;
	cpu->alarm_ns = alarm_ns;
	if (next == before)
		return;
	if (next == NEVER)
		apic_timer_start(0);
	else
		start_timer(next);
}

void ktimer_arm(uint64_t deadline)
{
	set_deadlines(this_cpu(), deadline, this_cpu()->alarm_ns);
}

void ktimer_alarm(uint64_t deadline)
{
	set_deadlines(this_cpu(), this_cpu()->timer_ns, deadline);
}

void ktimer_arm_by(uint64_t deadline)
{
	if (deadline < this_cpu()->timer_ns)
		ktimer_arm(deadline);
}

void ktimer_arm_within(uint64_t deadline, uint64_t early)
{
	uint64_t armed = this_cpu()->timer_ns;

	if (deadline < armed || deadline - armed > early)
		ktimer_arm(deadline);
}

bool ktimer_fired(void)
{
	struct cpu *cpu = this_cpu();
	bool over = cpu->alarm_ns <= now_ns();

	cpu->timer_ns = NEVER;
	if (over)
		cpu->alarm_ns = NEVER;
	else if (cpu->alarm_ns != NEVER)
		start_timer(cpu->alarm_ns);
	return over;
}

static uint8_t rtc_read(uint8_t index)
{
	outb(RTC_INDEX, index);
	return inb(RTC_DATA);
}

static uint32_t rtc_number(uint8_t raw, uint8_t form)
{
	return form & RTC_B_BINARY ? raw : (raw >> 4) * 10u + (raw & 15u);
}

/* Days from 1970-01-01 to a day of the Gregorian calendar. */
static uint64_t days_until(uint32_t year, uint32_t month, uint32_t day)
{
	static const uint16_t before[12] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304,
	                                     334 };
	uint64_t past = year - 1;
	uint64_t leap_days = past / 4 - past / 100 + past / 400 - 477;
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return (year - 1970) * 365UL + leap_days + before[(month - 1) % 12] +
	       (leap && month > 2) + day - 1;
}

/* The battery-backed clock, seconds since 1970. */
static uint64_t rtc_seconds(void)
{
	uint8_t raw[7], again[7], form = rtc_read(RTC_B);
	static const uint8_t index[7] = { RTC_A, RTC_SECONDS, RTC_MINUTES, RTC_HOURS, RTC_DAY,
	                                  RTC_MONTH, RTC_YEAR };
	uint32_t hours, tries = RTC_TRIES;
	bool same;

	do {
		same = true;
		for (int i = 0; i < 7; i++)
			raw[i] = rtc_read(index[i]);
		for (int i = 0; i < 7; i++) {
			again[i] = rtc_read(index[i]);
			same &= again[i] == raw[i];
		}
	} while ((!same || raw[0] & RTC_A_UPDATING) && --tries);
	hours = rtc_number(raw[3] & (uint8_t)~RTC_HOURS_PM, form);
	if (!(form & RTC_B_24_HOURS))
		hours = hours % 12 + (raw[3] & RTC_HOURS_PM ? 12 : 0);
	return days_until(2000 + rtc_number(raw[6], form), rtc_number(raw[5], form),
	                  rtc_number(raw[4], form)) * 86400 +
	       hours * 3600 + rtc_number(raw[2], form) * 60 + rtc_number(raw[1], form);
}

void wall_set(uint64_t realtime)
{
	wall_start_ns = realtime;
	wall_start_tsc = rdtsc();
}

uint64_t wall_next_second(void)
{
	uint64_t deadline = deadline_in(TICK_NS), before = rtc_seconds(), now = before;

	while (now == before && now_ns() < deadline)
		now = rtc_seconds();
	wall_set(now * NS_PER_S);
	return now;
}

uint64_t wall_ns(void)
{
	if (!wall_start_ns)
		wall_set(rtc_seconds() * NS_PER_S);
	return wall_start_ns + now_ns() - tsc_to_ns(wall_start_tsc);
}
