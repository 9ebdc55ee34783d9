/*
 * Match entry and descriptor at once. See post.h.
 */
#include "post.h"
#include "eq.h"
#include "md.h"

/* The block is damaged: the entry could not be added to the index. */
__attribute__((noinline, cold))
static int give_up(struct process_view *view, handle_t descriptor)
{
	md_free(view, &view->mds[HANDLE_INDEX(descriptor)]);
	return PORTALS_FAIL;
}

int post_entry(struct process_view *view, const struct post_args *args, handle_t *me,
	       handle_t *md)
{
	handle_t entry, descriptor;
	struct me_slot slot;
	const struct eq *test;
	uint64_t room;
	int error = me_find_slot(view, args->base, args->me.position, &slot);

	if (!error)
		error = md_check(view, &args->md, &room);
	if (error)
		return error;
	test = eq_lookup(view, args->test_eq);
	if (!test && args->test_eq != EQ_NONE)
		return PORTALS_EQ_INVALID;
	if (test && !eq_is_quiet(view, test))
		return PORTALS_MD_NO_UPDATE;
	/* The descriptor first: making the entry cannot fail in an undamaged block. */
	error = md_alloc(view, slot.index, &args->md, room, md_unlink_flag(args->unlink),
			 &descriptor);
	if (error)
		return error;
	if (me_fill_slot(view, &slot, &args->me, HANDLE_INDEX(descriptor), &entry))
		return give_up(view, descriptor);
	*me = entry;
	*md = descriptor;
	return PORTALS_OK;
}
