/*
 * The masks of the index of match entries: which of them a search looks at, and chains that they
 * share. test_index.c compares the search with a walk of the list.
 */
#include "../../net/portals/index.h"
#include "../../net/portals/match.h"
#include "world.h"

static const struct block_limits few = {
	.portals = 8, .acs = 4, .mes = 64, .mds = 96, .eqs = 4, .ops = 8,
	.slots = 64, .pieces = 16
};

/* Keys of two masks may share one chain: the search is no longer for it, and is not mistaken for
 * damage. */
TEST(rule03_index_two_masks_in_one_chain)
{
	struct me_args exact = { .match_bits = 5, .nid = 0, .pid = 1, .position = INSERT_AFTER };
	struct me_args any = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID,
			       .position = INSERT_AFTER };
	struct me_args wild = { .ignore_bits = ~0ULL, .nid = ANY_ID, .pid = 1,
				.position = INSERT_AFTER };
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8);
	struct process_view *view;
	const struct me *a, *b;
	struct world w;
	handle_t last;

	world_open(&w, &few);
	view = &w.views[0];
	do {
		block_close(view);
		block_init(view);
		block_open(view);
		exact.nid++;
		b = me_lookup(view, new_me_with(&w, 0, PT, any));
		a = me_lookup(view, new_me_with(&w, 0, PT, exact));
		for (uint32_t i = 0; i < few.mes - 3; i++)    /* none has a descriptor */
			new_me_with(&w, 0, PT, exact);
	} while (a->chain != b->chain && exact.nid < 10000);
	CHECK_IS(a->chain, b->chain);
	CHECK(a->mask != b->mask);
	m.source_nid = exact.nid;
	m.source_pid = 1;
	last = new_me_with(&w, 0, PT, wild);
	attach(&w, 0, last, memory(64, 8, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	block_close(view);
	block_init(view);
	block_open(view);
	world_close(&w);
}

/* A search leaves out the masks whose entries are all behind the one that it has found, also after
 * the entries were numbered anew. Chains that it leaves out are damaged here, to show that. */
TEST(rule03_index_leaves_out_masks_behind_the_find)
{
	struct me_args catch_all = { .ignore_bits = ~0ULL, .nid = ANY_ID, .pid = ANY_ID,
				     .position = INSERT_AFTER };
	struct me_args exact = { .match_bits = 5, .nid = 1, .pid = 1, .position = INSERT_BEFORE };
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8);
	struct process_view *view;
	struct chain saved;
	struct place place;
	handle_t first, other;
	struct world w;
	struct me *catcher, *before;

	world_open(&w, &test_limits);
	view = &w.views[0];
	first = new_me_with(&w, 0, PT, catch_all);
	attach(&w, 0, first, memory(0, 8, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	for (uint32_t i = 0; i < INDEX_FROM; i++)     /* so that theirs is the first mask */
		new_me_with(&w, 0, PT, catch_all);
	for (uint64_t i = 4; i < 6; i++) {
		exact.match_bits = i;
		CHECK_IS(me_insert(view, first, &exact, &other), 0);
		attach(&w, 0, other, memory(64, 8, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	}
	catcher = me_lookup(view, first);
	for (int round = 0; round < 2; round++) {
		saved = view->chains[catcher->chain];
		view->chains[catcher->chain].first = 0xffff;
		CHECK_IS(match_find(view, &m, &place), DELIVER_OK);
		CHECK_IS(place.md->user.start, BASE + 64);
		m.match_bits = 6;                     /* only those that catch all take it */
		CHECK_IS(match_find(view, &m, &place), DELIVER_DAMAGED);
		view->chains[catcher->chain] = saved;
		CHECK_IS(match_find(view, &m, &place), DELIVER_OK);
		CHECK_IS(place.md->user.start, BASE);
		m.match_bits = 5;
		before = me_lookup(view, other);
		before->order = catcher->order - 1;       /* no number is left between them */
		exact.match_bits = 77;
		CHECK_IS(me_insert(view, first, &exact, &other), 0);
	}
	world_drop(&w);
}
