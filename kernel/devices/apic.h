/*
 * The local interrupt controller: end of interrupt, one-shot timer, and the target of devices' MSI
 * messages. The legacy controllers (pic.h) are connected to it.
 */
#ifndef KERNEL_APIC_H
#define KERNEL_APIC_H
#include <stdint.h>

void apic_start(void);      /* maps and enables it; the timer is off */
void apic_end(void);        /* end of the interrupt in service */

/* Lets interrupts of the legacy controllers reach the processor. */
void apic_open_legacy(void);

/* The timer counts down once from `count`, then interrupts (VECTOR_TIMER); 0: off. */
void apic_timer_start(uint32_t count);
uint32_t apic_timer_left(void);

/* Sends this processor an interrupt, which it takes once interrupts are enabled. */
void apic_interrupt_self(uint8_t vector);

/* MSI address of this processor. */
uint32_t apic_message_address(void);

#endif
