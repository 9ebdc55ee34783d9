/*
 * The local APIC. Data: its address. Any context, interrupts off.
 */
#include "apic.h"

#include "apic_regs.h"
#include "memory.h"
#include "vectors.h"
#include "x86.h"

/* Legacy interrupt controllers, 8259A (data sheet 231468-003). */
#define PIC1_COMMAND   0x20u
#define PIC1_DATA      0x21u
#define PIC2_COMMAND   0xa0u
#define PIC2_DATA      0xa1u
#define PIC_ICW1_INIT  0x11u       /* edge triggered, cascaded, ICW4 follows */
#define PIC_ICW3_FIRST 0x04u       /* the second one is at input 2 */
#define PIC_ICW3_SECOND 0x02u
#define PIC_ICW4_8086  0x01u
#define PIC_ALL        0xffu

static volatile uint8_t *apic;

static void write_register(uint32_t offset, uint32_t value)
{
	*(volatile uint32_t *)(apic + offset) = value;
}

static uint32_t read_register(uint32_t offset)
{
	return *(volatile uint32_t *)(apic + offset);
}

/* They send a spurious interrupt now and then even if masked: away from the
 * exceptions with them. */
static void mask_legacy(void)
{
	outb(PIC1_COMMAND, PIC_ICW1_INIT);
	outb(PIC2_COMMAND, PIC_ICW1_INIT);
	outb(PIC1_DATA, VECTOR_PIC);
	outb(PIC2_DATA, VECTOR_PIC + 8);
	outb(PIC1_DATA, PIC_ICW3_FIRST);
	outb(PIC2_DATA, PIC_ICW3_SECOND);
	outb(PIC1_DATA, PIC_ICW4_8086);
	outb(PIC2_DATA, PIC_ICW4_8086);
	outb(PIC1_DATA, PIC_ALL);
	outb(PIC2_DATA, PIC_ALL);
}

void apic_start(void)
{
	uint64_t base = rdmsr(MSR_APIC_BASE);

	if (base & APIC_BASE_X2APIC) {
		/* the only way back leads through the APIC switched off (SDM vol. 3, 11.12.5) */
		base &= ~(uint64_t)APIC_BASE_X2APIC;
		wrmsr(MSR_APIC_BASE, base & ~(uint64_t)APIC_BASE_ENABLE);
	}
	wrmsr(MSR_APIC_BASE, base | APIC_BASE_ENABLE);
	apic = map_physical(base & APIC_BASE_ADDRESS, PAGE_BYTES, MAP_DEVICE);
	mask_legacy();
	write_register(APIC_LVT_LINT0, APIC_LVT_MASKED);
	write_register(APIC_LVT_LINT1, APIC_LVT_NMI);
	write_register(APIC_SPURIOUS, APIC_SPURIOUS_ENABLE | VECTOR_SPURIOUS);
	write_register(APIC_TIMER_DIVIDE, APIC_DIVIDE_BY_1);
	write_register(APIC_LVT_TIMER, VECTOR_TIMER);
	write_register(APIC_TIMER_INITIAL, 0);
}

void apic_end(void)
{
	write_register(APIC_EOI, 0);
}

void apic_timer_start(uint32_t count)
{
	write_register(APIC_TIMER_INITIAL, count);
}

uint32_t apic_timer_left(void)
{
	return read_register(APIC_TIMER_CURRENT);
}

void apic_interrupt_self(uint8_t vector)
{
	write_register(APIC_COMMAND, APIC_COMMAND_SELF | vector);
}

uint32_t apic_message_address(void)
{
	return MSI_ADDRESS | MSI_ADDRESS_ID(read_register(APIC_ID) >> 24);
}
