/*
 * Long double hyperbolic functions and their inverses, from expm1l and log1pl
 * where 1 would swallow the argument. A few units in the last place.
 */
#include <math.h>
#include "extended.h"

#define LN2        0x1.62e42fefa39ef358p-1L
#define LOG_MOST   11356      /* e^x is finite */
#define ONE_GONE   33         /* e^-2x does not change 1 */
#define TINY       0x1p-33L   /* x^3 does not change x */

extended sinhl(extended x)
{
	extended size = absolute(x), less;

	if (!is_finite(x) || size < TINY)
		return x;
	if (size > LOG_MOST) {
		less = expl(size / 2);
		return with_sign(less / 2 * less, x);
	}
	less = expm1l(size);
	if (size < ONE_GONE)
		return with_sign((less + less / (less + 1)) / 2, x);
	return with_sign(less / 2, x);
}

extended coshl(extended x)
{
	extended size = absolute(x), power;

	if (!is_finite(x))
		return size;
	if (size > LOG_MOST) {
		power = expl(size / 2);
		return power / 2 * power;
	}
	power = expl(size);
	return (power + 1 / power) / 2;
}

extended tanhl(extended x)
{
	extended size = absolute(x), less;

	if (is_nan(x) || size < TINY)
		return x;
	if (size > ONE_GONE)
		return with_sign(1, x);
	less = expm1l(2 * size);
	return with_sign(less / (less + 2), x);
}

extended asinhl(extended x)
{
	extended size = absolute(x), result;

	if (!is_finite(x) || size < TINY)
		return x;
	if (size > 0x1p34L)
		result = logl(size) + LN2;
	else
		result = log1pl(size + size * size / (square_root(size * size + 1) + 1));
	return with_sign(result, x);
}

extended acoshl(extended x)
{
	extended past = x - 1;

	if (x < 1)
		return (x - x) / (x - x);
	if (x > 0x1p34L)
		return logl(x) + LN2;
	return log1pl(past + square_root(2 * past + past * past));
}

extended atanhl(extended x)
{
	extended size = absolute(x);

	if (size < TINY)
		return x;
	return with_sign(log1pl(2 * size / (1 - size)) / 2, x);
}
