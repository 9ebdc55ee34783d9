/*
 * Faults: what an exception means, in words.
 */
#ifndef KERNEL_FAULT_H
#define KERNEL_FAULT_H
#include <stddef.h>
#include <stdint.h>

struct trap_frame;

/* Reports the application's fault and ends it. */
_Noreturn void fault_application(const struct trap_frame *frame);

/* The same for a system call that got memory which the application may not use in this way. `call`
 * names the call. */
_Noreturn void fault_bad_pointer(const char *call, uint64_t address, uint64_t bytes);

/* Describes an exception in `out`; returns the signal that it becomes. */
unsigned fault_describe(const struct trap_frame *frame, char *out, size_t bytes);

#endif
