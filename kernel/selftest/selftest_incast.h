/*
 * Raw frames from all nodes to one; see selftest_incast.c.
 */
#ifndef KERNEL_SELFTEST_INCAST_H
#define KERNEL_SELFTEST_INCAST_H
#include <stdbool.h>

/* Runs on all nodes of a machine of three or more, over card 0. False: it cannot. */
bool incast_test(void);

#endif
