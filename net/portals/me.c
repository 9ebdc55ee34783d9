/*
 * Match entries: the pool, and the list of each portal. See me.h.
 */
#include "me.h"
#include "index.h"
#include "md.h"
#include "pool.h"

struct me *me_lookup(const struct process_view *view, handle_t handle)
{
	uint32_t index = HANDLE_INDEX_OF(KIND_ME, handle);

	if (index >= view->limits.mes || view->mes[index].handle != handle)
		return 0;
	return &view->mes[index];
}

static int index_valid(const struct process_view *view, uint32_t index)
{
	return index == NO_INDEX || index < view->limits.mes;
}

/* Find a free entry for a place between `prev` and `next`, which are valid, of a portal's list. */
static int find_between(const struct process_view *view, uint32_t pt_index, uint32_t prev,
			uint32_t next, struct me_slot *slot)
{
	struct portal *portal = &view->portals[pt_index];
	int error = pool_next(&view->block->pools[POOL_ME], view->limits.mes, &slot->index,
			      &slot->fresh);

	if (error)
		return error;
	if (portal->count >= view->block->granted.me_list)
		return PORTALS_ME_LIST_TOO_LONG;
	if (!slot->fresh && HANDLE_KIND(view->mes[slot->index].handle) != KIND_FREE)
		return PORTALS_FAIL;
	slot->portal = portal;
	slot->pt_index = pt_index;
	slot->prev = prev;
	slot->next = next;
	return PORTALS_OK;
}

int me_fill_slot(struct process_view *view, const struct me_slot *slot,
		 const struct me_args *args, uint32_t md, handle_t *handle)
{
	struct portal *portal = slot->portal;
	struct me *me = &view->mes[slot->index];
	struct index_gap gap = { 0, ~0ULL, args->position };

	pool_taken(&view->block->pools[POOL_ME], slot->fresh, me->next);
	me->handle = handle_in_use(__builtin_expect(slot->fresh, 0) ?
				   handle_fresh(view->block, me->handle, KIND_ME, slot->index) :
				   me->handle, KIND_ME, slot->index);
	/* Field by field, without those of the index: that takes fewer instructions. */
	me->match_bits = args->match_bits;
	me->ignore_bits = args->ignore_bits;
	me->nid = args->nid;
	me->pid = args->pid;
	me->first = (uint16_t)md;
	me->pt_index = (uint16_t)slot->pt_index;
	me->unlink = args->unlink == UNLINK_AUTO;
	me->prev = (uint16_t)slot->prev;
	if (slot->prev == NO_INDEX) {
		portal->first = (uint16_t)slot->index;
	} else {
		view->mes[slot->prev].next = (uint16_t)slot->index;
		gap.low = view->mes[slot->prev].order;
	}
	me->next = (uint16_t)slot->next;
	if (slot->next == NO_INDEX) {
		portal->last = (uint16_t)slot->index;
	} else {
		view->mes[slot->next].prev = (uint16_t)slot->index;
		gap.high = view->mes[slot->next].order;
	}
	me->last = (uint16_t)md;
	portal->count++;
	if (index_add(view, slot, &gap))
		return PORTALS_FAIL;
	*handle = me->handle;
	return PORTALS_OK;
}

/* Make an entry between `prev` and `next` of a portal's list. */
static int create(struct process_view *view, uint32_t pt_index, uint32_t prev, uint32_t next,
		  const struct me_args *args, handle_t *handle)
{
	struct me_slot slot;
	int error;

	if (!index_valid(view, prev) || !index_valid(view, next))
		return PORTALS_FAIL;
	error = find_between(view, pt_index, prev, next, &slot);
	return error ? error : me_fill_slot(view, &slot, args, NO_INDEX, handle);
}

/* The number of portals that the owner may use. */
static uint32_t portals_granted(const struct process_view *view)
{
	uint32_t granted = view->block->granted.portals;

	return granted < view->limits.portals ? granted : view->limits.portals;
}

int me_attach(struct process_view *view, uint32_t pt_index, const struct me_args *args,
	      handle_t *handle)
{
	const struct portal *portal;

	if (pt_index >= portals_granted(view))
		return PORTALS_PT_INDEX_INVALID;
	portal = &view->portals[pt_index];
	if (args->position == INSERT_BEFORE)
		return create(view, pt_index, NO_INDEX, portal->first, args, handle);
	return create(view, pt_index, portal->last, NO_INDEX, args, handle);
}

int me_attach_any(struct process_view *view, uint32_t *pt_index, const struct me_args *args,
		  handle_t *handle)
{
	uint32_t portals = portals_granted(view);
	int error;

	for (uint32_t i = 0; i < portals; i++) {
		if (view->portals[i].first != NO_INDEX)
			continue;
		error = create(view, i, NO_INDEX, NO_INDEX, args, handle);
		if (!error)
			*pt_index = i;
		return error;
	}
	return PORTALS_PT_FULL;
}

int me_find_slot(const struct process_view *view, handle_t base, uint32_t position,
		 struct me_slot *slot)
{
	const struct me *me = me_lookup(view, base);
	uint32_t prev = HANDLE_INDEX(base), next = prev, other;

	if (!me)
		return PORTALS_ME_INVALID;
	if (position == INSERT_BEFORE)
		prev = other = me->prev;
	else
		next = other = me->next;
	if (me->pt_index >= view->limits.portals || !index_valid(view, other))
		return PORTALS_FAIL;
	return find_between(view, me->pt_index, prev, next, slot);
}

int me_insert(struct process_view *view, handle_t base, const struct me_args *args,
	      handle_t *handle)
{
	struct me_slot slot;
	int error = me_find_slot(view, base, args->position, &slot);

	return error ? error : me_fill_slot(view, &slot, args, NO_INDEX, handle);
}

int me_remove(struct process_view *view, struct me *me)
{
	uint32_t index = (uint32_t)(me - view->mes);
	uint32_t next = me->next, prev = me->prev;
	struct portal *portal;

	if (me->pt_index >= view->limits.portals || !index_valid(view, next) ||
	    !index_valid(view, prev))
		return PORTALS_FAIL;
	portal = &view->portals[me->pt_index];
	if (portal->indexed && index_remove(view, portal, me))
		return PORTALS_FAIL;
	if (prev == NO_INDEX)
		portal->first = (uint16_t)next;
	else
		view->mes[prev].next = (uint16_t)next;
	if (next == NO_INDEX)
		portal->last = (uint16_t)prev;
	else
		view->mes[next].prev = (uint16_t)prev;
	if (--portal->count == 0)
		portal->indexed = 0;
	me->handle = handle_free(me->handle);
	me->next = (uint16_t)view->block->pools[POOL_ME].free;
	pool_given(&view->block->pools[POOL_ME], index);
	return PORTALS_OK;
}

int me_unlink(struct process_view *view, handle_t handle)
{
	struct me *me = me_lookup(view, handle);
	uint32_t steps = view->limits.mds;

	if (!me)
		return PORTALS_ME_INVALID;
	for (uint32_t i = me->first; i != NO_INDEX; i = view->mds[i].next) {
		if (i >= view->limits.mds || steps-- == 0)
			return PORTALS_FAIL;
		if (view->mds[i].pending)
			return PORTALS_ME_IN_USE;
	}
	/* Another node may have damaged the list since: check it again. */
	steps = view->limits.mds;
	for (uint32_t i = me->first; i != NO_INDEX; ) {
		struct md *md;

		if (i >= view->limits.mds || steps-- == 0)
			return PORTALS_FAIL;
		md = &view->mds[i];
		i = md->next;
		md_free(view, md);
	}
	return me_remove(view, me);
}
