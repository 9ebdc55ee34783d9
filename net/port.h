/*
 * The port: what the engine needs from whoever it is compiled for. The kernel
 * implements these in kernel/, the Linux library in host/port.c. Nothing else
 * enters net/ from outside but freestanding standard headers.
 *
 * All are called in any context, with or without a block's lock, never block,
 * and never fail: the engine has checked the ranges before.
 */
#ifndef NET_PORT_H
#define NET_PORT_H
#include <stdint.h>

/* Copy `bytes` bytes between ranges that do not overlap. */
void port_copy(void *to, const void *from, uint64_t bytes);

/* The same for ranges that may overlap, with the result of a copy through a
 * third place. Both pointers must come from the same mapping of the memory. */
void port_move(void *to, const void *from, uint64_t bytes);

#endif
