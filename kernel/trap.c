/*
 * Exceptions and interrupts. An exception in the application is its fault and
 * ends it; one in the kernel ends the node, but for a first touch of the shifted
 * alias. Interrupts are the doorbell, the timer, the network cards and the host's file
 * server; they come while the application runs or the kernel is halted.
 */
#include <stdbool.h>

#include "apic.h"
#include "cards.h"
#include "cpu.h"
#include "fault.h"
#include "link_frames.h"
#include "membership.h"
#include "memory.h"
#include "node.h"
#include "panic.h"
#include "requests.h"
#include "time.h"
#include "upcall.h"
#include "vectors.h"
#include "x86.h"

static void interrupt(struct trap_frame *frame)
{
	count(COUNTER_INTERRUPTS, 1);
	switch (frame->vector) {
	case VECTOR_TIMER:
		count(COUNTER_TIMER, 1);
		timer_fired();
		apic_end();
		if (link_frames)
			link_frames_alarm(frame->cs & 3);
		break;
	case VECTOR_DOORBELL:
		count(COUNTER_BELLS_RECEIVED, 1);
		apic_end();
		membership_bell();
		upcall_bell();
		if (frame->cs & 3)
			requests_serve();
		break;
	case VECTOR_PIC ... VECTOR_PIC_END - 1:
	case VECTOR_CARD ... VECTOR_CARD_END - 1:
		cards_interrupt((uint32_t)frame->vector);
		if (link_frames)
			link_frames_arrival(frame->cs & 3);
		break;
	case VECTOR_FILES: /* it has ended the halt */
		apic_end();
		break;
	case VECTOR_STRAY: /* of a device that the firmware left on */
		count(COUNTER_SPURIOUS, 1);
		apic_end();
		break;
	default:
		count(COUNTER_SPURIOUS, 1);
	}
	if (frame->cs & 3 && upcall_is_due())
		upcall_enter(frame);
}

/* A first touch of the shifted alias, by the kernel. */
static bool is_first_touch(const struct trap_frame *frame)
{
	return frame->vector == VECTOR_PAGE_FAULT && !(frame->cs & 3) &&
	       !(frame->error & PAGE_FAULT_PRESENT) && memory_map_shifted(READ_CR(2));
}

__attribute__((externally_visible)) /* vectors.asm */
void trap(struct trap_frame *frame)
{
	if (is_first_touch(frame))
		return;
	if (frame->vector >= VECTOR_EXCEPTIONS)
		interrupt(frame);
	else if (frame->cs & 3 && frame->vector != VECTOR_NMI &&
	         frame->vector != VECTOR_MACHINE_CHECK)
		fault_application(frame);
	else
		panic_trap(frame);
}
