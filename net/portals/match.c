/*
 * Matching: the search of rule 3, in the list or in what the index proposes,
 * and what a descriptor says (rules 4 and 5). See match.h.
 */
#include "match.h"
#include "deliver.h"
#include "index.h"
#include "md.h"
#include "me.h"

/* Rule 3. The only match function: whatever proposes entries asks it. */
static int matches(const struct me *me, const struct message *message)
{
	return ((me->match_bits ^ message->match_bits) & ~me->ignore_bits) == 0 &&
	       (me->nid == ANY_ID || me->nid == message->source_nid) &&
	       (me->pid == ANY_ID || me->pid == message->source_pid);
}

/* Rules 4 and 5: 1 and *place, or 0 if the descriptor rejects. */
static int accepts(struct md *md, const struct message *message, struct place *place)
{
	uint32_t options = md->user.options;
	uint32_t wanted = message_wants(message->operation);
	uint64_t offset, room;

	if ((options & wanted) != wanted || md->user.threshold == 0 ||
	    (md->flags & (MD_LEAVING | MD_INACTIVE)))
		return 0;
	offset = options & MD_MANAGE_REMOTE ? message->offset : md->local_offset;
	room = offset <= md->room ? md->room - offset : 0;
	if (message->length > room && !(options & MD_TRUNCATE))
		return 0;
	place->md = md;
	place->offset = offset;
	place->bytes = message->length < room ? message->length : room;
	return 1;
}

/* The first descriptor of an entry that matches: as match_find. */
static inline int ask(const struct process_view *view, const struct me *me,
		      const struct message *message, struct place *place)
{
	if (me->first == NO_INDEX)
		return DELIVER_DROPPED;
	if (me->first >= view->limits.mds)
		return DELIVER_DAMAGED;
	return accepts(&view->mds[me->first], message, place) ? DELIVER_OK : DELIVER_DROPPED;
}

#define BROKEN  (~0u)   /* a proposal: no chain goes there */

/*
 * What a chain of the index proposes: the index + 1 of its first entry from `at`
 * on that matches, or of one whose number is larger than `order`, and which is
 * none; 0 if there are no more. BROKEN if the chain leads out of the block, or
 * in a circle so that `steps` have run out.
 */
static inline uint32_t propose(const struct process_view *view, uint32_t at, uint64_t order,
			       const struct message *message, uint32_t *steps)
{
	const struct me *me;

	for (; at; at = me->later) {
		if (at > view->limits.mes || (*steps)-- == 0)
			return BROKEN;
		me = &view->mes[at - 1];
		if (me->pt_index == message->pt_index &&
		    (me->order > order || matches(me, message)))
			break;
	}
	return at;
}

/* Rule 3 by the index, if one chain is all there is. */
static inline int find_in_one(const struct process_view *view, uint32_t at,
			      const struct message *message, struct place *place)
{
	uint32_t steps = view->limits.mes;
	int result;

	while ((at = propose(view, at, ~0ULL, message, &steps))) {
		if (at == BROKEN)
			return DELIVER_DAMAGED;
		result = ask(view, &view->mes[at - 1], message, place);
		if (result != DELIVER_DROPPED)
			return result;
		at = view->mes[at - 1].later;
	}
	return DELIVER_DROPPED;
}

/* Of what three chains propose, which are three or empty, the first in the list's
 * order, and so on until one accepts. */
static int find_in_three(const struct process_view *view, uint32_t at[3],
			 const struct message *message, struct place *place)
{
	uint32_t steps = 4 * view->limits.mes;    /* for each entry, one look at each chain */
	const struct me *me, *first;
	uint32_t *taken = at;
	uint64_t order;
	int result;

	for (;;) {
		first = 0;
		order = ~0ULL;
		for (int i = 0; i < 3; i++) {
			at[i] = propose(view, at[i], order, message, &steps);
			if (at[i] == 0)
				continue;
			if (at[i] == BROKEN)
				return DELIVER_DAMAGED;
			me = &view->mes[at[i] - 1];
			if (me->order < order) {
				first = me;
				order = me->order;
				taken = &at[i];
			}
		}
		if (!first)
			return DELIVER_DROPPED;
		result = ask(view, first, message, place);
		if (result != DELIVER_DROPPED)
			return result;
		*taken = first->later;
	}
}

static int find_indexed(const struct process_view *view, const struct portal *portal,
			const struct message *message, struct place *place)
{
	uint32_t at[3] = { 0, 0, portal->others.first };

	if (portal->exact)
		at[0] = view->chains[index_chain(view, message->pt_index, message->source_nid,
						 message->source_pid, message->match_bits)].first;
	if (portal->any_source)
		at[1] = view->chains[index_chain(view, message->pt_index, ANY_ID, ANY_ID,
						 message->match_bits)].first;
	if (at[0] == at[1]) /* both keys have one chain, whose order is the list's */
		at[1] = 0;
	if (at[2] == 0 && (at[0] == 0 || at[1] == 0))
		return find_in_one(view, at[0] | at[1], message, place);
	return find_in_three(view, at, message, place);
}

int match_find(const struct process_view *view, const struct message *message,
	       struct place *place)
{
	const struct portal *portal = &view->portals[message->pt_index];
	uint32_t steps = view->limits.mes;
	const struct me *me;
	int result;

	if (portal->indexed)
		return find_indexed(view, portal, message, place);
	for (uint32_t i = portal->first; i != NO_INDEX; i = me->next) {
		if (i >= view->limits.mes || steps-- == 0)
			return DELIVER_DAMAGED;
		me = &view->mes[i];
		if (!matches(me, message))
			continue;
		result = ask(view, me, message, place);
		if (result != DELIVER_DROPPED)
			return result;
	}
	return DELIVER_DROPPED;
}
