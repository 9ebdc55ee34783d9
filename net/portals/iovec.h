/*
 * The memory of a descriptor, in one piece or in several (rule 10). Pieces lie
 * in a pool of the block, those of one descriptor chained: deliver and the
 * initiator ask for spans, md.c takes and gives pieces.
 */
#ifndef NET_PORTALS_IOVEC_H
#define NET_PORTALS_IOVEC_H
#include "md.h"
#include "process.h"

struct piece {
	uint64_t offset;       /* first byte, from the segment's start */
	uint64_t bytes;
	uint32_t next;         /* of the same descriptor; free: next free piece */
	uint32_t zero;
};

_Static_assert(sizeof(struct piece) == 24, "pieces are small");

/* Contiguous memory of a segment. */
struct span {
	uint64_t offset;       /* first byte, from the segment's start */
	uint64_t bytes;
};

/* md_span of a descriptor in several pieces. */
int iovec_span(const struct process_view *view, const struct md *md, uint64_t at, uint64_t bytes,
	       struct span *span);

/* 1 if the application itself may write all of [at, at + bytes) of a descriptor in several
 * pieces. At most BLOCK_MAX_PIECES steps. */
int iovec_may_fill(const struct process_view *view, const struct md *md, uint64_t at,
		   uint64_t bytes);

/*
 * The contiguous memory that begins at logical byte `at` of a descriptor: at
 * most `bytes` of it, and at least one byte unless `bytes` is 0. Checked against
 * the segment. At most BLOCK_MAX_PIECES steps. With the lock, or without it
 * while an operation pins the descriptor. 0, or PORTALS_FAIL if the block is
 * damaged or the descriptor ends before `at`.
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

#define SPAN_NONE (~0ULL)

/* Of a descriptor with MD_SPAN: where in the segment its logical byte `at` is, or SPAN_NONE if the
 * application itself may not read (write: read and write) `bytes` bytes from there on. */
uint64_t span_find(const struct process_view *view, const struct md *md, uint64_t at,
		   uint64_t bytes, int write);

/* Owner's calls. The pieces that args names: 0 and their sum, or
 * PORTALS_MD_ILLEGAL if there are too many, PORTALS_SEGV. */
int iovec_check(const struct process_view *view, const struct md_args *args, uint64_t *room);

/* Take copies of them; `md` names them afterwards. All of them or none:
 * PORTALS_NO_SPACE, PORTALS_SEGV if they are no longer what was checked, _FAIL. */
int iovec_alloc(struct process_view *view, struct md *md, const struct md_args *args);

/* Give a descriptor's pieces back, if it has any. */
void iovec_free(struct process_view *view, struct md *md);

#endif
