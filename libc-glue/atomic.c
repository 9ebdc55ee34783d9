/*
 * Atomic operations that the compiler leaves to a library: those on 16 bytes and on objects of any
 * size. One thread runs them, but an event queue's handler may interrupt it. 16 aligned bytes
 * change by one instruction. Objects of other sizes must not be shared with handlers, as
 * __atomic_is_lock_free says.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned __int128 value;

/* Replaces *object if it equals *expected; else *expected becomes its value. */
static inline bool replace(volatile void *object, value *expected, value wanted)
{
	uint64_t low = (uint64_t)*expected, high = (uint64_t)(*expected >> 64);
	bool done;

	__asm__ volatile("lock cmpxchg16b %0"
			 : "+m"(*(volatile value *)object), "+a"(low), "+d"(high), "=@ccz"(done)
			 : "b"((uint64_t)wanted), "c"((uint64_t)(wanted >> 64))
			 : "memory");
	*expected = (value)high << 64 | low;
	return done;
}

/* gcc has builtin functions of these names with another signature. */
#define NAMED(name) __asm__("__atomic_" #name)

value load_16(const volatile void *object, int order) NAMED(load_16);
void store_16(volatile void *object, value wanted, int order) NAMED(store_16);
value exchange_16(volatile void *object, value wanted, int order) NAMED(exchange_16);
bool compare_exchange_16(volatile void *object, void *expected, value wanted, int success,
			 int failure) NAMED(compare_exchange_16);

value load_16(const volatile void *object, int order)
{
	value found = 0;

	(void)order;
	replace((volatile void *)object, &found, 0);
	return found;
}

value exchange_16(volatile void *object, value wanted, int order)
{
	value found = 0;

	(void)order;
	while (!replace(object, &found, wanted))
		;
	return found;
}

void store_16(volatile void *object, value wanted, int order)
{
	exchange_16(object, wanted, order);
}

bool compare_exchange_16(volatile void *object, void *expected, value wanted, int success,
			 int failure)
{
	value found;
	bool done;

	(void)success, (void)failure;
	memcpy(&found, expected, sizeof found);
	done = replace(object, &found, wanted);
	memcpy(expected, &found, sizeof found);
	return done;
}

/* The functions that return the value before and the value after. */
#define FETCH(name, result) \
	value fetch_##name##_16(volatile void *, value, int) NAMED(fetch_##name##_16); \
	value name##_fetch_16(volatile void *, value, int) NAMED(name##_fetch_16); \
	value fetch_##name##_16(volatile void *object, value operand, int order) \
	{ \
		value found = 0; \
		(void)order; \
		while (!replace(object, &found, result)) \
			; \
		return found; \
	} \
	value name##_fetch_16(volatile void *object, value operand, int order) \
	{ \
		value found = fetch_##name##_16(object, operand, order); \
		return result; \
	}

FETCH(add, found + operand)
FETCH(sub, found - operand)
FETCH(and, found & operand)
FETCH(or, found | operand)
FETCH(xor, found ^ operand)
FETCH(nand, ~(found & operand))

/* ---- any size ---- */

bool is_lock_free(size_t bytes, const volatile void *object) NAMED(is_lock_free);
void load(size_t bytes, const void *object, void *to, int order) NAMED(load);
void store(size_t bytes, void *object, const void *from, int order) NAMED(store);
void exchange(size_t bytes, void *object, const void *from, void *to, int order) NAMED(exchange);
bool compare_exchange(size_t bytes, void *object, void *expected, const void *wanted, int success,
		      int failure) NAMED(compare_exchange);

bool is_lock_free(size_t bytes, const volatile void *object)
{
	return bytes <= 16 && (bytes & (bytes - 1)) == 0 && ((uintptr_t)object & (bytes - 1)) == 0;
}

void load(size_t bytes, const void *object, void *to, int order)
{
	(void)order;
	memcpy(to, object, bytes);
}

void store(size_t bytes, void *object, const void *from, int order)
{
	(void)order;
	memcpy(object, from, bytes);
}

void exchange(size_t bytes, void *object, const void *from, void *to, int order)
{
	(void)order;
	memcpy(to, object, bytes);
	memcpy(object, from, bytes);
}

bool compare_exchange(size_t bytes, void *object, void *expected, const void *wanted, int success,
		      int failure)
{
	bool same = memcmp(object, expected, bytes) == 0;

	(void)success, (void)failure;
	memcpy(same ? object : expected, same ? wanted : object, bytes);
	return same;
}
