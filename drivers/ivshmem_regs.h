/*
 * QEMU's inter-VM shared memory device. Source: QEMU 7.2,
 * docs/specs/ivshmem-spec.txt, "Device Registers" and "PCI device".
 */
#ifndef DRIVERS_IVSHMEM_REGS_H
#define DRIVERS_IVSHMEM_REGS_H

#define IVSHMEM_VENDOR     0x1af4u
#define IVSHMEM_DEVICE     0x1110u

#define IVSHMEM_BAR_REGISTERS 0u
#define IVSHMEM_BAR_MEMORY 2u

#define IVSHMEM_POSITION   8u      /* R: own peer id */
#define IVSHMEM_DOORBELL   12u     /* W: peer id in the upper half, vector in the lower */
#define IVSHMEM_BELL(peer) ((uint32_t)(peer) << 16)

#endif
