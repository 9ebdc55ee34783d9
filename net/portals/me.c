/*
 * Match entries: the pool, and the list of each portal. See me.h.
 */
#include "me.h"
#include "md.h"
#include "pool.h"

struct me *me_lookup(const struct process_view *view, handle_t handle)
{
	uint32_t index = HANDLE_INDEX(handle);

	if (HANDLE_KIND(handle) != KIND_ME || index >= view->limits.mes ||
	    view->mes[index].handle != handle)
		return 0;
	return &view->mes[index];
}

/* Take a free entry between `prev` and `next` of a portal's list; the caller
 * knows that both are valid indices or NO_INDEX. */
static int create(struct process_view *view, uint32_t pt_index, uint32_t prev, uint32_t next,
		  const struct me_args *args, handle_t *handle)
{
	struct pool *pool = &view->block->pools[POOL_ME];
	struct portal *portal = &view->portals[pt_index];
	uint32_t index = pool->free;
	struct me *me;

	if (index == NO_INDEX)
		return PORTALS_NO_SPACE;
	if (index >= view->limits.mes || HANDLE_KIND(view->mes[index].handle) != KIND_FREE)
		return PORTALS_FAIL;
	me = &view->mes[index];
	pool_taken(pool, me->next);
	*me = (struct me){
		.handle = handle_in_use(me->handle, KIND_ME, index),
		.match_bits = args->match_bits, .ignore_bits = args->ignore_bits,
		.nid = args->nid, .pid = args->pid, .next = next, .prev = prev,
		.first = NO_INDEX, .last = NO_INDEX, .pt_index = pt_index,
		.unlink = args->unlink,
	};
	if (prev == NO_INDEX)
		portal->first = index;
	else
		view->mes[prev].next = index;
	if (next == NO_INDEX)
		portal->last = index;
	else
		view->mes[next].prev = index;
	*handle = me->handle;
	return PORTALS_OK;
}

static int index_valid(const struct process_view *view, uint32_t index)
{
	return index == NO_INDEX || index < view->limits.mes;
}

int me_attach(struct process_view *view, uint32_t pt_index, const struct me_args *args,
	      handle_t *handle)
{
	uint32_t first, last;

	if (pt_index >= view->limits.portals)
		return PORTALS_PT_INDEX_INVALID;
	first = view->portals[pt_index].first;
	last = view->portals[pt_index].last;
	if (!index_valid(view, first) || !index_valid(view, last))
		return PORTALS_FAIL;
	if (args->position == INSERT_BEFORE)
		return create(view, pt_index, NO_INDEX, first, args, handle);
	return create(view, pt_index, last, NO_INDEX, args, handle);
}

int me_insert(struct process_view *view, handle_t base, const struct me_args *args,
	      handle_t *handle)
{
	struct me *me = me_lookup(view, base);
	uint32_t next, prev;

	if (!me)
		return PORTALS_ME_INVALID;
	next = me->next;
	prev = me->prev;
	if (me->pt_index >= view->limits.portals || !index_valid(view, next) ||
	    !index_valid(view, prev))
		return PORTALS_FAIL;
	if (args->position == INSERT_BEFORE)
		return create(view, me->pt_index, prev, HANDLE_INDEX(base), args, handle);
	return create(view, me->pt_index, HANDLE_INDEX(base), next, args, handle);
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
	if (prev == NO_INDEX)
		portal->first = next;
	else
		view->mes[prev].next = next;
	if (next == NO_INDEX)
		portal->last = prev;
	else
		view->mes[next].prev = prev;
	me->handle = handle_free(me->handle);
	me->next = view->block->pools[POOL_ME].free;
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
	for (uint32_t i = me->first; i != NO_INDEX; ) {
		struct md *md = &view->mds[i];

		i = md->next;
		md_free(view, md);
	}
	return me_remove(view, me);
}
