/*
 * Faults of the kernel on purpose, for the tests of its reports.
 */
#ifndef KERNEL_CRASH_H
#define KERNEL_CRASH_H

/* `how`: what crash= on the command line says. Returns if it is unknown, or
 * meant for another node. */
void crash(const char *how);

#endif
