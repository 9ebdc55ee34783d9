/* printf, scanf and conversions, exact to the last digit. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>
#include "libc.h"

static void printing(void)
{
	PRINTS("zu", "18446744073709551615", "%zu", SIZE_MAX);
	PRINTS("zd", "-5", "%zd", (ssize_t)-5);
	PRINTS("td", "-7", "%td", (ptrdiff_t)-7);
	PRINTS("jd", "-9223372036854775808", "%jd", INTMAX_MIN);
	PRINTS("lld", "-9223372036854775807", "%lld", -9223372036854775807LL);
	PRINTS("llu-hex", "ffffffffffffffff", "%llx", ULLONG_MAX);
	PRINTS("Ld-Lu-Lx", "-5 18446744073709551615 ff end", "%Ld %Lu %Lx %s", -5LL, ULLONG_MAX, 255ULL,
	       "end");
	PRINTS("hhd", "-1", "%hhd", 255);
	PRINTS("hhu", "254", "%hhu", 510);
	PRINTS("hd", "-32768", "%hd", 32768);
	PRINTS("a", "0x1.8p+1 -0x1p-1074", "%a %a", 3.0, -0x1p-1074);
	PRINTS("A-precision", "0X1.9P+3", "%.1A", 12.5);
	PRINTS("Lf", "3.14159265358979323851", "%.20Lf", 3.14159265358979323846L);
	PRINTS("Lg", "1e+4000", "%Lg", 1e4000L);
	PRINTS("Le", "1.189731495357231765e+4932", "%.18Le", 0x1.fffffffffffffffep16383L);
	PRINTS("La", "0x1.fffffffffffffffep+0", "%La", 0x1.fffffffffffffffep0L);
	PRINTS("f", "0.1000000000000000055511151231257827", "%.34f", 0.1);
	PRINTS("g", "100000 1e+06 0.0001 1e-05", "%g %g %g %g", 1e5, 1e6, 1e-4, 1e-5);
	PRINTS("inf-nan", "inf -INF nan", "%f %F %f", __builtin_inf(), -__builtin_inf(),
	       __builtin_nan(""));
	PRINTS("flags", "[   +42] [42    ] [00042] [0x2a] [ 42] [052]",
	       "[%+6d] [%-6d] [%05d] [%#x] [% d] [%#o]", 42, 42, 42, 42, 42, 42);
	PRINTS("star", "[   ab] [ab   ]", "[%*.*s] [%*.2s]", 5, 2, "abc", -5, "abc");
	PRINTS("positions", "b a", "%2$s %1$s", "a", "b");
	PRINTS("c-s-percent", "x yz %", "%c %s %%", 'x', "yz");
	PRINTS("p", "0x40000000", "%p", (void *)0x40000000);
	PRINTS("inttypes", "-1 4294967295 18446744073709551615 ff", "%" PRId64 " %" PRIu32 " %" PRIu64
	       " %" PRIx8, (int64_t)-1, UINT32_MAX, UINT64_MAX, (uint8_t)255);
	PRINTS("intptr", "7", "%" PRIdPTR, (intptr_t)7);
	PRINTS("ls", "wide", "%ls", L"wide");
	TEST("snprintf-length", snprintf(NULL, 0, "%d %s", 12345, "abc") == 9);
}

static void scanning(void)
{
	size_t size;
	long long big;
	signed char tiny;
	long double extended;
	double number;
	intmax_t widest;
	char word[8];
	int end;

	TEST("scan-zu", sscanf("123456789012", "%zu", &size) == 1 && size == 123456789012);
	TEST("scan-lld", sscanf("-9000000000", "%lld", &big) == 1 && big == -9000000000);
	TEST("scan-hhd", sscanf("-100", "%hhd", &tiny) == 1 && tiny == -100);
	TEST("scan-Lf", sscanf("1e4000", "%Lf", &extended) == 1 && extended == 1e4000L);
	TEST("scan-lf", sscanf("-2.5e3x", "%lf", &number) == 1 && number == -2500);
	TEST("scan-jd", sscanf("77", "%jd", &widest) == 1 && widest == 77);
	TEST("scan-set", sscanf("abc123", "%7[a-z]%n", word, &end) == 1 && end == 3 &&
	     strcmp(word, "abc") == 0);
}

static void converting(void)
{
	char *end;

	TEST("strtold", strtold("0.1", NULL) == 0.1L);
	TEST("strtold-hex", strtold("0x1.fffffffffffffffep3z", &end) == 0x1.fffffffffffffffep3L &&
	     *end == 'z');
	TEST("strtod", strtod("2.2250738585072014e-308", NULL) == 0x1p-1022);
	errno = 0;
	TEST("strtoll-range", strtoll("99999999999999999999", NULL, 10) == LLONG_MAX &&
	     errno == ERANGE);
	TEST("strtoull-base", strtoull("zz", NULL, 36) == 1295);
	TEST("strtoimax", strtoimax("-12", NULL, 0) == -12);
	TEST("strerror", strcmp(strerror(ENOENT), "No such file or directory") == 0);
}

static void sorting(void)
{
	wchar_t wide[8];

	TEST("mbstowcs", mbstowcs(wide, "abc", 8) == 3 && wcscmp(wide, L"abc") == 0);
	TEST("strtok", strcmp(strtok((char[]){ "a,b" }, ","), "a") == 0);
}

int main(void)
{
	printing();
	scanning();
	converting();
	sorting();
	return failed;
}
