/*
 * What the two files of the receiver of long messages share: bulk.c (turns and grants)
 * and bulk_land.c (what lands, repair). Private to them; the rest of the link sees what
 * internal.h says of them.
 */
#ifndef NET_LINK_BULK_H
#define NET_LINK_BULK_H
#include "internal.h"

static inline uint32_t posted(const struct bulk *bulk)
{
	return bulk->posted - bulk->filled;
}

static inline uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline struct assembly *assembly_at(const struct link *link, uint32_t index)
{
	return record_at(&link->assemblies, index);
}

/* The flow's first message, from this one on, that lacks parts; NO_RECORD: none does. */
static inline uint32_t lacking(const struct link *link, uint32_t index)
{
	while (index != NO_RECORD) {
		const struct assembly *assembly = assembly_at(link, index);

		if (assembly->announced && !assembly->whole)
			break;
		index = assembly->next;
	}
	return index;
}

/* ---- bulk.c ---- */

uint64_t bulk_timeout(const struct link *link);
/* This message no longer waits for a turn. */
void bulk_leave_queue(struct link *link, uint32_t assembly);
/* What was held of a turn leaves: its acknowledgement and answers. */
void bulk_release(struct link *link);
/* Nothing comes: others first, and this flow when it has been heard of, a while later. */
void bulk_pass(struct link *link);
/* Tell the flow whose turn it is; the timer of this turn begins anew. */
void bulk_tell(struct link *link, struct wire *wire, uint64_t now);
/* All rooms that are posted, and by that the parts in them. */
void bulk_tell_rooms(struct link *link, uint64_t now);
/* Where a part is to be, as pieces: how many, 0 if a card cannot put it there. */
uint32_t bulk_place(struct link *link, struct assembly *assembly, uint32_t part,
		    struct nic_piece *pieces, uint32_t *bytes);
/* Parts of one message to the ordinary card: those that went astray, or the next ones. */
void bulk_pull(struct link *link, uint32_t assembly, uint64_t now);
/* No room is posted or asked for: from now on some may be. */
void bulk_begin_rooms(struct link *link);
/* As bulk_run while parts land: it grants seldom, and much at a time. */
void bulk_run_landed(struct link *link, uint64_t now);

#endif
