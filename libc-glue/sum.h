/* Sums of two long doubles, for twice the precision. They need the x87's 64-bit precision and
 * rounding to nearest. */
#ifndef LIBC_GLUE_SUM_H
#define LIBC_GLUE_SUM_H

typedef long double extended;

/* A value as the sum of two, the second at most half a unit of the first. */
struct sum {
	extended high, low;
};

/* a + b exactly */
static inline struct sum add(extended a, extended b)
{
	extended high = a + b, part = high - a;

	return (struct sum){ high, (a - (high - part)) + (b - part) };
}

/* a * b exactly, if nothing overflows or gets subnormal */
static inline struct sum multiply(extended a, extended b)
{
	const extended splitter = 0x1.00000001p32L;
	extended high = a * b;
	extended a_part = a * splitter, b_part = b * splitter;
	extended a1 = a_part - (a_part - a), b1 = b_part - (b_part - b);
	extended a2 = a - a1, b2 = b - b1;

	return (struct sum){ high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2 };
}

#endif
