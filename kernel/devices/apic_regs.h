/*
 * Local APIC in its memory-mapped form (xAPIC). Source: Intel SDM vol. 3,
 * order number 325384, revision 080, chapter 11. Offsets in bytes.
 */
#ifndef KERNEL_APIC_REGS_H
#define KERNEL_APIC_REGS_H

#define APIC_ID               0x020u  /* RW 11.4.6 */
#define APIC_EOI              0x0b0u  /* W  11.8.5 */
#define APIC_SPURIOUS         0x0f0u  /* RW 11.9 */
#define APIC_COMMAND          0x300u  /* RW 11.6.1, lower half */
#define APIC_LVT_TIMER        0x320u  /* RW 11.5.1 */
#define APIC_LVT_LINT0        0x350u  /* RW 11.5.1 */
#define APIC_LVT_LINT1        0x360u  /* RW 11.5.1 */
#define APIC_TIMER_INITIAL    0x380u  /* RW 11.5.4 */
#define APIC_TIMER_CURRENT    0x390u  /* R  11.5.4 */
#define APIC_TIMER_DIVIDE     0x3e0u  /* RW 11.5.4 */

#define APIC_SPURIOUS_ENABLE  0x100u
#define APIC_COMMAND_SELF     0x40000u
#define APIC_LVT_MASKED       0x10000u
#define APIC_LVT_NMI          0x400u
#define APIC_LVT_EXTERNAL     0x700u  /* the legacy controllers name the vector */
#define APIC_DIVIDE_BY_1      0xbu

#define APIC_BASE_ENABLE      0x800u
#define APIC_BASE_X2APIC      0x400u
#define APIC_BASE_ADDRESS     0xffffff000UL

/* Where a device writes to interrupt a processor (11.11.1). */
#define MSI_ADDRESS           0xfee00000u
#define MSI_ADDRESS_ID(id)    ((uint32_t)(id) << 12)

#endif
