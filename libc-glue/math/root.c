/*
 * Long double roots. newlib's sqrtl and hypotl go wrong at the ends of the
 * range; fsqrt is exact to half a unit, and scaling keeps squares in range.
 */
#include <math.h>
#include "extended.h"

#define APART 65           /* binary orders between two legs: the shorter is a touch */

extended sqrtl(extended x)
{
	return square_root(x);
}

/* The square root of a sum of squares in sums of two, which is rounded once. */
extended hypotl(extended x, extended y)
{
	extended longer = absolute(x), shorter = absolute(y), root, rest;
	struct sum total;
	int exponent, other;

	if ((!is_finite(x) && !is_nan(x)) || (!is_finite(y) && !is_nan(y)))
		return HUGE_VALL;
	if (is_nan(x) || is_nan(y))
		return x + y;
	if (longer < shorter) {
		longer = shorter;
		shorter = absolute(x);
	}
	if (shorter == 0)
		return longer;
	frexpl(longer, &exponent);
	frexpl(shorter, &other);
	if (exponent - other > APART)
		return longer + shorter;
	longer = scale(longer, -exponent);
	shorter = scale(shorter, -exponent);
	total = sum_add(multiply(longer, longer), multiply(shorter, shorter));
	root = square_root(total.high);
	rest = sum_add(total, (struct sum){ -multiply(root, root).high,
					    -multiply(root, root).low }).high;
	return scale(root + rest / (2 * root), exponent);
}

/* The double's root, then one step of Newton, which doubles its bits. */
extended cbrtl(extended x)
{
	int exponent;
	extended m, root;

	if (x == 0 || !is_finite(x))
		return x;
	m = frexpl(x, &exponent);
	while (exponent % 3) {
		m *= 2;
		exponent--;
	}
	root = cbrt((double)m);
	root -= (root * root * root - m) / (3 * root * root);
	return scale(root, exponent / 3);
}
