/*
 * The legacy interrupt controllers, two 8259A (data sheet 231468-003), and the
 * register that makes an input level triggered (ICH9 data sheet 316972, 13.4.9).
 * Data: which inputs are open. Any context, interrupts off.
 */
#include "pic.h"

#include "kernel/base/x86.h"
#include "kernel/cpu/vectors.h"
#include "apic.h"

#define FIRST_COMMAND  0x20u
#define FIRST_DATA     0x21u
#define SECOND_COMMAND 0xa0u
#define SECOND_DATA    0xa1u
#define LEVELS         0x4d0u      /* and 0x4d1: a bit per input */
#define ICW1_INIT      0x11u       /* edge triggered, cascaded, ICW4 follows */
#define ICW3_FIRST     0x04u       /* the second one is at input 2 */
#define ICW3_SECOND    0x02u
#define ICW4_8086      0x01u
#define OCW2_END       0x20u       /* of the interrupt in service */
#define OCW3_REQUESTS  0x0au       /* the next read: inputs that ask */
#define OCW3_SERVICE   0x0bu       /* the next read: inputs in service */

#define CASCADE        2u
#define INPUTS         16u
/* Never a PCI line: clock, keyboard, cascade, battery clock, coprocessor. */
#define NOT_PCI        (1u << 0 | 1u << 1 | 1u << CASCADE | 1u << 8 | 1u << 13)

static uint32_t opened;            /* bit per input */

static void set_masks(void)
{
	uint32_t masks = ~(opened | (opened >> 8 ? 1u << CASCADE : 0));

	outb(FIRST_DATA, (uint8_t)masks);
	outb(SECOND_DATA, (uint8_t)(masks >> 8));
}

/* The controllers send spurious interrupts even if masked, so they are moved away from the vectors
 * of exceptions. */
void pic_start(void)
{
	outb(FIRST_COMMAND, ICW1_INIT);
	outb(SECOND_COMMAND, ICW1_INIT);
	outb(FIRST_DATA, VECTOR_PIC);
	outb(SECOND_DATA, VECTOR_PIC + 8);
	outb(FIRST_DATA, ICW3_FIRST);
	outb(SECOND_DATA, ICW3_SECOND);
	outb(FIRST_DATA, ICW4_8086);
	outb(SECOND_DATA, ICW4_8086);
	set_masks();
}

/* Reads, from both controllers, what OCW3 has selected. */
static uint32_t inputs(uint8_t which)
{
	outb(FIRST_COMMAND, which);
	outb(SECOND_COMMAND, which);
	return inb(FIRST_COMMAND) | (uint32_t)inb(SECOND_COMMAND) << 8;
}

bool pic_route(void (*move)(void *context, bool up), void *context, uint8_t hint)
{
	uint32_t low = inputs(OCW3_REQUESTS), moved, input;
	uint16_t levels;

	move(context, true);
	moved = inputs(OCW3_REQUESTS) & ~low & ~NOT_PCI;
	move(context, false);
	if (hint < INPUTS && moved >> hint & 1)
		input = hint;
	else if (moved && !(moved & (moved - 1)))
		input = (uint32_t)__builtin_ctz(moved);
	else
		return false;
	levels = (uint16_t)(LEVELS + input / 8);
	outb(levels, inb(levels) | (uint8_t)(1u << input % 8));
	opened |= 1u << input;
	set_masks();
	apic_open_legacy();
	return true;
}

bool pic_begin(uint32_t vector)
{
	uint32_t input = vector - VECTOR_PIC;

	/* 8259A, "interrupt sequence": a request that is withdrawn becomes input 7 */
	if (input % 8 == 7 && !(inputs(OCW3_SERVICE) >> input & 1)) {
		if (input >= 8)
			outb(FIRST_COMMAND, OCW2_END);
		return false;
	}
	return opened >> input & 1;
}

void pic_end(uint32_t vector)
{
	if (vector - VECTOR_PIC >= 8)
		outb(SECOND_COMMAND, OCW2_END);
	outb(FIRST_COMMAND, OCW2_END);
}

void pic_close(uint32_t vector)
{
	opened &= ~(1u << (vector - VECTOR_PIC));
	set_masks();
}
