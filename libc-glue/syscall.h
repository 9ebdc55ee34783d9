/*
 * How the C library's glue enters the kernel, and what crt0 learned at the start. Included only by
 * the files of libc-glue/, lib/portals/ and lib/p30/; include/margay/abi.h has the table of calls.
 */
#ifndef LIBC_GLUE_SYSCALL_H
#define LIBC_GLUE_SYSCALL_H
#include <errno.h>
#include <margay/abi.h>

/* What the kernel told crt0; written once, before anything else runs. */
extern struct margay_start glue_start;

static inline long glue_call3(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long glue_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long glue_call1(long number, long a)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a)
			 : "rcx", "r11", "memory");
	return result;
}

/* To standard error, past stdio. */
static inline void glue_say(const char *text)
{
	glue_call6(SYS_WRITE, 2, (long)text, (long)__builtin_strlen(text), (long)MARGAY_HERE, 0, 0);
}

/* The POSIX form of a result: -1 and errno, or the value. */
static inline long glue_result(long result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

/* The monotonic clock (time.c). */
uint64_t glue_now_ns(void);

/* One line on the console says that this is missing. Returns -ENOSYS. */
long glue_missing(const char *name);

#endif
