/*
 * The common part of all virtio devices, as modern PCI devices. Source: Virtual
 * I/O Device (VIRTIO) Version 1.1, OASIS, csprd01: section 2.1 (status), 2.6
 * (split virtqueues), 4.1.4 (PCI capabilities), 6 (features).
 */
#ifndef DRIVERS_VIRTIO_REGS_H
#define DRIVERS_VIRTIO_REGS_H
#include <stddef.h>
#include <stdint.h>

#define VIRTIO_VENDOR            0x1af4u

/* A vendor capability, 4.1.4: offsets in configuration space */
#define VIRTIO_CAP_TYPE          0u      /* byte 3 */
#define VIRTIO_CAP_BAR           4u      /* byte 0 */
#define VIRTIO_CAP_OFFSET        8u
#define VIRTIO_CAP_LENGTH        12u
#define VIRTIO_CAP_MULTIPLIER    16u     /* of VIRTIO_TYPE_NOTIFY */

#define VIRTIO_TYPE_COMMON       1u
#define VIRTIO_TYPE_NOTIFY       2u
#define VIRTIO_TYPE_DEVICE       4u

/* Common configuration, 4.1.4.3 */
#define COMMON_DEVICE_SELECT     0x00u   /* RW 32: which 32 features */
#define COMMON_DEVICE_FEATURES   0x04u   /* R  32 */
#define COMMON_DRIVER_SELECT     0x08u   /* RW 32 */
#define COMMON_DRIVER_FEATURES   0x0cu   /* RW 32 */
#define COMMON_STATE_VECTOR      0x10u   /* RW 16: MSI-X entry of configuration changes */
#define COMMON_STATUS            0x14u   /* RW  8 */
#define COMMON_QUEUE_SELECT      0x16u   /* RW 16 */
#define COMMON_QUEUE_SIZE        0x18u   /* RW 16 */
#define COMMON_QUEUE_VECTOR      0x1au   /* RW 16: MSI-X entry */
#define COMMON_QUEUE_ENABLE      0x1cu   /* RW 16 */
#define COMMON_QUEUE_NOTIFY      0x1eu   /* R  16: times the multiplier */
#define COMMON_QUEUE_TABLE       0x20u   /* RW 64: descriptors */
#define COMMON_QUEUE_AVAILABLE   0x28u   /* RW 64 */
#define COMMON_QUEUE_USED        0x30u   /* RW 64 */
#define COMMON_BYTES             0x38u
#define COMMON_QUEUE_RESET       0x3au   /* RW 16: version 1.2, with FEATURE_RING_RESET */
#define COMMON_RESET_BYTES       0x3cu

#define VIRTIO_NO_VECTOR         0xffffu

#define STATUS_ACKNOWLEDGE       0x01u
#define STATUS_DRIVER            0x02u
#define STATUS_DRIVER_OK         0x04u
#define STATUS_FEATURES_OK       0x08u
#define STATUS_NEEDS_RESET       0x40u
#define STATUS_FAILED            0x80u

#define FEATURE_EVENT_INDEX      (1UL << 29)
#define FEATURE_VERSION_1        (1UL << 32)
#define FEATURE_RING_RESET       (1UL << 40) /* version 1.2: a queue can be reset by itself */

/* Split virtqueues, 2.6.5 to 2.6.8 */
#define DESCRIPTOR_NEXT          1u
#define DESCRIPTOR_WRITE         2u      /* by the device */

struct virtio_descriptor {
	uint64_t address;          /* physical */
	uint32_t bytes;
	uint16_t flags;
	uint16_t next;             /* with DESCRIPTOR_NEXT */
};
_Static_assert(sizeof(struct virtio_descriptor) == 16, "2.6.5");

struct virtio_available {
	uint16_t flags;
	uint16_t index;            /* position of the driver's next buffer */
	uint16_t ring[];           /* heads of chains; after it: the used event */
};

struct virtio_used_element {
	uint32_t id;               /* head of the chain */
	uint32_t bytes;            /* bytes that the device wrote */
};

struct virtio_used {
	uint16_t flags;
	uint16_t index;            /* position of the device's next element */
	struct virtio_used_element ring[]; /* after it: the available event */
};
_Static_assert(offsetof(struct virtio_used, ring) == 4, "2.6.8");

#endif
