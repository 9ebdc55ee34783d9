/*
 * Rates of the processor's clocks, measured by a clock of the board with a known rate.
 */
#ifndef KERNEL_CLOCK_RATES_H
#define KERNEL_CLOCK_RATES_H
#include <stdint.h>

/* Rates per second. */
struct clock_rates {
	uint64_t tsc;
	uint64_t apic_timer;
};

/* Takes some 10 ms, polling; the APIC's timer must have been started with its largest
 * count. After acpi_start. Panics if the board has no clock to compare with. */
struct clock_rates clock_rates_measure(void);

#endif
