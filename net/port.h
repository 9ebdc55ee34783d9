/*
 * The port: functions that the engine needs from the program it is compiled into. The kernel
 * implements them in kernel/, the Linux library in host/port.c. Some modules of net/ declare
 * their own port functions (frames_port_*, near_port_*, shm_port_*; net/frames defines
 * link_port_* for net/link). Apart from these, net/ uses only freestanding standard headers.
 *
 * They are called in any context, with or without a block's lock held, and never block. The
 * engine has checked that every range it copies lies inside the segment.
 */
#ifndef NET_PORT_H
#define NET_PORT_H
#include <stdint.h>

struct process_view;

/* Copy `bytes` bytes between ranges that do not overlap. A byte may be stored more than once. */
void port_copy(void *to, const void *from, uint64_t bytes);

/* The same for ranges that may overlap, as memmove does. Both pointers must be in the same
 * mapping of the memory. */
void port_move(void *to, const void *from, uint64_t bytes);

/* Extend the CRC32C `crc` (0 at the start) by `n` bytes. A port uses the processor's
 * instruction if it has one, otherwise wire_crc32c (net/link/wire.h). */
uint32_t port_crc32c(uint32_t crc, const void *bytes, uint64_t n);

/* Apply a floating-point operation of atomic.h (PROD, SUM, MIN, MAX, LOR, LAND, LXOR) to the
 * elements (ATOMIC_FLOAT or ATOMIC_DOUBLE) of memory[0 .. bytes); net/portals/atomic_float.h
 * defines the results. `operands` has `bytes` bytes. It rounds to nearest and never traps,
 * whatever the application has set, and preserves the floating-point state. */
void port_float(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
		const uint8_t *operands);

/* 1 if [address, address + bytes) lies in the owner's segment and the application itself may
 * read it (`write`: read and write it). So a descriptor cannot expose unmapped pages, and
 * cannot make text writable. Always 1 for 0 bytes; address + bytes may overflow. Called only
 * during system calls of the owner. */
int port_may_use(const struct process_view *view, uint64_t address, uint64_t bytes, int write);

#endif
