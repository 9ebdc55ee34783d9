/*
 * Matching: the search of rule 3, in the list or by the index, and the checks of a descriptor
 * (rules 4 and 5). See match.h.
 */
#include "match.h"
#include "deliver.h"
#include "index.h"
#include "md.h"
#include "me.h"

/* Whether an entry with one wildcard in its source accepts this source. A function of its own, as
 * most entries have none or two. */
__attribute__((noinline))
static int takes_part(const struct me *me, uint64_t source)
{
	return (me->nid == ANY_ID || me->nid == (uint32_t)source) &&
	       (me->pid == ANY_ID || me->pid == source >> 32);
}

/* Rule 3. The only match function: list search and index both use it. */
static int matches(const struct me *me, const struct message *message)
{
	uint64_t source = (uint64_t)me->pid << 32 | me->nid; /* both at once */

	return ((me->match_bits ^ message->match_bits) & ~me->ignore_bits) == 0 &&
	       (source == ~0ULL || source == message->source || takes_part(me, message->source));
}

/* Rules 4 and 5: 1 and *place, or 0 if the descriptor rejects. */
static int accepts(struct md *md, const struct message *message, struct place *place)
{
	uint32_t options = md->user.options;
	uint32_t wanted = message_wants(message->operation);
	uint64_t offset, room, bytes = message->length;

	if ((options & wanted) != wanted || md->user.threshold == 0 ||
	    (md->flags & (MD_LEAVING | MD_INACTIVE)))
		return 0;
	offset = options & MD_MANAGE_REMOTE ? message->offset : md->local_offset;
	if (!md_has(md, offset, bytes)) {
		if (bytes && !(options & MD_TRUNCATE))
			return 0;
		room = offset <= md->room ? md->room - offset : 0;
		bytes = room < bytes ? room : bytes; /* md->room may have changed since md_has */
	}
	place->md = md;
	place->options = options;
	place->offset = offset;
	place->bytes = bytes;
	return 1;
}

/* Check the first descriptor of an entry that matches; returns as match_find. */
static inline int try_entry(const struct process_view *view, const struct me *me,
			    const struct message *message, struct place *place)
{
	uint32_t first = me->first;

	if (first >= view->limits.mds)
		return first == NO_INDEX ? DELIVER_DROPPED : DELIVER_DAMAGED;
	return accepts(&view->mds[first], message, place) ? DELIVER_OK : DELIVER_DROPPED;
}

/*
 * Search the message's chain for the mask with this number: the first entry that is before *order
 * in the list, matches, and whose descriptor accepts. Returns as match_find; *order becomes the
 * entry's number.
 */
static inline int find_in_chain(const struct process_view *view, uint32_t number,
				const struct message *message, uint64_t source,
				uint64_t *order, struct place *place)
{
	uint32_t at = view->chains[index_chain(view, number, message->match_bits, source)].first;
	uint32_t steps = view->limits.mes;
	const struct me *me;
	int result;

	for (; at; at = me->later) {
		if (at > view->limits.mes || steps-- == 0)
			return DELIVER_DAMAGED;
		me = &view->mes[at - 1];
		if (me->mask != number)
			continue;
		if (me->order >= *order)
			break;
		if (!matches(me, message))
			continue;
		result = try_entry(view, me, message, place);
		if (result == DELIVER_DROPPED)
			continue;
		*order = me->order;
		return result;
	}
	return DELIVER_DROPPED;
}

/* Rule 3 by the index: of the candidates of all masks, the first one in the list. */
static int find_indexed(const struct process_view *view, uint32_t masks_in_use,
			const struct message *message, struct place *place)
{
	uint64_t source = index_source(message->source_nid, message->source_pid);
	uint32_t first = message->pt_index * PORTAL_MASKS;
	int found = DELIVER_DROPPED, result;
	uint64_t order = ~0ULL;

	if (masks_in_use == 1)
		return find_in_chain(view, first, message, source, &order, place);
	/* Start with the last mask: the first ones often belong to catch-all entries at the end of
	 * the list. */
	while (masks_in_use) {
		uint32_t last = (uint32_t)__builtin_clz(masks_in_use) ^ 31;

		masks_in_use &= ~(1u << last);
		if (view->masks[first + last].least >= order)
			continue;
		result = find_in_chain(view, first + last, message, source, &order, place);
		if (result == DELIVER_DAMAGED)
			return result;
		if (result == DELIVER_OK)
			found = result;
	}
	return found;
}

int match_find(const struct process_view *view, const struct message *message,
	       struct place *place)
{
	const struct portal *portal = &view->portals[message->pt_index];
	uint32_t steps = view->limits.mes, i;
	const struct me *me;
	int result;

	if (portal->indexed)
		return find_indexed(view, portal->indexed, message, place);
	for (i = portal->first; i < view->limits.mes; i = me->next) {
		if (steps-- == 0)
			return DELIVER_DAMAGED;
		me = &view->mes[i];
		if (!matches(me, message))
			continue;
		result = try_entry(view, me, message, place);
		if (result != DELIVER_DROPPED)
			return result;
	}
	return i == NO_INDEX ? DELIVER_DROPPED : DELIVER_DAMAGED;
}
