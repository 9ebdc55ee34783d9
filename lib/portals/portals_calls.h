/*
 * What the files of the application's side of Portals share: system calls with
 * the Portals group's result codes, and whether the interface is open.
 */
#ifndef PORTALS_CALLS_H
#define PORTALS_CALLS_H
#include <margay/abi.h>
#include <portals3.h>
#include "libc-glue/syscall.h"

/* Successful PtlNIInit calls without their PtlNIFini. At 0, calls return PTL_NO_INIT. Changed by
 * portals.c only. */
extern unsigned int portals_inits;

/* The interface has gone, and all queues with it (portals_eq.c). */
void portals_forget_queues(void);

/* portals_eq.c, for upcalls: call the handlers of queues that have filled; 1 if there are any. */
void portals_call_filling(void);
int portals_has_filling(void);

static inline int call6(unsigned long number, unsigned long a, unsigned long b, unsigned long c,
			unsigned long d, unsigned long e, unsigned long f)
{
	register unsigned long r10 __asm__("r10") = d;
	register unsigned long r8 __asm__("r8") = e;
	register unsigned long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return (int)result;
}

static inline int call5(unsigned long number, unsigned long a, unsigned long b, unsigned long c,
			unsigned long d, unsigned long e)
{
	register unsigned long r10 __asm__("r10") = d;
	register unsigned long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return (int)result;
}

static inline int call4(unsigned long number, unsigned long a, unsigned long b, unsigned long c,
			unsigned long d)
{
	register unsigned long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return (int)result;
}

static inline int call3(unsigned long number, unsigned long a, unsigned long b, unsigned long c)
{
	return (int)glue_call3((long)number, (long)a, (long)b, (long)c);
}

#endif
