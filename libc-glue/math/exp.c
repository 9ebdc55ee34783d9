/*
 * Long double exponentials: the argument is reduced with more bits than it
 * has, f2xm1 does the rest. About one unit in the last place.
 */
#include <math.h>
#include "extended.h"

#define LOG2_E  0x1.71547652b82fe178p+0L
#define TOO_BIG 11357      /* e^this overflows, e^-this is smaller than any number but 0 */

/* ln 2 in two parts; n times the first is exact for |n| < 2^15 */
#define LN2_HIGH 0x1.62e42fefa3ap-1L
#define LN2_LOW  -0x1.0ca86c3898cff81ap-49L

extended exp_of_sum(struct sum x)
{
	extended n;
	struct sum rest;

	if (x.high > TOO_BIG)
		return scale(1, 32767);
	if (x.high < -TOO_BIG - 64)
		return scale(1, -32767);
	n = round_int(x.high * LOG2_E);
	rest = sum_add(x, sum_multiply(LN2_SUM, (struct sum){ -n, 0 }));
	n = scale(1 + (exp2_minus1(rest.high * LOG2_E) + rest.low), n);
	return n;
}

extended expl(extended x)
{
	extended n;

	if (is_nan(x))
		return x;
	if (x > TOO_BIG)
		return is_finite(x) ? scale(1, 32767) : x;
	if (x < -TOO_BIG - 64)
		return is_finite(x) ? scale(1, -32767) : 0;
	n = round_int(x * LOG2_E);
	x = (x - n * LN2_HIGH) - n * LN2_LOW;
	return scale(1 + exp2_minus1(x * LOG2_E), n);
}

/* f2xm1 loses nothing near 0, and 2^n - 1 is exact as long as it matters. */
extended expm1l(extended x)
{
	extended n;

	if (is_nan(x) || x == 0)
		return x;
	if (x > TOO_BIG)
		return is_finite(x) ? scale(1, 32767) : x;
	if (x < -64)
		return -1;
	if (absolute(x) < 0x1p-65L)
		return x;
	n = round_int(x * LOG2_E);
	x = (x - n * LN2_HIGH) - n * LN2_LOW;
	x = exp2_minus1(x * LOG2_E);
	if (n == 0)
		return x;
	if (n > 16000)
		return scale(1 + x, n);
	return scale(x, n) + (scale(1, n) - 1);
}

extended exp2l(extended x)
{
	extended n;

	if (is_nan(x))
		return x;
	if (x >= 16384)
		return is_finite(x) ? scale(1, 32767) : x;
	if (x < -16512)
		return is_finite(x) ? scale(1, -32767) : 0;
	n = round_int(x);
	return scale(1 + exp2_minus1(x - n), n);
}

/* gcc makes this of powl(10, x) */
extended exp10l(extended x);

extended exp10l(extended x)
{
	return powl(10, x);
}
