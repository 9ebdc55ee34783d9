/*
 * Memory descriptors: attached to a match entry, or bound to none. Called by
 * the owner's kernel (md_attach, md_bind, md_unlink) and by deliver and the
 * initiator (the rest), always with the block's lock held.
 *
 * States: linked --(threshold 0 or max_size, with PTL_UNLINK)--> leaving (off its
 * list, `pending` operations still to end) --(the last one ends)--> free.
 */
#ifndef NET_PORTALS_MD_H
#define NET_PORTALS_MD_H
#include "process.h"

enum md_flag {
	MD_UNLINK   = 1,       /* is unlinked at threshold 0 (PTL_UNLINK) */
	MD_LEAVING  = 2,       /* off its list; freed when pending is 0 */
	MD_INACTIVE = 4,       /* less than max_size bytes are left: accepts nothing */
	MD_FAST     = 8,       /* in one piece, without events of its sends, bound to no entry: only
	                          its owner changes it, so sending by it needs no lock */
	MD_UNLINK_RESERVED = 16 /* a slot of its queue is reserved for its UNLINK (rule 22) */
};

struct md {
	struct md_args user;   /* copied into events; its threshold is the current one */
	handle_t handle;       /* its own while in use; else KIND_FREE and the next generation */
	uint64_t local_offset; /* first byte of the next operation without MD_MANAGE_REMOTE */
	uint32_t me;           /* entry to which it is attached, or NO_INDEX */
	uint32_t next, prev;   /* in the entry's list; free: next free descriptor */
	uint32_t pending;      /* operations begun or started and not yet ended */
	uint32_t flags;        /* enum md_flag */
	uint32_t first_piece;  /* iovec: list of its pieces, or NO_INDEX */
	uint32_t last_piece;
	uint32_t pieces;       /* number of its pieces */
	uint32_t zero[4];
	uint64_t room;         /* bytes that it describes: user.length, or the sum of its pieces */
};

_Static_assert(sizeof(struct md) == 128, "two cache lines per descriptor");

/*
 * Make a descriptor: attach it to an entry that has none, or insert it before or after another one
 * of an entry, or bind it to no entry. Errors in this order:
 *   PORTALS_ME_INVALID, PORTALS_ME_IN_USE (attach: the entry has one)
 *   PORTALS_MD_INVALID    insert: `base` is invalid, bound to no entry, or leaving
 *   PORTALS_MD_ILLEGAL    unknown option, threshold < -1, too many pieces, MD_SPAN with pieces
 *   PORTALS_SEGV          the memory (the array, a piece) is not inside the segment; with
 *                         MD_SPAN: it goes past the last address
 *   PORTALS_EQ_INVALID    eq_handle is neither EQ_NONE nor a queue
 *   PORTALS_NO_SPACE, PORTALS_FAIL
 * *handle may be in the application's memory: it is written once, last, and never read.
 */
int md_attach(struct process_view *view, handle_t me, const struct md_args *args,
	      enum unlink_op unlink, handle_t *handle);
int md_insert(struct process_view *view, handle_t base, const struct md_args *args,
	      enum unlink_op unlink, enum insert_pos position, handle_t *handle);
int md_bind(struct process_view *view, const struct md_args *args, enum unlink_op unlink,
	    handle_t *handle);

/* The two steps of making a descriptor. md_check changes nothing and sets *room:
 * PORTALS_MD_ILLEGAL, _SEGV, _EQ_INVALID. md_alloc makes the descriptor with these flags, for the
 * entry with index `me` or for none (NO_INDEX), without linking it to the entry. Errors, after which
 * nothing has changed: PORTALS_NO_SPACE, PORTALS_SEGV (the array of pieces has changed since),
 * PORTALS_FAIL. */
int md_check(const struct process_view *view, const struct md_args *args, uint64_t *room);
int md_alloc(struct process_view *view, uint32_t me, const struct md_args *args, uint64_t room,
	     uint32_t flags, handle_t *handle);

/* The flag of a descriptor that is made with this argument. */
static inline uint32_t md_unlink_flag(enum unlink_op unlink)
{
	return unlink == UNLINK_AUTO ? MD_UNLINK : 0;
}

/*
 * Rule 24: copy the descriptor's arguments to *old, then replace them by *new (either may be null).
 * They are replaced only if no operation on the descriptor is pending, and `test_eq` is EQ_NONE or
 * quiet (eq_is_quiet). The local offset becomes 0 and the descriptor active again; its handle, its
 * place in the list and PTL_UNLINK stay. Errors in this order:
 *   PORTALS_MD_INVALID                 also a descriptor that is leaving
 *   PORTALS_MD_ILLEGAL, _SEGV, _EQ_INVALID   `new`, as for md_attach
 *   PORTALS_EQ_INVALID                 test_eq is neither EQ_NONE nor a queue
 *   PORTALS_MD_NO_UPDATE               *old is set
 *   PORTALS_NO_SPACE, PORTALS_FAIL     *old is set
 * After an error the descriptor is unchanged.
 */
int md_update(struct process_view *view, handle_t md, struct md_args *old,
	      const struct md_args *new, handle_t test_eq);

/* Remove a descriptor, without an UNLINK event. If that empties the list of an entry with
 * PTL_UNLINK, the entry is removed, too. PORTALS_MD_INVALID; PORTALS_MD_IN_USE while operations are
 * pending; PORTALS_FAIL. */
int md_unlink(struct process_view *view, handle_t handle);

/* The number of pending operations on a descriptor that this process has started: sends that have
 * not ended, and fetches whose reply has not ended. 0 for an invalid handle. */
uint32_t md_started(const struct process_view *view, handle_t handle);

/* The descriptor in use, or null. */
static inline struct md *md_lookup(const struct process_view *view, handle_t handle)
{
	uint32_t index = HANDLE_INDEX_OF(KIND_MD, handle);

	if (index >= view->limits.mds || view->mds[index].handle != handle)
		return 0;
	return &view->mds[index];
}

/* Rule 33: 1 if [offset, offset + bytes) lies within the descriptor. */
static inline int md_has(const struct md *md, uint64_t offset, uint64_t bytes)
{
	return __builtin_expect(offset <= md->room, 1) &&
	       __builtin_expect(bytes <= md->room - offset, 1);
}

/* Take a descriptor off its list and make it MD_LEAVING; md_unpin or md_reap will free it. 0 or
 * PORTALS_FAIL. */
int md_depart(struct process_view *view, struct md *md);

/* Free a descriptor, with an UNLINK event, if it is leaving and nothing is pending. Returns how
 * many events were recorded. */
uint32_t md_reap(struct process_view *view, struct md *md);

/* An operation uses the descriptor: decrement the threshold (rule 7), and unlink it at 0 (rule 8).
 * 0 or PORTALS_FAIL. */
static inline int md_spend(struct process_view *view, struct md *md)
{
	if (md->user.threshold <= 0)
		return 0;
	md->user.threshold--;
	/* It may be leaving already, because of max_size. */
	if (md->user.threshold == 0 && (md->flags & (MD_UNLINK | MD_LEAVING)) == MD_UNLINK)
		return md_depart(view, md);
	return 0;
}

/* A pending operation has ended. Returns events recorded, as md_reap. */
static inline uint32_t md_unpin(struct process_view *view, struct md *md)
{
	if (md->pending > 0)
		md->pending--;
	return (md->flags & MD_LEAVING) ? md_reap(view, md) : 0;
}

/* Take a descriptor off its entry's list, if it is on one. If the list is empty then and the entry
 * has PTL_UNLINK, remove the entry (rule 8). 0 or PORTALS_FAIL. */
int md_leave(struct process_view *view, struct md *md);

/* Return a descriptor that is on no list to the pool. */
void md_free(struct process_view *view, struct md *md);

#endif
