/*
 * Long double functions that round to integers: exact, by frndint under the
 * direction that each wants.
 */
#include <fenv.h>
#include <math.h>
#include "extended.h"

#define DIRECTION 0x0c00u
#define DOWN      0x0400u
#define UP        0x0800u
#define TO_ZERO   0x0c00u

static inline extended round_by(extended x, unsigned int direction)
{
	uint16_t before, now;

	__asm__ volatile("fnstcw %0" : "=m"(before));
	now = (uint16_t)((before & ~DIRECTION) | direction);
	__asm__ volatile("fldcw %0" : : "m"(now));
	__asm__ volatile("frndint" : "+t"(x));
	__asm__ volatile("fldcw %0" : : "m"(before));
	return x;
}

extended floorl(extended x)
{
	return round_by(x, DOWN);
}

extended ceill(extended x)
{
	return round_by(x, UP);
}

extended truncl(extended x)
{
	return round_by(x, TO_ZERO);
}

extended rintl(extended x)
{
	__asm__ volatile("frndint" : "+t"(x));
	return x;
}

/* As rintl, but nobody hears that the result is inexact. */
extended nearbyintl(extended x)
{
	struct { uint32_t words[7]; } environment;

	__asm__ volatile("fnstenv %0\n\tfldcw %0\n\tfrndint\n\tfldenv %0"
			 : "=m"(environment), "+t"(x));
	return x;
}

/* Halves go away from zero. */
extended roundl(extended x)
{
	extended whole = round_by(x, TO_ZERO);

	if (absolute(x - whole) >= 0.5L)
		whole += with_sign(1, x);
	return with_sign(whole, x);
}

long lrintl(extended x)
{
	long result;

	__asm__ volatile("fistpll %0" : "=m"(result) : "t"(x) : "st");
	return result;
}

long long llrintl(extended x)
{
	return lrintl(x);
}

long lroundl(extended x)
{
	return lrintl(roundl(x));
}

long long llroundl(extended x)
{
	return lrintl(roundl(x));
}
