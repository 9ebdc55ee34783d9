/*
 * The machine's power.
 */
#ifndef KERNEL_POWER_H
#define KERNEL_POWER_H

/* Switches the machine off; QEMU's exit status is made from `status`. */
_Noreturn void power_off(unsigned status);

/* Halts for ever, for people to read the screen. */
_Noreturn void halt_for_good(void);

#endif
