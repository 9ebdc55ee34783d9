/*
 * Offsets and constants that the NASM sources share with C. Never linked: the
 * build compiles this to assembly text and takes the lines with "define" out
 * of it (build.mk), giving build/kernel/kernel/cpu/offsets.inc.
 */
#include <stddef.h>

#include <margay/abi.h>
#include "kernel/base/x86.h"
#include "cpu.h"
#include "vectors.h"

#define DEFINE(name, value) __asm__ volatile("\n#define " #name " %c0" : : "i"(value))

void offsets(void);

void offsets(void)
{
	DEFINE(CPU_FRAME, offsetof(struct cpu, frame));
	DEFINE(CPU_UPCALL, offsetof(struct cpu, upcall));
	DEFINE(CPU_BYTES, sizeof(struct cpu));
	DEFINE(FRAME_BYTES, sizeof(struct trap_frame));
	DEFINE(FRAME_RSP, offsetof(struct trap_frame, rsp));
	DEFINE(FRAME_RFLAGS, offsetof(struct trap_frame, rflags));
	DEFINE(FRAME_RIP, offsetof(struct trap_frame, rip));
	DEFINE(FRAME_RDX, offsetof(struct trap_frame, rdx));
	DEFINE(FRAME_RSI, offsetof(struct trap_frame, rsi));
	DEFINE(FRAME_RDI, offsetof(struct trap_frame, rdi));
	DEFINE(FRAME_R8, offsetof(struct trap_frame, r8));
	DEFINE(FRAME_R9, offsetof(struct trap_frame, r9));
	DEFINE(FRAME_R10, offsetof(struct trap_frame, r10));
	DEFINE(FRAME_RBX, offsetof(struct trap_frame, rbx));
	DEFINE(FRAME_RBP, offsetof(struct trap_frame, rbp));
	DEFINE(FRAME_RAX, offsetof(struct trap_frame, rax));
	DEFINE(FRAME_R12, offsetof(struct trap_frame, r12));
	DEFINE(FRAME_R13, offsetof(struct trap_frame, r13));
	DEFINE(FRAME_R14, offsetof(struct trap_frame, r14));
	DEFINE(FRAME_R15, offsetof(struct trap_frame, r15));
	DEFINE(U_CS, USER_CS);
	DEFINE(U_SS, USER_SS);
	DEFINE(SYSCALLS, SYS_COUNT);
	DEFINE(SYS_PUT, SYS_PUT);
	DEFINE(VECTORS, VECTOR_COUNT);
	DEFINE(STACK_SIZE, STACK_BYTES);
	DEFINE(GS_BASE_MSR, MSR_GS_BASE);
	DEFINE(START_RFLAGS, RFLAGS_ONE | RFLAGS_IF);
}
