/*
 * The entries of the kernel, for boot to name.
 */
#ifndef KERNEL_TRAP_H
#define KERNEL_TRAP_H

struct trap_frame;

/* Every exception and interrupt (for cpu_start). */
void trap(struct trap_frame *frame);

/* entry.asm: system calls (for cpu_features). */
void syscall_entry(void);

#endif
