/*
 * Offsets and constants that the NASM sources share with C. Never linked: the
 * build compiles this to assembly text and takes the lines with "define" out
 * of it (build.mk), giving build/kernel/offsets.inc.
 */
#include <stddef.h>

#include <margay/abi.h>
#include "cpu.h"
#include "vectors.h"
#include "x86.h"

#define DEFINE(name, value) __asm__ volatile("\n#define " #name " %c0" : : "i"(value))

void offsets(void);

void offsets(void)
{
	DEFINE(CPU_KERNEL_RSP, offsetof(struct cpu, kernel_rsp));
	DEFINE(CPU_USER_RSP, offsetof(struct cpu, user_rsp));
	DEFINE(FRAME_BYTES, sizeof(struct trap_frame));
	DEFINE(FRAME_CS, offsetof(struct trap_frame, cs));
	DEFINE(FRAME_VECTOR, offsetof(struct trap_frame, vector));
	DEFINE(K_CS, KERNEL_CS);
	DEFINE(U_CS, USER_CS);
	DEFINE(U_SS, USER_SS);
	DEFINE(SYSCALLS, SYS_COUNT);
	DEFINE(VECTORS, VECTOR_COUNT);
	DEFINE(SYSCALL_VECTOR, VECTOR_SYSCALL);
	DEFINE(STACK_SIZE, STACK_BYTES);
	DEFINE(GS_BASE_MSR, MSR_GS_BASE);
	DEFINE(START_RFLAGS, RFLAGS_ONE | RFLAGS_IF);
}
