/*
 * The end of a kernel: something that must not happen did.
 */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

/* Prints the text and a backtrace of the kernel on the serial port, marks the
 * node NODE_PANICKED, and switches it off. Any context. */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct trap_frame;
/* The same after a fault or NMI in the kernel. */
_Noreturn void panic_trap(const struct trap_frame *frame);

#endif
