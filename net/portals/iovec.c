/*
 * The memory of a descriptor: spans of it, and the pool of pieces. See iovec.h. Other nodes may
 * write to the application's array of pieces at any time. So it is read only by calls such as
 * PtlMDAttach, and each piece is checked by the very values that are then stored.
 */
#include "iovec.h"
#include "pool.h"
#include "../port.h"

/* Read the piece with this index, each field once: 0, or PORTALS_FAIL if it is not in the
 * segment. */
static int piece_get(const struct process_view *view, uint32_t index, struct span *span,
		     uint32_t *next)
{
	const struct piece *piece;

	if (index >= view->limits.pieces)
		return PORTALS_FAIL;
	piece = &view->pieces[index];
	span->offset = __atomic_load_n(&piece->offset, __ATOMIC_RELAXED);
	span->bytes = __atomic_load_n(&piece->bytes, __ATOMIC_RELAXED);
	*next = __atomic_load_n(&piece->next, __ATOMIC_RELAXED);
	return span->offset > view->bytes || span->bytes > view->bytes - span->offset ?
	       PORTALS_FAIL : PORTALS_OK;
}

/* The part of a piece from byte `at` on, at most `bytes` bytes. */
static struct span part(struct span piece, uint64_t at, uint64_t bytes)
{
	piece.offset += at;
	piece.bytes -= at;
	if (piece.bytes > bytes)
		piece.bytes = bytes;
	return piece;
}

int iovec_span(const struct process_view *view, const struct md *md, uint64_t at, uint64_t bytes,
	       struct span *span)
{
	uint32_t next = md->first_piece;

	*span = (struct span){ 0, 0 };
	if (!bytes)
		return PORTALS_OK;
	for (uint32_t steps = 0; steps < BLOCK_MAX_PIECES; steps++) {
		struct span piece;

		if (piece_get(view, next, &piece, &next))
			return PORTALS_FAIL;
		if (at < piece.bytes) {
			*span = part(piece, at, bytes);
			return PORTALS_OK;
		}
		at -= piece.bytes;
	}
	return PORTALS_FAIL;
}

/* Not inlined, as its callers are the fast path and rarely need it. The result is returned by
 * value, so that the callers can keep their variables in registers. */
__attribute__((noinline))
uint64_t span_find(const struct process_view *view, const struct md *md, uint64_t at,
		   uint64_t bytes, int write)
{
	/* Read once: what is checked is what is used. */
	uint64_t from = __atomic_load_n(&md->user.start, __ATOMIC_RELAXED) + at - view->base;

	if (!view_may_use(view, from, bytes, write))
		return SPAN_NONE;
	return bytes ? from : 0;
}

int iovec_may_fill(const struct process_view *view, const struct md *md, uint64_t at,
		   uint64_t bytes)
{
	uint32_t next = md->first_piece;

	for (uint32_t steps = 0; bytes && steps < BLOCK_MAX_PIECES; steps++) {
		struct span piece;

		if (piece_get(view, next, &piece, &next))
			return 0;
		if (at >= piece.bytes) {
			at -= piece.bytes;
			continue;
		}
		piece = part(piece, at, bytes);
		if (!port_may_use(view, view->base + piece.offset, piece.bytes, 1))
			return 0;
		bytes -= piece.bytes;
		at = 0;
	}
	return !bytes;
}

/* Read piece i of the array, which lies in the application's memory: 1, or 0 if the application
 * may not use the piece's memory as the options require. */
static int piece_read(const struct process_view *view, const struct md_args *args, uint64_t i,
		      struct iovec_args *piece)
{
	const struct iovec_args *array;

	array = (const struct iovec_args *)(view->memory + (args->start - view->base));
	piece->start = __atomic_load_n(&array[i].start, __ATOMIC_RELAXED);
	piece->bytes = __atomic_load_n(&array[i].bytes, __ATOMIC_RELAXED);
	return port_may_use(view, piece->start, piece->bytes, args->options & MD_OP_PUT);
}

__attribute__((noinline))
int iovec_check(const struct process_view *view, const struct md_args *args, uint64_t *room)
{
	uint64_t count = args->length, bytes = count * sizeof(struct iovec_args);
	struct iovec_args piece;

	*room = 0;
	if (count > view->block->granted.pieces || count > BLOCK_MAX_PIECES)
		return PORTALS_MD_ILLEGAL;
	if (count == 0)
		return PORTALS_OK;
	if ((args->start - view->base) % 8 || args->start % 8 ||
	    !port_may_use(view, args->start, bytes, 0))
		return PORTALS_SEGV;
	for (uint64_t i = 0; i < count; i++) {
		if (!piece_read(view, args, i, &piece))
			return PORTALS_SEGV;
		*room += piece.bytes;
	}
	return PORTALS_OK;
}

/* Append a piece to the descriptor's. */
static int piece_take(struct process_view *view, struct md *md, const struct iovec_args *from)
{
	struct pool *pool = &view->block->pools[POOL_PIECE];
	struct piece *piece;
	uint32_t index;
	int fresh, error = pool_next(pool, view->limits.pieces, &index, &fresh);

	if (error)
		return error;
	piece = &view->pieces[index];
	pool_taken(pool, fresh, piece->next);
	*piece = (struct piece){
		.offset = from->bytes ? from->start - view->base : 0, .bytes = from->bytes,
		.next = NO_INDEX,
	};
	if (md->first_piece == NO_INDEX)
		md->first_piece = index;
	else if (md->last_piece < view->limits.pieces)
		view->pieces[md->last_piece].next = index;
	md->last_piece = index;
	md->pieces++;
	md->room += piece->bytes;
	return PORTALS_OK;
}

int iovec_alloc(struct process_view *view, struct md *md, const struct md_args *args)
{
	const struct pool *pool = &view->block->pools[POOL_PIECE];
	struct iovec_args piece;
	int error;

	md->first_piece = md->last_piece = NO_INDEX;
	md->pieces = 0;
	md->room = 0;
	if (pool->used > pool->limit || args->length > pool->limit - pool->used)
		return PORTALS_NO_SPACE;
	for (uint64_t i = 0; i < args->length && i < BLOCK_MAX_PIECES; i++) {
		error = piece_read(view, args, i, &piece) ? piece_take(view, md, &piece)
							  : PORTALS_SEGV;
		if (error) {
			iovec_free(view, md);
			return error;
		}
	}
	return PORTALS_OK;
}

void iovec_free(struct process_view *view, struct md *md)
{
	struct pool *pool = &view->block->pools[POOL_PIECE];

	if (md->first_piece < view->limits.pieces && md->last_piece < view->limits.pieces) {
		view->pieces[md->last_piece].next = pool->free;
		pool->free = md->first_piece;
		pool->used -= md->pieces;
	}
	md->first_piece = md->last_piece = NO_INDEX;
	md->pieces = 0;
}
