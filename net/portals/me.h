/*
 * Match entries: one list per portal, searched from its head. Called by the
 * owner's kernel (me_attach, me_insert, me_unlink) and by deliver (the rest),
 * always with the block's lock held.
 */
#ifndef NET_PORTALS_ME_H
#define NET_PORTALS_ME_H
#include "process.h"

/* Ends of a chain of the index: an entry's index + 1, or 0. Zero is empty. */
struct chain {
	uint16_t first, last;
};

/* What several entries of a portal compare of a message (index.h). */
struct mask {
	uint64_t bits;         /* match bits that count: those not ignored */
	uint64_t source;       /* halves of index_source that count */
	uint64_t salt;         /* another for each mask, so that their keys differ */
	uint64_t count;        /* entries in the index that have this mask */
};

/* An entry of the portal table: a match list. NO_INDEX, NO_INDEX is empty. */
struct portal {
	uint16_t first, last;
	uint16_t count;        /* entries of the list */
	uint8_t  indexed;      /* bit i: mask i of the portal is in use, and every entry of
	                        * the list is in the index; 0: none is (index.h) */
	uint8_t  zero;
};

_Static_assert(sizeof(struct portal) == 8, "eight portals per cache line");

struct me {
	handle_t handle;       /* its own while in use; else KIND_FREE and the next generation */
	uint64_t match_bits;
	uint64_t ignore_bits;
	uint32_t nid, pid;     /* initiator; ANY_ID is a wildcard */
	uint64_t order;        /* indexed: grows along the portal's list */
	uint16_t next, prev;   /* in the portal's list; free: next free entry */
	uint16_t first, last;  /* descriptors */
	uint16_t pt_index;
	uint16_t chain;        /* of the index, or CHAIN_NONE */
	uint16_t later;        /* in its chain: index + 1 of the next entry, or 0 */
	uint16_t earlier;      /* the same of the one before */
	uint8_t  unlink;       /* enum unlink_op: goes when its last descriptor goes */
	uint8_t  zero[3];
	uint32_t mask;         /* indexed: number of its mask in the block */
};

_Static_assert(sizeof(struct me) == 64, "one cache line per entry");

/* What PtlMEAttach and PtlMEInsert say about an entry. */
struct me_args {
	uint64_t match_bits;
	uint64_t ignore_bits;
	uint32_t nid, pid;
	uint32_t unlink;       /* enum unlink_op */
	uint32_t position;     /* enum insert_pos */
};

/* New entry at the head (INSERT_BEFORE) or tail (INSERT_AFTER) of a portal's
 * list. PORTALS_PT_INDEX_INVALID, _NO_SPACE, _ME_LIST_TOO_LONG, _FAIL. */
int me_attach(struct process_view *view, uint32_t pt_index, const struct me_args *args,
	      handle_t *handle);

/* The same on the lowest portal whose list is empty: *pt_index. The position
 * does not matter. PORTALS_PT_FULL if there is none, _NO_SPACE, _FAIL. */
int me_attach_any(struct process_view *view, uint32_t *pt_index, const struct me_args *args,
		  handle_t *handle);

/* New entry before or after `base`. PORTALS_ME_INVALID, _NO_SPACE,
 * _ME_LIST_TOO_LONG, _FAIL. */
int me_insert(struct process_view *view, handle_t base, const struct me_args *args,
	      handle_t *handle);

/* Where a new entry would go: a free entry, and its neighbours in a portal's list. */
struct me_slot {
	uint32_t pt_index;
	uint32_t prev, next;
	uint32_t index;        /* of the free entry */
	int fresh;             /* it was never used */
};

/* me_insert in two steps. me_find_slot changes nothing; its errors are me_insert's.
 * me_fill_slot takes what was found, before any other call of the engine, and gives the entry
 * the descriptor with index `md`, or NO_INDEX. 0 or PORTALS_FAIL. */
int me_find_slot(const struct process_view *view, handle_t base, uint32_t position,
		 struct me_slot *slot);
int me_fill_slot(struct process_view *view, const struct me_slot *slot,
		 const struct me_args *args, uint32_t md, handle_t *handle);

/* Remove an entry with its descriptors; no UNLINK events. PORTALS_ME_INVALID;
 * PORTALS_ME_IN_USE if one of them has operations pending; PORTALS_FAIL. */
int me_unlink(struct process_view *view, handle_t handle);

/* The entry in use, or null. */
struct me *me_lookup(const struct process_view *view, handle_t handle);

/* Take an entry without descriptors off its list and free it; 0 or PORTALS_FAIL. */
int me_remove(struct process_view *view, struct me *me);

#endif
