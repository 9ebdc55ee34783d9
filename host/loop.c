/*
 * The near transport within one process: see loop.h.
 */
#include "loop.h"
#include <stdlib.h>

int loop_start(struct loop *loop, uint32_t from, const struct initiator_args *args)
{
	/* As the kernel does it: the fast paths first. */
	if (!loop->split && (near_fast_put(&loop->views[from], loop, args) ||
			     near_long_put(&loop->views[from], loop, args)))
		return PORTALS_OK;
	return near_start(&loop->views[from], loop, args);
}

/* ---- the port of the near transport ---- */

struct process_view *near_port_peer(void *context, struct process_view *me, uint32_t nid)
{
	struct loop *loop = context;

	(void)me;
	return nid >= loop->nodes || loop->dead >> nid & 1 ? 0 : &loop->views[nid];
}

struct process_view *near_port_known(void *context, uint32_t nid)
{
	return near_port_peer(context, 0, nid);
}

/* Two locks at once are a bug in net/portals/near.c. */
int near_port_lock(void *context, struct process_view *view)
{
	struct loop *loop = context;

	if (loop->held)
		abort();
	if (loop->entered)
		loop->entered(loop, view);
	if (loop->dead >> view->nid & 1)
		return 0;
	loop->held = 1;
	return 1;
}

void near_port_unlock(void *context, struct process_view *view)
{
	(void)view;
	((struct loop *)context)->held = 0;
}

int near_port_copy(void *context, const struct process_view *to, const struct grant *dest,
		   const struct process_view *from, const struct grant *source)
{
	if (((struct loop *)context)->held)
		abort();
	return deliver_copy(to, dest, from, source);
}

void near_port_copied(void *context, uint64_t bytes)
{
	(void)context, (void)bytes;
}

void near_port_wake(void *context, const struct process_view *view, uint32_t events, int upcall)
{
	(void)context, (void)view, (void)events, (void)upcall;
}

int near_port_wait(void *context, const struct process_view *view, uint32_t tries)
{
	(void)context, (void)view, (void)tries;
	return 0;
}

int near_port_is_short(void *context, uint64_t bytes)
{
	return !((struct loop *)context)->split && bytes <= DELIVER_INLINE_BYTES;
}
