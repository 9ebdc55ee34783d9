/*
 * Support for the language in crt0 and the headers: constructors, destructors, thread-local data,
 * atomics, complex numbers, the floating point environment, generic mathematics.
 */
#include <complex.h>
#include <ctype.h>
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <tgmath.h>
#include "libc.h"

static int order[4], orders;
static _Thread_local int filled = 42, zeroed;
static _Thread_local alignas(64) char aligned[64];
static _Thread_local char small = 'x';

__attribute__((constructor(200))) static void second(void)
{
	order[orders++] = 200;
}

__attribute__((constructor(101))) static void first(void)
{
	order[orders++] = 101;
}

__attribute__((constructor)) static void third(void)
{
	order[orders++] = 1;
}

__attribute__((destructor)) static void last(void)
{
	printf("ok destructor\n");
}

static void at_exit(void)
{
	printf("ok atexit\n");
}

static void threads_data(void)
{
	TEST("tls-filled", filled == 42 && small == 'x');
	TEST("tls-zeroed", zeroed == 0 && aligned[63] == 0);
	TEST("tls-aligned", ((uintptr_t)aligned & 63) == 0);
	filled = zeroed = 7;
	aligned[0] = 1;
	TEST("tls-kept", filled == 7 && zeroed == 7 && small == 'x' && aligned[0] == 1);
}

static void atomics(void)
{
	static _Atomic unsigned long counter;
	static atomic_flag flag = ATOMIC_FLAG_INIT;
	_Atomic int value = 3;
	int expected = 3;

	for (int i = 0; i < 1000; i++)
		atomic_fetch_add(&counter, 3);
	TEST("atomic-add", counter == 3000);
	TEST("atomic-exchange", atomic_compare_exchange_strong(&value, &expected, 9) && value == 9);
	TEST("atomic-fails", !atomic_compare_exchange_strong(&value, &expected, 1) && expected == 9);
	TEST("atomic-flag", !atomic_flag_test_and_set(&flag) && atomic_flag_test_and_set(&flag));
	TEST("atomic-lock-free", atomic_is_lock_free(&counter));
}

static int close_to(double complex a, double complex b)
{
	return cabs(a - b) < 1e-14;
}

static void complexes(void)
{
	volatile double complex z = 3 + 4 * I, i = I, w;
	volatile long double complex extended_i = I, minus = -1;

	TEST("cabs", cabs(z) == 5);
	TEST("csqrt", close_to(csqrt(z), 2 + I));
	TEST("cexp", close_to(cexp(i * M_PI), -1));
	TEST("cpow", close_to(cpow(i, i), 0.20787957635076190855));
	w = z * conj(z);
	TEST("cmul", creal(w) == 25 && cimag(w) == 0);
	TEST("cdiv", close_to(z / (1 + 2 * I), 2.2 - 0.4 * I));
	TEST("clogl", fabsl(cimagl(clogl(minus)) - 3.14159265358979323846L) < 1e-18L);
	TEST("csinl", cabsl(csinl(extended_i) - 1.17520119364380145688L * I) < 1e-18L);
}

static void environment(void)
{
	volatile double zero = 0, one = 1, three = 3;
	volatile long double extended_one = 1, extended_three = 3, extended_down, extended_up;
	volatile double down, up;
	fenv_t saved;

	feclearexcept(FE_ALL_EXCEPT);
	TEST("fenv-clear", fetestexcept(FE_ALL_EXCEPT) == 0);
	up = one / zero;
	TEST("fenv-divide", isinf(up) && fetestexcept(FE_DIVBYZERO));
	TEST("fenv-invalid", isnan(zero / zero) && fetestexcept(FE_INVALID));
	feclearexcept(FE_ALL_EXCEPT);
	TEST("fenv-inexact", one / three < 1 && fetestexcept(FE_INEXACT));
	TEST("fenv-nearest", fegetround() == FE_TONEAREST);
	fesetround(FE_DOWNWARD);
	down = one / three;
	extended_down = extended_one / extended_three;
	TEST("fenv-x87-down", rintl(-extended_one / 2) == -1);
	fesetround(FE_UPWARD);
	up = one / three;
	extended_up = extended_one / extended_three;
	fesetround(FE_TONEAREST);
	TEST("fenv-directions", up - down == 0x1p-54);
	TEST("fenv-x87-directions", extended_up - extended_down == 0x1p-65L);
	feholdexcept(&saved);
	feraiseexcept(FE_OVERFLOW);
	TEST("fenv-raise", fetestexcept(FE_OVERFLOW) != 0);
	fesetenv(&saved);
	TEST("fenv-restore", fetestexcept(FE_OVERFLOW) == 0);
}

static void mathematics(void)
{
	volatile double two = 2, half = 0.5, minus = -1, five = 5, more = 0x1.0000000000001p0;
	volatile float four = 4;
	volatile long double extended_two = 2;

	TEST("tgmath-float", sizeof sqrt(four) == sizeof(float) && sqrt(four) == 2);
	TEST("tgmath-long-double", sizeof exp(extended_two) == sizeof(long double) &&
	     fabs(exp(extended_two) - 7.38905609893065022723L) < 1e-17L);
	TEST("pow", pow(two, 10) == 1024);
	TEST("sin", sin(half) == 0x1.eaee8744b05fp-2);
	TEST("tgamma", tgamma(five) == 24);
	TEST("lgamma", lgamma(half) == 0x1.250d048e7a1bdp-1);
	TEST("fma", fma(more, more, minus) == 0x1.00000000000008p-51);
	TEST("sqrt-nan", isnan(sqrt(minus)));
	TEST("classify", fpclassify(0x1p-1074) == FP_SUBNORMAL && signbit(-0.0) && isfinite(two));
	TEST("compare", isless(1.0, 2.0) && isunordered(NAN, 1.0) && !isgreater(NAN, 1.0));
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Structs of each size from 4 bytes on, sorted by the last digit of their number. */
static int by_digit(const void *a, const void *b, void *calls)
{
	++*(int *)calls;
	return *(const int *)a % 10 - *(const int *)b % 10;
}

/* A stable sort, as glibc's qsort is. */
static int keeps_order(int count, size_t size)
{
	char *all = malloc(count * size);
	int calls = 0, good = 1;

	for (int i = 0; i < count; i++) {
		memset(all + i * size, i, size);
		memcpy(all + i * size, &(int){ i * 7919 % 1000 * 1000 + i }, sizeof(int));
	}
	qsort_r(all, count, size, by_digit, &calls);
	for (int i = 1; i < count; i++) {
		int before, after;

		memcpy(&before, all + (i - 1) * size, sizeof(int));
		memcpy(&after, all + i * size, sizeof(int));
		good &= before % 10 < after % 10 ||
			(before % 10 == after % 10 && before % 1000 < after % 1000);
		good &= size == sizeof(int) || all[(i + 1) * size - 1] == (char)(after % 1000);
	}
	free(all);
	return good && (count < 2 || calls >= count - 1);
}

static void library(void)
{
	int numbers[] = { 5, 3, 9, 1 }, key = 9;
	jmp_buf place;
	volatile int jumps = 0;

	qsort(numbers, 4, sizeof *numbers, by_value);
	TEST("qsort", numbers[0] == 1 && numbers[3] == 9);
	TEST("qsort-stable", keeps_order(0, 4) && keeps_order(1, 4) && keeps_order(2, 4) &&
	     keeps_order(999, 4) && keeps_order(777, 12) && keeps_order(61, 1000));
	TEST("bsearch", bsearch(&key, numbers, 4, sizeof *numbers, by_value) == &numbers[3]);
	if (setjmp(place) < 3)
		longjmp(place, ++jumps);
	TEST("longjmp", jumps == 3);
	TEST("ctype", isalpha('x') && !isdigit('x') && toupper('x') == 'X');
	TEST("div", lldiv(-7, 2).quot == -3 && lldiv(-7, 2).rem == -1);
	srand(1);
	TEST("rand", rand() >= 0);
}

int main(void)
{
	TEST("constructors", orders == 3 && order[0] == 101 && order[1] == 200 && order[2] == 1);
	atexit(at_exit);
	threads_data();
	atomics();
	complexes();
	environment();
	mathematics();
	library();
	return failed;
}
