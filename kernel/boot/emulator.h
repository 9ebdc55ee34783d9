/*
 * What is done for QEMU's emulator alone; see emulator.c.
 */
#ifndef KERNEL_EMULATOR_H
#define KERNEL_EMULATOR_H

#include <stdint.h>

/* Once, at boot, when only the application will flush translations any more. */
void emulator_start(void);

/* How many pages the application finds at APP_PAGES. */
uint64_t emulator_pages(void);

#endif
