/*
 * Functions that the two files of the receiver of long messages share: bulk.c (turns and grants)
 * and bulk_land.c (landed parts, repair). Private to these two; internal.h has the functions for
 * the rest of the link.
 */
#ifndef NET_LINK_BULK_H
#define NET_LINK_BULK_H
#include "internal.h"

/* The number of buffers that the card has now. */
static inline uint32_t posted(const struct bulk *bulk)
{
	return bulk->posted - bulk->filled;
}

/* The number of buffers in use: for granted parts that are not yet in place, or follow one that
 * is not. */
static inline uint32_t granted(const struct bulk *bulk)
{
	return bulk->next - bulk->oldest;
}

static inline struct buffer *buffer_of(struct bulk *bulk, uint32_t number)
{
	return &bulk->buffers[number % BULK_BUFFERS];
}

/* The number of the oldest buffer with a part that has not arrived; bulk->next: there is none. */
static inline uint32_t first_missing(struct bulk *bulk)
{
	uint32_t number = bulk->oldest;

	while (number != bulk->next && buffer_of(bulk, number)->at != PART_MISSING)
		number++;
	return number;
}

/* Payload bytes of a part. */
static inline uint32_t part_bytes(const struct assembly *assembly, uint32_t part)
{
	uint64_t left = assembly->length - (uint64_t)part * assembly->fragment;

	return left < assembly->fragment ? (uint32_t)left : assembly->fragment;
}

/* The flow's first message from `index` on that is announced and incomplete, or NO_RECORD. */
static inline uint32_t first_incomplete(const struct link *link, uint32_t index)
{
	while (index != NO_RECORD && !assembly_waits(assembly_at(link, index)))
		index = assembly_at(link, index)->next;
	return index;
}

/* ---- bulk.c ---- */

/* ns until the turn's timer expires: a timeout with backoff. */
uint64_t bulk_timeout(const struct link *link);
/* Remove a message from the list of those that wait for a turn. */
void bulk_leave_queue(struct link *link, uint32_t assembly);
/* The flow that has the turn sends nothing, or little: end its turn. It gets another one when it is
 * heard from again. */
void bulk_pass(struct link *link);
/* Send a GRANT for the parts of buffers [from, until); `again`: send also those that were sent
 * before. */
void bulk_send_grant(struct link *link, uint32_t from, uint32_t until, int again);
/* The memory of a buffer: returns the number of pieces, 0 if a card cannot write there. */
uint32_t bulk_place(struct link *link, const struct buffer *buffer, struct nic_piece *pieces);
/* Post a buffer to the card: 1, or 0 if that is not possible. `interrupt`: the card interrupts when
 * it has filled this buffer. */
int bulk_post(struct link *link, struct buffer *buffer, int interrupt);
/* Whether two buffers in use share memory. If not, `memory` of all of them is set. */
int bulk_memory_is_shared(struct link *link);

#endif
