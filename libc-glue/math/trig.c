/*
 * Long double sine, cosine and tangent. Any argument is reduced exactly, with
 * the bits of 2/pi that matter at its size (Payne and Hanek), to a sum of two
 * in [-pi/4, pi/4]; there the Taylor series is short. The x87's own fsin is not
 * used: it knows 66 bits of pi, and emulators compute it in double.
 */
#include <math.h>
#include "extended.h"
#include "two_over_pi.h"

#define PI_4       0x1.921fb54442d1846ap-1L
#define PI_2_SUM   ((struct sum){ 0x1.921fb54442d1846ap+0L, -0x1.d9cceba3f91f1976p-66L })
#define WINDOW     4           /* words of 2/pi that a product takes */
#define HAS_SERIES 13          /* terms: (pi/4)^27 / 27! is below 2^-100 */

/* 64 bits of 2/pi from bit `first` on; bit 1 weighs 1/2, those before it are 0. */
static uint64_t word_at(long first)
{
	long start = first - 1, word = start >> 6, shift = start & 63;
	uint64_t high = word >= 0 ? two_over_pi[word] : 0;
	uint64_t low = word + 1 >= 0 ? two_over_pi[word + 1] : 0;

	return shift ? high << shift | low >> (64 - shift) : high;
}

/* The rest of |x| modulo pi/2, x finite and at least pi/4; which quarter it is in. */
static struct sum reduce(extended x, int *quarter)
{
	union bits bits = { .value = x };
	long exponent = exp_of(x) - EXP_BIAS - 63;     /* |x| = mantissa * 2^exponent */
	uint64_t product[WINDOW + 1] = { 0 };          /* the lowest word first */
	unsigned __int128 carry = 0;
	struct sum fraction;
	int flip;

	/* Bits before exponent - 2 are multiples of 8 in the product: leave them out. */
	for (int i = 0; i < WINDOW; i++) {
		carry += (unsigned __int128)bits.mantissa *
			 word_at(exponent - 2 + 64 * (WINDOW - 1 - i));
		product[i] = (uint64_t)carry;
		carry >>= 64;
	}
	product[WINDOW] = (uint64_t)carry;
	/* The window's last bit weighs 2^-253: 3 bits of the fourth word are whole. */
	*quarter = (int)(product[3] >> 61 | product[4] << 3) & 3;
	product[3] = product[3] << 3 | product[2] >> 61;
	product[2] = product[2] << 3 | product[1] >> 61;
	product[1] = product[1] << 3 | product[0] >> 61;
	flip = product[3] >> 63;
	if (flip) {
		product[3] = ~product[3];
		product[2] = ~product[2];
		product[1] = ~product[1];
		*quarter = (*quarter + 1) & 3;
	}
	fraction = add_ordered(scale((extended)product[3], -64),
			       scale((extended)product[2], -128));
	fraction = add_ordered(fraction.high, fraction.low + scale((extended)product[1], -192));
	if (flip) {
		fraction.high = -fraction.high;
		fraction.low = -fraction.low;
	}
	return sum_multiply(fraction, PI_2_SUM);
}

/* x - x^3/3! + ..., with x's low part */
static extended sine_of(struct sum x)
{
	extended square = x.high * x.high, series = 0;

	for (int n = 2 * HAS_SERIES; n >= 2; n -= 2)
		series = (series + 1) * -square / (n * (n + 1));
	return x.high + (x.low * (1 - square / 2) + x.high * series);
}

/* 1 - x^2/2! + ...: the first two terms as a sum of two */
static extended cosine_of(struct sum x)
{
	extended square = x.high * x.high, series = 0;
	struct sum start;

	for (int n = 2 * HAS_SERIES - 1; n >= 3; n -= 2)
		series = (series + 1) * -square / (n * (n + 1));
	start = multiply(x.high, x.high);
	start = sum_add((struct sum){ 1, 0 }, (struct sum){ -start.high / 2, -start.low / 2 });
	return start.high + (start.low - square / 2 * series - x.high * x.low);
}

/* Sine and cosine at once; either may be wanted alone. */
static void both(extended x, extended *sine, extended *cosine)
{
	struct sum rest = { x, 0 };
	int quarter = 0;
	extended s, c;

	if (!is_finite(x)) {
		*sine = *cosine = x - x;
		return;
	}
	if (absolute(x) >= PI_4)
		rest = reduce(x, &quarter);
	else if (absolute(x) < 0x1p-33L) {
		*sine = x;
		*cosine = 1;
		return;
	}
	if (absolute(x) >= PI_4 && negative(x)) {
		rest.high = -rest.high;
		rest.low = -rest.low;
		quarter = -quarter & 3;
	}
	s = sine_of(rest);
	c = cosine_of(rest);
	*sine = quarter & 1 ? c : s;
	*cosine = quarter & 1 ? s : c;
	if (quarter & 2)
		*sine = -*sine;
	if (quarter == 1 || quarter == 2)
		*cosine = -*cosine;
}

extended sinl(extended x)
{
	extended sine, cosine;

	both(x, &sine, &cosine);
	return sine;
}

extended cosl(extended x)
{
	extended sine, cosine;

	both(x, &sine, &cosine);
	return cosine;
}

/* gcc makes this of sinl and cosl */
void sincosl(extended x, extended *sine, extended *cosine);

void sincosl(extended x, extended *sine, extended *cosine)
{
	both(x, sine, cosine);
}

extended tanl(extended x)
{
	extended sine, cosine;

	both(x, &sine, &cosine);
	return sine / cosine;
}
