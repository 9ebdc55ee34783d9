/*
 * Machine code for the tests of upcalls: values in every register, on the x87 stack and in the red
 * zone, checked during and after upcalls.
 */
#ifndef TESTS_APPS_UPCALL_REGS_H
#define TESTS_APPS_UPCALL_REGS_H
#include <stdint.h>
#include <string.h>

/* The state that a routine below stores in its last argument. */
struct registers {
	uint64_t general[16];      /* rax rbx rcx rdx rsi rdi rbp rsp r8 ... r15 */
	uint64_t flags;
	uint32_t mxcsr;
	uint16_t control, zero;    /* x87 control word */
	double   x87[8];
	uint64_t vectors[16][4] __attribute__((aligned(32))); /* xmm: the first two words */
};

/* Loads rax, rbx, rcx, rdx, rbp, r8 to r15 from `in`, and all of the rest, sets the direction
 * flag, and loops until *counter >= wanted with no other memory access; then stores everything.
 * The loop itself uses rdi, rsi and rsp. */
void registers_sse(const volatile uint64_t *counter, uint64_t wanted, const struct registers *in,
                   struct registers *out);
void registers_avx(const volatile uint64_t *counter, uint64_t wanted, const struct registers *in,
                   struct registers *out);

/* Fills the 128 bytes below rsp, then checks them repeatedly until *counter >= wanted. Returns
 * 0, or the number of the first changed word, from 1. */
uint64_t red_zone_holds(const volatile uint64_t *counter, uint64_t wanted);

/* One system call: loads rax and the six arguments from `in`, and stores everything after it. */
void registers_call(const struct registers *in, struct registers *out);

#define LOAD_X87(at) \
	"	fninit\n\tfldcw " #at "+140(%rdx)\n" \
	".irp i, 7, 6, 5, 4, 3, 2, 1, 0\n\tfldl " #at "+144+8*\\i(%rdx)\n\t.endr\n"
#define STORE_X87 \
	"	fnstcw 140(%rdx)\n" \
	".irp i, 0, 1, 2, 3, 4, 5, 6, 7\n\tfstpl 144+8*\\i(%rdx)\n\t.endr\n"

#define SAVE_OWN    "	pushq %rbx\n\tpushq %rbp\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
#define RESTORE_OWN "	popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbp\n\tpopq %rbx\n"

#define LOAD_GENERAL \
	"	movq 0(%rdx), %rax\n\tmovq 8(%rdx), %rbx\n\tmovq 16(%rdx), %rcx\n" \
	"	movq 48(%rdx), %rbp\n\tmovq 64(%rdx), %r8\n\tmovq 72(%rdx), %r9\n" \
	"	movq 80(%rdx), %r10\n\tmovq 88(%rdx), %r11\n\tmovq 96(%rdx), %r12\n" \
	"	movq 104(%rdx), %r13\n\tmovq 112(%rdx), %r14\n\tmovq 120(%rdx), %r15\n" \
	"	movq 24(%rdx), %rdx\n"

/* The address of `out` is on top of the stack; rdx is saved below it. */
#define STORE_GENERAL \
	"	pushfq\n\tcld\n\tpushq %rdx\n\tmovq 16(%rsp), %rdx\n" \
	"	movq %rax, 0(%rdx)\n\tmovq %rbx, 8(%rdx)\n\tmovq %rcx, 16(%rdx)\n" \
	"	popq %rax\n\tmovq %rax, 24(%rdx)\n" \
	"	movq %rsi, 32(%rdx)\n\tmovq %rdi, 40(%rdx)\n\tmovq %rbp, 48(%rdx)\n" \
	"	popq %rax\n\tmovq %rax, 128(%rdx)\n\tmovq %rsp, 56(%rdx)\n" \
	"	movq %r8, 64(%rdx)\n\tmovq %r9, 72(%rdx)\n\tmovq %r10, 80(%rdx)\n" \
	"	movq %r11, 88(%rdx)\n\tmovq %r12, 96(%rdx)\n\tmovq %r13, 104(%rdx)\n" \
	"	movq %r14, 112(%rdx)\n\tmovq %r15, 120(%rdx)\n\tstmxcsr 136(%rdx)\n"

#define AS_AT_START "	pushq $0x1f80\n\tldmxcsr (%rsp)\n\tpopq %rax\n\tfninit\n"

#define ROUTINE(name, load, store) \
	__asm__(".text\n" #name ":\n" SAVE_OWN "	pushq %rcx\n" \
	"	ldmxcsr 136(%rdx)\n" LOAD_X87(0) load LOAD_GENERAL \
	"	std\n" \
	"1:	cmpq %rsi, (%rdi)\n\tjb 1b\n" \
	STORE_GENERAL store STORE_X87 AS_AT_START \
	"	popq %rcx\n" RESTORE_OWN "	ret\n")

#define EACH(what) \
	".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t" what "\n\t.endr\n"

_Static_assert(__builtin_offsetof(struct registers, mxcsr) == 136 &&
               __builtin_offsetof(struct registers, x87) == 144 &&
               __builtin_offsetof(struct registers, vectors) == 224, "as the code has them");

ROUTINE(registers_sse, EACH("movdqa 224+32*\\i(%rdx), %xmm\\i"),
        EACH("movdqa %xmm\\i, 224+32*\\i(%rdx)"));
ROUTINE(registers_avx, EACH("vmovdqa 224+32*\\i(%rdx), %ymm\\i"),
        EACH("vmovdqa %ymm\\i, 224+32*\\i(%rdx)") "	vzeroupper\n");

__asm__(".text\nregisters_call:\n" SAVE_OWN "	pushq %rsi\n	movq %rdi, %rdx\n"
	"	ldmxcsr 136(%rdx)\n" LOAD_X87(0) EACH("movdqa 224+32*\\i(%rdx), %xmm\\i")
	"	movq 32(%rdx), %rsi\n\tmovq 40(%rdx), %rdi\n" LOAD_GENERAL
	"	syscall\n"
	STORE_GENERAL EACH("movdqa %xmm\\i, 224+32*\\i(%rdx)") STORE_X87 AS_AT_START
	"	popq %rsi\n" RESTORE_OWN "	ret\n");

__asm__(".text\nred_zone_holds:\n"
	".irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16\n"
	"	movq $0x1234500+\\i, -8*\\i(%rsp)\n\t.endr\n"
	"1:\n"
	".irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16\n"
	"	movl $\\i, %eax\n	cmpq $0x1234500+\\i, -8*\\i(%rsp)\n	jne 2f\n\t.endr\n"
	"	cmpq %rsi, (%rdi)\n	jb 1b\n	xorl %eax, %eax\n"
	"2:	ret\n");

/* Gives each register a distinct value. */
static inline void fill_registers(struct registers *r)
{
	uint64_t value = 0x9e3779b97f4a7c15;

	memset(r, 0, sizeof *r);
	for (int i = 0; i < 16; i++)
		r->general[i] = value *= 0x2545f4914f6cdd1d;
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 4; j++)
			r->vectors[i][j] = value *= 0x2545f4914f6cdd1d;
	for (int i = 0; i < 8; i++)
		r->x87[i] = i * 1.5 - 3;
	r->mxcsr = 0x7f80;             /* towards zero */
	r->control = 0xf7f;            /* likewise */
}

#endif
