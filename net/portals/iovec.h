/*
 * The memory of a descriptor, in one piece or in several (rule 10). Pieces are in a pool of the
 * block; those of one descriptor are in a list. deliver and the initiator look up spans; md.c
 * allocates and frees pieces.
 */
#ifndef NET_PORTALS_IOVEC_H
#define NET_PORTALS_IOVEC_H
#include "md.h"
#include "process.h"

struct piece {
	uint64_t offset;       /* first byte, from the segment's start */
	uint64_t bytes;
	uint32_t next;         /* next piece of the same descriptor; free: next free piece */
	uint32_t zero;
};

_Static_assert(sizeof(struct piece) == 24, "pieces are small");

/* Contiguous memory of a segment. */
struct span {
	uint64_t offset;       /* first byte, from the segment's start */
	uint64_t bytes;
};

/* md_span for an iovec descriptor. */
int iovec_span(const struct process_view *view, const struct md *md, uint64_t at, uint64_t bytes,
	       struct span *span);

/* 1 if the application itself may write all of [at, at + bytes) of an iovec descriptor. At most
 * BLOCK_MAX_PIECES steps. */
int iovec_may_fill(const struct process_view *view, const struct md *md, uint64_t at,
		   uint64_t bytes);

/*
 * The contiguous memory that begins at logical byte `at` of a descriptor: at most `bytes` bytes,
 * and at least one unless `bytes` is 0. It is checked against the segment. At most BLOCK_MAX_PIECES
 * steps. Called with the lock, or without it while an operation pins the descriptor. 0, or
 * PORTALS_FAIL if the block is damaged or the descriptor ends before `at`.
 */
static inline int md_span(const struct process_view *view, const struct md *md, uint64_t at,
			  uint64_t bytes, struct span *span)
{
	uint64_t offset;

	if (md->user.options & MD_IOVEC)
		return iovec_span(view, md, at, bytes, span);
	span->offset = 0;
	span->bytes = bytes;
	if (!bytes)
		return PORTALS_OK;
	/* Read once: what is checked is what is used. */
	offset = __atomic_load_n(&md->user.start, __ATOMIC_RELAXED) + at - view->base;
	span->offset = offset;
	return offset > view->bytes || bytes > view->bytes - offset ? PORTALS_FAIL : PORTALS_OK;
}

#define SPAN_NONE (~0ULL)      /* result of span_find */

/* For a descriptor with MD_SPAN: the offset in the segment of its logical byte `at`. Or SPAN_NONE
 * if the application itself may not read (`write`: read and write) `bytes` bytes from there on. */
uint64_t span_find(const struct process_view *view, const struct md *md, uint64_t at,
		   uint64_t bytes, int write);

/* The next two are for the owner's calls. Check the array of pieces in `args`: 0, and the sum of
 * their lengths in *room. PORTALS_MD_ILLEGAL if there are too many, PORTALS_SEGV. */
int iovec_check(const struct process_view *view, const struct md_args *args, uint64_t *room);

/* Copy all pieces of the array into the block, for `md`, or none: PORTALS_NO_SPACE, PORTALS_SEGV if
 * the array is no longer as it was checked, PORTALS_FAIL. */
int iovec_alloc(struct process_view *view, struct md *md, const struct md_args *args);

/* Free a descriptor's pieces, if it has any. */
void iovec_free(struct process_view *view, struct md *md);

#endif
