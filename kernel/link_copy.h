/*
 * The shared-memory link's copies: from range to range, one end of which lies
 * in the own segment. Called without a lock, interrupts off.
 */
#ifndef KERNEL_LINK_COPY_H
#define KERNEL_LINK_COPY_H
#include "../net/portals/deliver.h"
#include "link_shm.h"
#include "node.h"

/*
 * Copy as many bytes as both ranges have; they may lie in one segment and
 * overlap. `to` or `from` or both are &own_view. 0, or DELIVER_DAMAGED if a
 * block no longer says where the pieces of a descriptor are.
 */
int link_copy(const struct process_view *to, const struct grant *dest,
              const struct process_view *from, const struct grant *source);

/* Gather the payload of a short message from pieces of the own segment to `room`, of
 * DELIVER_OPERAND_BYTES bytes. 0, or DELIVER_DAMAGED. */
int link_gather(const struct grant *source, uint8_t *room);

/* Where a payload in one piece can be read. To another node by the shifted alias:
 * programs that are one on all nodes send from where they receive, and then the
 * two do not collide. */
static inline const uint8_t *link_payload(const struct process_view *target,
                                          const struct grant *source)
{
	return (target == &own_view ? own_view.memory : node.segment.shifted) + source->offset;
}

#endif
