/*
 * What is done for QEMU's emulator alone; see emulator.c.
 */
#ifndef KERNEL_EMULATOR_H
#define KERNEL_EMULATOR_H

/* Once, at boot, when nothing will flush translations any more. */
void emulator_start(void);

#endif
