/*
 * Complex functions in long double: musl computes these in double, and some of their parts in float.
 * The logarithm and the inverse functions are those of float and double as well, because musl's
 * lose digits near their branch points and overflow for large arguments. musl has the other
 * functions, which are rotations of these.
 *
 * Kahan's formulas ("Branch Cuts for Complex Elementary Functions", 1987) subtract nothing that is
 * not exact. Signs of zeros and results of infinities are those of C, annex G.
 */
#include <complex.h>
#include <float.h>
#include <math.h>

typedef long double extended;
typedef long double complex complex_extended;

#define PI_HALF     0x1.921fb54442d1846ap+0L
#define LN2         0x1.62e42fefa39ef358p-1L
#define LARGE       0x1p40L         /* 1 is nothing beside this one's square */
#define EXP_LARGE   11000           /* e^this times a little fits, twice this does not */
#define TANH_ONE    24              /* tanh of this is 1 */

static inline complex_extended value(extended real, extended imaginary)
{
	return CMPLXL(real, imaginary);
}

/* e^x times the cosine and sine of y, over 1 or 2. A large e^x is multiplied in as two roots. */
static complex_extended turned(extended x, extended y, extended over)
{
	extended root = 1, e;

	if (isfinite(x) && fabsl(x) > EXP_LARGE)
		x = x / 2, root = expl(x);
	e = expl(x) / over;
	return value(e * cosl(y) * root, e * sinl(y) * root);
}

complex_extended cexpl(complex_extended z)
{
	extended x = creall(z), y = cimagl(z);

	if (y == 0)
		return value(expl(x), y);
	if (isfinite(y))
		return turned(x, y, 1);
	if (isinf(x))
		return signbit(x) ? value(0, copysignl(0, y)) : value(x, y - y);
	return value(y - y, y - y);
}

complex_extended csinhl(complex_extended z)
{
	extended x = creall(z), y = cimagl(z);

	if (y == 0)
		return value(sinhl(x), y);
	if (!isfinite(y))
		return value(x == 0 || isinf(x) ? x : y - y, y - y);
	if (isfinite(x) && fabsl(x) > EXP_LARGE) {
		z = turned(fabsl(x), y, 2);
		return value(copysignl(1, x) * creall(z), cimagl(z));
	}
	return value(sinhl(x) * cosl(y), coshl(x) * sinl(y));
}

complex_extended ccoshl(complex_extended z)
{
	extended x = creall(z), y = cimagl(z);

	if (y == 0)
		return value(coshl(x), copysignl(y, x) * copysignl(1, y));
	if (!isfinite(y)) {
		if (x == 0)
			return value(y - y, copysignl(0, x));
		return value(isinf(x) ? x * x : y - y, y - y);
	}
	if (isfinite(x) && fabsl(x) > EXP_LARGE) {
		z = turned(fabsl(x), y, 2);
		return value(creall(z), copysignl(1, x) * cimagl(z));
	}
	return value(coshl(x) * cosl(y), sinhl(x) * sinl(y));
}

/* Kahan's, with t = tan y and s = sinh x. */
complex_extended ctanhl(complex_extended z)
{
	extended x = creall(z), y = cimagl(z), t, s, square, below;

	if (isnan(x))
		return value(x, y == 0 ? y : x);
	if (!isfinite(y))
		return isinf(x) ? value(copysignl(1, x), copysignl(0, y)) :
			value(x == 0 ? x : y - y, y - y);
	if (fabsl(x) > TANH_ONE)
		return value(copysignl(1, x), 4 * sinl(y) * cosl(y) * expl(-2 * fabsl(x)));
	t = tanl(y);
	s = sinhl(x);
	square = 1 + t * t;
	below = 1 + square * s * s;
	return value(square * sqrtl(1 + s * s) * s / below, t / below);
}

complex_extended csqrtl(complex_extended z)
{
	extended x = creall(z), y = cimagl(z), root, unit = 1;

	if (x == 0 && y == 0)
		return value(0, y);
	if (isinf(y))
		return value(HUGE_VALL, y);
	if (isnan(x))
		return value(x, x);
	if (isinf(x))
		return signbit(x) ? value(isnan(y) ? y : 0, copysignl(HUGE_VALL, y)) :
			value(x, isnan(y) ? y : copysignl(0, y));
	if (fmaxl(fabsl(x), fabsl(y)) > 0x1p16380L)
		unit = 0x1p-1L;
	else if (fmaxl(fabsl(x), fabsl(y)) < 0x1p-16000L)
		unit = 0x1p100L;
	x *= unit * unit;
	y *= unit * unit;
	root = sqrtl((fabsl(x) + hypotl(x, y)) / 2);
	if (signbit(x))
		return value(fabsl(y) / (2 * root) / unit, copysignl(root, y) / unit);
	return value(root / unit, y / (2 * root) / unit);
}

/* a * a as a sum of two, the second one's size at most half a unit of the first's (Dekker). */
static extended square(extended a, extended *rest)
{
	extended part = a * 0x1.00000001p32L, high = part - (part - a), low = a - high;
	extended product = a * a;

	*rest = (high * high - product + 2 * high * low) + low * low;
	return product;
}

/* log |z|: near the unit circle from |z|^2 - 1, whose terms cancel. */
static extended log_size(extended x, extended y)
{
	extended large = fmaxl(fabsl(x), fabsl(y)), small = fminl(fabsl(x), fabsl(y));
	extended rest, other_rest, sum, size;

	if (isfinite(large) && large > 0x1p16380L)
		return log_size(x / 4, y / 4) + 2 * LN2;
	size = hypotl(x, y);
	if (!(size > 0.5L && size < 2))
		return logl(size);
	if (small < 0x1p-40L)
		return log1pl((large - 1) * (large + 1) + small * small) / 2;
	sum = square(large, &rest) - 1;
	size = square(small, &other_rest);
	return log1pl((sum + size) + (rest + other_rest)) / 2;
}

complex_extended clogl(complex_extended z)
{
	return value(log_size(creall(z), cimagl(z)), cargl(z));
}

complex_extended casinl(complex_extended z)
{
	extended x = creall(z), y = cimagl(z);
	complex_extended minus, plus;

	if (isnan(x + y) && !isinf(x) && !isinf(y))
		return value(x == 0 ? x : x + y, x + y);
	if (!(hypotl(x, y) < LARGE))
		return value(atan2l(x, fabsl(y)), copysignl(log_size(x, y) + LN2, y));
	minus = csqrtl(value(1 - x, -y));
	plus = csqrtl(value(1 + x, y));
	return value(atan2l(x, creall(minus) * creall(plus) - cimagl(minus) * cimagl(plus)),
		     asinhl(creall(minus) * cimagl(plus) - cimagl(minus) * creall(plus)));
}

complex_extended cacosl(complex_extended z)
{
	extended x = creall(z), y = cimagl(z);
	complex_extended minus, plus;

	if (isnan(x + y) && !isinf(x) && !isinf(y))
		return value(x == 0 ? PI_HALF : x + y, x + y);
	if (!(hypotl(x, y) < LARGE))
		return value(atan2l(fabsl(y), x), copysignl(log_size(x, y) + LN2, -y));
	minus = csqrtl(value(1 - x, -y));
	plus = csqrtl(value(1 + x, y));
	return value(2 * atan2l(creall(minus), creall(plus)),
		     asinhl(creall(plus) * cimagl(minus) - cimagl(plus) * creall(minus)));
}

/* The inverse hyperbolic tangent of x + iy, x not negative. */
static complex_extended atanh_right(extended x, extended y)
{
	extended size = hypotl(x, y), real;

	if (isinf(x) || isinf(y))
		return value(0, isnan(y) ? y : copysignl(PI_HALF, y));
	if (isnan(x + y))
		return value(x == 0 ? x : x + y, x + y);
	if (size > LARGE)
		return value(x / size / size, atan2l(2 * (y / size), 1 / size - size) / 2);
	if (x == 1 && fabsl(y) < 0x1p-4000L)
		real = (LN2 - logl(fabsl(y))) / 2;
	else
		real = log1pl(4 * x / ((1 - x) * (1 - x) + y * y)) / 4;
	return value(real, atan2l(2 * y, (1 - x) * (1 + x) - y * y) / 2);
}

/* atan z = -i atanh(iz) */
complex_extended catanl(complex_extended z)
{
	extended x = -cimagl(z), y = creall(z);
	complex_extended turned_back = atanh_right(fabsl(x), copysignl(1, x) * y);

	return value(copysignl(1, x) * cimagl(turned_back),
		     -copysignl(1, x) * creall(turned_back));
}

/* The same for double and float, rounded. */
#define ROUNDED(name) \
	double complex name(double complex z) \
	{ \
		complex_extended w = name##l(z); \
		return CMPLX((double)creall(w), (double)cimagl(w)); \
	} \
	float complex name##f(float complex z) \
	{ \
		complex_extended w = name##l(z); \
		return CMPLXF((float)creall(w), (float)cimagl(w)); \
	}

ROUNDED(clog)
ROUNDED(casin)
ROUNDED(cacos)
ROUNDED(catan)
