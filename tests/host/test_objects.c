/*
 * Match entries, descriptors and event queues as their owner sees them.
 */
#include "world.h"

#define NOBODY  ((handle_t)KIND_ME << HANDLE_KIND_SHIFT | 0xffff)

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
	CHECK_IS(me_insert(&w.views[0], NOBODY, &args, &out), PORTALS_ME_INVALID);
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

TEST(rule33_md_bad_arguments)
{
	struct world w;
	struct process_view *view = &w.views[0];
	struct md_args good = memory(0, 64, MD_OP_PUT, EQ_NONE), args;
	handle_t me, md, eq, out = 77;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 1);
	CHECK_IS(md_attach(view, NOBODY, &good, UNLINK_NEVER, &out), PORTALS_ME_INVALID);
#define REJECTED(change, error) \
	args = good; \
	change; \
	CHECK_IS(md_attach(view, me, &args, UNLINK_NEVER, &out), error); \
	CHECK_IS(md_bind(view, &args, UNLINK_NEVER, &out), error)
	REJECTED(args.options |= 0x1000, PORTALS_MD_ILLEGAL);
	REJECTED((args.options |= MD_IOVEC, args.length = 257), PORTALS_MD_ILLEGAL);
	REJECTED(args.threshold = -2, PORTALS_MD_ILLEGAL);
	REJECTED(args.start = BASE - 1, PORTALS_SEGV);
	REJECTED(args.start = 0, PORTALS_SEGV);
	REJECTED(args.start = BASE + SEGMENT - 63, PORTALS_SEGV);
	REJECTED(args.length = SEGMENT + 1, PORTALS_SEGV);
	REJECTED(args.length = ~0ULL, PORTALS_SEGV);
	REJECTED(args.start = ~0ULL - 7, PORTALS_SEGV);
	REJECTED(args.start = BASE + SEGMENT, PORTALS_SEGV);
	REJECTED((args.start = BASE + 8, args.length = ~0ULL - 3), PORTALS_SEGV);
	REJECTED(args.eq_handle = 12345, PORTALS_EQ_INVALID);
	REJECTED(args.eq_handle = me, PORTALS_EQ_INVALID);
	eq = new_eq(&w, 0, 4);
	remove_eq(&w, 0, eq);
	REJECTED(args.eq_handle = eq, PORTALS_EQ_INVALID);
	CHECK_IS(out, 77);
	args = good;                  /* the largest and the smallest values are valid */
	args.length = SEGMENT;
	md = bind(&w, 0, args, UNLINK_NEVER);
	CHECK_IS(md_unlink(view, md), 0);
	args.start = 0, args.length = 0;
	md = bind(&w, 0, args, UNLINK_NEVER);
	CHECK_IS(md_unlink(view, md), 0);
	CHECK_IS(md_unlink(view, md), PORTALS_MD_INVALID);
	CHECK_IS(md_unlink(view, me), PORTALS_MD_INVALID);
	CHECK_IS(md_unlink(view, view->mds[HANDLE_INDEX(md)].handle), PORTALS_MD_INVALID);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule26_attach_to_an_entry_that_has_one)
{
	struct world w;
	struct md_args args = memory(0, 8, MD_OP_PUT, EQ_NONE);
	handle_t me, md, more;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 1);
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(md_attach(&w.views[0], me, &args, UNLINK_NEVER, &more), PORTALS_ME_IN_USE);
	remove_md(&w, 0, md);
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	remove_me(&w, 0, me);         /* with its descriptor */
	CHECK(!md_lookup(&w.views[0], md));
	world_close(&w);
}

TEST(rule34_md_pool_runs_out)
{
	struct world w;
	struct md_args args = memory(0, 8, 0, EQ_NONE);
	handle_t md[8], me, more;

	world_open(&w, &small_limits);
	me = new_me(&w, 0, 1);
	for (int i = 0; i < 8; i++)
		md[i] = bind(&w, 0, args, UNLINK_NEVER);
	CHECK_IS(md_bind(&w.views[0], &args, UNLINK_NEVER, &more), PORTALS_NO_SPACE);
	CHECK_IS(md_attach(&w.views[0], me, &args, UNLINK_NEVER, &more), PORTALS_NO_SPACE);
	for (int i = 0; i < 8; i++)
		remove_md(&w, 0, md[i]);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule08_explicit_unlink_takes_the_entry)
{
	struct world w;
	struct me_args args = { .nid = ANY_ID, .pid = ANY_ID, .unlink = UNLINK_AUTO };
	handle_t me, md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	me = new_me_with(&w, 0, PT, args);
	md = attach(&w, 0, me, memory(0, 8, MD_OP_PUT, eq), UNLINK_AUTO);
	remove_md(&w, 0, md);
	CHECK(!me_lookup(&w.views[0], me));
	CHECK_IS(next(&w, 0, eq), -1);        /* UNLINK is for automatic unlinking only */
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule33_eq_bad_arguments)
{
	struct world w;
	struct process_view *view = &w.views[0];
	struct eq_info info;
	handle_t eq;

	world_open(&w, &small_limits);
	CHECK_IS(eq_alloc(view, 0, BASE + WORDS, 0, &info), PORTALS_NO_SPACE);
	CHECK_IS(eq_alloc(view, 65, BASE + WORDS, 0, &info), PORTALS_NO_SPACE);
	CHECK_IS(eq_alloc(view, 1ULL << 63, BASE + WORDS, 0, &info), PORTALS_NO_SPACE);
	CHECK_IS(eq_alloc(view, ~0ULL, BASE + WORDS, 0, &info), PORTALS_NO_SPACE);
	CHECK_IS(eq_alloc(view, 4, BASE + WORDS + 4, 0, &info), PORTALS_SEGV);
	CHECK_IS(eq_alloc(view, 4, BASE + SEGMENT - 7, 0, &info), PORTALS_SEGV);
	CHECK_IS(eq_alloc(view, 4, BASE - 8, 0, &info), PORTALS_SEGV);
	CHECK_IS(eq_alloc(view, 4, ~7ULL, 0, &info), PORTALS_SEGV);
	CHECK_IS(eq_free(view, 0), PORTALS_EQ_INVALID);
	eq = new_eq(&w, 0, 1);
	CHECK_IS(eq_free(view, eq ^ 1ULL << 30), PORTALS_EQ_INVALID);
	CHECK_IS(eq_unread(view, eq), 0);
	remove_eq(&w, 0, eq);
	CHECK_IS(eq_free(view, eq), PORTALS_EQ_INVALID);
	CHECK_IS(eq_unread(view, eq), PORTALS_EQ_INVALID);
	world_close(&w);
}

TEST(rule34_eq_slots_run_out_and_come_back)
{
	struct world w;
	struct eq_info info;
	handle_t a, b, c, d;

	world_open(&w, &small_limits);        /* 64 slots, 4 queues */
	a = new_eq(&w, 0, 15);                /* 16 */
	b = new_eq(&w, 0, 32);
	c = new_eq(&w, 0, 9);                 /* 16 */
	CHECK_IS(eq_lookup(&w.views[0], a)->count, 16);
	CHECK_IS(eq_alloc(&w.views[0], 1, BASE + WORDS + 64, 0, &info), PORTALS_NO_SPACE);
	remove_eq(&w, 0, b);
	CHECK_IS(eq_alloc(&w.views[0], 33, BASE + WORDS + 64, 0, &info), PORTALS_NO_SPACE);
	b = new_eq(&w, 0, 16);
	d = new_eq(&w, 0, 16);
	for (int i = 0; i < 4; i++)           /* no two overlap */
		for (int j = 0; j < i; j++)
			CHECK(w.views[0].eqs[i].first_slot + w.views[0].eqs[i].count <=
			      w.views[0].eqs[j].first_slot ||
			      w.views[0].eqs[j].first_slot + w.views[0].eqs[j].count <=
			      w.views[0].eqs[i].first_slot);
	CHECK_IS(eq_alloc(&w.views[0], 1, BASE + WORDS + 64, 0, &info), PORTALS_NO_SPACE);
	remove_eq(&w, 0, a);
	remove_eq(&w, 0, b);
	remove_eq(&w, 0, c);
	remove_eq(&w, 0, d);
	world_close(&w);
}

/* Two words: PtlEQGet's and the handler's; the latter limits the space for replies. */
TEST(rule23_eq_with_a_handler)
{
	struct world w;
	struct process_view *view = &w.views[0];
	uint64_t *words;
	struct eq_info info;
	struct event_head head = { 0 };
	struct eq *eq;
	handle_t plain;

	world_open(&w, &test_limits);
	CHECK_IS(eq_alloc(view, 4, BASE + SEGMENT - 8, 1, &info), PORTALS_SEGV);
	CHECK_IS(eq_alloc(view, 4, BASE + SEGMENT - 16, 1, &info), 0);
	words = (uint64_t *)(view->memory + SEGMENT - 16);
	eq = eq_lookup(view, info.handle);
	CHECK_IS(words[0], eq->next);
	CHECK_IS(words[1], eq->next);
	for (int i = 0; i < 3; i++)
		eq_record(view, eq, &head, EVENT_ACK, 0, 0, 0, 0);
	CHECK_IS(eq_unhandled(view, info.handle), 3);
	CHECK_IS(eq_unread(view, info.handle), 3);
	CHECK(!eq_has_room(view, eq, 2));
	words[1] += 3;
	CHECK_IS(eq_unhandled(view, info.handle), 0);
	CHECK_IS(eq_unread(view, info.handle), 3);
	CHECK(eq_has_room(view, eq, 4));
	words[1] = ~0ULL / 2;                 /* invalid: counts as full */
	CHECK_IS(eq_unhandled(view, info.handle), 4);
	CHECK(!eq_has_room(view, eq, 1));
	CHECK_IS(eq_free(view, info.handle), 0);
	CHECK_IS(eq_unhandled(view, info.handle), 0);

	plain = new_eq(&w, 0, 4);
	eq_record(view, eq_lookup(view, plain), &head, EVENT_ACK, 0, 0, 0, 0);
	CHECK_IS(eq_unhandled(view, plain), 0);
	CHECK_IS(next(&w, 0, plain), EVENT_ACK);
	remove_eq(&w, 0, plain);
	world_close(&w);
}

TEST(rule20_overrun_keeps_the_latest)
{
	struct world w;
	handle_t eq, old;
	struct event_head head = { 0 };

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	CHECK_IS(next(&w, 0, eq), -1);
	for (uint64_t i = 0; i < 11; i++) {
		head.match_bits = i;
		eq_record(&w.views[0], eq_lookup(&w.views[0], eq), &head, EVENT_ACK, 0, 0, 0, 0);
	}
	CHECK_IS(eq_unread(&w.views[0], eq), 4);
	CHECK_IS(next(&w, 0, eq), -2);        /* reported once, with the oldest remaining event */
	CHECK_IS(w.event.match_bits, 7);
	for (uint64_t i = 8; i < 11; i++) {
		CHECK_IS(next(&w, 0, eq), EVENT_ACK);
		CHECK_IS(w.event.match_bits, i);
	}
	CHECK_IS(next(&w, 0, eq), -1);
	CHECK_IS(eq_unread(&w.views[0], eq), 0);
	old = eq;
	remove_eq(&w, 0, eq);
	eq = new_eq(&w, 0, 4);                /* the same slots: no old event is visible */
	CHECK(eq != old);
	CHECK_IS(next(&w, 0, eq), -1);
	eq_record(&w.views[0], eq_lookup(&w.views[0], eq), &head, EVENT_ACK, 0, 0, 0, 0);
	CHECK_IS(next(&w, 0, eq), EVENT_ACK);
	CHECK_IS(next(&w, 0, eq), -1);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule20_senseless_read_index_means_full)
{
	struct world w;
	handle_t eq;
	uint64_t *word;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	word = (uint64_t *)(w.views[0].memory + WORDS);
	CHECK(eq_has_room(&w.views[0], eq_lookup(&w.views[0], eq), 4));
	*word += 1000;
	CHECK(!eq_has_room(&w.views[0], eq_lookup(&w.views[0], eq), 1));
	*word = 0x8000000000000000ULL;
	CHECK(!eq_has_room(&w.views[0], eq_lookup(&w.views[0], eq), 1));
	CHECK_IS(eq_unread(&w.views[0], eq), 4);
	remove_eq(&w, 0, eq);
	world_close(&w);
}
