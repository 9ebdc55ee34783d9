/*
 * Tools for long double mathematics on the x87: its bits, its exact and its
 * accurate instructions, and sums of two long doubles (about 128 bits of
 * mantissa). Included by the files of libc-glue/math/ only. All of it wants
 * the x87's 64-bit precision, which crt0 sets.
 */
#ifndef LIBC_GLUE_EXTENDED_H
#define LIBC_GLUE_EXTENDED_H
#include <stdint.h>

#define EXP_BIAS     16383
#define EXP_SPECIAL  0x7fff                  /* infinities and NaNs */
#define INTEGER_BIT  0x8000000000000000ULL   /* explicit in this format */

typedef long double extended;

union bits {
	extended value;
	struct {
		uint64_t mantissa;
		uint16_t sign_exp;       /* sign in the top bit */
	};
};

static inline int exp_of(extended x)
{
	return ((union bits){ .value = x }).sign_exp & 0x7fff;
}

static inline int negative(extended x)
{
	return ((union bits){ .value = x }).sign_exp >> 15;
}

static inline int is_nan(extended x)
{
	return x != x;
}

static inline int is_finite(extended x)
{
	return exp_of(x) != EXP_SPECIAL;
}

static inline extended absolute(extended x)
{
	__asm__("fabs" : "+t"(x));
	return x;
}

static inline extended with_sign(extended x, extended sign)
{
	union bits to = { .value = x };

	to.sign_exp = (uint16_t)((to.sign_exp & 0x7fff) | (negative(sign) << 15));
	return to.value;
}

/* x rounded to an integer in the current direction. */
static inline extended round_int(extended x)
{
	__asm__("frndint" : "+t"(x));
	return x;
}

/* x times 2 to the power of an integral n, rounded once. */
static inline extended scale(extended x, extended n)
{
	__asm__("fscale" : "+t"(x) : "u"(n));
	return x;
}

static inline extended square_root(extended x)
{
	__asm__("fsqrt" : "+t"(x));
	return x;
}

/* factor * log2(x) */
static inline extended times_log2(extended factor, extended x)
{
	__asm__("fyl2x" : "+t"(x) : "u"(factor) : "st(1)");
	return x;
}

/* factor * log2(1 + x), |x| < 0.29 */
static inline extended times_log2_plus1(extended factor, extended x)
{
	__asm__("fyl2xp1" : "+t"(x) : "u"(factor) : "st(1)");
	return x;
}

/* 2^x - 1, |x| <= 1 */
static inline extended exp2_minus1(extended x)
{
	__asm__("f2xm1" : "+t"(x));
	return x;
}

/* A value as the sum of two, the second at most half a unit of the first. */
struct sum {
	extended high, low;
};

#define LN2_SUM  ((struct sum){ 0x1.62e42fefa39ef358p-1L, -0x1.b0e2633fe0684a86p-67L })

/* a + b exactly */
static inline struct sum add(extended a, extended b)
{
	extended high = a + b, part = high - a;

	return (struct sum){ high, (a - (high - part)) + (b - part) };
}

/* a + b exactly if |a| >= |b| */
static inline struct sum add_ordered(extended a, extended b)
{
	extended high = a + b;

	return (struct sum){ high, b - (high - a) };
}

/* a * b exactly, if nothing overflows or gets subnormal */
static inline struct sum multiply(extended a, extended b)
{
	const extended splitter = 0x1.00000001p32L;
	extended high = a * b;
	extended a_part = a * splitter, b_part = b * splitter;
	extended a1 = a_part - (a_part - a), b1 = b_part - (b_part - b);
	extended a2 = a - a1, b2 = b - b1;

	return (struct sum){ high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2 };
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

/* e to the power of x, as exp.c computes it for the others */
extended exp_of_sum(struct sum x);

#endif
