/*
 * The floating-point part of the port (net/port.h): the only file of the kernel that is
 * compiled with SSE. The vector registers are the application's, and so is MXCSR, where it
 * may have unmasked exceptions or chosen another rounding. So all of that is put aside, and
 * back afterwards; what an instruction of SSE leaves alone, as the upper halves of AVX's
 * registers, needs no keeping. Any context with interrupts off: none comes in between.
 */
#include "net/port.h"
#include "net/portals/atomic_float.h"

#define FXSAVE_BYTES   512u
#define MXCSR_DEFAULT  0x1f80u     /* no exception traps, round to nearest, keep denormals */

/* Apart from what saves and restores, so that no register is used before or after. */
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
