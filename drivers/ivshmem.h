/*
 * The inter-node shared memory device of QEMU (ivshmem-doorbell): one memory
 * that all nodes map, and a doorbell to every peer.
 */
#ifndef DRIVERS_IVSHMEM_H
#define DRIVERS_IVSHMEM_H
#include <stdbool.h>
#include <stdint.h>

struct ivshmem {
	uint32_t id;               /* own peer id (IVPosition) */
	uint64_t physical;         /* of the shared memory */
	uint64_t bytes;            /* a power of two */
	void    *memory;           /* mapped */
};

/* Finds the first one, maps it, and routes its doorbell interrupt to this processor's
 * VECTOR_DOORBELL. 0, or a negative enum. Called once, at boot. */
enum ivshmem_error { IVSHMEM_ABSENT = -1, IVSHMEM_NO_MEMORY = -2, IVSHMEM_NO_MSIX = -3 };
int ivshmem_start(struct ivshmem *device);
const char *ivshmem_error_text(int error);

/* Rings a peer: its vector 0 is raised at some time, at least once after this call. A peer that has
 * gone is ignored. Any context. Counted. */
void ivshmem_ring(uint32_t peer);

#endif
