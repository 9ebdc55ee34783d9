/*
 * nx_global: global operations of NX; rank 0 prints a line for each case that all ranks have
 * passed, and one with the bits of a sum of numbers of very different size.
 */
#include "nx_test.h"
#include <math.h>

enum { MOST = 20000 };

static long me, ranks;

/* This rank's elements, and the result of the operation over all ranks. */
#define OPERATION(call, type, mine, all) do { \
	static type x[MOST], work[MOST]; \
	for (long n = 0, count = 0; count < MOST; n = n ? n * 11 + 7 : 1) { \
		count = n < MOST ? n : MOST; \
		for (long i = 0; i < count; i++) { \
			long r = me; \
			(void)r; \
			x[i] = (type)(mine); \
		} \
		call(x, count, work); \
		for (long i = 0; i < count; i++) { \
			type wanted = 0; \
			for (long r = 0; r < ranks; r++) { \
				type a = wanted, b = (type)(mine); \
				wanted = r ? (type)(all) : b; \
			} \
			CHECK(x[i] == wanted); \
		} \
	} \
	passed(#call); \
} while (0)

/* A sum whose rounding depends on the order: all ranks must get the same bits. */
static void same_bits(void)
{
	double x[3], work[3], all[64][3];
	long bytes;

	for (int i = 0; i < 3; i++)
		x[i] = pow(-1.7, (double)((me * 7 + i * 5) % 50)) / 3;
	gdsum(x, 3, work);
	gcol(x, sizeof(x), all, sizeof(all), &bytes);
	EQUAL(bytes, ranks * (long)sizeof(x));
	for (long r = 0; r < ranks; r++)
		CHECK(memcmp(all[r], x, sizeof(x)) == 0);
	if (me == 0)
		printf("bits %a %a %a\n", x[0], x[1], x[2]);
	passed("same_bits");
}

/* Contributions of different lengths, including empty ones. */
static void collected(void)
{
	static char x[128 * 200], y[64 * 64 * 200];
	long bytes, at = 0;

	for (int scale = 1; scale <= 200; scale += 199) {
		fill(x, sizeof(x), (uint32_t)me);
		gcol(x, me % 3 * me * scale, y, sizeof(y), &bytes);
		at = 0;
		for (long r = 0; r < ranks; r++) {
			long length = r % 3 * r * scale;

			CHECK(is_filled(y + at, (size_t)length, (uint32_t)r));
			at += length;
		}
		EQUAL(bytes, at);
	}
	passed("collected");
}

static long longer(void *x, const void *work)
{
	if (strlen(work) > strlen(x))
		strcpy(x, work);
	return 0;
}

static void users(void)
{
	char x[100] = "", work[100], wanted[100] = "";

	memset(x, 'a', (size_t)(me * 5 % ranks));
	memset(wanted, 'a', (size_t)(ranks - (ranks % 5 == 0 ? 5 : 1)));
	gopf(x, sizeof(x), work, longer);
	CHECK(!strcmp(x, wanted));
	passed("users");
}

/* Unreceived messages of the program do not disturb global operations. */
static void beside_messages(void)
{
	enum { COUNT = 3000 };
	static long ids[COUNT];
	long sum = me, work, value;
	int count = ranks > 1 ? COUNT / 2 : 0;

	for (int i = 0; i < count; i++)
		ids[i] = isend(7, &me, sizeof(me), (me + 1) % ranks, 0);
	gisum(&sum, 1, &work);
	EQUAL(sum, ranks * (ranks - 1) / 2);
	for (int i = 0; i < count; i++) {
		crecv(7, &value, sizeof(value));
		EQUAL(value, (me + ranks - 1) % ranks);
	}
	for (int i = 0; i < count; i++)
		msgwait(ids[i]);
	passed("beside_messages");
}

static void arguments(void)
{
	char byte = 0, all[64];
	long n;
	double x = 1, work;
	float single = 1;
	long number = 1;

	FAILS(_gdsum(&x, -1, &work), EQLEN);
	FAILS(_gdsum(&x, 1L << 61, &work), EQLEN);      /* 2^64 bytes */
	FAILS(_gdprod(NULL, 1, &work), EQPBUF);
	FAILS(_gdhigh(&x, 1, NULL), EQPBUF);
	FAILS(_gdlow(&x, -1, &work), EQLEN);
	FAILS(_gssum(&single, -1, &single), EQLEN);
	FAILS(_gsprod(&single, -1, &single), EQLEN);
	FAILS(_gshigh(&single, -1, &single), EQLEN);
	FAILS(_gslow(&single, -1, &single), EQLEN);
	FAILS(_gisum(&number, -1, &number), EQLEN);
	FAILS(_giprod(&number, -1, &number), EQLEN);
	FAILS(_gihigh(&number, -1, &number), EQLEN);
	FAILS(_gilow(&number, -1, &number), EQLEN);
	EQUAL(_gdsum(&x, 1, &work), 0);
	EQUAL((long)x, ranks);
	FAILS(_gopf(&byte, -1, &byte, longer), EQLEN);
	FAILS(_gopf(&byte, 1, NULL, longer), EQPBUF);
	FAILS(_gopf(&byte, 1, &byte, NULL), EQPARAM);
	FAILS(_gcol(&byte, -1, all, 64, &n), EQLEN);
	FAILS(_gcol(NULL, 1, all, 64, &n), EQPBUF);
	FAILS(_gcol(&byte, 1, all, 0, &n), EQMSGLONG);
	passed("arguments");
}

int main(void)
{
	me = mynode();
	ranks = numnodes();
	for (int i = 0; i < 300; i++)
		gsync();
	passed("gsync");
	OPERATION(gdsum, double, (r + 1) * (i % 100), a + b);
	OPERATION(gdprod, double, r % 3 + 1, a * b);
	OPERATION(gdhigh, double, (r * 7 + i) % 13 - 20, a > b ? a : b);
	OPERATION(gdlow, double, (r * 7 + i) % 13 - 20, a < b ? a : b);
	OPERATION(gssum, float, (r + 1) * (i % 100), a + b);
	OPERATION(gsprod, float, r % 2 + 1, a * b);
	OPERATION(gshigh, float, (r * 7 + i) % 13 - 20, a > b ? a : b);
	OPERATION(gslow, float, (r * 7 + i) % 13 - 20, a < b ? a : b);
	OPERATION(gisum, long, r * 1000003 + i, a + b);
	OPERATION(giprod, long, r % 5 + 1 + i % 2, (long)((unsigned long)a * (unsigned long)b));
	OPERATION(gihigh, long, (r * 7 + i) % 13 - 20, a > b ? a : b);
	OPERATION(gilow, long, (r * 7 + i) % 13 - 20, a < b ? a : b);
	same_bits();
	collected();
	users();
	beside_messages();
	arguments();
	return 0;
}
