/*
 * The floating-point arithmetic of atomic operations, for the two files that implement
 * port_float (net/port.h). Compiled with SSE, under the default MXCSR, its results are the same
 * everywhere. If the target's element is NaN it stays unchanged, bit by bit. A NaN operand makes a
 * sum or product NaN, and is ignored by MIN and MAX. 0 and -0 are equal.
 */
#ifndef NET_PORTALS_ATOMIC_FLOAT_H
#define NET_PORTALS_ATOMIC_FLOAT_H
#include "types.h"

/* A function for the elements of one type, at any address. */
#define ATOMIC_FLOAT_ELEMENTS(name, type) \
static void name(uint32_t operation, uint8_t *memory, uint64_t bytes, const uint8_t *operands) \
{ \
	for (uint64_t at = 0; at + sizeof(type) <= bytes; at += sizeof(type)) { \
		type old, operand, made; \
\
		__builtin_memcpy(&old, memory + at, sizeof(type)); \
		__builtin_memcpy(&operand, operands + at, sizeof(type)); \
		switch (operation) { \
		case ATOMIC_LOR:  made = old != 0 || operand != 0; break; \
		case ATOMIC_LAND: made = old != 0 && operand != 0; break; \
		case ATOMIC_LXOR: made = (old != 0) != (operand != 0); break; \
		case ATOMIC_MIN: \
			if (!(operand < old)) \
				continue; \
			made = operand; \
			break; \
		case ATOMIC_MAX: \
			if (!(operand > old)) \
				continue; \
			made = operand; \
			break; \
		default: \
			if (old != old) \
				continue; \
			made = operation == ATOMIC_PROD ? old * operand : old + operand; \
			break; \
		} \
		__builtin_memcpy(memory + at, &made, sizeof(type)); \
	} \
}

ATOMIC_FLOAT_ELEMENTS(atomic_floats, float)
ATOMIC_FLOAT_ELEMENTS(atomic_doubles, double)

/* The work of port_float, under the default floating-point state. */
static inline void atomic_float(uint32_t operation, uint32_t datatype, uint8_t *memory,
				uint64_t bytes, const uint8_t *operands)
{
	(datatype == ATOMIC_FLOAT ? atomic_floats : atomic_doubles)(operation, memory, bytes,
								    operands);
}

#endif
