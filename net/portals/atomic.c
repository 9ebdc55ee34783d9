/*
 * Atomic operations, element by element. See atomic.h.
 */
#include "atomic.h"
#include "../port.h"

/* Read an element, sign-extended if it is signed. */
static uint64_t load(const uint8_t *from, uint64_t size, int is_signed)
{
	uint64_t value = 0, sign = 1ULL << (8 * size - 1);

	for (uint64_t i = 0; i < size; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return is_signed ? (value ^ sign) - sign : value;
}

static void store(uint8_t *to, uint64_t size, uint64_t value)
{
	for (uint64_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static int is_less(uint64_t a, uint64_t b, int is_signed)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

void atomic_apply(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
		  const uint8_t *operands, uint64_t length)
{
	uint64_t size = atomic_size(datatype);
	int is_float = datatype >= ATOMIC_FLOAT, is_signed = !is_float && datatype % 2 == 0;

	if (operation == ATOMIC_NOOP)
		return;
	if (is_float && operation != ATOMIC_SWAP && operation != ATOMIC_CSWAP) {
		port_float(operation, datatype, memory, bytes, operands);
		return;
	}
	for (uint64_t at = 0; at + size <= bytes; at += size) {
		uint64_t old = load(memory + at, size, is_signed);
		uint64_t operand = load(operands + at, size, is_signed);
		uint64_t new = old;

		switch (operation) {
		case ATOMIC_MIN:   new = is_less(operand, old, is_signed) ? operand : old; break;
		case ATOMIC_MAX:   new = is_less(old, operand, is_signed) ? operand : old; break;
		case ATOMIC_SUM:   new = old + operand; break;
		case ATOMIC_PROD:  new = old * operand; break;
		case ATOMIC_BOR:   new = old | operand; break;
		case ATOMIC_BAND:  new = old & operand; break;
		case ATOMIC_BXOR:  new = old ^ operand; break;
		case ATOMIC_LOR:   new = old || operand; break;
		case ATOMIC_LAND:  new = old && operand; break;
		case ATOMIC_LXOR:  new = !old != !operand; break;
		case ATOMIC_SWAP:  new = operand; break;
		case ATOMIC_CSWAP:
			if (old == operand)
				new = load(operands + length + at, size, is_signed);
			break;
		}
		store(memory + at, size, new);
	}
}
