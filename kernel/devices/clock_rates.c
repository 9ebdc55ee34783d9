/*
 * Measures the processor's clocks over 10 ms of a board's clock: ACPI's timer, which every board of
 * the last decades has, or the interval timer (8254), which boards without ACPI have. No data. Runs
 * once, at boot, on machines where no hypervisor gives the rates (time.c).
 */
#include "clock_rates.h"

#include "kernel/base/panic.h"
#include "kernel/base/x86.h"
#include "acpi.h"
#include "acpi_regs.h"
#include "apic.h"
#include "pit_regs.h"

#define PIT_COUNTS     11932u      /* 10 ms */
#define PM_COUNTS      35796u      /* 10 ms */
#define TRIES          10
#define DOUBT          1000u       /* good enough: an error of 1/1000 */
#define READINGS       1000000u    /* of a clock that does not advance: a second or more */

/* A measured interval and its uncertainty. */
struct reading {
	uint64_t ticks;            /* of the time stamp counter */
	uint64_t doubt;            /* uncertainty in ticks: how long reading both ends took */
	uint32_t counts;           /* of the APIC's timer */
	uint32_t length;           /* of the board's clock */
};

static struct reading pm_reading(uint16_t port)
{
	uint32_t readings = READINGS, first, left, now;
	uint64_t begin = rdtsc(), began, before;

	left = apic_timer_left();
	first = inl(port);
	began = rdtsc();
	do {
		before = rdtsc();
		if (!--readings)
			panic("timeout: ACPI's timer to count 10 ms");
		now = inl(port);
	} while (((now - first) & ACPI_TIMER_MASK) < PM_COUNTS);
	left -= apic_timer_left();
	return (struct reading){ rdtsc() - begin, began - begin + (rdtsc() - before), left,
	                          (now - first) & ACPI_TIMER_MASK };
}

static struct reading pit_reading(void)
{
	uint8_t gate = inb(PORT61) & (uint8_t)~PORT61_SPEAKER;
	uint32_t readings = READINGS, left;
	uint64_t begin, began, before, last;

	outb(PORT61, gate | PORT61_GATE2);
	outb(PIT_CONTROL, PIT_2_ONCE);
	outb(PIT_COUNTER2, PIT_COUNTS & 0xff);
	begin = rdtsc();
	left = apic_timer_left();
	outb(PIT_COUNTER2, PIT_COUNTS >> 8);
	began = rdtsc();
	if (inb(PORT61) & PORT61_OUTPUT2)
		panic("there is no clock to calibrate with: no ACPI timer, no interval timer (8254)");
	last = began;
	do {                                   /* the end is after the last but one began */
		before = last;
		last = rdtsc();
		if (!--readings)
			panic("timeout: the interval timer (8254) to count to its end");
	} while (!(inb(PORT61) & PORT61_OUTPUT2));
	left -= apic_timer_left();
	return (struct reading){ rdtsc() - begin, began - begin + (rdtsc() - before), left,
	                          PIT_COUNTS };
}

/* The best of several measurements: other work of the host makes some too long. */
struct clock_rates clock_rates_measure(void)
{
	struct reading best = { 0, UINT64_MAX, 0, 1 };
	uint16_t port = acpi_timer();
	uint64_t hz = port ? ACPI_TIMER_HZ : PIT_HZ;

	for (int i = 0; i < TRIES; i++) {
		struct reading one = port ? pm_reading(port) : pit_reading();

		if (one.doubt < best.doubt)
			best = one;
		if (best.doubt < best.ticks / DOUBT)
			break;
	}
	return (struct clock_rates){ best.ticks * hz / best.length,
	                             best.counts * hz / best.length };
}
