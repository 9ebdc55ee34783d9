/*
 * The transports: near, for nodes whose blocks are mapped here (net/portals/near.h), and
 * far, over frames (net/frames). An operation's target decides between the two, by
 * transport_is_near and nothing else. Interrupts are off in all of these.
 */
#ifndef KERNEL_TRANSPORT_H
#define KERNEL_TRANSPORT_H
#include "kernel/process/process.h"
#include "link_frames.h"
#include "link_shm.h"
#include "upcall.h"

static inline bool transport_is_near(uint32_t nid)
{
	return nid - link_shm_first < link_shm_nodes;
}

/*
 * Starts an operation of this process: an enum portals_error. A near one has ended when this
 * returns, a far one is under way. It waits while there is no room for the operation, and while its
 * target boots.
 */
int transport_start(const struct initiator_args *args);

#endif
