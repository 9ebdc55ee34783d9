/*
 * Who this process is in its job, for applications.
 *
 * A job has N processes, its ranks 0 to N-1, one on each node. Each call may be
 * made at any time from main on, blocks nowhere, and but margay_counters enters
 * no kernel. The environment variables MARGAY_RANK and MARGAY_SIZE say the same
 * to programs that do not know this header.
 */
#ifndef MARGAY_H
#define MARGAY_H
#include <portals3.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This process's rank: 0 to margay_size() - 1. */
int margay_rank(void);

/* How many processes the job has: 1 or more. */
int margay_size(void);

/*
 * The Portals name of a rank, valid as a target and as a source of match
 * entries. Ranks lie on nodes in order. A rank that the job does not have gives
 * a name that no process has.
 */
ptl_process_id_t margay_process(int rank);

/*
 * Stores the first `count` counters of this node's kernel into values, in the
 * order of enum counter in <margay/counters.h>. Returns how many the kernel has,
 * or -1 with errno EFAULT or EINVAL. One system call.
 */
int margay_counters(uint64_t *values, int count);

/*
 * Prints where this process is, as the report of a fault does: one line for each
 * function that has not returned, to which margay run adds function, file and line.
 */
void margay_backtrace(void);

#ifdef __cplusplus
}
#endif
#endif
