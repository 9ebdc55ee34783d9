/*
 * The processor's set-up: segment and task descriptors, interrupt table,
 * control registers, vector units, system call entry. Data: the structures of
 * the boot processor. Called once, at boot, interrupts off.
 */
#include "cpu.h"

#include "kernel/base/panic.h"
#include "kernel/base/x86.h"
#include "vectors.h"

#define GATE_INTERRUPT 0x8eu       /* present, ring 0, switches interrupts off */
#define GATE_FOR_USER  0x60u       /* the application's int may use it */
#define TSS_AVAILABLE  0x0000890000000000UL

#define CPUID_HYPERVISOR   0x40000000u
#define HYPERVISOR_EBX_TCG 0x54474354u     /* "TCGT", of "TCGTCGTCGTCG" */
#define HYPERVISOR_EBX_KVM 0x4b4d564bu     /* "KVMK", of "KVMKVMKVM" */

struct tss {
	uint32_t zero0;
	uint64_t rsp[3];           /* stacks of rings 0 to 2 */
	uint64_t zero1;
	uint64_t ist[7];
	uint64_t zero2;
	uint16_t zero3;
	uint16_t io_map;           /* past the end: no ports for the application */
} __attribute__((packed));
_Static_assert(sizeof(struct tss) == 104, "SDM vol. 3, figure 8-11");

struct gate {
	uint16_t offset_low;
	uint16_t selector;
	uint8_t  ist;
	uint8_t  type;
	uint16_t offset_middle;
	uint32_t offset_high;
	uint32_t zero;
};
_Static_assert(sizeof(struct gate) == 16, "SDM vol. 3, 6.14.1");

struct table_pointer {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

enum { IST_NMI = 1, IST_DOUBLE_FAULT, IST_MACHINE_CHECK, IST_COUNT = 3 };

extern const uint64_t vector_table[VECTOR_COUNT];

bool cpu_has_crc32;

__attribute__((externally_visible)) /* vectors.asm */
extern void (*cpu_trap_handler)(struct trap_frame *frame);
void (*cpu_trap_handler)(struct trap_frame *frame);

static struct tss tss;
static struct gate gates[VECTORS_ALL];
static uint8_t ist_stacks[IST_COUNT][IST_STACK_BYTES] __attribute__((aligned(16)));

/* The order is fixed by syscall and sysret: kernel code, kernel data; user data, user code. */
static uint64_t descriptors[7] = {
	0,
	0x00af9a000000ffff,        /* KERNEL_CS */
	0x00cf92000000ffff,        /* KERNEL_SS */
	0x00cff2000000ffff,        /* USER_SS */
	0x00affa000000ffff,        /* USER_CS */
};

static void load_descriptors(void)
{
	uint64_t base = (uint64_t)&tss;
	struct table_pointer pointer = { sizeof(descriptors) - 1, (uint64_t)descriptors };

	descriptors[5] = (sizeof(tss) - 1) | (base & 0xffffff) << 16 | TSS_AVAILABLE |
	                 (base >> 24 & 0xff) << 56;
	descriptors[6] = base >> 32;
	__asm__ volatile("lgdt %0\n\t"
	                 "push %1\n\t"
	                 "lea 1f(%%rip), %%rax\n\t"
	                 "push %%rax\n\t"
	                 "lretq\n"
	                 "1:\tmov %w2, %%ss\n\t"
	                 "ltr %w3"
	                 : : "m"(pointer), "i"(KERNEL_CS), "r"(KERNEL_SS), "r"(TSS_SELECTOR)
	                 : "rax", "memory");
}

static void load_gates(void)
{
	struct table_pointer pointer = { sizeof(gates) - 1, (uint64_t)gates };

	for (int i = 0; i < VECTORS_ALL; i++) {
		uint64_t entry = vector_table[i < VECTOR_COUNT ? i : VECTOR_STRAY];

		gates[i] = (struct gate){
			.offset_low = (uint16_t)entry,
			.offset_middle = (uint16_t)(entry >> 16),
			.offset_high = (uint32_t)(entry >> 32),
			.selector = KERNEL_CS,
			.type = GATE_INTERRUPT,
		};
	}
	gates[VECTOR_BREAKPOINT].type |= GATE_FOR_USER;
	gates[VECTOR_NMI].ist = IST_NMI;
	gates[VECTOR_DOUBLE_FAULT].ist = IST_DOUBLE_FAULT;
	gates[VECTOR_MACHINE_CHECK].ist = IST_MACHINE_CHECK;
	__asm__ volatile("lidt %0" : : "m"(pointer) : "memory");
}

void cpu_start(void (*trap)(struct trap_frame *frame))
{
	cpu_trap_handler = trap;
	cpu_boot.self = &cpu_boot;
	cpu_boot.frame = (struct trap_frame *)&cpu_boot - 1;
	cpu_boot.id = cpuid(1, 0).ebx >> 24;
	tss.rsp[0] = (uint64_t)kernel_stack_top;
	tss.io_map = sizeof(tss);
	for (int i = 0; i < IST_COUNT; i++)
		tss.ist[i] = (uint64_t)&ist_stacks[i][IST_STACK_BYTES];
	load_descriptors();
	load_gates();
	wrmsr(MSR_GS_BASE, (uint64_t)&cpu_boot);
	wrmsr(MSR_KERNEL_GS_BASE, 0);
	user_frame()->cs = USER_CS;
	user_frame()->ss = USER_SS;
}

static void vector_units(void)
{
	uint64_t wanted = XCR0_X87_SSE;

	WRITE_CR(0, (READ_CR(0) | CR0_MP | CR0_NE));
	WRITE_CR(4, READ_CR(4) | CR4_OSFXSR | CR4_OSXMMEXCPT);
	if (cpuid(1, 0).ecx & CPUID1_ECX_XSAVE) {
		uint32_t supported = cpuid(CPUID_XSAVE, 0).eax;

		if (supported & XCR0_AVX)
			wanted |= XCR0_AVX;
		if ((supported & XCR0_AVX512) == XCR0_AVX512)
			wanted |= XCR0_AVX512;
		WRITE_CR(4, READ_CR(4) | CR4_OSXSAVE);
		xsetbv(0, wanted);
	}
	__asm__ volatile("fninit");
}

void cpu_features(void (*entry)(void))
{
	struct cpuid features = cpuid(7, 0);
	uint64_t cr4 = READ_CR(4) | CR4_DE;

	if (!(features.ebx & CPUID7_EBX_FSGSBASE))
		panic("this processor lacks FSGSBASE, which applications need for thread-local "
		      "data (QEMU: -cpu max)");
	if (!(cpuid(1, 0).ecx & CPUID1_ECX_POPCNT))
		panic("this processor lacks POPCNT, which the kernel needs (QEMU: -cpu max)");
	cr4 |= CR4_FSGSBASE;
	if (cpuid(1, 0).edx & CPUID1_EDX_MCE)
		cr4 |= CR4_MCE;
	if (features.ebx & CPUID7_EBX_SMEP)
		cr4 |= CR4_SMEP;
	if (features.ebx & CPUID7_EBX_SMAP)
		cr4 |= CR4_SMAP;
	if (features.ecx & CPUID7_ECX_UMIP)
		cr4 |= CR4_UMIP;
	WRITE_CR(4, cr4);
	WRITE_CR(0, READ_CR(0) | CR0_WP);
	vector_units();
	cpu_has_crc32 = cpuid(1, 0).ecx & CPUID1_ECX_SSE42;

	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE);
	wrmsr(MSR_STAR, (uint64_t)KERNEL_CS << 32 | (uint64_t)(USER_SS - 8) << 48);
	wrmsr(MSR_LSTAR, (uint64_t)entry);
	wrmsr(MSR_FMASK, RFLAGS_IF | RFLAGS_TF | RFLAGS_DF | RFLAGS_AC | RFLAGS_NT | RFLAGS_IOPL);
}

enum hypervisor cpu_hypervisor(void)
{
	if (!(cpuid(1, 0).ecx & CPUID1_ECX_HYPERVISOR))
		return HYPERVISOR_NONE;
	switch (cpuid(CPUID_HYPERVISOR, 0).ebx) {
	case HYPERVISOR_EBX_TCG: return HYPERVISOR_TCG;
	case HYPERVISOR_EBX_KVM: return HYPERVISOR_KVM;
	default:                 return HYPERVISOR_OTHER;
	}
}
