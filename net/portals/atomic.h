/*
 * The arithmetic of atomic operations: on elements in the runner's own memory,
 * in any alignment. Needs no block and no lock; deliver_inline makes the whole
 * atomic by the lock that it runs under.
 */
#ifndef NET_PORTALS_ATOMIC_H
#define NET_PORTALS_ATOMIC_H
#include "message.h"

/* Bytes of an element, or 0 if there is no such datatype. */
static inline uint64_t atomic_size(uint32_t datatype)
{
	if (datatype < ATOMIC_FLOAT)
		return 1ULL << datatype / 2;
	return datatype < ATOMIC_TYPES ? 4ULL << (datatype - ATOMIC_FLOAT) : 0;
}

/* Those bit by bit, which floating-point numbers do not have. */
static inline int atomic_is_bitwise(uint32_t operation)
{
	return operation == ATOMIC_BOR || operation == ATOMIC_BAND || operation == ATOMIC_BXOR;
}

/* 1 if a message of this kind has the operation on the datatype, and `length` bytes are
 * whole elements. */
static inline int atomic_valid(uint8_t message, uint32_t operation, uint32_t datatype,
			       uint64_t length)
{
	return operation < ATOMIC_OPERATIONS && datatype < ATOMIC_TYPES &&
	       (length & (atomic_size(datatype) - 1)) == 0 &&
	       !(datatype >= ATOMIC_FLOAT && atomic_is_bitwise(operation)) &&
	       (operation != ATOMIC_NOOP || message == MESSAGE_FETCH_ATOMIC);
}

/*
 * Apply a valid operation to the elements of memory[0 .. bytes). The operands
 * are `length` >= bytes bytes; for CSWAP `length` bytes of compared values and
 * `length` of new ones. What is swapped, or compared to be swapped, is a number of bits,
 * also of floating-point types.
 */
void atomic_apply(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
		  const uint8_t *operands, uint64_t length);

#endif
