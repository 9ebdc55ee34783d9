/*
 * The range of memory of a grant: one piece, or a part of an iovec descriptor. Private to the
 * engine, which makes grants; deliver.h has the functions by which runners use them.
 */
#ifndef NET_PORTALS_RANGE_H
#define NET_PORTALS_RANGE_H
#include "deliver.h"
#include "eq.h"
#include "iovec.h"
#include "md.h"
#include "../port.h"

/* Reset a grant. Field by field: that takes fewer instructions. */
static inline void grant_clear(struct grant *grant)
{
	grant->op = HANDLE_NONE;
	grant->md = HANDLE_NONE;
	grant->offset = 0;
	grant->bytes = 0;
	grant->events = 0;
	grant->answers = grant->ack = grant->begun = grant->upcall = grant->pieces = 0;
}

/* grant_range for a descriptor in one piece, whose memory was checked when it was made. */
static inline int grant_piece(const struct process_view *view, const struct md *md,
			      uint64_t offset, uint64_t bytes, struct grant *grant)
{
	grant->md = md->handle;
	grant->bytes = bytes;
	grant->pieces = 0;
	/* Read once, so that the checked value is the one that is granted. */
	offset += __atomic_load_n(&md->user.start, __ATOMIC_RELAXED) - view->base;
	if (bytes > view->bytes || offset > view->bytes - bytes) {
		if (bytes)
			return PORTALS_FAIL;
		offset = 0;
	}
	grant->offset = offset;
	return PORTALS_OK;
}

/*
 * Grant `bytes` bytes, from logical byte `offset` on, of a descriptor with these options, for
 * reading or for writing: sets grant->md, ->offset, ->bytes and ->pieces. 0, or PORTALS_FAIL if the
 * block is damaged. Or PORTALS_SEGV, and nothing is granted, if the descriptor has MD_SPAN and its
 * application may not use these bytes in this way. The pieces of an iovec descriptor are checked
 * when they are used.
 */
static inline int grant_range(const struct process_view *view, const struct md *md,
			      uint32_t options, uint64_t offset, uint64_t bytes, int write,
			      struct grant *grant)
{
	if (__builtin_expect(!(options & (MD_IOVEC | MD_SPAN)), 1))
		return grant_piece(view, md, offset, bytes, grant);
	grant->md = md->handle;
	grant->bytes = bytes;
	grant->pieces = 1;
	grant->offset = offset;
	if (options & MD_IOVEC)
		return PORTALS_OK;
	grant->pieces = 0;
	grant->offset = span_find(view, md, offset, bytes, write);
	if (grant->offset != SPAN_NONE)
		return PORTALS_OK;
	grant->offset = grant->bytes = 0;
	return PORTALS_SEGV;
}

/* The call has recorded its events, all of them in `eq` (null: none): set grant->upcall. */
static inline void grant_rings(const struct process_view *view, struct grant *grant,
			       const struct eq *eq)
{
	grant->upcall = eq && eq->handler && grant->events && eq_calls(view, eq, grant->events);
}

/* Unaligned access to 8 bytes of anything. */
typedef uint64_t __attribute__((may_alias, aligned(1))) range_word;

/* port_move; and deliver_data or deliver_read of a whole range. They are not inlined, so that the
 * fast path of a put (kernel/portals/portals_message.c) stays small, with its grant in
 * registers. */
__attribute__((noinline)) void range_move(void *to, const void *from, uint64_t bytes);
__attribute__((noinline)) int range_pieces(const struct process_view *view,
					   struct grant grant, void *memory, int write);

/* Copy a short payload: as port_move, but faster for the usual 8 to 16 bytes. */
static inline void move_short(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	if (bytes - 8 <= 8) { /* 8 to 16: two words, which may overlap */
		uint64_t first = *(const range_word *)from;
		uint64_t last = *(const range_word *)(from + bytes - 8);

		*(range_word *)to = first;
		*(range_word *)(to + bytes - 8) = last;
	} else {
		range_move(to, from, bytes);
	}
}

/* Copy the whole range from `payload`, or to `memory`. DELIVER_OK or DELIVER_DAMAGED. */
static inline int range_write(const struct process_view *view, const struct grant *grant,
			      const void *payload)
{
	if (__builtin_expect(grant->pieces, 0))
		return range_pieces(view, *grant, (void *)payload, 1);
	move_short(view->memory + grant->offset, payload, grant->bytes);
	return DELIVER_OK;
}

static inline int range_read(const struct process_view *view, const struct grant *grant,
			     void *memory)
{
	if (__builtin_expect(grant->pieces, 0))
		return range_pieces(view, *grant, memory, 0);
	move_short(memory, view->memory + grant->offset, grant->bytes);
	return DELIVER_OK;
}

#endif
