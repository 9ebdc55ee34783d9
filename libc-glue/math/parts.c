/*
 * Long double functions that take numbers apart, put them together, compare
 * them or step to their neighbours: exact, on the bits.
 */
#include <limits.h>
#include <math.h>
#include "extended.h"

extended copysignl(extended x, extended y)
{
	return with_sign(x, y);
}

extended fabsl(extended x)
{
	return absolute(x);
}

extended frexpl(extended x, int *exponent)
{
	union bits bits = { .value = x };
	int more = 0;

	*exponent = 0;
	if (x == 0 || !is_finite(x))
		return x + x;
	if (exp_of(x) == 0) {
		bits.value = x * 0x1p64L;
		more = -64;
	}
	*exponent = exp_of(bits.value) - (EXP_BIAS - 1) + more;
	bits.sign_exp = (uint16_t)((bits.sign_exp & 0x8000) | (EXP_BIAS - 1));
	return bits.value;
}

extended scalbnl(extended x, int n)
{
	return scale(x, n);
}

extended ldexpl(extended x, int n)
{
	return scale(x, n);
}

extended scalblnl(extended x, long n)
{
	return scale(x, n);
}

extended modfl(extended x, extended *whole)
{
	*whole = truncl(x);
	return with_sign(is_finite(x) ? x - *whole : is_nan(x) ? x : 0, x);
}

extended logbl(extended x)
{
	int exponent;

	if (x == 0)
		return -1 / absolute(x);
	if (!is_finite(x))
		return x * x;
	frexpl(x, &exponent);
	return exponent - 1;
}

int ilogbl(extended x)
{
	int exponent;

	if (x == 0)
		return FP_ILOGB0;
	if (is_nan(x))
		return FP_ILOGBNAN;
	if (!is_finite(x))
		return INT_MAX;
	frexpl(x, &exponent);
	return exponent - 1;
}

extended nextafterl(extended x, extended y)
{
	union bits bits = { .value = x };

	if (is_nan(x) || is_nan(y))
		return x + y;
	if (x == y)
		return y;
	if (x == 0) {
		bits = (union bits){ .mantissa = 1, .sign_exp = (uint16_t)(negative(y) << 15) };
	} else if ((x < y) == !negative(x)) {
		/* away from zero; past all ones the next binade begins, or the normal range */
		if (++bits.mantissa == 0) {
			bits.mantissa = INTEGER_BIT;
			bits.sign_exp++;
		} else if (bits.mantissa == INTEGER_BIT && exp_of(x) == 0) {
			bits.sign_exp++;
		}
	} else if (bits.mantissa-- == INTEGER_BIT) {
		bits.sign_exp--;
		if (exp_of(bits.value) != 0)
			bits.mantissa |= INTEGER_BIT;
	}
	return bits.value;
}

extended nexttowardl(extended x, extended y)
{
	return nextafterl(x, y);
}

double nexttoward(double x, extended y)
{
	if (is_nan(x) || is_nan(y))
		return (double)(x + y);
	if (x == y)
		return (double)y;
	return nextafter(x, x < y ? HUGE_VAL : -HUGE_VAL);
}

float nexttowardf(float x, extended y)
{
	if (is_nan(x) || is_nan(y))
		return (float)(x + y);
	if (x == y)
		return (float)y;
	return nextafterf(x, x < y ? HUGE_VALF : -HUGE_VALF);
}

extended fmaxl(extended x, extended y)
{
	if (is_nan(y) || x > y || (x == y && negative(y)))
		return x;
	return y;
}

extended fminl(extended x, extended y)
{
	if (is_nan(y) || x < y || (x == y && negative(x)))
		return x;
	return y;
}

extended fdiml(extended x, extended y)
{
	if (is_nan(x) || is_nan(y))
		return x + y;
	return x > y ? x - y : 0;
}
