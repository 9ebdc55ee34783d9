/*
 * The arithmetic of atomic operations: on elements in the runner's own memory,
 * in any alignment. Needs no block and no lock; deliver_inline makes the whole
 * atomic by the lock that it runs under.
 */
#ifndef NET_PORTALS_ATOMIC_H
#define NET_PORTALS_ATOMIC_H
#include "types.h"

/* Bytes of an element, or 0 if there is no such datatype. */
static inline uint64_t atomic_size(uint32_t datatype)
{
	return datatype < ATOMIC_TYPES ? 1ULL << datatype / 2 : 0;
}

/* 1 if the operation and the datatype exist and `length` bytes are whole elements. */
static inline int atomic_valid(uint32_t operation, uint32_t datatype, uint64_t length)
{
	return operation < ATOMIC_OPERATIONS && datatype < ATOMIC_TYPES &&
	       (length & (atomic_size(datatype) - 1)) == 0;
}

/*
 * Apply a valid operation to the elements of memory[0 .. bytes). The operands
 * are `length` >= bytes bytes; for CSWAP `length` bytes of compared values and
 * `length` of new ones.
 */
void atomic_apply(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
		  const uint8_t *operands, uint64_t length);

#endif
