/*
 * Numbers to text and back. Arguments: how many random doubles and long doubles to convert to text
 * and back unchanged, and how many lines of formats to print: tests/test_libc.py compiles this file
 * for the host as well, and compares the lines.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252;

static uint64_t random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

/* Any finite number, including subnormal ones. */
static double random_double(void)
{
	uint64_t bits;
	double value;

	do
		bits = random_bits();
	while ((bits >> 52 & 0x7ff) == 0x7ff);
	memcpy(&value, &bits, sizeof value);
	return value;
}

static long double random_long_double(void)
{
	struct { uint64_t mantissa; uint16_t sign_exp, zero[3]; } bits = { 0 };
	long double value;

	bits.mantissa = random_bits();
	do
		bits.sign_exp = (uint16_t)random_bits();
	while ((bits.sign_exp & 0x7fff) == 0x7fff);
	if (bits.sign_exp & 0x7fff)
		bits.mantissa |= 1ULL << 63;
	else
		bits.mantissa &= ~(1ULL << 63);
	memcpy(&value, &bits, sizeof value);
	return value;
}

static long there_and_back(long count)
{
	char text[80];
	long wrong = 0;

	for (long i = 0; i < count; i++) {
		double number = random_double();
		long double extended = random_long_double();

		snprintf(text, sizeof text, "%.17g", number);
		wrong += strtod(text, NULL) != number;
		snprintf(text, sizeof text, i & 1 ? "%.21Lg" : "%La", extended);
		wrong += strtold(text, NULL) != extended;
	}
	return wrong;
}

static void formats(long lines)
{
	static const char *const plain[] = {
		"%.*f", "%+.*e", "%.*g", "%#.*g", "% 040.*f", "%-30.*e|", "%.*a" };
	static const char *const extended[] = { "%.*Lf", "%.*Le", "%.*Lg" };

	for (long i = 0; i < lines; i++) {
		int precision = (int)(random_bits() % (i % 4 ? 40 : 401));

		if (i % 3) {
			double number = random_double();
			int form = (int)(random_bits() % 7);

			/* C does not specify the first hexadecimal digit of a subnormal number. */
			printf(plain[isnormal(number) ? form : form % 6], precision, number);
			putchar(' ');
			printf(plain[random_bits() % 6], precision % 12,
			       (double)(int64_t)random_bits() / (double)(1UL << random_bits() % 64));
		} else {
			printf(extended[random_bits() % 3], precision, random_long_double());
		}
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	printf("%ld wrong\n", there_and_back(strtol(argv[1], NULL, 10)));
	formats(strtol(argv[2], NULL, 10));
	return 0;
}
