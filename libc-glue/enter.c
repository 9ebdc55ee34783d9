/*
 * Upcalls: the kernel interrupts the application between any two instructions, saves its registers
 * and vector state, and enters upcall_entry on a stack of this file. It calls handlers of event
 * queues (upcall.c), and lets through signals that may come now (signal.c): for these
 * SYS_UPCALL_RETURN continues in signal_detour, on the application's own stack. Otherwise it
 * returns to the interrupted code, or says what more there is to do. Upcalls do not nest. Owns that
 * stack.
 */

#include <errno.h>
#include <stdlib.h>
#include "enter.h"
#include "linux.h"
#include "syscall.h"

#define STACK_BYTES   65536u
#define STACK_CANARY  0x5ca1ab1e0ddba11UL

static uint64_t *stack;                /* its lowest word is a canary */
static volatile int running;           /* an upcall is in progress */

int upcall_is_running(void)
{
	return running;
}

/*
 * Entered by the kernel with rsp = the stack's end, rdi = the address after the one at which the
 * application was interrupted, rsi = 1 if the timer has expired, rdx and r8 = rip and rsp of the
 * interrupted code. All other registers are as they were there, except that flags and floating
 * point control are reset. The frame made here continues a backtrace there.
 */
__asm__(".section .text.upcall_entry,\"ax\"\n"
	".globl upcall_entry\n"
	".type upcall_entry, @function\n"
	"upcall_entry:\n"
	"	pushq %rdi\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %r8, %rdx\n"
	"	call upcall_run\n"
	"	ud2\n"
	".size upcall_entry, . - upcall_entry\n"
	".previous\n");

static void stack_overflow(void)
{
	static const char text[] = "margay: the stack of event handlers has overflowed\n";

	glue_say(text);
	abort();
}

__attribute__((used, noreturn)) void upcall_run(int timer, uint64_t rip, uint64_t rsp)
{
	int before = errno;
	long more = timer ? MARGAY_MORE_TIMER : 0, detour;

	running = 1;
	for (;;) {
		if (upcall_call_handlers)
			upcall_call_handlers();
		detour = signal_upcall(more & MARGAY_MORE_TIMER, rip, rsp);
		if (*stack != STACK_CANARY)
			stack_overflow();
		errno = before;
		running = 0;
		more = glue_call1(SYS_UPCALL_RETURN, detour);
		running = 1;           /* back here: more to do */
	}
}

unsigned long upcall_stack(void)
{
	if (!stack) {
		stack = aligned_alloc(16, STACK_BYTES);
		if (!stack)
			return 0;
		*stack = STACK_CANARY;
	}
	return (unsigned long)stack + STACK_BYTES;
}
