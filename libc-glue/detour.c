/*
 * The way of a signal that interrupts the program. After the upcall that brought the signal, the
 * program continues in signal_detour, on its own stack, below its red zone. It saves all registers
 * and the vector state there, calls the signal's handler, and returns. All state of the interrupted
 * code is on that stack, so a handler may switch to another stack, and come back to this one later.
 * Owns the size of the vector state.
 */
#include <cpuid.h>
#include "linux.h"

#define FXSAVE_BYTES 512u

/* For the code below: bytes of the vector state (0: not known yet), and whether xsave exists. */
__attribute__((used)) uint64_t detour_bytes;
__attribute__((used)) uint32_t detour_xsave;

void detour_prepare(void)
{
	uint32_t a, b, c, d;

	if (detour_bytes)
		return;
	__cpuid(1, a, b, c, d);
	detour_xsave = c & bit_OSXSAVE;
	if (detour_xsave)
		__cpuid_count(0xd, 0, a, b, c, d);
	detour_bytes = detour_xsave ? b : FXSAVE_BYTES;
}

/* Entered with rsp at a word that has the return address; 128 bytes above it are the interrupted
 * code's red zone. */
__asm__(".section .text.signal_detour,\"ax\"\n"
	".globl signal_detour\n"
	".type signal_detour, @function\n"
	"signal_detour:\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	pushfq\n"
	"	pushq %rax\n"
	"	pushq %rcx\n"
	"	pushq %rdx\n"
	"	pushq %rsi\n"
	"	pushq %rdi\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	pushq %r10\n"
	"	pushq %r11\n"
	"	cld\n"
	"	subq detour_bytes, %rsp\n"
	"	andq $-64, %rsp\n"
	"	movl $-1, %eax\n"
	"	movl $-1, %edx\n"
	"	cmpl $0, detour_xsave\n"
	"	je 1f\n"
	"	xorl %ecx, %ecx\n"            /* the header must be zero */
	"	movq %rcx, 512(%rsp)\n"
	"	movq %rcx, 520(%rsp)\n"
	"	movq %rcx, 528(%rsp)\n"
	"	movq %rcx, 536(%rsp)\n"
	"	movq %rcx, 544(%rsp)\n"
	"	movq %rcx, 552(%rsp)\n"
	"	movq %rcx, 560(%rsp)\n"
	"	movq %rcx, 568(%rsp)\n"
	"	xsave64 (%rsp)\n"
	"	jmp 2f\n"
	"1:	fxsave64 (%rsp)\n"
	"2:	fninit\n"
	"	pushq $0x1f80\n"
	"	ldmxcsr (%rsp)\n"
	"	pushq $0\n"
	"	call signal_interrupts\n"
	"	addq $16, %rsp\n"
	"	movl $-1, %eax\n"
	"	movl $-1, %edx\n"
	"	cmpl $0, detour_xsave\n"
	"	je 3f\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 4f\n"
	"3:	fxrstor64 (%rsp)\n"
	"4:	leaq -80(%rbp), %rsp\n"
	"	popq %r11\n"
	"	popq %r10\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rdi\n"
	"	popq %rsi\n"
	"	popq %rdx\n"
	"	popq %rcx\n"
	"	popq %rax\n"
	"	popfq\n"
	"	popq %rbp\n"
	"	ret $128\n"
	".size signal_detour, . - signal_detour\n"
	".previous\n");
