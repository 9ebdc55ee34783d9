/*
 * What the kernel reads from the firmware's ACPI tables.
 */
#ifndef KERNEL_ACPI_H
#define KERNEL_ACPI_H
#include <stdint.h>

void acpi_start(void);      /* at boot, after memory_start; no tables is no error */

/* Address of PCI Express configuration space of bus 0, or 0. */
uint64_t acpi_ecam(void);

/* Port of the timer that counts at ACPI_TIMER_HZ, or 0. */
uint16_t acpi_timer(void);

/* Switches the machine off (S5). Returns if it cannot. */
void acpi_power_off(void);

#endif
