/*
 * Long double remainders: exact, by the x87's partial remainder until it is
 * complete.
 */
#include <math.h>
#include "extended.h"

#define C2 0x0400u        /* not complete yet */

#define REDUCE(name, instruction) \
	extended name(extended x, extended y) \
	{ \
		uint16_t status; \
		do \
			__asm__(instruction "\n\tfnstsw %1" : "+t"(x), "=a"(status) : "u"(y)); \
		while (status & C2); \
		return x; \
	}

REDUCE(fmodl, "fprem")
REDUCE(remainderl, "fprem1")

/* Emulators set the bits of fprem1's quotient wrongly: take them one by one. */
extended remquol(extended x, extended y, int *quotient)
{
	extended rest = absolute(x), size = absolute(y);
	int bits = 0;

	*quotient = 0;
	if (!is_finite(x) || is_nan(y) || y == 0)
		return remainderl(x, y);
	if (size <= 0x1p16380L)
		rest = fmodl(rest, 8 * size);
	for (int bit = 4; bit; bit >>= 1)
		if (size <= 0x1p16380L && rest >= bit * size) {
			rest -= bit * size;
			bits += bit;
		}
	if (size > 0x1p16380L) {                /* the multiples are out of range: |x| < 16 |y| */
		for (; rest >= size; bits++)
			rest -= size;
	}
	if (rest > size - rest || (rest == size - rest && bits & 1)) {
		rest -= size;
		bits++;
	}
	*quotient = negative(x) != negative(y) ? -(bits & 7) : bits & 7;
	return rest == 0 ? with_sign(0, x) : negative(x) ? -rest : rest;
}
