/*
* The kernel's data of each processor, reached through gs, and the processor's
 * set-up: segments, interrupt table, control registers, system call entry.
 */
#ifndef KERNEL_CPU_H
#define KERNEL_CPU_H
#include <stdbool.h>
#include <stdint.h>

#define KERNEL_CS 0x08u
#define KERNEL_SS 0x10u
#define USER_SS   0x1bu
#define USER_CS   0x23u
#define TSS_SELECTOR 0x28u

#define STACK_BYTES     16384u     /* of the kernel's stack, with struct cpu */
#define IST_STACK_BYTES 4096u

/*
 * Registers of the interrupted code, as vectors.asm and entry.asm push them. The application's are
 * always at the top of the kernel stack, by whichever way it entered the kernel. A system call
 * stores only its arguments, rip, rsp, rflags and rbp.
 */
struct trap_frame {
	uint64_t r15, r14, r13, r12, rbp, rbx;   /* kept by C */
	uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
	uint64_t vector;           /* VECTOR_*; nothing after a system call */
	uint64_t error;            /* what the processor pushed, or 0 */
	uint64_t rip, cs, rflags, rsp, ss;
};

/* Lies directly after the processor's kernel stack (stack.asm): its address is
 * also the top of that stack. */
struct cpu {
	struct cpu *self;          /* so that C needs one load from gs */
	struct trap_frame *frame;  /* on top of the kernel stack, right below this struct */
	uint64_t id;               /* local APIC id */
	uint8_t upcall;            /* 1: enter the library on the way to ring 3 (upcall.c) */
	bool halted;               /* in a halt: a doorbell's work may wait for a lock (wait.c), */
	bool waits_for_lock;       /* but must take no lock while this is set (link_shm.c) */
	const char *waits_for;     /* what for, while it waits (wait.c) */
	uint64_t timer_ns;         /* deadline of the kernel's timer, */
	uint64_t alarm_ns;         /* and of the application's (time.c) */
};

extern struct cpu cpu_boot;

static inline struct cpu *this_cpu(void)
{
	struct cpu *cpu;

	__asm__("mov %%gs:0, %0" : "=r"(cpu));
	return cpu;
}

/* The application's registers at its last entry into the kernel. */
static inline struct trap_frame *user_frame(void)
{
	return this_cpu()->frame;
}

/* Segments, interrupt table, IST: exceptions and interrupts call `trap` from now on. */
void cpu_start(void (*trap)(struct trap_frame *frame));

/* Control registers, FPU, system calls, which enter at `entry`; memory_start was called. */
void cpu_features(void (*entry)(void));

extern bool cpu_has_crc32;  /* SSE 4.2's instruction; known from cpu_features on */

enum hypervisor { HYPERVISOR_NONE, HYPERVISOR_TCG, HYPERVISOR_KVM, HYPERVISOR_OTHER };
enum hypervisor cpu_hypervisor(void);

/* vectors.asm: returns to the state in `frame`, which lies at the top of the kernel stack. */
_Noreturn void cpu_trap_return(struct trap_frame *frame);

/* stack.asm: the application's first instruction; rdi = argument. Never returns. */
_Noreturn void enter_application(uint64_t entry, uint64_t stack, uint64_t argument);

extern uint8_t kernel_stack[], kernel_stack_top[];

#endif
