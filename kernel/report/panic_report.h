/*
 * The report at the end of a panic. Neither returns. Any context.
 */
#ifndef KERNEL_PANIC_REPORT_H
#define KERNEL_PANIC_REPORT_H
#include <stdint.h>

struct trap_frame;

/* Reports the text and the kernel's frames from this frame pointer on, marks the node
 * NODE_PANICKED, and switches it off. For panic_ends_with (kernel/base/panic.h). */
void panic_report(const char *text, uint64_t frame_pointer);

/* The same after a fault or NMI in the kernel. */
_Noreturn void panic_report_trap(const struct trap_frame *frame);

#endif
