/*
 * Match entries: one list per portal, searched from its head. Called by the
 * owner's kernel (me_attach, me_insert, me_unlink) and by deliver (the rest),
 * always with the block's lock held.
 */
#ifndef NET_PORTALS_ME_H
#define NET_PORTALS_ME_H
#include "process.h"

/* Both ends of a chain of the index: an entry's index + 1, or 0 if it is empty. */
struct chain {
	uint16_t first, last;
};

/* The parts of a message that several entries of a portal compare (index.h). */
struct mask {
	uint64_t bits;         /* match bits that are compared */
	uint64_t source;       /* halves of index_source that are compared */
	uint64_t least;        /* no entry in the index with this mask has a smaller order number */
};

#define PORTAL_MASKS  8u       /* of each portal: as many as portal.indexed has bits */

/* An entry of the portal table: a match list. Each message that unlinks an entry changes it. So the
 * counts are here and not in the masks: the message only reads the masks' cache lines. */
struct portal {
	uint16_t first, last;  /* entries, or NO_INDEX */
	uint16_t count;        /* length of the list */
	uint8_t  indexed;      /* bit i: mask i of the portal is in use, and every entry of
	                        * the list is in the index; 0: none is (index.h) */
	uint8_t  recent;       /* the mask of the last entry that was added to the index, if that
	                        * mask is still in use; or MASK_NONE */
	uint16_t entries[PORTAL_MASKS]; /* in the index, by mask */
	uint8_t  zero[8];
};

_Static_assert(sizeof(struct portal) == 32, "no portal is in two cache lines");

struct me {
	handle_t handle;       /* its own while in use; else KIND_FREE and the next generation */
	uint64_t match_bits;
	uint64_t ignore_bits;
	uint32_t nid, pid;     /* initiator; ANY_ID is a wildcard */
	uint64_t order;        /* indexed: grows along the portal's list */
	uint16_t next, prev;   /* in the portal's list; free: next free entry */
	uint16_t first, last;  /* list of its descriptors, or NO_INDEX */
	uint16_t pt_index;
	uint16_t chain;        /* its chain in the index, or CHAIN_NONE */
	uint16_t later;        /* in its chain: index + 1 of the next entry, or 0 */
	uint16_t earlier;      /* in its chain: index + 1 of the previous entry, or 0 */
	uint8_t  unlink;       /* enum unlink_op: removed with its last descriptor */
	uint8_t  zero[3];
	uint32_t mask;         /* indexed: number of its mask in the block */
};

_Static_assert(sizeof(struct me) == 64, "one cache line per entry");

/* Arguments of PtlMEAttach and PtlMEInsert. */
struct me_args {
	uint64_t match_bits;
	uint64_t ignore_bits;
	uint32_t nid, pid;
	uint32_t unlink;       /* enum unlink_op */
	uint32_t position;     /* enum insert_pos */
};

/* Make an entry at the head (INSERT_BEFORE) or tail (INSERT_AFTER) of a portal's list.
 * PORTALS_PT_INDEX_INVALID, _NO_SPACE, _ME_LIST_TOO_LONG, _FAIL. */
int me_attach(struct process_view *view, uint32_t pt_index, const struct me_args *args,
	      handle_t *handle);

/* The same on the first portal whose list is empty, which becomes *pt_index. PORTALS_PT_FULL if
 * there is none, _NO_SPACE, _FAIL. */
int me_attach_any(struct process_view *view, uint32_t *pt_index, const struct me_args *args,
		  handle_t *handle);

/* Make an entry before or after `base`. PORTALS_ME_INVALID, _NO_SPACE, _ME_LIST_TOO_LONG, _FAIL. */
int me_insert(struct process_view *view, handle_t base, const struct me_args *args,
	      handle_t *handle);

/* The place of a new entry: a free entry of the pool, and its neighbours in a portal's list. */
struct me_slot {
	struct portal *portal;
	uint32_t pt_index;
	uint32_t prev, next;   /* neighbours, or NO_INDEX */
	uint32_t index;        /* of the free entry */
	int fresh;             /* 1: the entry was not used since block_init */
};

/* The two steps of me_insert. me_find_slot changes nothing; its errors are those of me_insert.
 * me_fill_slot must be the engine's next call: it makes the entry there, with the descriptor of
 * index `md` (or NO_INDEX). 0 or PORTALS_FAIL. */
int me_find_slot(const struct process_view *view, handle_t base, uint32_t position,
		 struct me_slot *slot);
int me_fill_slot(struct process_view *view, const struct me_slot *slot,
		 const struct me_args *args, uint32_t md, handle_t *handle);

/* Remove an entry with its descriptors, without UNLINK events. PORTALS_ME_INVALID;
 * PORTALS_ME_IN_USE if a descriptor has pending operations; PORTALS_FAIL. */
int me_unlink(struct process_view *view, handle_t handle);

/* The entry in use, or null. */
struct me *me_lookup(const struct process_view *view, handle_t handle);

/* Take an entry without descriptors off its list and free it; 0 or PORTALS_FAIL. */
int me_remove(struct process_view *view, struct me *me);

#endif
