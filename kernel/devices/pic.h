/*
 * The legacy interrupt controllers, for the lines of conventional PCI cards. All
 * inputs are masked except those that pic_route opens.
 *
 * Why not the I/O APIC: only ACPI's bytecode says which of its inputs a line reaches. For the
 * legacy controllers this can be found by trying.
 */
#ifndef KERNEL_PIC_H
#define KERNEL_PIC_H
#include <stdbool.h>
#include <stdint.h>

void pic_start(void);       /* masks everything, and moves it away from the exceptions' vectors */

/*
 * Finds the input that a device's line reaches, by toggling it: `move` raises or lowers the line,
 * and finally leaves it low. `hint` is the firmware's value, accepted if the line toggles it. From
 * then on the input interrupts, with vector VECTOR_PIC plus its number. False: no input, or
 * several, or one that another device holds. At boot.
 */
bool pic_route(void (*move)(void *context, bool up), void *context, uint8_t hint);

/* Call at an interrupt with such a vector. True: it is real, and pic_end must follow once the
 * device is quiet; false: it was spurious. */
bool pic_begin(uint32_t vector);
void pic_end(uint32_t vector);

/* Masks the input of this vector. */
void pic_close(uint32_t vector);

#endif
