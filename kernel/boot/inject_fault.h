/*
 * Deliberate faults of the kernel, for the tests of its reports.
 */
#ifndef KERNEL_INJECT_FAULT_H
#define KERNEL_INJECT_FAULT_H

/* `how`: the value of crash= on the command line. Returns if it is unknown, or
 * meant for another node. */
void inject_fault(const char *how);

#endif
