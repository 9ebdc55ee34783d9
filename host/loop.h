/*
 * A link within one Linux process: carries messages between views that the
 * process holds, completely, before it returns. For tests and simulations. It
 * takes no locks: one thread, or the caller's own exclusion.
 */
#ifndef HOST_LOOP_H
#define HOST_LOOP_H
#include "../net/portals/initiator.h"

struct loop {
	struct process_view *views;    /* view i is node i's process */
	uint32_t nodes;
	uint32_t split;                /* 1: short messages too go by begin, data and end */
	uint64_t dead;                 /* bit per node: it answers nothing */
};

/*
 * The operations of node `from`: PtlPut and PtlAtomic (by args->operation),
 * PtlGet, PtlGetPut and PtlFetchAtomic. 0 or an enum portals_error. What
 * becomes of the message at its target shows in the events. A target whose
 * operation records are all in use is PORTALS_NO_SPACE; the operation then ends
 * with NI_FAIL at its initiator.
 */
int loop_put(struct loop *loop, uint32_t from, const struct initiator_args *args);
int loop_get(struct loop *loop, uint32_t from, const struct initiator_args *args);
int loop_exchange(struct loop *loop, uint32_t from, const struct initiator_args *args);

#endif
