/*
 * The arithmetic of atomic operations, on elements in the caller's own memory, at any alignment.
 * Needs no block and no lock. Each element changes in one step because deliver_inline and
 * deliver_apply hold the block's lock.
 */
#ifndef NET_PORTALS_ATOMIC_H
#define NET_PORTALS_ATOMIC_H
#include "deliver.h"

#define ATOMIC_LONGEST 16384u     /* most bytes that an ATOMIC changes */

/* Bytes of an element, or 0 if there is no such datatype. */
static inline uint64_t atomic_size(uint32_t datatype)
{
	if (datatype < ATOMIC_FLOAT)
		return 1ULL << datatype / 2;
	return datatype < ATOMIC_TYPES ? 4ULL << (datatype - ATOMIC_FLOAT) : 0;
}

/* Bitwise operations; floating-point types do not have them. */
static inline int atomic_is_bitwise(uint32_t operation)
{
	return operation == ATOMIC_BOR || operation == ATOMIC_BAND || operation == ATOMIC_BXOR;
}

/* 1 if a message of this kind may do this operation on this datatype, and `length` is a multiple
 * of the element's size. Longer than DELIVER_INLINE_BYTES is only an ATOMIC of one operand. */
static inline int atomic_valid(uint8_t message, uint32_t operation, uint32_t datatype,
			       uint64_t length)
{
	return operation < ATOMIC_OPERATIONS && datatype < ATOMIC_TYPES &&
	       (length & (atomic_size(datatype) - 1)) == 0 &&
	       length <= (message == MESSAGE_ATOMIC && operation != ATOMIC_CSWAP ?
			  ATOMIC_LONGEST : DELIVER_INLINE_BYTES) &&
	       !(datatype >= ATOMIC_FLOAT && atomic_is_bitwise(operation)) &&
	       (operation != ATOMIC_NOOP || message == MESSAGE_FETCH_ATOMIC);
}

static inline int atomic_message_valid(const struct message *message)
{
	return atomic_valid(message->operation, message->atomic_operation, message->datatype,
			    message->length);
}

/*
 * Apply a valid operation to the elements of memory[0 .. bytes). `operands` has `length` >= bytes
 * bytes; for CSWAP `length` bytes of values to compare with, then `length` bytes of new values.
 * SWAP and CSWAP treat elements as bit patterns, also of floating-point types.
 */
void atomic_apply(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
		  const uint8_t *operands, uint64_t length);

#endif
