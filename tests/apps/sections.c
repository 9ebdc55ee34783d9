/*
 * Data and code in sections whose names linker.ld does not know, a registry that the linker
 * collects (__start_NAME, __stop_NAME), and data with large alignments. Each test prints "ok NAME"
 * or "not ok NAME".
 *
 * All reads are volatile: the compiler must not know the values.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN(name) __attribute__((section(name), used))

typedef int function(int);

static const char *const texts[] = { "zero", "one", "two" };

IN("named_data") static volatile int own_data = 5;
IN(".own.dotted") static volatile int own_dotted = 11;
IN("named_large") static volatile unsigned char own_large[100000] = { [99999] = 17 };
IN("named_const") static const int own_const = 7;
IN("named_pointers") static const char *const own_pointer = texts[2];
IN("named_zero,\"aw\",@nobits#") static volatile int own_zero[1000];
IN("named_thread") static _Thread_local volatile int own_thread = 23;
static _Thread_local volatile int thread_zero, thread_data = 29;

static _Alignas(65536) volatile int aligned_data = 13;
static _Alignas(65536) const int aligned_const = 19;
static _Alignas(2097152) volatile unsigned char aligned_zero[3000000];
static volatile int plain_data = 3;

#define REGISTERED(name, value) \
	static int name(int x) { return x + value; } \
	IN("registry") static function *const name##_entry = name

REGISTERED(add_one, 1);
REGISTERED(add_ten, 10);
REGISTERED(add_hundred, 100);
extern function *const __start_registry[], *const __stop_registry[];

__attribute__((section("named_text"), noinline)) static int triple(int x) { return 3 * x; }
__attribute__((section(".own.text"), noinline)) static int quadruple(int x) { return 4 * x; }

static int failures;

static void check(int good, const char *name)
{
	printf("%s %s\n", good ? "ok" : "not ok", name);
	failures += !good;
}

static int aligned(const volatile void *address, uintptr_t bytes)
{
	return (uintptr_t)address % bytes == 0;
}

static int all_zero(const volatile unsigned char *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (from[i])
			return 0;
	return 1;
}

static int registered(int x)
{
	for (function *const *entry = __start_registry; entry < __stop_registry; entry++)
		x = (*entry)(x);
	return x;
}

int main(void)
{
	unsigned char *volatile block;

	check(own_data == 5 && own_dotted == 11, "data");
	check(own_large[99999] == 17 && own_large[0] == 0, "large data");
	own_data = 6;
	own_dotted = own_data + 1;
	check(own_data == 6 && own_dotted == 7, "data is writable");
	check(*(const volatile int *)&own_const == 7 &&
	      *(const char *const volatile *)&own_pointer == texts[2], "constants");
	block = malloc(100000);
	memset(block, 0xff, 100000);
	check(all_zero((const volatile unsigned char *)own_zero, sizeof own_zero), "zero data");
	memset((int *)own_zero, 1, sizeof own_zero);
	check(block[0] == 0xff && block[99999] == 0xff && plain_data == 3,
	      "zero data is apart from the heap");
	free(block);
	check(own_thread == 23 && thread_data == 29 && thread_zero == 0, "thread's data");
	own_thread = thread_zero = 1;
	check(own_thread == 1 && thread_data == 29, "thread's data is writable");
	check(triple(14) == 42 && quadruple(11) == 44, "code");
	check(__stop_registry - __start_registry == 3 && registered(0) == 111, "registry");
	check(aligned_data == 13 && aligned(&aligned_data, 65536), "aligned data");
	check(*(const volatile int *)&aligned_const == 19 && aligned(&aligned_const, 65536), "aligned constant");
	check(aligned(aligned_zero, 2097152) &&
	      all_zero((const volatile unsigned char *)aligned_zero, sizeof aligned_zero),
	      "aligned zero data");
	aligned_zero[sizeof aligned_zero - 1] = aligned_zero[0] = 1;
	check(aligned_zero[sizeof aligned_zero - 1] == 1, "aligned zero data is writable");
	return failures != 0;
}
