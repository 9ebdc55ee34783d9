/*
 * Self-tests of a machine of two nodes; see selftest.c.
 */
#ifndef KERNEL_SELFTEST_H
#define KERNEL_SELFTEST_H
#include <stdbool.h>

/* Runs the named test on this node; all nodes must run it. Once, after the
 * segment is mapped and before the application starts; interrupts off. False:
 * it failed, or has no such name; the console says which. */
bool selftest(const char *name);

#endif
