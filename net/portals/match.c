/*
 * Matching: the list search of rule 3, and what a descriptor says (rules 4 and
 * 5). See match.h.
 */
#include "match.h"
#include "deliver.h"
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

/* Rule 3: the first entry that matches and whose first descriptor accepts. */
int match_find(const struct process_view *view, const struct message *message,
	       struct place *place)
{
	uint32_t steps = view->limits.mes;
	const struct me *me;

	for (uint32_t i = view->portals[message->pt_index].first; i != NO_INDEX; i = me->next) {
		if (i >= view->limits.mes || steps-- == 0)
			return DELIVER_DAMAGED;
		me = &view->mes[i];
		if (!matches(me, message) || me->first == NO_INDEX)
			continue;
		if (me->first >= view->limits.mds)
			return DELIVER_DAMAGED;
		if (accepts(&view->mds[me->first], message, place))
			return DELIVER_OK;
	}
	return DELIVER_DROPPED;
}
