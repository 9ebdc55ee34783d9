/*
 * The processor's instructions and register bits that C cannot say. Names are
 * those of the Intel SDM; masks, never bit numbers.
 */
#ifndef KERNEL_X86_H
#define KERNEL_X86_H
#include <stdbool.h>
#include <stdint.h>

#define CR0_MP          0x2UL
#define CR0_NE          0x20UL
#define CR0_WP          0x10000UL
#define CR4_DE          0x8UL
#define CR4_MCE         0x40UL
#define CR4_OSFXSR      0x200UL
#define CR4_OSXMMEXCPT  0x400UL
#define CR4_UMIP        0x800UL
#define CR4_FSGSBASE    0x10000UL
#define CR4_OSXSAVE     0x40000UL
#define CR4_SMEP        0x100000UL
#define CR4_SMAP        0x200000UL

#define RFLAGS_ONE      0x2UL      /* always set */
#define RFLAGS_TF       0x100UL
#define RFLAGS_IF       0x200UL
#define RFLAGS_DF       0x400UL
#define RFLAGS_IOPL     0x3000UL
#define RFLAGS_NT       0x4000UL
#define RFLAGS_AC       0x40000UL

#define MSR_APIC_BASE      0x1bu
#define MSR_PAT            0x277u
#define MSR_EFER           0xc0000080u
#define MSR_STAR           0xc0000081u
#define MSR_LSTAR          0xc0000082u
#define MSR_FMASK          0xc0000084u
#define MSR_GS_BASE        0xc0000101u
#define MSR_KERNEL_GS_BASE 0xc0000102u

#define EFER_SCE        0x1UL
#define XCR0_X87_SSE    0x3UL
#define XCR0_AVX        0x4UL
#define XCR0_AVX512     0xe0UL

#define CPUID1_EDX_MCE         0x80u
#define CPUID1_ECX_SSE42       0x00100000u
#define CPUID1_ECX_POPCNT      0x00800000u
#define CPUID1_ECX_XSAVE       0x04000000u
#define CPUID1_ECX_RDRAND      0x40000000u
#define CPUID1_ECX_HYPERVISOR  0x80000000u
#define CPUID7_EBX_FSGSBASE    0x1u
#define CPUID7_EBX_SMEP        0x80u
#define CPUID7_EBX_SMAP        0x100000u
#define CPUID7_ECX_UMIP        0x4u
#define CPUIDX1_EDX_1GB        0x04000000u

#define CPUID_ADDRESS_BITS     0x80000008u /* leaf: in eax 7:0, of physical addresses */
#define CPUID_XSAVE            13u /* leaf: components of the vector state, sizes */

struct cpuid { uint32_t eax, ebx, ecx, edx; };

static inline struct cpuid cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid r;

	__asm__ volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
	                 : "a"(leaf), "c"(subleaf));
	return r;
}

static inline uint64_t rdtsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static inline uint64_t rdmsr(uint32_t msr)
{
	uint32_t low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (uint64_t)high << 32 | low;
}

static inline void wrmsr(uint32_t msr, uint64_t value)
{
	__asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value),
	                 "d"((uint32_t)(value >> 32)) : "memory");
}

static inline void xsetbv(uint32_t index, uint64_t value)
{
	__asm__ volatile("xsetbv" : : "c"(index), "a"((uint32_t)value),
	                 "d"((uint32_t)(value >> 32)));
}

static inline void outb(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void outw(uint16_t port, uint16_t value)
{
	__asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void outl(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline uint8_t inb(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

static inline uint16_t inw(uint16_t port)
{
	uint16_t value;

	__asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

static inline uint32_t inl(uint16_t port)
{
	uint32_t value;

	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

#define READ_CR(n) ({ \
	uint64_t value_; \
	__asm__ volatile("mov %%cr" #n ", %0" : "=r"(value_) : : "memory"); \
	value_; })
#define WRITE_CR(n, value) \
	__asm__ volatile("mov %0, %%cr" #n : : "r"((uint64_t)(value)) : "memory")

static inline void cpu_relax(void)
{
	__asm__ volatile("pause" : : : "memory");
}

/* Halts until an interrupt has been handled; returns with interrupts off. */
static inline void cpu_halt(void)
{
	__asm__ volatile("sti; hlt; cli" : : : "memory");
}

static inline _Noreturn void cpu_stop(void)
{
	for (;;)
		__asm__ volatile("cli; hlt" : : : "memory");
}

#endif
