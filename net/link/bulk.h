/*
 * What the two files of the receiver of long messages share: bulk.c (turns and grants)
 * and bulk_land.c (what lands, repair). Private to them; the rest of the link sees what
 * internal.h says of them.
 */
#ifndef NET_LINK_BULK_H
#define NET_LINK_BULK_H
#include "internal.h"

/* Buffers that the card has. */
static inline uint32_t posted(const struct bulk *bulk)
{
	return bulk->posted - bulk->filled;
}

/* Parts that are granted, and not yet in their place with all before them. */
static inline uint32_t granted(const struct bulk *bulk)
{
	return bulk->next - bulk->oldest;
}

static inline struct buffer *buffer_of(struct bulk *bulk, uint32_t number)
{
	return &bulk->buffers[number % BULK_BUFFERS];
}

static inline struct assembly *assembly_at(const struct link *link, uint32_t index)
{
	return record_at(&link->assemblies, index);
}

/* Payload bytes of a part. */
static inline uint32_t part_bytes(const struct assembly *assembly, uint32_t part)
{
	uint64_t left = assembly->length - (uint64_t)part * assembly->fragment;

	return left < assembly->fragment ? (uint32_t)left : assembly->fragment;
}

/* The flow's first message, from this one on, that lacks parts; NO_RECORD: none does. */
static inline uint32_t first_incomplete(const struct link *link, uint32_t index)
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
/* The flow whose turn it is sends nothing: the next one's turn. It has another when it has been
 * heard of, a while later. */
void bulk_pass(struct link *link);
/* GRANT of the parts with these numbers; `again`: although they were sent before. */
void bulk_send_grant(struct link *link, uint32_t from, uint32_t until, int again);
/* The memory of a buffer, as pieces: how many, 0 if a card cannot write it. */
uint32_t bulk_place(struct link *link, const struct buffer *buffer, struct nic_piece *pieces);
/* The card gets this buffer: 1, or 0 if it cannot. `tell`: it interrupts when it is filled. */
int bulk_post(struct link *link, struct buffer *buffer, int interrupt);
/* As bulk_run while parts land: it grants seldom, and much at a time. */
void bulk_run_landed(struct link *link, uint64_t now);

#endif
