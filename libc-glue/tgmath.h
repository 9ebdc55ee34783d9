/*
 * <tgmath.h>: C11 7.25 by the compiler's own choice among functions. It takes
 * the place of newlib's, whose macros gcc refuses for complex arguments.
 */
#ifndef TGMATH_H
#define TGMATH_H
#include <complex.h>
#include <math.h>

#define TGMATH_REAL(name, ...)    __builtin_tgmath(name##f, name, name##l, __VA_ARGS__)
#define TGMATH_BOTH(name, complex_name, ...) \
	__builtin_tgmath(name##f, name, name##l, \
			 complex_name##f, complex_name, complex_name##l, __VA_ARGS__)

/* real and complex arguments */
#define acos(x)            TGMATH_BOTH(acos, cacos, x)
#define asin(x)            TGMATH_BOTH(asin, casin, x)
#define atan(x)            TGMATH_BOTH(atan, catan, x)
#define acosh(x)           TGMATH_BOTH(acosh, cacosh, x)
#define asinh(x)           TGMATH_BOTH(asinh, casinh, x)
#define atanh(x)           TGMATH_BOTH(atanh, catanh, x)
#define cos(x)             TGMATH_BOTH(cos, ccos, x)
#define sin(x)             TGMATH_BOTH(sin, csin, x)
#define tan(x)             TGMATH_BOTH(tan, ctan, x)
#define cosh(x)            TGMATH_BOTH(cosh, ccosh, x)
#define sinh(x)            TGMATH_BOTH(sinh, csinh, x)
#define tanh(x)            TGMATH_BOTH(tanh, ctanh, x)
#define exp(x)             TGMATH_BOTH(exp, cexp, x)
#define log(x)             TGMATH_BOTH(log, clog, x)
#define pow(x, y)          TGMATH_BOTH(pow, cpow, x, y)
#define sqrt(x)            TGMATH_BOTH(sqrt, csqrt, x)
#define fabs(x)            TGMATH_BOTH(fabs, cabs, x)

/* complex arguments only */
#define carg(z)            TGMATH_REAL(carg, z)
#define cimag(z)           TGMATH_REAL(cimag, z)
#define conj(z)            TGMATH_REAL(conj, z)
#define cproj(z)           TGMATH_REAL(cproj, z)
#define creal(z)           TGMATH_REAL(creal, z)

/* real arguments only */
#define atan2(x, y)        TGMATH_REAL(atan2, x, y)
#define cbrt(x)            TGMATH_REAL(cbrt, x)
#define ceil(x)            TGMATH_REAL(ceil, x)
#define copysign(x, y)     TGMATH_REAL(copysign, x, y)
#define erf(x)             TGMATH_REAL(erf, x)
#define erfc(x)            TGMATH_REAL(erfc, x)
#define exp2(x)            TGMATH_REAL(exp2, x)
#define expm1(x)           TGMATH_REAL(expm1, x)
#define fdim(x, y)         TGMATH_REAL(fdim, x, y)
#define floor(x)           TGMATH_REAL(floor, x)
#define fma(x, y, z)       TGMATH_REAL(fma, x, y, z)
#define fmax(x, y)         TGMATH_REAL(fmax, x, y)
#define fmin(x, y)         TGMATH_REAL(fmin, x, y)
#define fmod(x, y)         TGMATH_REAL(fmod, x, y)
#define frexp(x, n)        TGMATH_REAL(frexp, x, n)
#define hypot(x, y)        TGMATH_REAL(hypot, x, y)
#define ilogb(x)           TGMATH_REAL(ilogb, x)
#define ldexp(x, n)        TGMATH_REAL(ldexp, x, n)
#define lgamma(x)          TGMATH_REAL(lgamma, x)
#define llrint(x)          TGMATH_REAL(llrint, x)
#define llround(x)         TGMATH_REAL(llround, x)
#define log10(x)           TGMATH_REAL(log10, x)
#define log1p(x)           TGMATH_REAL(log1p, x)
#define log2(x)            TGMATH_REAL(log2, x)
#define logb(x)            TGMATH_REAL(logb, x)
#define lrint(x)           TGMATH_REAL(lrint, x)
#define lround(x)          TGMATH_REAL(lround, x)
#define nearbyint(x)       TGMATH_REAL(nearbyint, x)
#define nextafter(x, y)    TGMATH_REAL(nextafter, x, y)
#define nexttoward(x, y)   TGMATH_REAL(nexttoward, x, y)
#define remainder(x, y)    TGMATH_REAL(remainder, x, y)
#define remquo(x, y, n)    TGMATH_REAL(remquo, x, y, n)
#define rint(x)            TGMATH_REAL(rint, x)
#define round(x)           TGMATH_REAL(round, x)
#define scalbn(x, n)       TGMATH_REAL(scalbn, x, n)
#define scalbln(x, n)      TGMATH_REAL(scalbln, x, n)
#define tgamma(x)          TGMATH_REAL(tgamma, x)
#define trunc(x)           TGMATH_REAL(trunc, x)

#endif
