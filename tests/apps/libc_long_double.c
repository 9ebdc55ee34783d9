/*
 * Every long double function on many arguments, one line each: the function,
 * its arguments and its result in hexadecimal. tests/test_libc.py compiles this
 * file for the host as well and compares the two outputs.
 */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef long double extended;

static uint64_t state = 20240229;

static uint64_t random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

/* Of either sign, with an exponent in [least, most). */
static extended random_value(int least, int most)
{
	struct { uint64_t mantissa; uint16_t sign_exp, zero[3]; } bits = { 0 };
	extended value;

	bits.mantissa = random_bits() | 1ULL << 63;
	bits.sign_exp = (uint16_t)(16383 + least + (int)(random_bits() % (uint64_t)(most - least)));
	bits.sign_exp |= (uint16_t)(random_bits() << 15);
	memcpy(&value, &bits, sizeof value);
	return value;
}

static const extended special[] = {
	0.0L, -0.0L, 1.0L, -1.0L, 0.5L, -0.5L, 1.5L, 2.0L, 2.5L, -2.5L, 3.0L, 10.0L, 27.0L, -27.0L,
	0x1p-16445L, 0x1p-16382L, 0x1p-16400L, 0x1.fffffffffffffffep16383L, 0x1p63L, -0x1p62L,
	0x1.921fb54442d1846ap+0L, 0x1.921fb54442d1846ap+1L, 1e22L, 0x1p16383L, 11356.5L, -11355.1L,
	16383.5L, -16445.0L, -16400.3L, 0x1p-64L, 0x1p-33L, 0x1.0000000000000002p0L,
	0x1.fffffffffffffffep-1L, __builtin_infl(), -__builtin_infl(), __builtin_nanl(""),
};
#define SPECIALS (sizeof special / sizeof *special)

struct one {
	const char *name;
	extended (*function)(extended);
	int least, most;        /* exponents of random arguments */
};

#define ONE(name, least, most) { #name, name, least, most }
static const struct one ones[] = {
	ONE(sinl, -40, 100), ONE(cosl, -40, 100), ONE(tanl, -40, 100),
	ONE(sinl, 16000, 16384), ONE(cosl, 1000, 16384),
	ONE(asinl, -40, 0), ONE(acosl, -40, 0), ONE(atanl, -40, 80),
	ONE(expl, -40, 14), ONE(exp2l, -40, 14), ONE(expm1l, -66, 14),
	ONE(logl, -16380, 16384), ONE(logl, -3, 2), ONE(log2l, -3, 2), ONE(log2l, -16380, 16384),
	ONE(log10l, -3, 2), ONE(log10l, -16380, 16384), ONE(log1pl, -66, 0), ONE(log1pl, 0, 100),
	ONE(sqrtl, -16380, 16384), ONE(cbrtl, -16380, 16384),
	ONE(sinhl, -40, 14), ONE(coshl, -40, 14), ONE(tanhl, -40, 7),
	ONE(asinhl, -40, 80), ONE(acoshl, 0, 80), ONE(atanhl, -40, 0),
	ONE(erfl, -40, 4), ONE(erfcl, -40, 7),
	ONE(floorl, -3, 66), ONE(ceill, -3, 66), ONE(truncl, -3, 66), ONE(rintl, -3, 66),
	ONE(nearbyintl, -3, 66), ONE(roundl, -3, 66), ONE(logbl, -16380, 16384),
	ONE(fabsl, -5, 5),
};

struct two {
	const char *name;
	extended (*function)(extended, extended);
	int least, most;
};

#define TWO(name, least, most) { #name, name, least, most }
static const struct two twos[] = {
	TWO(powl, -2, 6), TWO(powl, -10, 10), TWO(atan2l, -20, 20), TWO(hypotl, -20, 20),
	TWO(hypotl, -16000, 16000), TWO(fmodl, -10, 30), TWO(remainderl, -10, 30),
	TWO(copysignl, -5, 5), TWO(nextafterl, -5, 5), TWO(nexttowardl, -16381, -16370),
	TWO(fmaxl, -5, 5), TWO(fminl, -5, 5), TWO(fdiml, -5, 5),
};

struct complex_one {
	const char *name;
	long double complex (*function)(long double complex);
	int most;               /* exponents of random arguments are below this */
	int specials;           /* whether infinities and NaNs have one right result */
};

#define COMPLEX(name, most, specials) { #name, name, most, specials }
static const struct complex_one complexes[] = {
	COMPLEX(cexpl, 13, 0), COMPLEX(csinl, 13, 0), COMPLEX(ccosl, 13, 0), COMPLEX(ctanl, 13, 0),
	COMPLEX(csinhl, 13, 0), COMPLEX(ccoshl, 13, 0), COMPLEX(ctanhl, 13, 0),
	COMPLEX(csqrtl, 16380, 1), COMPLEX(clogl, 16380, 1), COMPLEX(casinl, 16380, 1),
	COMPLEX(cacosl, 16380, 1), COMPLEX(catanl, 16380, 1), COMPLEX(casinhl, 16380, 0),
	COMPLEX(cacoshl, 16380, 0), COMPLEX(catanhl, 16380, 0),
};

static void print_one(const struct one *f, extended x)
{
	printf("%s %La = %La\n", f->name, x, f->function(x));
}

static void print_two(const struct two *f, extended x, extended y)
{
	printf("%s %La %La = %La\n", f->name, x, y, f->function(x, y));
}

static void print_complex(const struct complex_one *f, extended x, extended y)
{
	long double complex z = f->function(CMPLXL(x, y));

	printf("%s-real %La %La = %La\n", f->name, x, y, creall(z));
	printf("%s-imaginary %La %La = %La\n", f->name, x, y, cimagl(z));
}

static void print_complexes(const struct complex_one *f)
{
	static const extended values[] = {
		0.0L, -0.0L, 1.0L, -1.0L, 0.5L, -0.5L, 2.0L, -27.0L, 0x1p-64L, 11356.5L, 1e22L,
		__builtin_infl(), -__builtin_infl(), __builtin_nanl(""),
	};
	int count = f->specials ? 14 : 11;

	for (int j = 0; j < count; j++)
		for (int k = 0; k < count; k++)
			print_complex(f, values[j], values[k]);
	for (int j = 0; j < 100; j++)
		print_complex(f, random_value(-20, j % 2 ? 4 : f->most),
			      random_value(-20, j % 4 > 1 ? 4 : f->most));
}

/* Functions with other forms. */
static void print_others(extended x, extended y, extended z)
{
	extended part = 0, whole;
	int n = 0;

	printf("fmal %La %La %La = %La\n", x, y, z, fmal(x, y, z));
	part = frexpl(x, &n);
	printf("frexpl %La = %La\n", x, part);
	if (x - x == 0)
		printf("frexpl-exponent %La = %d\n", x, n);
	part = modfl(x, &whole);
	printf("modfl %La = %La\n", x, part);
	printf("modfl-whole %La = %La\n", x, whole);
	printf("ldexpl %La = %La\n", x, ldexpl(x, -17));
	printf("scalbnl %La = %La\n", x, scalbnl(x, 40000));
	printf("scalblnl %La = %La\n", x, scalblnl(x, -100L));
	if (x - x == 0 && fabsl(x) < 0x1p62L) {
		printf("lrintl %La = %ld\n", x, lrintl(x));
		printf("llrintl %La = %lld\n", x, llrintl(x));
		printf("lroundl %La = %ld\n", x, lroundl(x));
		printf("llroundl %La = %lld\n", x, llroundl(x));
	}
	if (x != 0 && x - x == 0)
		printf("ilogbl %La = %d\n", x, ilogbl(x));
	if (x - x == 0 && y != 0 && y == y) {
		part = remquol(x, y, &n);
		printf("remquol %La %La = %La\n", x, y, part);
		printf("remquol-bits %La %La = %d\n", x, y, n < 0 ? -(-n & 7) : n & 7);
	}
	printf("nexttoward %La = %a\n", x, nexttoward((double)y, x));
	printf("nexttowardf %La = %a\n", x, (double)nexttowardf((float)y, x));
}

int main(void)
{
	for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
		for (size_t j = 0; j < SPECIALS; j++)
			print_one(&ones[i], special[j]);
		for (int j = 0; j < 60; j++)
			print_one(&ones[i], random_value(ones[i].least, ones[i].most));
	}
	for (size_t i = 0; i < sizeof twos / sizeof *twos; i++) {
		for (size_t j = 0; j < SPECIALS; j++)
			for (size_t k = 0; k < SPECIALS; k += 3)
				print_two(&twos[i], special[j], special[(j + k) % SPECIALS]);
		for (int j = 0; j < 60; j++)
			print_two(&twos[i], random_value(twos[i].least, twos[i].most),
				  random_value(twos[i].least, twos[i].most));
	}
	for (size_t i = 0; i < sizeof complexes / sizeof *complexes; i++)
		print_complexes(&complexes[i]);
	for (size_t j = 0; j < SPECIALS; j++)
		print_others(special[j], special[(j + 5) % SPECIALS], special[(j + 11) % SPECIALS]);
	for (int j = 0; j < 100; j++)
		print_others(random_value(-4, 60), random_value(-4, 10), random_value(-70, 60));
	return 0;
}
