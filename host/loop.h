/*
 * The near transport within one Linux process: carries messages between views that
 * the process holds, completely, before it returns. For tests and simulations. It
 * is the port of net/portals/near.h for one thread: its locks are none.
 */
#ifndef HOST_LOOP_H
#define HOST_LOOP_H
#include "../net/portals/near.h"

struct loop {
	struct process_view *views;    /* view i is node i's process */
	uint32_t nodes;
	uint32_t split;                /* 1: short messages too go by begin, data and end */
	uint64_t dead;                 /* bit per node: it answers nothing */
	void (*entered)(struct loop *, struct process_view *); /* a test's, or null: before
	                                                          each step under a lock */
	int held;                      /* the lock of a view is held */
};

/*
 * The operations of node `from`: PtlPut and PtlAtomic (by args->operation),
 * PtlGet, PtlGetPut and PtlFetchAtomic. 0 or an enum portals_error. What
 * becomes of the message at its target shows in the events. At a target whose
 * operation records are all in use the operation ends with NI_FAIL.
 */
int loop_start(struct loop *loop, uint32_t from, const struct initiator_args *args);

#endif
