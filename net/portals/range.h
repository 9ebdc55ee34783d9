/*
 * The range of memory that a grant is about: one piece, or a part of an iovec
 * descriptor. Private to the engine, which makes grants; what runners do with
 * them is in deliver.h.
 */
#ifndef NET_PORTALS_RANGE_H
#define NET_PORTALS_RANGE_H
#include "deliver.h"
#include "iovec.h"
#include "md.h"

/*
 * Grant `bytes` bytes from logical byte `offset` of a descriptor on: sets
 * grant->md, ->offset, ->bytes, ->pieces. 0, or PORTALS_FAIL if the block is
 * damaged. The pieces of an iovec descriptor are checked when they are used.
 */
static inline int grant_range(const struct process_view *view, const struct md *md,
			      uint64_t offset, uint64_t bytes, struct grant *grant)
{
	struct span span = { offset, bytes };

	grant->md = md->handle;
	grant->pieces = (md->user.options & MD_IOVEC) != 0;
	if (!grant->pieces && md_span(view, md, offset, bytes, &span))
		return PORTALS_FAIL;
	grant->offset = span.offset;
	grant->bytes = bytes;
	return PORTALS_OK;
}

#endif
