/*
 * The end of a kernel: something that must not happen did.
 */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H
#include <stdint.h>

/* Prints the text and a backtrace of the kernel on the serial port, marks the
 * node NODE_PANICKED, and switches it off. Any context. */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What a panic does with its text and its frame pointer; it must not return. */
typedef void panic_end(const char *text, uint64_t frame_pointer);

/* Sets that function, first thing at boot. Before that a panic halts. */
void panic_ends_with(panic_end *end);

#endif
