/*
 * The virtio network device. Source: Virtual I/O Device (VIRTIO) Version 1.1,
 * OASIS, csprd01, section 5.1. Only what the driver uses.
 */
#ifndef DRIVERS_VIRTIO_NET_REGS_H
#define DRIVERS_VIRTIO_NET_REGS_H
#include <stddef.h>
#include <stdint.h>

#define VIRTIO_NET_DEVICE        0x1041u /* 4.1.2: 0x1040 and the device's type, 1 */

/* Queues without VIRTIO_NET_F_MQ, 5.1.2 */
#define NET_QUEUE_RECEIVE        0u
#define NET_QUEUE_TRANSMIT       1u
#define NET_QUEUE_CONTROL        2u

/* Features, 5.1.3 */
#define NET_FEATURE_MTU          (1UL << 3)
#define NET_FEATURE_MAC          (1UL << 5)
#define NET_FEATURE_MERGE        (1UL << 15) /* a frame may fill several buffers */
#define NET_FEATURE_STATUS       (1UL << 16)
#define NET_FEATURE_CONTROL      (1UL << 17)
#define NET_FEATURE_CONTROL_RX   (1UL << 18)
#define NET_FEATURE_CONTROL_MAC  (1UL << 23)

/* Device configuration, 5.1.4 */
#define NET_CONFIG_STATUS        6u      /* R 16 */
#define NET_CONFIG_MTU           10u     /* R 16: without the Ethernet header */
#define NET_CONFIG_BYTES         12u
#define NET_STATUS_LINK_UP       1u

/* Before each frame, 5.1.6; all zero when sending */
struct net_header {
	uint8_t  flags, gso_type;
	uint16_t header_length, gso_size, checksum_start, checksum_offset;
	uint16_t buffers;          /* received: how many the frame fills */
};
_Static_assert(sizeof(struct net_header) == 12, "5.1.6");
_Static_assert(offsetof(struct net_header, buffers) == 10, "5.1.6");

/* The control queue, 5.1.6.5: class, command, data; then the device's answer */
#define NET_CLASS_RX             0u
#define NET_RX_PROMISCUOUS       0u      /* data: one byte, off or on */
#define NET_RX_ALL_MULTICAST     1u
#define NET_CLASS_MAC            1u
#define NET_MAC_ADDRESS          1u      /* data: six bytes */
#define NET_CONTROL_OK           0u

#endif
