/*
 * powl: e^(y log x), with log x as a sum of two long doubles. The series of log x is summed in such
 * pairs as well, so x^y is good to about a unit at any size. musl's loses 5 bits, and takes 2^16383
 * for an invalid exponent. Small integral exponents multiply, so that exact powers are exact. It
 * needs the x87's 64-bit precision and rounding to nearest.
 */
#include <math.h>

#include "libc-glue/sum.h"

#define SQRT_HALF  0.70710678118654752440L
#define LOG2_E     0x1.71547652b82fe178p+0L
#define WHOLE_MOST 64       /* largest exponent that is multiplied out */
#define TOO_BIG    11357    /* e^this overflows, e^-this is smaller than any normal number */

#define LN2_SUM  ((struct sum){ 0x1.62e42fefa39ef358p-1L, -0x1.b0e2633fe0684a86p-67L })

/* x times 2 to the power of an integral n, rounded once. */
static inline extended scale(extended x, extended n)
{
	__asm__("fscale" : "+t"(x) : "u"(n));
	return x;
}

/* 2^x - 1, |x| <= 1 */
static inline extended exp2_minus1(extended x)
{
	__asm__("f2xm1" : "+t"(x));
	return x;
}

/* a + b exactly if |a| >= |b| */
static inline struct sum add_ordered(extended a, extended b)
{
	extended high = a + b;

	return (struct sum){ high, b - (high - a) };
}

static inline struct sum sum_add(struct sum a, struct sum b)
{
	struct sum high = add(a.high, b.high);

	return add_ordered(high.high, high.low + (a.low + b.low));
}

static inline struct sum sum_multiply(struct sum a, struct sum b)
{
	struct sum high = multiply(a.high, b.high);

	return add_ordered(high.high, high.low + (a.high * b.low + a.low * b.high));
}

static inline struct sum sum_divide(struct sum a, struct sum b)
{
	extended first = a.high / b.high;
	struct sum back = sum_multiply(b, (struct sum){ first, 0 });
	struct sum rest = sum_add(a, (struct sum){ -back.high, -back.low });

	return add_ordered(first, rest.high / b.high);
}

static extended exp_of_sum(struct sum x)
{
	extended n;
	struct sum rest;

	if (x.high > TOO_BIG)
		return scale(1, 32767);
	if (x.high < -TOO_BIG - 64)
		return scale(1, -32767);
	n = rintl(x.high * LOG2_E);
	rest = sum_add(x, sum_multiply(LN2_SUM, (struct sum){ -n, 0 }));
	return scale(1 + (exp2_minus1(rest.high * LOG2_E) + rest.low), n);
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

static int is_whole(extended y)
{
	return rintl(y) == y;
}

static int is_odd(extended y)
{
	return fabsl(y) < 0x1p64L && is_whole(y) && !is_whole(y / 2);
}

/* x^y, x > 0 and both finite */
static extended power(extended x, extended y)
{
	struct sum product, log_x;

	log_x = log_sum(x);
	if (is_whole(y) && fabsl(y) <= WHOLE_MOST && fabsl(log_x.high * y) < 11000) {
		product = whole_power(x, (int)fabsl(y));
		if (y < 0)
			product = sum_divide((struct sum){ 1, 0 }, product);
		return product.high + product.low;
	}
	if (fabsl(y) > 0x1p80L)         /* log x is 2^-65 at least, or 0 */
		y = copysignl(0x1p80L, y);
	product = sum_multiply(log_x, (struct sum){ y, 0 });
	return exp_of_sum(product);
}

extended powl(extended x, extended y)
{
	extended size = fabsl(x), sign = 1;

	if (y == 0 || x == 1)
		return 1;
	if (isnan(x) || isnan(y))
		return x + y;
	if (isinf(y)) {
		if (size == 1)
			return 1;
		return (size > 1) == !signbit(y) ? HUGE_VALL : 0;
	}
	if (signbit(x) && is_odd(y))
		sign = -1;
	if (x == 0) {
		if (signbit(y))
			return sign / size;
		return copysignl(0, sign);
	}
	if (isinf(x))
		return copysignl(signbit(y) ? 0 : HUGE_VALL, sign);
	if (signbit(x) && !is_whole(y))
		return (x - x) / (x - x);
	return sign * power(size, y);
}
