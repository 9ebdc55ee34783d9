/*
 * Memory descriptors: the pool, and the list of each match entry. See md.h.
 */
#include "md.h"
#include "eq.h"
#include "me.h"
#include "pool.h"

struct md *md_lookup(const struct process_view *view, handle_t handle)
{
	uint32_t index = HANDLE_INDEX(handle);

	if (HANDLE_KIND(handle) != KIND_MD || index >= view->limits.mds ||
	    view->mds[index].handle != handle)
		return 0;
	return &view->mds[index];
}

/* Rules 33 and 34: what an application says about a descriptor. */
static int check(const struct process_view *view, const struct md_args *args)
{
	if ((args->options & ~(uint32_t)MD_OPTIONS) || (args->options & MD_IOVEC) ||
	    args->threshold < MD_THRESH_INF)
		return PORTALS_MD_ILLEGAL;
	if (!view_holds(view, args->start, args->length))
		return PORTALS_SEGV;
	if (args->eq_handle != EQ_NONE && !eq_lookup(view, args->eq_handle))
		return PORTALS_EQ_INVALID;
	return PORTALS_OK;
}

static int create(struct process_view *view, uint32_t me, const struct md_args *args,
		  enum unlink_op unlink, handle_t *handle)
{
	struct pool *pool = &view->block->pools[POOL_MD];
	uint32_t index = pool->free;
	int error = check(view, args);
	struct md *md;

	if (error)
		return error;
	if (index == NO_INDEX)
		return PORTALS_NO_SPACE;
	if (index >= view->limits.mds || HANDLE_KIND(view->mds[index].handle) != KIND_FREE)
		return PORTALS_FAIL;
	md = &view->mds[index];
	pool_taken(pool, md->next);
	*md = (struct md){
		.user = *args, .handle = handle_in_use(md->handle, KIND_MD, index),
		.me = me, .next = NO_INDEX, .prev = NO_INDEX,
		.flags = unlink == UNLINK_AUTO ? MD_UNLINK : 0,
	};
	md->user.pad0 = md->user.pad1 = 0;
	*handle = md->handle;
	return PORTALS_OK;
}

int md_attach(struct process_view *view, handle_t me_handle, const struct md_args *args,
	      enum unlink_op unlink, handle_t *handle)
{
	struct me *me = me_lookup(view, me_handle);
	int error;

	if (!me)
		return PORTALS_ME_INVALID;
	if (me->first != NO_INDEX)
		return PORTALS_ME_IN_USE;
	error = create(view, HANDLE_INDEX(me_handle), args, unlink, handle);
	if (!error)
		me->first = me->last = HANDLE_INDEX(*handle);
	return error;
}

int md_bind(struct process_view *view, const struct md_args *args, enum unlink_op unlink,
	    handle_t *handle)
{
	return create(view, NO_INDEX, args, unlink, handle);
}

static int index_valid(const struct process_view *view, uint32_t index)
{
	return index == NO_INDEX || index < view->limits.mds;
}

int md_leave(struct process_view *view, struct md *md)
{
	struct me *me;

	if (md->me == NO_INDEX)
		return PORTALS_OK;
	if (md->me >= view->limits.mes || !index_valid(view, md->next) ||
	    !index_valid(view, md->prev))
		return PORTALS_FAIL;
	me = &view->mes[md->me];
	if (md->prev == NO_INDEX)
		me->first = md->next;
	else
		view->mds[md->prev].next = md->next;
	if (md->next == NO_INDEX)
		me->last = md->prev;
	else
		view->mds[md->next].prev = md->prev;
	md->me = NO_INDEX;
	if (me->first == NO_INDEX && me->unlink == UNLINK_AUTO &&
	    HANDLE_KIND(me->handle) == KIND_ME)
		return me_remove(view, me);
	return PORTALS_OK;
}

int md_depart(struct process_view *view, struct md *md)
{
	struct eq *eq = eq_lookup(view, md->user.eq_handle);

	md->flags |= MD_LEAVING;
	if (eq)
		eq->begun++; /* the UNLINK event, until md_bury */
	return md_leave(view, md);
}

uint32_t md_bury(struct process_view *view, struct md *md)
{
	uint32_t events = 0;
	struct eq *eq;

	if (!(md->flags & MD_LEAVING) || md->pending)
		return 0;
	eq = eq_lookup(view, md->user.eq_handle);
	if (eq) {
		struct event_head head = { .nid = view->nid, .pid = view->pid, .uid = view->uid,
					   .jid = view->jid, .md_handle = md->handle };

		eq->begun--;
		events = eq_record(view, eq, &head, EVENT_UNLINK, &md->user, 0, 0, NI_OK);
	}
	md_free(view, md);
	return events;
}

void md_free(struct process_view *view, struct md *md)
{
	md->handle = handle_free(md->handle);
	md->next = view->block->pools[POOL_MD].free;
	pool_given(&view->block->pools[POOL_MD], (uint32_t)(md - view->mds));
}

int md_unlink(struct process_view *view, handle_t handle)
{
	struct md *md = md_lookup(view, handle);
	int error;

	if (!md)
		return PORTALS_MD_INVALID;
	if (md->pending)
		return PORTALS_MD_IN_USE;
	error = md_leave(view, md);
	if (!error)
		md_free(view, md);
	return error;
}
