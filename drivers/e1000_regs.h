/*
 * Intel's gigabit cards 82540EM and 82574L. Sources: PCI/PCI-X Family of Gigabit
 * Ethernet Controllers Software Developer's Manual, 317453-006 (SDM), chapters 3,
 * 13 and 14; 82574 GbE Controller Family Datasheet, revision 3.4 (82574), chapters
 * 7 and 10; 82574 Family Specification Update (errata). Only what the drivers use.
 */
#ifndef DRIVERS_E1000_REGS_H
#define DRIVERS_E1000_REGS_H
#include <stddef.h>
#include <stdint.h>

#define INTEL_VENDOR        0x8086u
#define E1000_82540EM       0x100eu
#define E1000_82574L        0x10d3u
#define E1000_BYTES         0x20000u /* of registers, in BAR 0 */

/* Registers of both; SDM 13.4, 82574 10.2. RW unless said otherwise. */
#define REG_CTRL            0x0000u
#define REG_STATUS          0x0008u /* R */
#define REG_FLOW_LOW        0x0028u /* flow control: address, type, time */
#define REG_FLOW_HIGH       0x002cu
#define REG_FLOW_TYPE       0x0030u
#define REG_CAUSES          0x00c0u /* ICR; a read clears it while all causes are masked */
#define REG_RATE            0x00c4u /* ITR: least time between interrupts, 256 ns */
#define REG_RAISE           0x00c8u /* ICS, W: set causes */
#define REG_ALLOW           0x00d0u /* IMS, W: unmask causes */
#define REG_MASK            0x00d8u /* IMC, W: mask causes */
#define REG_RCTL            0x0100u
#define REG_FLOW_TIME       0x0170u
#define REG_TCTL            0x0400u
#define REG_GAPS            0x0410u /* TIPG */
#define REG_PACKETS         0x1000u /* PBA: KB of the packet buffer for receiving */
#define REG_RDBAL           0x2800u
#define REG_RDBAH           0x2804u
#define REG_RDLEN           0x2808u
#define REG_RDH             0x2810u
#define REG_RDT             0x2818u
#define REG_RDTR            0x2820u /* delays of interrupts and write-backs: none */
#define REG_RXDCTL          0x2828u
#define REG_RADV            0x282cu
#define REG_TDBAL           0x3800u
#define REG_TDH             0x3810u
#define REG_TDT             0x3818u
#define REG_TIDV            0x3820u
#define REG_TXDCTL          0x3828u
#define REG_TADV            0x382cu
#define REG_CHECKSUMS       0x5000u /* RXCSUM */
#define REG_GROUPS          0x5200u /* MTA: filter of group addresses, 128 words */
#define GROUP_WORDS         128u
#define REG_ADDRESS_LOW(n)  (0x5400u + 8 * (n)) /* RAL, RAH: addresses to receive */
#define REG_ADDRESS_HIGH(n) (0x5404u + 8 * (n))
#define ADDRESSES           15u     /* in both (82574: the last one is the firmware's) */

#define CTRL_NO_MASTER      (1u << 2)  /* 82574: begin no more transfers */
#define CTRL_LRST           (1u << 3)
#define CTRL_SPEED_BY_PHY   (1u << 5)
#define CTRL_LINK_UP        (1u << 6)
#define CTRL_ILOS           (1u << 7)
#define CTRL_RESET          (1u << 26)
#define CTRL_FLOW           (3u << 27) /* pause frames, received and sent */
#define CTRL_VLAN           (1u << 30)
#define CTRL_PHY_RESET      (1u << 31)

#define STATUS_UP           (1u << 1)
#define STATUS_MASTER       (1u << 19) /* 82574: transfers are under way */

#define CAUSE_SENT          (1u << 0)  /* TXDW */
#define CAUSE_LINK          (1u << 2)  /* LSC */
#define CAUSE_RECEIVED      (1u << 7)  /* RXT0 */
#define CAUSE_ALL           0xffffffffu

#define RCTL_EN             (1u << 1)
#define RCTL_BAD            (1u << 2)  /* damaged frames, too; QEMU: and those of more than 16 KiB */
#define RCTL_LONG           (1u << 5)  /* frames longer than 1522 bytes */
#define RCTL_BROADCAST      (1u << 15)
#define RCTL_16384          (1u << 16 | 1u << 25) /* buffers of 16 KiB */
#define RCTL_STRIP          (1u << 26) /* the CRC */

#define TCTL_EN             (1u << 1)
#define TCTL_PAD            (1u << 3)  /* to 64 bytes, with the CRC */
#define TCTL_COLLISIONS     (0x0fu << 4 | 0x40u << 12) /* as SDM 13.4.33 wants for full duplex */

/* Write each descriptor back at once: a threshold of one, counted in descriptors. */
#define DCTL_EACH           (1u << 24 | 1u << 16)
#define DCTL_COUNT          (1u << 22) /* 82574 10.2.6.8: must be one */

#define ADDRESS_VALID       (1u << 31)

/* The 82574's own */
#define REG_EECD            0x0010u
#define EECD_READ           (1u << 9)  /* the reset has read its EEPROM */
#define REG_CTRL_EXT        0x0018u
#define CTRL_EXT_DRIVER     (1u << 28) /* firmware: a driver has the card */
#define CTRL_EXT_TIMERS     (1u << 29) /* unmasking all causes ends a wait of EITR */
#define CTRL_EXT_PBA        (1u << 31) /* pending bits as MSI-X needs them */
#define REG_AUTO_CLEAR      0x00dcu    /* EIAC */
#define REG_AUTO_MASK       0x00e0u    /* IAM */
#define REG_VECTORS         0x00e4u    /* IVAR: the MSI-X entry of each cause */
#define VECTORS_RECEIVED    (8u << 0)  /* entry 0 */
#define VECTORS_SENT        (8u << 8)
#define VECTORS_OTHER       (8u << 16)
#define REG_VECTOR_RATE(n)  (0x00e8u + 4 * (n)) /* EITR */
#define VECTORS             5u
#define CAUSES_82574        0x01f782d7u /* all existing causes */
#define REG_TARC            0x3840u
#define TARC_QUEUE          (1u << 10) /* the queue sends */
#define TARC_MUST           (1u << 26) /* errata */
#define TARC_MUST_NOT       (0xfu << 27)
#define REG_FILTERS         0x5008u    /* RFCTL */
#define FILTERS_NO_ACK      (1u << 12) /* no interrupts of TCP's acknowledgements (errata) */
#define REG_QUEUES          0x5818u    /* MRQC: one queue */
#define REG_PCIE            0x5b00u    /* GCR */
#define PCIE_MUST           (1u << 22) /* errata: lost completions with L0s and L1 */
#define REG_PCIE2           0x5b64u    /* GCR2 */
#define PCIE2_MUST          (1u << 0)  /* errata */

/* Legacy descriptors, SDM 3.2.3 and 3.3.3; 82574 7.1.4 and 7.2.10 */
struct e1000_receive_descriptor {
	uint64_t address;
	uint64_t state;            /* written by the card: see below */
};
#define RX_BYTES(state)     ((uint32_t)(state) & 0xffffu)
#define RX_DONE             (1UL << 32)
#define RX_LAST             (1UL << 33) /* of the frame */
/* CRC, symbol, sequence, carrier extension, data: the frame is damaged */
#define RX_ERRORS           (0x97UL << 40)

struct e1000_send_descriptor {
	uint64_t address;
	uint32_t command;          /* bytes, and TX_* */
	uint32_t state;            /* written by the card */
};
#define TX_LAST             (1u << 24)
#define TX_CRC              (1u << 25)
#define TX_REPORT           (1u << 27) /* set TX_DONE */
#define TX_DONE             (1u << 0)

_Static_assert(sizeof(struct e1000_receive_descriptor) == 16, "SDM 3.2.3");
_Static_assert(offsetof(struct e1000_receive_descriptor, state) == 8, "SDM 3.2.3");
_Static_assert(sizeof(struct e1000_send_descriptor) == 16, "SDM 3.3.3");
_Static_assert(offsetof(struct e1000_send_descriptor, state) == 12, "SDM 3.3.3");

#endif
