/*
 * The port: what the engine needs from the program that it is compiled for. The kernel
 * implements these in kernel/, the Linux library in host/port.c. Some modules of net/ declare
 * ports of their own (frames_port_*, near_port_*; link_port_* is what net/frames defines for
 * net/link). Nothing else enters net/ from outside but freestanding standard headers.
 *
 * All are called in any context, with or without a block's lock, and never
 * block. Of what is copied, the engine has checked that it lies in the segment.
 */
#ifndef NET_PORT_H
#define NET_PORT_H
#include <stdint.h>

struct process_view;

/* Copy `bytes` bytes between ranges that do not overlap. */
void port_copy(void *to, const void *from, uint64_t bytes);

/* The same for ranges that may overlap, with the result of a copy through a
 * third place. Both pointers must come from the same mapping of the memory. */
void port_move(void *to, const void *from, uint64_t bytes);

/* The CRC32C of `n` more bytes behind those whose checksum is `crc` (0: none),
 * as fast as the processor can; wire_crc32c (net/link/wire.h) is there for the rest. */
uint32_t port_crc32c(uint32_t crc, const void *bytes, uint64_t n);

/* A floating-point operation of atomic.h (PROD, SUM, MIN, MAX, LOR, LAND, LXOR) on the
 * elements, ATOMIC_FLOAT or ATOMIC_DOUBLE, of memory[0 .. bytes), as net/portals/atomic_float.h
 * defines it. It rounds to nearest and traps never, whatever the application has set, and
 * leaves the floating-point state as it was. The operands are `bytes` bytes. */
void port_float(uint32_t operation, uint32_t datatype, uint8_t *memory, uint64_t bytes,
		const uint8_t *operands);

/* 1 if [address, address + bytes) lies in the owner's segment, and its application itself
 * may read it (write: read and write it), so that a descriptor may open it: not what it has
 * of holes and text. Always 1 for 0 bytes; any sum is safe. Called in the owner's calls only. */
int port_may_use(const struct process_view *view, uint64_t address, uint64_t bytes, int write);

#endif
