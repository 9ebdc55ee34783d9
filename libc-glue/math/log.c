/*
 * Long double logarithms: fyl2x, and near 1 fyl2xp1, which sees the difference
 * from 1 in full.
 */
#include <complex.h>
#include <math.h>
#include "extended.h"

#define LN2      0x1.62e42fefa39ef358p-1L
#define LOG10_2  0x1.34413509f79fef32p-2L
#define NEAR     0.29L

static extended log_by(extended factor, extended x)
{
	extended past = x - 1;

	if (absolute(past) < NEAR)
		return past == 0 ? 0 : times_log2_plus1(factor, past);
	return times_log2(factor, x);
}

extended logl(extended x)
{
	return log_by(LN2, x);
}

extended log2l(extended x)
{
	return log_by(1, x);
}

extended log10l(extended x)
{
	return log_by(LOG10_2, x);
}

extended log1pl(extended x)
{
	if (absolute(x) < NEAR)
		return x == 0 ? x : times_log2_plus1(LN2, x);
	return times_log2(LN2, 1 + x);
}

long double _Complex clog10l(long double _Complex z)
{
	return clogl(z) * 0x1.bcb7b1526e50e32ap-2L;
}
