/*
 * Faults of the kernel on purpose, for the tests of its reports.
 */
#ifndef KERNEL_INJECT_FAULT_H
#define KERNEL_INJECT_FAULT_H

/* `how`: what crash= on the command line says. Returns if it is unknown, or
 * meant for another node. */
void inject_fault(const char *how);

#endif
