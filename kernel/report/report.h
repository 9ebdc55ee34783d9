/*
 * Reports: registers and backtraces, and the end that follows a fault.
 */
#ifndef KERNEL_REPORT_H
#define KERNEL_REPORT_H
#include <stdint.h>

struct trap_frame;

/* The application's frames: rip, then the return addresses that its rbp chain
 * leads to. Every address is checked against the segment; the chain must rise. */
void report_application_frames(const struct trap_frame *frame);

/* The kernel's own frames from a frame pointer on; `rip` 0: none. */
void report_kernel_frames(uint64_t rip, uint64_t rbp);

void report_registers(const struct trap_frame *frame);

/* "margay: rank R (node K): <cause>, signal S (NAME)", registers, frames. */
void report_application(const struct trap_frame *frame, const char *cause, unsigned signal);

/* The same in a system call: only the registers that its entry stores. */
void report_call(const char *cause, unsigned signal);

const char *signal_name(unsigned signal);

enum { SIGNAL_QUIT = 3, SIGNAL_ILL = 4, SIGNAL_TRAP = 5, SIGNAL_ABRT = 6, SIGNAL_BUS = 7,
       SIGNAL_FPE = 8, SIGNAL_SEGV = 11, SIGNAL_ALRM = 14 };

#endif
