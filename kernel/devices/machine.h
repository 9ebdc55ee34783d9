/*
 * The shared region seen from this node's boot, and the machine's power.
 */
#ifndef KERNEL_MACHINE_H
#define KERNEL_MACHINE_H

/* Finds the shared memory and checks its header; fills node.region, own, block.
 * Panics if there is none: the command line said link=shm. */
void region_start(void);

/* Switches the machine off; `status` is what QEMU's exit status is made of. */
_Noreturn void power_off(unsigned status);

/* Halts for ever, for people to read the screen. */
_Noreturn void stay_on(void);

#endif
