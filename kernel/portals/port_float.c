/*
 * The floating-point part of the port (net/port.h): the only file of the kernel that is compiled
 * with SSE. The vector registers and MXCSR belong to the application, which may have unmasked
 * exceptions or chosen another rounding. So they are saved and restored. SSE instructions leave the
 * upper halves of AVX registers alone, so those need no saving. Any context with interrupts off:
 * nothing comes in between.
 */
#include "net/port.h"
#include "net/portals/atomic_float.h"

#define FXSAVE_BYTES   512u
#define MXCSR_DEFAULT  0x1f80u     /* no exception traps, round to nearest, keep denormals */

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
	uint8_t state[FXSAVE_BYTES] __attribute__((aligned(16)));
	uint32_t mxcsr = MXCSR_DEFAULT;

	__asm__ volatile("fxsave64 %0\n\tldmxcsr %1" : "=m"(state) : "m"(mxcsr) : "memory");
	calculate(operation, datatype, memory, bytes, operands);
	__asm__ volatile("fxrstor64 %0" : : "m"(state) : "memory");
}
