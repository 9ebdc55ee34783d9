/*
 * Exceptions and interrupts. An exception in the application is its fault and
 * ends it; one in the kernel ends the node. Interrupts are the doorbell and the
 * timer; they come while the application runs or the kernel is halted.
 */
#include <stdbool.h>

#include "apic.h"
#include "cpu.h"
#include "fault.h"
#include "node.h"
#include "panic.h"
#include "requests.h"
#include "vectors.h"

static void interrupt(struct trap_frame *frame)
{
	count(COUNTER_INTERRUPTS, 1);
	switch (frame->vector) {
	case VECTOR_TIMER:
		count(COUNTER_TIMER, 1);
		apic_end();
		break;
	case VECTOR_DOORBELL:
		count(COUNTER_BELLS_RECEIVED, 1);
		apic_end();
		link_interrupt();
		if (frame->cs & 3)
			requests_serve();
		break;
	default:
		count(COUNTER_SPURIOUS, 1);
	}
}

void trap(struct trap_frame *frame)
{
	if (frame->vector >= VECTOR_EXCEPTIONS)
		interrupt(frame);
	else if (frame->cs & 3 && frame->vector != VECTOR_NMI &&
	         frame->vector != VECTOR_MACHINE_CHECK)
		fault_application(frame);
	else
		panic_trap(frame);
}
