/*
 * Every complex function of float, double and long double on many arguments, one line each: the
 * function, the parts of its arguments and of its result in hexadecimal. tests/test_libc.py
 * compiles this file for the host as well and compares the two outputs.
 */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t state = 20261124;

static uint64_t random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

/* Of either sign, with an exponent in [-most, most). */
static long double random_value(int most)
{
	long double mantissa = 0x1p-63L * (random_bits() | 1ULL << 63);

	return ldexpl(random_bits() & 1 ? mantissa : -mantissa,
		      (int)(random_bits() % (2 * (unsigned)most)) - most);
}

static const long double special[] = {
	0.0L, -0.0L, 1.0L, -1.0L, 0.5L, -2.0L, 0.6L, 0.8L, 1e-5L, 1e-10L, -1e-20L, 1e10L, -1e19L,
	0x1.fffffep-1L, 0x1.000002p0L, 0x1.fffffffffffffp-1L, -0x1.0000000000001p0L,
	0x1.921fb54442d18p0L, 3.7L, -7.25L, 20.0L, 100.0L,
	__builtin_infl(), -__builtin_infl(), __builtin_nanl(""),
};
#define SPECIALS (sizeof special / sizeof *special)

#define EACH(F) F(exp) F(log) F(sqrt) F(sin) F(cos) F(tan) F(sinh) F(cosh) F(tanh) F(asin) F(acos) \
	F(atan) F(asinh) F(acosh) F(atanh)

static void line(const char *name, long double x, long double y, long double complex result)
{
	printf("%s %La %La = %La %La\n", name, x, y, creall(result), cimagl(result));
}

/* All functions of x + i y: of the number in their own type. */
static void all(long double x, long double y)
{
#define OF_FLOAT(F)  line("c" #F "f", (float)x, (float)y, c##F##f(CMPLXF((float)x, (float)y)));
#define OF_DOUBLE(F) line("c" #F, (double)x, (double)y, c##F(CMPLX((double)x, (double)y)));
#define OF_LONG(F)   line("c" #F "l", x, y, c##F##l(CMPLXL(x, y)));
	EACH(OF_FLOAT)
	EACH(OF_DOUBLE)
	EACH(OF_LONG)
}

int main(void)
{
	for (unsigned i = 0; i < SPECIALS; i++)
		for (unsigned j = 0; j < SPECIALS; j++)
			all(special[i], special[j]);
	for (int round = 0; round < 200; round++)
		all(random_value(2 + round / 20), random_value(2 + round / 20));
	for (int round = 0; round < 200; round++) {             /* powers */
		long double complex z = CMPLXL(random_value(3), random_value(3));
		long double complex power = CMPLXL(random_value(2), random_value(2));

		line("cpowl", creall(z) + creall(power), cimagl(z) + cimagl(power), cpowl(z, power));
	}
	return 0;
}
