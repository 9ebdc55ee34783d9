/*
 * Posting a receive in one step: makes a match entry with its descriptor, unless an event is
 * unread in a given queue (rule 24). Called by the owner's kernel with the block's lock held.
 */
#ifndef NET_PORTALS_POST_H
#define NET_PORTALS_POST_H
#include "me.h"
#include "types.h"

/* Arguments of PtlMEMDPost. */
struct post_args {
	handle_t base;         /* the entry to insert at */
	struct me_args me;
	struct md_args md;
	uint32_t unlink;       /* enum unlink_op, of the descriptor */
	handle_t test_eq;      /* EQ_NONE: no test */
};

/*
 * me_insert, md_attach, and the test of md_update, all or nothing: after an error nothing has
 * changed, and *me and *md are not set. Errors in this order:
 *   PORTALS_ME_INVALID, PORTALS_NO_SPACE (entries), PORTALS_ME_LIST_TOO_LONG
 *   PORTALS_MD_ILLEGAL, _SEGV, _EQ_INVALID   args->md, as for md_attach
 *   PORTALS_EQ_INVALID    test_eq is neither EQ_NONE nor a queue
 *   PORTALS_MD_NO_UPDATE  the queue is not quiet (eq_is_quiet)
 *   PORTALS_NO_SPACE      no descriptor or pieces; PORTALS_SEGV: the array of pieces has changed
 *                         meanwhile
 *   PORTALS_FAIL          at any point: the block is damaged
 */
int post_entry(struct process_view *view, const struct post_args *args, handle_t *me,
	       handle_t *md);

#endif
