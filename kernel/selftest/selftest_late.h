/*
 * How long a self-test waits for frames: as long as it says, or S seconds with late=S on the
 * command line. On a wire without faults a frame is only late, however busy the host is.
 */
#ifndef KERNEL_SELFTEST_LATE_H
#define KERNEL_SELFTEST_LATE_H
#include "kernel/loader/parameters.h"

static inline uint64_t late_ns(uint64_t ns)
{
	return parameters.late ? parameters.late * 1000000000UL : ns;
}

#endif
