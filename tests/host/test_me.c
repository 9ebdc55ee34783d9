/*
 * Match entries: positions, arguments, limits, any free portal: net/portals/me.c.
 */
#include "world.h"

/* A handle of no match entry. */
#define NO_SUCH_ME  ((handle_t)KIND_ME << HANDLE_KIND_SHIFT | 0xffff)

/* Order of the entries of PT by their match bits, as decimal digits. */
static long order(struct world *w)
{
	const struct process_view *view = &w->views[0];
	long digits = 0, back = 0, scale = 1;

	for (uint32_t i = view->portals[PT].first; i != NO_INDEX; i = view->mes[i].next)
		digits = digits * 10 + (long)view->mes[i].match_bits;
	for (uint32_t i = view->portals[PT].last; i != NO_INDEX; i = view->mes[i].prev) {
		back += scale * (long)view->mes[i].match_bits;
		scale *= 10;
	}
	CHECK_IS(back, digits);
	return digits;
}

TEST(me_positions)
{
	struct world w;
	struct me_args args = { .nid = ANY_ID, .pid = ANY_ID };
	handle_t a, b, c, d, e;

	world_open(&w, &test_limits);
	args.match_bits = 3, args.position = INSERT_BEFORE;
	a = new_me_with(&w, 0, PT, args);
	args.match_bits = 1;
	b = new_me_with(&w, 0, PT, args);
	args.match_bits = 5, args.position = INSERT_AFTER;
	c = new_me_with(&w, 0, PT, args);
	CHECK_IS(order(&w), 135);
	args.match_bits = 4;
	CHECK_IS(me_insert(&w.views[0], a, &args, &d), 0);
	args.match_bits = 2, args.position = INSERT_BEFORE;
	CHECK_IS(me_insert(&w.views[0], a, &args, &e), 0);
	CHECK_IS(order(&w), 12345);
	remove_me(&w, 0, b);
	CHECK_IS(order(&w), 2345);
	args.match_bits = 1;
	CHECK_IS(me_insert(&w.views[0], e, &args, &b), 0);
	args.match_bits = 6, args.position = INSERT_AFTER;
	CHECK_IS(me_insert(&w.views[0], c, &args, &args.match_bits), 0);
	CHECK_IS(order(&w), 123456);
	CHECK_IS(me_unlink(&w.views[0], args.match_bits), 0);
	remove_me(&w, 0, c);
	CHECK_IS(order(&w), 1234);
	remove_me(&w, 0, a);
	CHECK_IS(order(&w), 124);
	remove_me(&w, 0, b);
	remove_me(&w, 0, d);
	remove_me(&w, 0, e);
	CHECK_IS(order(&w), 0);
	world_close(&w);
}

TEST(rule33_me_bad_arguments)
{
	struct world w;
	struct me_args args = { .nid = ANY_ID, .pid = ANY_ID };
	handle_t me, stale, out = 77;

	world_open(&w, &test_limits);
	CHECK_IS(me_attach(&w.views[0], 64, &args, &out), PORTALS_PT_INDEX_INVALID);
	CHECK_IS(me_attach(&w.views[0], 0xffffffff, &args, &out), PORTALS_PT_INDEX_INVALID);
	CHECK_IS(me_attach(&w.views[0], 63, &args, &me), 0);
	stale = me;
	CHECK_IS(me_insert(&w.views[0], NO_SUCH_ME, &args, &out), PORTALS_ME_INVALID);
	CHECK_IS(me_insert(&w.views[0], 0, &args, &out), PORTALS_ME_INVALID);
	CHECK_IS(me_unlink(&w.views[0], me ^ 1ULL << 40), PORTALS_ME_INVALID);
	CHECK_IS(me_unlink(&w.views[0], me), 0);
	CHECK_IS(me_unlink(&w.views[0], stale), PORTALS_ME_INVALID);
	CHECK_IS(me_insert(&w.views[0], stale, &args, &out), PORTALS_ME_INVALID);
	/* the generation in the free entry is not a valid handle either */
	CHECK_IS(me_unlink(&w.views[0], w.views[0].mes[HANDLE_INDEX(stale)].handle),
		 PORTALS_ME_INVALID);
	CHECK_IS(out, 77);
	world_close(&w);
}

TEST(rule34_me_pool_runs_out)
{
	struct world w;
	struct me_args args = { .nid = ANY_ID, .pid = ANY_ID, .position = INSERT_AFTER };
	handle_t me[8], more;

	world_open(&w, &small_limits);
	for (int i = 0; i < 8; i++)
		me[i] = new_me(&w, 0, 1);
	CHECK_IS(me_attach(&w.views[0], PT, &args, &more), PORTALS_NO_SPACE);
	CHECK_IS(me_insert(&w.views[0], me[3], &args, &more), PORTALS_NO_SPACE);
	remove_me(&w, 0, me[5]);
	me[5] = new_me(&w, 0, 1);
	CHECK_IS(status(&w, 0, STAT_ME_HIGH), 8);
	for (int i = 0; i < 8; i++)
		remove_me(&w, 0, me[i]);
	world_close(&w);
}

TEST(me_attach_any_takes_the_lowest_empty_portal)
{
	struct world w;
	struct me_args args = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID };
	uint32_t pt = 77;
	handle_t me[8], more;

	world_open(&w, &test_limits);
	w.views[0].block->granted.portals = 8;
	me[2] = new_me_with(&w, 0, 2, args);
	for (uint32_t i = 0; i < 8; i++) {
		if (i == 2)
			continue;
		CHECK_IS(me_attach_any(&w.views[0], &pt, &args, &me[i]), 0);
		CHECK_IS(pt, i);
		CHECK_IS(me_lookup(&w.views[0], me[i])->pt_index, i);
	}
	pt = 77, more = 78;
	CHECK_IS(me_attach_any(&w.views[0], &pt, &args, &more), PORTALS_PT_FULL);
	CHECK_IS(pt, 77);
	CHECK_IS(more, 78);
	remove_me(&w, 0, me[5]);
	CHECK_IS(me_attach_any(&w.views[0], &pt, &args, &me[5]), 0);
	CHECK_IS(pt, 5);
	for (int i = 0; i < 8; i++)
		remove_me(&w, 0, me[i]);
	world_close(&w);
	world_open(&w, &small_limits);        /* entries run out first */
	for (int i = 0; i < 8; i++)
		me[i] = new_me_with(&w, 0, 3, args);
	CHECK_IS(me_attach_any(&w.views[0], &pt, &args, &more), PORTALS_NO_SPACE);
	for (int i = 0; i < 8; i++)
		remove_me(&w, 0, me[i]);
	world_close(&w);
}
