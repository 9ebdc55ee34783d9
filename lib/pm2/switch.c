/*
 * Switching stacks. Owns nothing: all state of a stopped thread is on its own stack, so that it can
 * continue on another node.
 */
#include "inner.h"
#include <stdio.h>

#define CONTROL_START 0x037f00001f80ULL /* x87 control word, MXCSR: as at main */

/* Saves the callee-saved registers and the floating-point controls on the stack, and the stack
 * pointer in *from. Continues where *to stopped. */
__attribute__((naked, noinline))
void pm2_switch(struct pm2_thread *from __attribute__((unused)),
		struct pm2_thread *to __attribute__((unused)))
{
	__asm__("pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
		"\tpushq $0\n\tstmxcsr (%rsp)\n\tfnstcw 4(%rsp)\n\tmovq (%rsp), %rax\n"
		"\tmovq %rsp, (%rdi)\n\tmovq (%rsi), %rsp\n"
		"\tcmpq (%rsp), %rax\n\tjne 1f\n"
		"2:\taddq $8, %rsp\n"
		"\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n"
		"\tret\n"
		"1:\tldmxcsr (%rsp)\n\tfldcw 4(%rsp)\n\tjmp 2b");
}

/* Prepares a thread whose first switch enters `function`, with the stack aligned as if called. */
void pm2_prepare(struct pm2_thread *thread, void *top, void (*function)(void))
{
	uint64_t *sp = (uint64_t *)((uintptr_t)top & ~15UL);

	*--sp = 0;                      /* return address of `function`: it never returns */
	*--sp = (uintptr_t)function;
	for (int i = 0; i < 6; i++)
		*--sp = 0;
	*--sp = CONTROL_START;
	thread->sp = sp;
}

__attribute__((cold))
void pm2_wrong(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "pm2: node %d: %s\n", pm2.self, what);
	margay_end_job(1);
}

/* A long array may skip the canary, so the stack pointer is compared too. */
void pm2_check_stack(const struct pm2_thread *thread)
{
	const uint64_t *here = __builtin_frame_address(0);

	if (__builtin_expect(thread->canary && (*thread->canary != CANARY ||
						here < thread->canary), 0))
		pm2_wrong("a thread needs more than its stack (give threads more: stack_bytes of "
			  "struct pm2_config)");
}
