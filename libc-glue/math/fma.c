/*
 * fmal: the product exactly as a sum of two, then one rounding. The rest that
 * does not fit the first is rounded to odd, so that the last addition rounds as
 * if it had seen everything (Boldo and Melquiond).
 */
#include <math.h>
#include "extended.h"

/* a + b; if inexact, the neighbour whose last bit is set */
static extended add_to_odd(extended a, extended b)
{
	struct sum exact = add(a, b);
	union bits bits = { .value = exact.high };

	if (exact.low != 0 && !(bits.mantissa & 1))
		exact.high = nextafterl(exact.high, exact.low > 0 ? HUGE_VALL : -HUGE_VALL);
	return exact.high;
}

extended fmal(extended x, extended y, extended z)
{
	int x_exp, y_exp, z_exp, shift;
	extended rest;
	struct sum product, low, high;

	if (!is_finite(x) || !is_finite(y) || !is_finite(z) || x == 0 || y == 0)
		return x * y + z;
	if (z == 0)
		return x * y;
	/* mantissas in [0.5, 1): nothing overflows before the end */
	x = frexpl(x, &x_exp);
	y = frexpl(y, &y_exp);
	z = frexpl(z, &z_exp);
	shift = z_exp - (x_exp + y_exp);
	if (shift > 140) {              /* the product is a touch only */
		shift = 140;
	} else if (shift < -200) {
		shift = -200;
	}
	z = scale(z, shift);
	product = multiply(x, y);
	low = add(z, product.low);
	high = add(product.high, low.high);
	if (high.high == 0 && high.low == 0 && low.low == 0)
		return high.high + low.low;
	rest = add_to_odd(low.low, high.low);
	if (shift == 140)
		x_exp = z_exp - 140, y_exp = 0;
	shift = x_exp + y_exp;
	if (exp_of(high.high) - EXP_BIAS + shift >= -EXP_BIAS + 2)
		return scale(high.high + rest, shift);
	/* The result is subnormal and would be rounded twice: add in its place. */
	low = add(high.high, rest);
	high.high = add_to_odd(low.high, low.low);
	return scale(high.high, shift);
}
