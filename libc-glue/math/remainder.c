/*
 * Long double remainders: exact, by the x87's partial remainder until it is
 * complete. The condition bits hold the quotient's last three bits.
 */
#include <math.h>
#include "extended.h"

#define C0 0x0100u
#define C1 0x0200u
#define C2 0x0400u
#define C3 0x4000u

#define REDUCE(name, instruction) \
	static extended name(extended x, extended y, unsigned int *status) \
	{ \
		uint16_t now; \
		do \
			__asm__ volatile(instruction "\n\tfnstsw %1" : "+t"(x), "=a"(now) : "u"(y)); \
		while (now & C2); \
		*status = now; \
		return x; \
	}

REDUCE(reduce_truncated, "fprem")
REDUCE(reduce_nearest, "fprem1")

extended fmodl(extended x, extended y)
{
	unsigned int status;

	return reduce_truncated(x, y, &status);
}

extended remainderl(extended x, extended y)
{
	unsigned int status;

	return reduce_nearest(x, y, &status);
}

extended remquol(extended x, extended y, int *quotient)
{
	unsigned int status = 0, bits;
	extended result = reduce_nearest(x, y, &status);

	bits = (status & C0 ? 4 : 0) | (status & C3 ? 2 : 0) | (status & C1 ? 1 : 0);
	*quotient = negative(x) != negative(y) ? -(int)bits : (int)bits;
	return result;
}
