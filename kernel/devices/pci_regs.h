/*
 * PCI configuration space. Sources: PCI Local Bus Specification 3.0, chapter 6
 * and section 3.2.2.3.2; PCI Express Base Specification 3.0, section 7.2.2.
 */
#ifndef KERNEL_PCI_REGS_H
#define KERNEL_PCI_REGS_H

#define PCI_PORT_ADDRESS    0xcf8u        /* RW */
#define PCI_PORT_DATA       0xcfcu        /* RW */
#define PCI_PORT_ENABLE     0x80000000u

#define PCI_ID              0x00u         /* R: vendor, device */
#define PCI_COMMAND         0x04u         /* RW; status in the upper half */
#define PCI_HEADER          0x0cu         /* R: header type in bits 16 to 23 */
#define PCI_BAR(n)          (0x10u + 4u * (n))
#define PCI_BRIDGE_BUSES    0x18u         /* R: primary, secondary, subordinate */
#define PCI_CAPABILITIES    0x34u         /* R */
#define PCI_INTERRUPT       0x3cu         /* RW: line, pin */

#define PCI_ID_NONE         0xffffffffu
#define PCI_COMMAND_MEMORY  0x2u
#define PCI_COMMAND_MASTER  0x4u
#define PCI_STATUS_CAPABILITIES 0x100000u /* in the same register */
#define PCI_HEADER_MANY     0x800000u
#define PCI_HEADER_TYPE     0x7f0000u
#define PCI_HEADER_BRIDGE   0x010000u

#define PCI_BAR_IO          0x1u
#define PCI_BAR_64          0x4u
#define PCI_BAR_ADDRESS     0xfffffff0u

#define PCI_CAP_VENDOR      0x09u
#define PCI_CAP_EXPRESS     0x10u
#define PCI_EXPRESS_LINK    0x10u         /* RW: link control; status in the upper half */
#define PCI_EXPRESS_CONTROL 0xffffu
#define PCI_EXPRESS_SLEEP   0x3u          /* 7.8.7: active state power management */
#define PCI_CAP_MSIX        0x11u         /* 6.8.2 */
#define PCI_MSIX_ENABLE     0x80000000u   /* in the capability's first register */
#define PCI_MSIX_MASK_ALL   0x40000000u
#define PCI_MSIX_LAST(control) ((control) >> 16 & 0x7ffu) /* number of the last entry */
#define PCI_MSIX_TABLE      0x4u          /* R: offset, and BAR in the low three bits */
#define PCI_MSIX_BAR        0x7u

/* An MSI-X table entry */
#define MSIX_ENTRY_BYTES    16u
#define MSIX_ADDRESS        0x0u
#define MSIX_ADDRESS_HIGH   0x4u
#define MSIX_DATA           0x8u
#define MSIX_CONTROL        0xcu          /* bit 0: masked */

#endif
