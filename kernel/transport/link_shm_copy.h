/*
 * The shared-memory link's copies: from range to range, one end of which lies
 * in the own segment. Called without a lock, interrupts off.
 */
#ifndef KERNEL_LINK_SHM_COPY_H
#define KERNEL_LINK_SHM_COPY_H
#include "kernel/base/node.h"
#include "net/portals/deliver.h"
#include "link_shm.h"

/*
 * Copies as many bytes as both ranges have; they may lie in one segment and overlap. `to` or `from`
 * or both are own_view(). 0, or DELIVER_DAMAGED if a block no longer says where the pieces of a
 * descriptor are.
 */
int link_shm_copy(const struct process_view *to, const struct grant *dest,
              const struct process_view *from, const struct grant *source);

#endif
