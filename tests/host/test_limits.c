/*
 * Limits: the owner's calls respect what block_grant granted (rule 34), and unused entries of pools
 * take no memory.
 */
#include <string.h>
#include "../../net/portals/iovec.h"
#include "world.h"

/* A world whose process 0 has been granted these limits. */
static struct process_view *granted(struct world *w, const struct block_limits *wanted,
				    uint32_t me_list, uint32_t pieces)
{
	world_open(w, &test_limits);
	block_close(&w->views[0]);
	block_init(&w->views[0]);
	block_grant(&w->views[0], wanted, me_list, pieces);
	block_open(&w->views[0]);
	return &w->views[0];
}

TEST(rule34_granted_entries_and_descriptors)
{
	struct world w;
	struct block_limits wanted = { .mes = 5, .mds = 3, .eqs = 2 };
	struct me_args me_args = { .nid = ANY_ID, .pid = ANY_ID };
	struct md_args md_args = memory(0, 8, 0, EQ_NONE);
	struct process_view *view = granted(&w, &wanted, 0, 0);
	handle_t me[5], md[3], eq[2], more;
	struct eq_info info;

	for (int i = 0; i < 5; i++)
		me[i] = new_me(&w, 0, 1);
	CHECK_IS(me_attach(view, 0, &me_args, &more), PORTALS_NO_SPACE);
	for (int i = 0; i < 3; i++)
		md[i] = bind(&w, 0, md_args, UNLINK_NEVER);
	CHECK_IS(md_bind(view, &md_args, UNLINK_NEVER, &more), PORTALS_NO_SPACE);
	for (int i = 0; i < 2; i++)
		eq[i] = new_eq(&w, 0, 4);
	CHECK_IS(eq_alloc(view, 4, BASE + WORDS + 64, 0, &info), PORTALS_NO_SPACE);
	/* what was freed can be taken again, but no more */
	for (int i = 0; i < 20; i++) {
		remove_me(&w, 0, me[i % 5]);
		me[i % 5] = new_me(&w, 0, 1);
		remove_md(&w, 0, md[i % 3]);
		md[i % 3] = bind(&w, 0, md_args, UNLINK_NEVER);
		CHECK_IS(me_attach(view, 0, &me_args, &more), PORTALS_NO_SPACE);
		CHECK_IS(md_bind(view, &md_args, UNLINK_NEVER, &more), PORTALS_NO_SPACE);
	}
	for (int i = 0; i < 5; i++)
		remove_me(&w, 0, me[i]);
	for (int i = 0; i < 3; i++)
		remove_md(&w, 0, md[i]);
	for (int i = 0; i < 2; i++)
		remove_eq(&w, 0, eq[i]);
	world_close(&w);
}

TEST(rule34_list_too_long)
{
	struct world w;
	struct me_args args = { .nid = ANY_ID, .pid = ANY_ID };
	struct process_view *view = granted(&w, 0, 7, 0);
	handle_t me[7], more = 77, other;

	for (int i = 0; i < 7; i++)
		me[i] = new_me(&w, 0, (uint64_t)i);
	CHECK_IS(me_attach(view, PT, &args, &more), PORTALS_ME_LIST_TOO_LONG);
	CHECK_IS(me_insert(view, me[3], &args, &more), PORTALS_ME_LIST_TOO_LONG);
	CHECK_IS(more, 77);
	CHECK_IS(me_attach(view, PT + 1, &args, &other), 0);  /* the limit is per list */
	remove_me(&w, 0, me[0]);
	CHECK_IS(me_insert(view, me[3], &args, &me[0]), 0);
	CHECK_IS(me_insert(view, me[3], &args, &more), PORTALS_ME_LIST_TOO_LONG);
	for (int i = 0; i < 7; i++)
		remove_me(&w, 0, me[i]);
	remove_me(&w, 0, other);
	world_close(&w);
}

TEST(rule02_granted_portals)
{
	struct world w;
	struct block_limits wanted = { .portals = 3, .acs = 4 };
	struct me_args args = { .ignore_bits = ~0ULL, .nid = ANY_ID, .pid = ANY_ID };
	const struct ac_args everybody = { ANY_ID, ANY_ID, ANY_ID, ANY_ID, ANY_ID };
	struct process_view *view = granted(&w, &wanted, 0, 0);
	struct message m = request(MESSAGE_PUT, 1, 0, 0, 8);
	handle_t me, more;

	CHECK_IS(me_attach(view, 3, &args, &more), PORTALS_PT_INDEX_INVALID);
	CHECK_IS(me_attach(view, 63, &args, &more), PORTALS_PT_INDEX_INVALID);
	me = new_me_with(&w, 0, 2, args);
	attach(&w, 0, me, memory(0, 8, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE), UNLINK_NEVER);
	m.pt_index = 2;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.pt_index = 3;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.pt_index = 2, m.cookie = 4;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	CHECK_IS(ac_set(view, 4, &everybody), PORTALS_AC_INDEX_INVALID);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	CHECK_IS(ac_set(view, 3, &everybody), 0);
	m.cookie = 3;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 3);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* Where the request is invalid, everything is granted. */
TEST(limits_granted_are_wanted_or_all)
{
	struct world w;
	struct block_limits wanted = { .portals = 65, .acs = 1, .mes = 257, .mds = 256,
				       .eqs = 0xffffffff };
	struct process_view *view = granted(&w, &wanted, 257, 257);
	const struct block *block = view->block;

	CHECK_IS(block->granted.portals, 64);
	CHECK_IS(block->granted.acs, 64);
	CHECK_IS(block->pools[POOL_ME].limit, 256);
	CHECK_IS(block->pools[POOL_MD].limit, 256);
	CHECK_IS(block->pools[POOL_EQ].limit, 8);
	CHECK_IS(block->granted.me_list, 256);
	CHECK_IS(block->granted.pieces, 256);
	wanted = (struct block_limits){ .portals = 64, .acs = 2, .mes = 1, .mds = 1, .eqs = 1 };
	block_grant(view, &wanted, 1, 1);
	CHECK_IS(block->granted.portals, 64);
	CHECK_IS(block->granted.acs, 2);
	CHECK_IS(block->pools[POOL_ME].limit, 1);
	CHECK_IS(block->pools[POOL_EQ].limit, 1);
	CHECK_IS(block->granted.me_list, 1);
	CHECK_IS(block->granted.pieces, 1);
	CHECK_IS(block->granted.getput, BLOCK_MAX_GETPUT);
	block_close(view);            /* the next life begins with everything */
	block_init(view);
	block_open(view);
	CHECK_IS(block->pools[POOL_ME].limit, 256);
	CHECK_IS(block->granted.me_list, 256);
	world_close(&w);
}

/* Formatting a fresh block writes its header and small tables only: the memory of unused entries is
 * never touched, so it is never allocated. */
TEST(block_init_touches_no_pool)
{
	const struct block_limits limits = BLOCK_DEFAULT_LIMITS;
	struct block_layout layout;
	struct world w;
	struct process_view *view;
	uint8_t *bytes;
	handle_t me;

	world_open(&w, &limits);
	view = &w.views[0];
	bytes = (uint8_t *)view->block;
	CHECK_IS(block_layout(&limits, &layout), 0);
	for (uint64_t at = layout.mes; at < layout.bytes; at++)
		if (bytes[at]) {
			CHECK_IS(at, layout.bytes);
			break;
		}
	/* a second life touches used entries only */
	me = new_me(&w, 0, 1);
	memset(&view->mes[1], 0xee, sizeof(struct me));
	block_close(view);
	block_init(view);
	block_open(view);
	CHECK(!me_lookup(view, me));
	CHECK_IS(view->mes[1].nid, 0xeeeeeeee);
	memset(&view->mes[1], 0, sizeof(struct me));
	world_close(&w);
}

/* Handles of an earlier life stay invalid however many the new one allocates. */
TEST(rule17_watermark_keeps_generations)
{
	struct world w;
	struct process_view *view;
	handle_t old[3][20], me;

	world_open(&w, &test_limits);
	view = &w.views[0];
	for (int life = 0; life < 3; life++) {
		int count = 20 - 7 * life;

		for (int i = 0; i < count; i++)
			old[life][i] = new_me(&w, 0, 1);
		remove_me(&w, 0, old[life][0]);
		remove_me(&w, 0, old[life][3]);
		block_close(view);
		block_init(view);
		block_open(view);
	}
	for (int i = 0; i < 25; i++) {
		me = new_me(&w, 0, 1);
		for (int life = 0; life < 3; life++)
			for (int j = 0; j < 20 - 7 * life; j++)
				CHECK(old[life][j] != me && !me_lookup(view, old[life][j]));
	}
	block_close(view);
	block_init(view);
	block_open(view);
	world_close(&w);
}

TEST(block_is_alive_knows_every_kind)
{
	struct world w;
	struct process_view *view;
	handle_t ni, me, md, eq;

	world_open(&w, &test_limits);
	view = &w.views[0];
	ni = block_open(view);
	me = new_me(&w, 0, 1);
	md = attach(&w, 0, me, memory(0, 8, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	eq = new_eq(&w, 0, 4);
	CHECK(block_is_alive(view, ni) && block_is_alive(view, me) && block_is_alive(view, md) &&
	      block_is_alive(view, eq));
	CHECK(!block_is_alive(view, 0) && !block_is_alive(view, ~0ULL));
	CHECK(!block_is_alive(view, me + 1) && !block_is_alive(view, ni ^ 1ULL << 20));
	CHECK(!block_is_alive(view, (me & ~(15ULL << 60)) | (uint64_t)KIND_OP << 60));
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	CHECK(!block_is_alive(view, me) && !block_is_alive(view, md) && !block_is_alive(view, eq));
	block_close(view);
	CHECK(!block_is_alive(view, ni));
	world_close(&w);
}

/* PtlNIInit keeps the barrier's words: peers may have entered it first. */
TEST(block_init_keeps_the_barrier)
{
	struct world w;

	world_open(&w, &test_limits);
	w.views[0].block->barrier[5] = 3;
	block_close(&w.views[0]);
	block_init(&w.views[0]);
	block_open(&w.views[0]);
	CHECK_IS(w.views[0].block->barrier[5], 3);
	world_close(&w);
}

/* The handles of the first match entries, descriptors, queues and records of a block. */
static void first_handles(uint64_t seed, handle_t *handles)
{
	struct operation *op;
	struct world w;

	world_open(&w, &test_limits);
	block_close(&w.views[0]);
	w.views[0].seed = seed;
	block_init(&w.views[0]);
	block_open(&w.views[0]);
	for (int i = 0; i < 4; i++) {
		handles[i] = new_me(&w, 0, 1);
		handles[4 + i] = bind(&w, 0, memory(0, 8, 0, EQ_NONE), UNLINK_NEVER);
		handles[8 + i] = new_eq(&w, 0, 2);
		CHECK_IS(op_alloc(&w.views[0], &op), 0);
		handles[12 + i] = op->handle;
	}
	world_drop(&w);
}

/* The first handles depend on the seed. Neither another seed's handles nor others of the same block
 * reveal an object's handle. */
TEST(rule17_first_generations_follow_from_the_seed)
{
	handle_t of[3][16];
	uint64_t high = 0;

	first_handles(1, of[0]);
	first_handles(2, of[1]);
	first_handles(2, of[2]);
	for (int i = 0; i < 16; i++) {
		CHECK(of[1][i] == of[2][i]);
		for (int j = 0; j < 16; j++) {
			uint64_t a = of[0][i] / HANDLE_NEXT << 20;   /* generations */
			uint64_t b = of[1][j] / HANDLE_NEXT << 20;
			uint64_t c = of[0][j] / HANDLE_NEXT << 20;

			/* far apart: no realistic number of reuses leads from one to the other */
			CHECK(a - b > 1ULL << 44 && b - a > 1ULL << 44);
			CHECK(i == j || (a - c > 1ULL << 44 && c - a > 1ULL << 44));
			high |= a;
		}
	}
	CHECK_IS(high >> 20, (1ULL << 44) - 1);
}

static void bounds(const struct block_limits *limits)
{
	struct world w;
	struct me_args any_process = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID,
				  .position = INSERT_AFTER };
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 0);
	handle_t me, none;

	world_open(&w, limits);
	me = new_me_with(&w, 0, limits->portals - 1, any_process);
	attach(&w, 0, me, memory(0, 0, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(me_attach(&w.views[0], limits->portals, &any_process, &none),
		 PORTALS_PT_INDEX_INVALID);
	m.pt_index = limits->portals - 1;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.pt_index = limits->portals;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.pt_index = limits->portals - 1;
	m.cookie = limits->acs - 1;               /* the last entry exists, but admits no process */
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.cookie = limits->acs;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	w.views[0].acs[limits->acs - 1] = w.views[0].acs[0];
	m.cookie = limits->acs - 1;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 3);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(mistake_bounds_off_by_one)
{
	bounds(&small_limits);
	bounds(&test_limits);
}
