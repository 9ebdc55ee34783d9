/*
 * Long double error functions: a series whose terms all have one sign for small
 * arguments, a continued fraction for large ones. A few units in the last place.
 */
#include <math.h>
#include "extended.h"

#define TWO_OVER_ROOT_PI 0x1.20dd750429b6d11ap+0L
#define ONE_OVER_ROOT_PI 0x1.20dd750429b6d11ap-1L
#define SERIES_MOST 0.75L    /* past it the complement is computed */
#define ERFC_ZERO   107      /* erfc is 0 from here on */

/* e^(-x^2), the square in full */
static extended gauss(extended x)
{
	struct sum square = multiply(x, x);

	return exp_of_sum((struct sum){ -square.high, -square.low });
}

/* erf for |x| <= SERIES_MOST: e^(-x^2) 2/sqrt(pi) (x + 2x^3/3 + 4x^5/(3 5) + ...) */
static extended series(extended x)
{
	extended term = x, total = 0, square = 2 * x * x;
	int n = 1;

	while (absolute(term) > absolute(total) * 0x1p-70L) {
		total += term;
		n += 2;
		term *= square / n;
	}
	return TWO_OVER_ROOT_PI * gauss(x) * total;
}

/* erfc for x > SERIES_MOST, from the far end of the fraction */
static extended fraction(extended x)
{
	int terms = 40 + (int)(400 / (x * x));
	extended value = x;

	for (int n = terms; n >= 1; n--)
		value = x + n / (2 * value);
	return ONE_OVER_ROOT_PI * gauss(x) / value;
}

extended erfl(extended x)
{
	extended size = absolute(x);

	if (is_nan(x) || x == 0)
		return x;
	if (size <= SERIES_MOST)
		return series(x);
	return with_sign(size > 7 ? 1 : 1 - fraction(size), x);
}

extended erfcl(extended x)
{
	if (is_nan(x))
		return x;
	if (absolute(x) <= SERIES_MOST)
		return 1 - series(x);
	if (x > 0)
		return x > ERFC_ZERO ? 0 : fraction(x);
	return x < -7 ? 2 : 2 - fraction(-x);
}
