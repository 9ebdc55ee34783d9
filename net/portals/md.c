/*
 * Memory descriptors: the pool, and the list of each match entry. See md.h.
 */
#include "md.h"
#include "eq.h"
#include "iovec.h"
#include "me.h"
#include "op.h"
#include "pool.h"
#include "../port.h"

/* Check the memory of an iovec descriptor, or of one with MD_SPAN. The memory of the latter is
 * checked by each operation; here its addresses must only not wrap. */
__attribute__((noinline))
static int check_special(const struct process_view *view, struct md_args args, uint64_t *room)
{
	if (!(args.options & MD_SPAN))
		return iovec_check(view, &args, room);
	*room = args.length;
	if (args.options & MD_IOVEC)
		return PORTALS_MD_ILLEGAL;
	return args.length && args.start + (args.length - 1) < args.start ? PORTALS_SEGV :
	       PORTALS_OK;
}

/* Rules 33 and 34. */
int md_check(const struct process_view *view, const struct md_args *args, uint64_t *room)
{
	uint64_t special;
	int error = PORTALS_OK;

	*room = args->length;
	if ((args->options & ~(uint32_t)MD_OPTIONS) || args->threshold < MD_THRESH_INF)
		return PORTALS_MD_ILLEGAL;
	if (args->options & (MD_IOVEC | MD_SPAN)) {
		error = check_special(view, *args, &special);
		*room = special;
	} else if (!port_may_use(view, args->start, args->length, args->options & MD_OP_PUT)) {
		error = PORTALS_SEGV;
	}
	if (error)
		return error;
	if (!eq_lookup(view, args->eq_handle) && args->eq_handle != EQ_NONE)
		return PORTALS_EQ_INVALID;
	return PORTALS_OK;
}

/* MD_FAST, if it applies to a descriptor of entry `me` with these arguments. */
static uint32_t flags_of(const struct md_args *args, uint32_t me)
{
	const uint32_t silent = MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE;
	int is_silent = args->eq_handle == EQ_NONE || (args->options & silent) == silent;

	return me == NO_INDEX && is_silent && !(args->options & MD_IOVEC) ? MD_FAST : 0;
}

/* Allocate the pieces of an iovec descriptor. */
__attribute__((noinline))
static int take_pieces(struct process_view *view, struct md *md, struct md_args args)
{
	struct md made; /* in private memory: other nodes may write to the block */
	int error = iovec_alloc(view, &made, &args);

	if (error)
		return error;
	md->first_piece = made.first_piece;
	md->last_piece = made.last_piece;
	md->pieces = made.pieces;
	md->room = made.room;
	return PORTALS_OK;
}

int md_alloc(struct process_view *view, uint32_t me, const struct md_args *args, uint64_t room,
	     uint32_t flags, handle_t *handle)
{
	struct pool *pool = &view->block->pools[POOL_MD];
	uint32_t index;
	handle_t made;
	struct md *md;
	int fresh, error = pool_next(pool, view->limits.mds, &index, &fresh);

	if (error)
		return error;
	md = &view->mds[index];
	if (!fresh && HANDLE_KIND(md->handle) != KIND_FREE)
		return PORTALS_FAIL;
	if (args->options & MD_IOVEC) {
		error = take_pieces(view, md, *args);
		if (error)
			return error;
	} else {
		md->first_piece = md->last_piece = NO_INDEX;
		md->pieces = 0;
		md->room = room;
	}
	pool_taken(pool, fresh, md->next);
	made = handle_in_use(__builtin_expect(fresh, 0) ?
			     handle_fresh(view->block, md->handle, KIND_MD, index) :
			     md->handle, KIND_MD, index);
	/* Field by field: that takes fewer instructions. */
	md->handle = made;
	md->user = *args;
	md->user.pad0 = md->user.pad1 = 0;
	md->local_offset = 0;
	md->me = me;
	md->next = md->prev = NO_INDEX;
	md->pending = 0;
	md->flags = flags;
	*handle = made;
	return PORTALS_OK;
}

static inline int create(struct process_view *view, uint32_t me, const struct md_args *args,
			 enum unlink_op unlink, handle_t *handle)
{
	uint64_t room;
	int error = md_check(view, args, &room);

	if (error)
		return error;
	return md_alloc(view, me, args, room, flags_of(args, me) | md_unlink_flag(unlink), handle);
}

int md_attach(struct process_view *view, handle_t me_handle, const struct md_args *args,
	      enum unlink_op unlink, handle_t *handle)
{
	struct me *me = me_lookup(view, me_handle);
	handle_t made; /* *handle is in the application's memory: others may change it */
	int error;

	if (!me)
		return PORTALS_ME_INVALID;
	if (me->first != NO_INDEX)
		return PORTALS_ME_IN_USE;
	error = create(view, HANDLE_INDEX(me_handle), args, unlink, &made);
	if (error)
		return error;
	me->first = me->last = (uint16_t)HANDLE_INDEX(made);
	*handle = made;
	return PORTALS_OK;
}

static int index_valid(const struct process_view *view, uint32_t index)
{
	return index == NO_INDEX || index < view->limits.mds;
}

int md_insert(struct process_view *view, handle_t base_handle, const struct md_args *args,
	      enum unlink_op unlink, enum insert_pos position, handle_t *handle)
{
	struct md *base = md_lookup(view, base_handle), *md;
	uint32_t index, next, prev;
	handle_t made; /* as in md_attach */
	struct me *me;
	int error;

	if (!base || base->me == NO_INDEX)    /* also if it is leaving */
		return PORTALS_MD_INVALID;
	next = position == INSERT_BEFORE ? HANDLE_INDEX(base_handle) : base->next;
	prev = position == INSERT_BEFORE ? base->prev : HANDLE_INDEX(base_handle);
	if (base->me >= view->limits.mes || !index_valid(view, next) || !index_valid(view, prev))
		return PORTALS_FAIL;
	me = &view->mes[base->me];
	error = create(view, base->me, args, unlink, &made);
	if (error)
		return error;
	index = HANDLE_INDEX(made);
	md = &view->mds[index];
	md->next = next;
	md->prev = prev;
	if (prev == NO_INDEX)
		me->first = (uint16_t)index;
	else
		view->mds[prev].next = index;
	if (next == NO_INDEX)
		me->last = (uint16_t)index;
	else
		view->mds[next].prev = index;
	*handle = made;
	return PORTALS_OK;
}

int md_bind(struct process_view *view, const struct md_args *args, enum unlink_op unlink,
	    handle_t *handle)
{
	return create(view, NO_INDEX, args, unlink, handle);
}

int md_update(struct process_view *view, handle_t handle, struct md_args *old,
	      const struct md_args *new, handle_t test_eq)
{
	struct md *md = md_lookup(view, handle), made;
	const struct eq *test = eq_lookup(view, test_eq);
	uint64_t room = 0;
	int error;

	if (!md || (md->flags & MD_LEAVING))
		return PORTALS_MD_INVALID;
	if (new) {
		error = md_check(view, new, &room);
		if (error)
			return error;
	}
	if (test_eq != EQ_NONE && !test)
		return PORTALS_EQ_INVALID;
	if (old)
		*old = md->user;
	if (!new)
		return PORTALS_OK;
	if (md->pending || (test && !eq_is_quiet(view, test)))
		return PORTALS_MD_NO_UPDATE;
	made = *md;
	made.user = *new;
	made.user.pad0 = made.user.pad1 = 0;
	made.room = room;
	made.local_offset = 0;
	made.flags = (made.flags & ~(uint32_t)(MD_INACTIVE | MD_FAST)) |
		     flags_of(new, md->me);
	made.first_piece = made.last_piece = NO_INDEX;
	made.pieces = 0;
	if (new->options & MD_IOVEC) {
		error = iovec_alloc(view, &made, new);
		if (error)
			return error;
	}
	iovec_free(view, md);
	*md = made;
	return PORTALS_OK;
}

int md_leave(struct process_view *view, struct md *md)
{
	/* Read once: a faulty node may write them. */
	const volatile struct md *now = md;
	uint32_t entry = now->me, next = now->next, prev = now->prev;
	struct me *me;

	if (entry == NO_INDEX)
		return PORTALS_OK;
	if (entry >= view->limits.mes || !index_valid(view, next) || !index_valid(view, prev))
		return PORTALS_FAIL;
	me = &view->mes[entry];
	if (prev == NO_INDEX)
		me->first = (uint16_t)next;
	else
		view->mds[prev].next = next;
	if (next == NO_INDEX)
		me->last = (uint16_t)prev;
	else
		view->mds[next].prev = prev;
	md->me = NO_INDEX;
	if (me->first == NO_INDEX && me->unlink == UNLINK_AUTO &&
	    HANDLE_KIND(me->handle) == KIND_ME)
		return me_remove(view, me);
	return PORTALS_OK;
}

/* The queue for its UNLINK event, or null. */
static struct eq *unlink_queue(const struct process_view *view, const struct md *md)
{
	return md->user.options & MD_EVENT_UNLINK_DISABLE ? 0 :
	       eq_lookup(view, md->user.eq_handle);
}

__attribute__((noinline))
int md_depart(struct process_view *view, struct md *md)
{
	struct eq *eq = unlink_queue(view, md);

	md->flags |= MD_LEAVING;
	if (eq)
		eq->begun++; /* for the UNLINK event of md_reap */
	return md_leave(view, md);
}

__attribute__((noinline))
uint32_t md_reap(struct process_view *view, struct md *md)
{
	uint32_t events = 0;
	struct eq *eq;

	if (!(md->flags & MD_LEAVING) || md->pending)
		return 0;
	eq = unlink_queue(view, md);
	if (eq) {
		struct event_head head = { .nid = view->nid, .pid = view->pid, .uid = view->uid,
					   .jid = view->jid, .md_handle = md->handle };

		eq->begun--;
		eq->reserved -= !!(md->flags & MD_UNLINK_RESERVED);
		events = eq_record(view, eq, &head, EVENT_UNLINK, &md->user, 0, 0, NI_OK);
	}
	md_free(view, md);
	return events;
}

void md_free(struct process_view *view, struct md *md)
{
	if (md->user.options & MD_IOVEC)
		iovec_free(view, md);
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

uint32_t md_started(const struct process_view *view, handle_t handle)
{
	const struct md *md = md_lookup(view, handle);
	uint32_t others = 0;

	if (!md || !md->pending)
		return 0;
	for (uint32_t i = 0; i < view->limits.ops; i++) {
		const struct operation *op = &view->ops[i];

		if (op->phase == OP_OPEN && op->kind != MESSAGE_REPLY &&
		    op->md == (uint32_t)(md - view->mds))
			others++;
	}
	return md->pending > others ? md->pending - others : 0;
}
