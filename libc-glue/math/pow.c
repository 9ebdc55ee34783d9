/*
 * powl: e^(y log x) with log x as a sum of two, whose series is added up in
 * sums of two as well: x^y stays good to about a unit at any size. Small whole
 * exponents multiply, so that what is exact comes out exact.
 */
#include <math.h>
#include "extended.h"

#define SQRT_HALF  0.70710678118654752440L
#define WHOLE_MOST 64       /* exponents that are multiplied out */

static int is_whole(extended y)
{
	return round_int(y) == y;
}

static int is_odd(extended y)
{
	return absolute(y) < 0x1p64L && is_whole(y) && !is_whole(y / 2);
}

/* log of a positive finite x: 2 atanh((m - 1) / (m + 1)) + e log 2 */
static struct sum log_sum(extended x)
{
	int exponent;
	extended m = frexpl(x, &exponent);
	struct sum s, square, series;

	if (m < SQRT_HALF) {
		m *= 2;
		exponent--;
	}
	s = sum_divide((struct sum){ m - 1, 0 }, add(m, 1));
	square = sum_multiply(s, s);
	series = (struct sum){ 0, 0 };
	for (int n = 51; n >= 1; n -= 2)
		series = sum_add(sum_multiply(series, square),
				 sum_divide((struct sum){ 1, 0 }, (struct sum){ n, 0 }));
	series = sum_multiply(series, s);
	series.high *= 2;
	series.low *= 2;
	return sum_add(sum_multiply(LN2_SUM, (struct sum){ exponent, 0 }), series);
}

/* x^n by squaring */
static struct sum whole_power(extended x, int n)
{
	struct sum result = { 1, 0 }, power = { x, 0 };

	for (; n; n >>= 1) {
		if (n & 1)
			result = sum_multiply(result, power);
		if (n > 1)
			power = sum_multiply(power, power);
	}
	return result;
}

/* x^y, x > 0 and both finite */
static extended power(extended x, extended y)
{
	struct sum product, log_x;

	log_x = log_sum(x);
	if (is_whole(y) && absolute(y) <= WHOLE_MOST && absolute(log_x.high * y) < 11000) {
		product = whole_power(x, (int)absolute(y));
		if (y < 0)
			product = sum_divide((struct sum){ 1, 0 }, product);
		return product.high + product.low;
	}
	if (absolute(y) > 0x1p80L)      /* log x is 2^-65 at least, or 0 */
		y = with_sign(0x1p80L, y);
	product = sum_multiply(log_x, (struct sum){ y, 0 });
	return exp_of_sum(product);
}

extended powl(extended x, extended y)
{
	extended size = absolute(x), sign = 1;

	if (y == 0 || x == 1)
		return 1;
	if (is_nan(x) || is_nan(y))
		return x + y;
	if (!is_finite(y)) {
		if (size == 1)
			return 1;
		return (size > 1) == !negative(y) ? HUGE_VALL : 0;
	}
	if (negative(x) && is_odd(y))
		sign = -1;
	if (x == 0) {
		if (negative(y))
			return sign / size;
		return with_sign(0, sign);
	}
	if (!is_finite(x))
		return with_sign(negative(y) ? 0 : HUGE_VALL, sign);
	if (negative(x) && !is_whole(y))
		return (x - x) / (x - x);
	return sign * power(size, y);
}
