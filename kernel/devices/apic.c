/*
 * The local APIC. Data: its address. Any context, interrupts off.
 */
#include "apic.h"

#include "kernel/base/x86.h"
#include "kernel/cpu/vectors.h"
#include "kernel/memory/memory.h"
#include "apic_regs.h"
#include "pic.h"

static volatile uint8_t *apic;

static void write_register(uint32_t offset, uint32_t value)
{
	*(volatile uint32_t *)(apic + offset) = value;
}

static uint32_t read_register(uint32_t offset)
{
	return *(volatile uint32_t *)(apic + offset);
}

void apic_start(void)
{
	uint64_t base = rdmsr(MSR_APIC_BASE);

	if (base & APIC_BASE_X2APIC) {
		/* the APIC must be switched off to leave x2APIC mode (SDM vol. 3, 11.12.5) */
		base &= ~(uint64_t)APIC_BASE_X2APIC;
		wrmsr(MSR_APIC_BASE, base & ~(uint64_t)APIC_BASE_ENABLE);
	}
	wrmsr(MSR_APIC_BASE, base | APIC_BASE_ENABLE);
	apic = map_physical(base & APIC_BASE_ADDRESS, PAGE_BYTES, MAP_DEVICE);
	pic_start();
	write_register(APIC_LVT_LINT0, APIC_LVT_MASKED);
	write_register(APIC_LVT_LINT1, APIC_LVT_NMI);
	write_register(APIC_SPURIOUS, APIC_SPURIOUS_ENABLE | VECTOR_SPURIOUS);
	write_register(APIC_TIMER_DIVIDE, APIC_DIVIDE_BY_1);
	write_register(APIC_LVT_TIMER, VECTOR_TIMER);
	write_register(APIC_TIMER_INITIAL, 0);
}

void apic_open_legacy(void)
{
	write_register(APIC_LVT_LINT0, APIC_LVT_EXTERNAL);
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
