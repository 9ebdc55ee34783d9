/*
 * The legacy interrupt controllers, for the lines of conventional PCI cards. All
 * inputs are masked but those that pic_route opens.
 *
 * Why these and not the I/O APIC: which of its inputs a line reaches stands in
 * ACPI's bytecode only, while the legacy controllers' one can be found by trying.
 */
#ifndef KERNEL_PIC_H
#define KERNEL_PIC_H
#include <stdbool.h>
#include <stdint.h>

void pic_start(void);       /* masks everything, away from the exceptions' vectors */

/*
 * Finds the input that a device's line reaches, by moving it: `move` raises the line
 * or lowers it, and leaves it low. `hint` is what the firmware says, believed if the
 * line moves it. Interrupts of the input come from then on, as vector VECTOR_PIC and
 * its number. False: no input, or several, or one that another device holds. At boot.
 */
bool pic_route(void (*move)(void *context, bool up), void *context, uint8_t hint);

/* For an interrupt by such a vector. True: it is one, and pic_end must follow once the
 * device is quiet; false: it was none. */
bool pic_begin(uint32_t vector);
void pic_end(uint32_t vector);

/* The input of this vector interrupts no more. */
void pic_close(uint32_t vector);

#endif
