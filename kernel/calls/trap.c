/*
 * Exceptions and interrupts. An exception in the application ends the application. One in the
 * kernel ends the node, except a first touch of the shifted alias. Interrupts are the doorbell, the
 * timer, the network cards and the host's file server; they come while the application runs or the
 * kernel is halted.
 */
#include "trap.h"

#include <stdbool.h>

#include "kernel/base/node.h"
#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "kernel/cpu/vectors.h"
#include "kernel/devices/apic.h"
#include "kernel/devices/time.h"
#include "kernel/memory/memory.h"
#include "kernel/report/fault.h"
#include "kernel/report/panic_report.h"
#include "kernel/transport/cards.h"
#include "kernel/transport/link_frames.h"
#include "kernel/transport/membership.h"
#include "kernel/transport/region_requests.h"
#include "kernel/transport/upcall.h"

static void interrupt(struct trap_frame *frame)
{
	count(COUNTER_INTERRUPTS, 1);
	switch (frame->vector) {
	case VECTOR_TIMER:
		count(COUNTER_TIMER, 1);
		if (ktimer_fired())
			upcall_timer();
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
			region_requests_serve();
		break;
	case VECTOR_PIC ... VECTOR_PIC_END - 1:
	case VECTOR_CARD ... VECTOR_CARD_END - 1:
		cards_interrupt((uint32_t)frame->vector);
		if (link_frames)
			link_frames_arrival(frame->cs & 3);
		break;
	case VECTOR_FILES: /* it only ends the halt */
		apic_end();
		break;
	case VECTOR_SPURIOUS: /* the local APIC expects no end of it */
		count(COUNTER_SPURIOUS, 1);
		break;
	default: /* of a device that the firmware left on: VECTOR_STRAY, or one that nothing uses */
		count(COUNTER_SPURIOUS, 1);
		apic_end();
	}
	if (frame->cs & 3 && upcall_is_due())
		upcall_enter(frame);
}

/* Whether this is the kernel's first touch of the shifted alias. */
static bool is_first_touch(const struct trap_frame *frame)
{
	return frame->vector == VECTOR_PAGE_FAULT && !(frame->cs & 3) &&
	       !(frame->error & PAGE_FAULT_PRESENT) && memory_map_shifted(READ_CR(2));
}

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
		panic_report_trap(frame);
}
