/*
 * The near transport within one Linux process: delivers messages between views of the process
 * completely before it returns. For tests and simulations. The port of net/portals/near.h for one
 * thread, without locks.
 */
#ifndef HOST_LOOP_H
#define HOST_LOOP_H
#include "../net/portals/near.h"

struct loop {
	struct process_view *views;    /* view i is node i's process */
	uint32_t nodes;
	uint32_t split;                /* 1: short messages also use begin, data and end */
	uint64_t dead;                 /* bit per node: it answers nothing */
	void (*entered)(struct loop *, struct process_view *); /* a test's, or null: called before
	                                                          each step under a lock */
	int held;                      /* the lock of a view is held */
};

/*
 * The operations of node `from`: PtlPut and PtlAtomic (by args->operation), PtlGet, PtlGetPut and
 * PtlFetchAtomic. 0 or an enum portals_error. Events report the message's end at its target. If the
 * target's operation records are all in use, the operation ends with NI_FAIL.
 */
int loop_start(struct loop *loop, uint32_t from, const struct initiator_args *args);

#endif
