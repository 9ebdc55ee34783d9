/*
 * The floating-point part of the port (net/port.h): the only file of the kernel that is compiled
 * with SSE. The vector registers and MXCSR belong to the application, which may have unmasked
 * exceptions or chosen another rounding. So they are saved and restored: register by register, as
 * FXSAVE takes longer, above all under emulation. SSE instructions leave x87 and the upper halves of
 * AVX registers alone, so those need no saving. Any context with interrupts off: nothing comes in
 * between.
 */
#include "net/port.h"
#include "net/portals/atomic_float.h"

#define REGISTERS      16u
#define MXCSR_DEFAULT  0x1f80u     /* no exception traps, round to nearest, keep denormals */

/* One instruction for each vector register; `state` has 16 bytes for each. */
#define STORE(n) "movups %%xmm" #n ", 16 * " #n "(%0)\n\t"
#define LOAD(n)  "movups 16 * " #n "(%0), %%xmm" #n "\n\t"
#define ALL(each) \
	each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) \
	each(8) each(9) each(10) each(11) each(12) each(13) each(14) each(15)

/* Not inlined, so that no register is used before the save or after the restore. */
__attribute__((noinline))
static void calculate(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
                      const uint8_t *operands)
{
	atomic_float(operation, datatype, memory, bytes, operands);
}

__attribute__((target("general-regs-only")))
void port_float(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
                const uint8_t *operands)
{
	uint8_t state[REGISTERS * 16];
	uint32_t theirs, mine = MXCSR_DEFAULT;

	__asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(theirs) : "m"(mine));
	__asm__ volatile(ALL(STORE) : : "r"(state) : "memory");
	calculate(operation, datatype, memory, bytes, operands);
	__asm__ volatile(ALL(LOAD) : : "r"(state) : "memory");
	__asm__ volatile("ldmxcsr %0" : : "m"(theirs));
}
