/*
 * Replaces musl's file of this name: a system call is a call of margay_linux (libc-glue/linux.c),
 * which does it with the kernel's own calls. musl.sh copies
 * this file into musl's source.
 */
#define __SYSCALL_LL_E(x) (x)
#define __SYSCALL_LL_O(x) (x)

long margay_linux(long number, long a, long b, long c, long d, long e, long f);

static inline long __syscall0(long n)
{
	return margay_linux(n, 0, 0, 0, 0, 0, 0);
}

static inline long __syscall1(long n, long a)
{
	return margay_linux(n, a, 0, 0, 0, 0, 0);
}

static inline long __syscall2(long n, long a, long b)
{
	return margay_linux(n, a, b, 0, 0, 0, 0);
}

static inline long __syscall3(long n, long a, long b, long c)
{
	return margay_linux(n, a, b, c, 0, 0, 0);
}

static inline long __syscall4(long n, long a, long b, long c, long d)
{
	return margay_linux(n, a, b, c, d, 0, 0);
}

static inline long __syscall5(long n, long a, long b, long c, long d, long e)
{
	return margay_linux(n, a, b, c, d, e, 0);
}

static inline long __syscall6(long n, long a, long b, long c, long d, long e, long f)
{
	return margay_linux(n, a, b, c, d, e, f);
}

#define IPC_64 0
