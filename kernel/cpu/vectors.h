/*
 * Interrupt vectors. Exceptions have the processor's numbers (SDM vol. 3, 6.3.1);
 * the table of names and signals is in fault.c.
 */
#ifndef KERNEL_VECTORS_H
#define KERNEL_VECTORS_H

enum vector {
	VECTOR_NMI = 2,
	VECTOR_BREAKPOINT = 3,
	VECTOR_ILLEGAL = 6,
	VECTOR_DOUBLE_FAULT = 8,
	VECTOR_PROTECTION = 13,
	VECTOR_PAGE_FAULT = 14,
	VECTOR_MACHINE_CHECK = 18,
	VECTOR_EXCEPTIONS = 32,    /* vectors below are exceptions */
	VECTOR_PIC = 32,           /* the legacy controllers' inputs, see pic.h ... */
	VECTOR_PIC_END = 48,
	VECTOR_TIMER = 48,
	VECTOR_DOORBELL = 49,
	VECTOR_CARD = 50,          /* of network cards: four for frames ... */
	VECTOR_CARD_STATE = 54,    /* ... and four for their states */
	VECTOR_CARD_END = 58,
	VECTOR_FILES = 58,         /* the host's file server has answered */
	VECTOR_STRAY = 62,         /* stands for all vectors from VECTOR_COUNT on */
	VECTOR_SPURIOUS = 63,      /* the low four bits must be ones */
	VECTOR_COUNT = 64,
	VECTORS_ALL = 256          /* what a device may send */
};

#define PAGE_FAULT_PRESENT 0x1u
#define PAGE_FAULT_WRITE   0x2u
#define PAGE_FAULT_FETCH   0x10u

#endif
