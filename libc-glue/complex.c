/*
 * Complex functions that musl computes too roughly: its long double ones have a double's precision,
 * log loses the real part where |z| is near 1, and the inverse functions lose all digits near 0 and
 * far from it. Here the long double functions are good to a few units (the inverse ones by Hull,
 * Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions using exception
 * handling", 1997), and those of double and float are the long double ones, rounded. Special values
 * are those of C11, annex G. Functions of i z and cpowl are musl's, which call these.
 */
#include <complex.h>
#include <math.h>

#include "libc-glue/sum.h"

#define LN_2      0.693147180559945309417232121458176568L
#define PI        3.14159265358979323846264338327950288L
#define PI_2      1.57079632679489661923132169163975144L
#define FAR       0x1p40L    /* 1/FAR^2 is below a unit of 1 */
#define FARTHER   0x1p70L    /* 1/FARTHER is, too */
#define NEAR      0x1p-70L
#define HUGE_PART 0x1p16380L /* the absolute value of larger parts may overflow */
#define TINY_PART 0x1p-16300L
#define EXP_MOST  11350      /* e^x is normal between -this and this */
#define TANH_ONE  24         /* tanh of more is 1 */

typedef long double complex extended_complex;

/* a^2 + b^2 - 1, a >= b >= 0, good to a unit also where it is nearly 0. */
static extended square_less_one(extended a, extended b)
{
	struct sum first = multiply(a, a), second = multiply(b, b);
	struct sum less = add(first.high, -1), all = add(less.high, second.high);

	return all.high + (all.low + less.low + first.low + second.low);
}

extended_complex clogl(extended_complex z)
{
	extended x = fabsl(creall(z)), y = fabsl(cimagl(z)), size = hypotl(x, y), real;

	if (size > 0.5L && size < 2)
		real = log1pl(square_less_one(fmaxl(x, y), fminl(x, y))) / 2;
	else if (isfinite(x) && isfinite(y) && fmaxl(x, y) > HUGE_PART)
		real = logl(hypotl(x / 4, y / 4)) + 2 * LN_2;
	else if (size > 0 && size < TINY_PART)
		real = logl(hypotl(x * 0x1p100L, y * 0x1p100L)) - 100 * LN_2;
	else
		real = logl(size);
	return CMPLXL(real, cargl(z));
}

extended_complex csqrtl(extended_complex z)
{
	extended x = creall(z), y = cimagl(z), size, root, unit = 1;

	if (isinf(y))
		return CMPLXL(HUGE_VALL, y);
	if (isinf(x) && x > 0)
		return CMPLXL(x, isnan(y) ? y : copysignl(0, y));
	if (isinf(x))
		return CMPLXL(isnan(y) ? y : 0, copysignl(HUGE_VALL, y));
	if (isnan(x) || isnan(y))
		return CMPLXL(x + y, x + y);
	size = fmaxl(fabsl(x), fabsl(y));
	if (size == 0)
		return CMPLXL(0, y);
	if (size > HUGE_PART)
		unit = 0x1p10L;
	else if (size < TINY_PART)
		unit = 0x1p-100L;
	x = x / unit / unit;
	y = y / unit / unit;
	root = sqrtl((fabsl(x) + hypotl(x, y)) / 2);
	return x >= 0 ? CMPLXL(root * unit, y / (2 * root) * unit) :
			CMPLXL(fabsl(y) / (2 * root) * unit, copysignl(root * unit, y));
}

extended_complex cexpl(extended_complex z)
{
	extended x = creall(z), y = cimagl(z), size;

	if (y == 0)
		return CMPLXL(expl(x), y);
	if (!isfinite(y)) {
		if (isinf(x))
			return x < 0 ? CMPLXL(0, copysignl(0, y)) : CMPLXL(x, y - y);
		return CMPLXL(y - y, y - y);
	}
	if (isfinite(x) && fabsl(x) > EXP_MOST) {
		size = expl(x / 2);
		return CMPLXL(size * cosl(y) * size, size * sinl(y) * size);
	}
	size = expl(x);
	return CMPLXL(size * cosl(y), size * sinl(y));
}

extended_complex csinhl(extended_complex z)
{
	extended x = creall(z), y = cimagl(z), size;

	if (y == 0)
		return CMPLXL(sinhl(x), y);
	if (!isfinite(y))
		return CMPLXL(x == 0 || isinf(x) ? x : y - y, y - y);
	if (isfinite(x) && fabsl(x) > EXP_MOST) {
		size = expl(fabsl(x) / 2);
		return CMPLXL(copysignl(size, x) * cosl(y) / 2 * size, size * sinl(y) / 2 * size);
	}
	return CMPLXL(sinhl(x) * cosl(y), coshl(x) * sinl(y));
}

extended_complex ccoshl(extended_complex z)
{
	extended x = creall(z), y = cimagl(z), size;

	if (y == 0)
		return CMPLXL(coshl(x), isnan(x) ? y : copysignl(1, x) * y);
	if (!isfinite(y)) {
		if (isinf(x))
			return CMPLXL(HUGE_VALL, y - y);
		return CMPLXL(y - y, x == 0 ? x : y - y);
	}
	if (isfinite(x) && fabsl(x) > EXP_MOST) {
		size = expl(fabsl(x) / 2);
		return CMPLXL(size * cosl(y) / 2 * size, copysignl(size, x) * sinl(y) / 2 * size);
	}
	return CMPLXL(coshl(x) * cosl(y), sinhl(x) * sinl(y));
}

/* Kahan, "Branch cuts for complex elementary functions", 1987. */
extended_complex ctanhl(extended_complex z)
{
	extended x = creall(z), y = cimagl(z), tangent, slope, sine, divisor;

	if (isnan(x))
		return CMPLXL(x, y == 0 ? y : x + y);
	if (isinf(x))
		return CMPLXL(copysignl(1, x), copysignl(0, isfinite(y) ? sinl(y) * cosl(y) : y));
	if (!isfinite(y))
		return CMPLXL(x == 0 ? x : y - y, y - y);
	if (fabsl(x) > TANH_ONE)
		return CMPLXL(copysignl(1, x), 4 * sinl(y) * cosl(y) * expl(-2 * fabsl(x)));
	tangent = tanl(y);
	slope = 1 + tangent * tangent;
	sine = sinhl(x);
	divisor = 1 + slope * sine * sine;
	return CMPLXL(slope * sqrtl(1 + sine * sine) * sine / divisor, tangent / divisor);
}

/* The arc sine and arc cosine of x + i y, x and y >= 0 or no numbers. */
struct arcs {
	extended sine, cosine;       /* the real parts */
	extended height;             /* the imaginary part of both, without sign */
};

/* The point lies beside the real axis, where a square of y would be 0. */
static struct arcs arcs_on_axis(extended x, extended y)
{
	if (x < 1)
		return (struct arcs){ asinl(x), acosl(x), y / sqrtl((1 - x) * (1 + x)) };
	if (x == 1)
		return (struct arcs){ PI_2 - sqrtl(y), sqrtl(y), sqrtl(y) };
	return (struct arcs){ PI_2, y / sqrtl((x - 1) * (x + 1)),
			      log1pl((x - 1) + sqrtl((x - 1) * (x + 1))) };
}

static struct arcs arcs(extended x, extended y)
{
	extended right, left, mean, ratio, over_one, leg;
	struct arcs result;

	if (isinf(x) || isinf(y))
		return (struct arcs){ atan2l(x, y), atan2l(y, x), HUGE_VALL };
	if (isnan(x) || isnan(y))
		return (struct arcs){ x == 0 ? x : x + y, x == 0 ? PI_2 : x + y, x + y };
	if (x > FAR || y > FAR)
		return (struct arcs){ atan2l(x, y), atan2l(y, x),
				      logl(hypotl(x / 4, y / 4)) + 3 * LN_2 };
	if (y <= NEAR * fabsl(x - 1) || (x == 1 && y < NEAR * NEAR))
		return arcs_on_axis(x, y);
	right = hypotl(x + 1, y);               /* the distances from -1 and 1 */
	left = hypotl(x - 1, y);
	mean = (right + left) / 2;
	ratio = x / mean;
	over_one = x < 1 ? (y * y / (right + (x + 1)) + y * y / (left + (1 - x))) / 2 :
			   (y * y / (right + (x + 1)) + (left + (x - 1))) / 2;
	result.height = mean < 1.5L ? log1pl(over_one + sqrtl(over_one * (mean + 1))) :
				      logl(mean + sqrtl(mean * mean - 1));
	if (ratio < 0.64L) {
		result.sine = asinl(ratio);
		result.cosine = acosl(ratio);
		return result;
	}
	if (x <= 1)
		leg = sqrtl((mean + x) / 2 * (y * y / (right + (x + 1)) + (left + (1 - x))));
	else
		leg = y * sqrtl(((mean + x) / (right + (x + 1)) +
				 (mean + x) / (left + (x - 1))) / 2);
	result.sine = atan2l(x, leg);
	result.cosine = atan2l(leg, x);
	return result;
}

extended_complex casinl(extended_complex z)
{
	extended x = creall(z), y = cimagl(z);
	struct arcs found = arcs(fabsl(x), fabsl(y));

	return CMPLXL(copysignl(found.sine, x), copysignl(found.height, y));
}

extended_complex cacosl(extended_complex z)
{
	extended x = creall(z), y = cimagl(z);
	struct arcs found = arcs(fabsl(x), fabsl(y));

	return CMPLXL(signbit(x) ? PI - found.cosine : found.cosine,
		      copysignl(found.height, signbit(y) ? 1 : -1));
}

/* The arc tangent of x + i y, x and y >= 0 and finite. */
static extended_complex arc_tangent(extended x, extended y)
{
	extended size = hypotl(x, y), real, imaginary, beside;

	if (size > FARTHER)
		real = PI_2;
	else
		real = atan2l(2 * x, 0 - square_less_one(fmaxl(x, y), fminl(x, y))) / 2;
	beside = x * x + (1 - y) * (1 - y);     /* the square of the distance from i */
	if (size > FAR)
		imaginary = y / size / size;
	else if (y == 1 && x > 0 && x < NEAR)
		imaginary = (LN_2 - logl(x)) / 2;
	else
		imaginary = log1pl(4 * y / beside) / 4;
	return CMPLXL(real, imaginary);
}

extended_complex catanl(extended_complex z)
{
	extended x = fabsl(creall(z)), y = fabsl(cimagl(z));

	if (isinf(x) || isinf(y))
		z = CMPLXL(isnan(creall(z)) ? x : copysignl(PI_2, creall(z)),
			   copysignl(0, cimagl(z)));
	else if (isnan(x) || isnan(y))
		z = CMPLXL(x + y, y == 0 ? cimagl(z) : x + y);
	else {
		extended_complex found = arc_tangent(x, y);

		z = CMPLXL(copysignl(creall(found), creall(z)),
			   copysignl(cimagl(found), cimagl(z)));
	}
	return z;
}

/* ---- double and float ---- */

#define ROUNDED(function) \
	double complex function(double complex z) { return function##l(z); } \
	float complex function##f(float complex z) { return function##l(z); }

ROUNDED(clog)
ROUNDED(casin)
ROUNDED(cacos)
ROUNDED(catan)

double complex cpow(double complex z, double complex exponent)
{
	return cpowl(z, exponent);
}

float complex cpowf(float complex z, float complex exponent)
{
	return cpowl(z, exponent);
}
