/*
 * Memory descriptors: arguments, limits, and lists of them at an entry (insertion, the first one,
 * unlinking): net/portals/md.c. Rules 3, 8, 25, 26, 33, 34. PtlMDUpdate is in test_md_update.c.
 */
#include "world.h"

/* A handle of no match entry. */
#define NO_SUCH_ME  ((handle_t)KIND_ME << HANDLE_KIND_SHIFT | 0xffff)

TEST(rule33_md_bad_arguments)
{
	struct world w;
	struct process_view *view = &w.views[0];
	struct md_args good = memory(0, 64, MD_OP_PUT, EQ_NONE), args;
	handle_t me, md, eq, out = 77;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 1);
	CHECK_IS(md_attach(view, NO_SUCH_ME, &good, UNLINK_NEVER, &out), PORTALS_ME_INVALID);
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

/* The offsets of an entry's descriptors in order, divided by 100, as decimal digits. */
static long order(struct world *w, handle_t entry)
{
	const struct process_view *view = &w->views[0];
	const struct me *me = me_lookup(view, entry);
	long digits = 0, back = 0, scale = 1;

	for (uint32_t i = me->first; i != NO_INDEX; i = view->mds[i].next)
		digits = digits * 10 + (long)(view->mds[i].user.start - BASE) / 100;
	for (uint32_t i = me->last; i != NO_INDEX; i = view->mds[i].prev) {
		back += scale * ((long)(view->mds[i].user.start - BASE) / 100);
		scale *= 10;
	}
	CHECK_IS(back, digits);
	return digits;
}

static handle_t insert(struct world *w, handle_t base, uint64_t offset, int threshold,
		       int unlink, int position)
{
	struct md_args args = memory(offset, 64, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE);
	handle_t md = HANDLE_NONE;

	args.threshold = threshold;
	CHECK_IS(md_insert(&w->views[0], base, &args, unlink, position, &md), 0);
	return md;
}

TEST(md_insert_positions)
{
	struct world w;
	handle_t me, a, b, c, d;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	a = attach(&w, 0, me, memory(300, 64, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	b = insert(&w, a, 500, 1, UNLINK_NEVER, INSERT_AFTER);
	c = insert(&w, a, 100, 1, UNLINK_NEVER, INSERT_BEFORE);
	CHECK_IS(order(&w, me), 135);
	d = insert(&w, b, 400, 1, UNLINK_NEVER, INSERT_BEFORE);
	insert(&w, c, 200, 1, UNLINK_NEVER, INSERT_AFTER);
	CHECK_IS(order(&w, me), 12345);
	remove_md(&w, 0, a);
	CHECK_IS(order(&w, me), 1245);
	remove_md(&w, 0, c);
	CHECK_IS(order(&w, me), 245);
	remove_md(&w, 0, b);
	CHECK_IS(order(&w, me), 24);
	insert(&w, d, 500, 1, UNLINK_NEVER, INSERT_AFTER);
	CHECK_IS(order(&w, me), 245);
	CHECK_IS(status(&w, 0, STAT_MD_USED), 3);
	remove_me(&w, 0, me);         /* with its remaining descriptors */
	CHECK_IS(status(&w, 0, STAT_MD_USED), 0);
	CHECK_IS(status(&w, 0, STAT_MD_HIGH), 5);
	world_close(&w);
}

TEST(rule03_only_the_first_descriptor_counts)
{
	struct world w;
	handle_t me, other, first;
	uint64_t offset;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	other = new_me(&w, 0, 5);
	first = attach(&w, 0, me, memory(100, 4, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE),
		       UNLINK_NEVER);
	insert(&w, first, 200, MD_THRESH_INF, UNLINK_NEVER, INSERT_AFTER);
	attach(&w, 0, other, memory(300, 64, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE),
	       UNLINK_NEVER);
	/* the first one rejects eight bytes; the second would accept them, but is not considered */
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 8), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 300);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 4), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 100);
	remove_md(&w, 0, first);      /* the next becomes first */
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 8), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 200);
	insert(&w, w.views[0].mds[me_lookup(&w.views[0], me)->first].handle, 400, MD_THRESH_INF,
	       UNLINK_NEVER, INSERT_BEFORE);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 8), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 400);
	remove_me(&w, 0, me);
	remove_me(&w, 0, other);
	world_close(&w);
}

TEST(rule08_descriptors_go_one_by_one_and_the_entry_last)
{
	struct world w;
	struct me_args args = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID,
				.unlink = UNLINK_AUTO, .position = INSERT_AFTER };
	struct md_args md_args = memory(100, 64, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE);
	uint64_t offset;
	handle_t me, md;

	world_open(&w, &test_limits);
	me = new_me_with(&w, 0, PT, args);
	md_args.threshold = 1;
	md = attach(&w, 0, me, md_args, UNLINK_AUTO);
	md = insert(&w, md, 200, 2, UNLINK_AUTO, INSERT_AFTER);
	md = insert(&w, md, 300, 1, UNLINK_AUTO, INSERT_AFTER);
	for (int i = 0; i < 4; i++) {
		const uint64_t want[] = { 100, 200, 200, 300 };

		CHECK(me_lookup(&w.views[0], me) != 0);
		CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 8), &offset, 0), DELIVER_OK);
		CHECK_IS(offset, want[i]);
	}
	CHECK(!md_lookup(&w.views[0], md));
	CHECK(!me_lookup(&w.views[0], me));
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_DROPPED);
	world_close(&w);
}

/* Three pending operations, on three descriptors that are unlinked in turn. */
TEST(rule08_leaving_descriptors_do_not_hide_the_next)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer[3], none;
	struct grant grant[3], refused;
	struct md_args args;
	handle_t me, md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	me = new_me(&w, 0, 5);
	args = memory(100, 64, MD_OP_PUT, eq);
	args.threshold = 1;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	for (int i = 2; i < 4; i++) {
		args.start = BASE + 100 * (uint64_t)i;
		CHECK_IS(md_insert(&w.views[0], md, &args, UNLINK_AUTO, INSERT_AFTER, &md), 0);
	}
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant[i], &answer[i]), DELIVER_OK);
		CHECK_IS(grant[i].offset, 100 * i + 100);
		CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	}
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &refused, &none), DELIVER_DROPPED);
	/* descriptors being unlinked are in no list: nothing can be inserted beside them */
	CHECK_IS(md_insert(&w.views[0], md, &args, UNLINK_AUTO, INSERT_AFTER, &md),
		 PORTALS_MD_INVALID);
	CHECK_IS(md_unlink(&w.views[0], md), PORTALS_MD_IN_USE);
	CHECK_IS(me_unlink(&w.views[0], me), 0);
	for (int i = 2; i >= 0; i--) {
		CHECK_IS(deliver_end(&w.views[0], &grant[i], NI_OK, &answer[i]), DELIVER_OK);
		CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
		CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	}
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule25_pending_behind_the_first_pins_the_entry)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct grant grant;
	handle_t me, a, b;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	a = attach(&w, 0, me, memory(100, 64, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	b = insert(&w, a, 200, 1, UNLINK_NEVER, INSERT_BEFORE);
	CHECK_IS(me_unlink(&w.views[0], me), PORTALS_ME_IN_USE);
	CHECK_IS(md_unlink(&w.views[0], a), PORTALS_MD_IN_USE);
	remove_md(&w, 0, b);
	CHECK_IS(order(&w, me), 1);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule33_md_insert_bad_arguments)
{
	struct world w;
	struct process_view *view = &w.views[0];
	struct md_args good = memory(0, 64, MD_OP_PUT, EQ_NONE), bad = good;
	handle_t me, md, bound, out = 77;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, good, UNLINK_NEVER);
	bound = bind(&w, 0, good, UNLINK_NEVER);
	CHECK_IS(md_insert(view, bound, &good, 0, INSERT_AFTER, &out), PORTALS_MD_INVALID);
	CHECK_IS(md_insert(view, me, &good, 0, INSERT_AFTER, &out), PORTALS_MD_INVALID);
	CHECK_IS(md_insert(view, 0, &good, 0, INSERT_AFTER, &out), PORTALS_MD_INVALID);
	CHECK_IS(md_insert(view, md ^ 1ULL << 20, &good, 0, INSERT_AFTER, &out),
		 PORTALS_MD_INVALID);
	bad.start = BASE - 1;
	CHECK_IS(md_insert(view, bound, &bad, 0, INSERT_AFTER, &out), PORTALS_MD_INVALID);
	CHECK_IS(md_insert(view, md, &bad, 0, INSERT_AFTER, &out), PORTALS_SEGV);
	bad = good, bad.threshold = -2;
	CHECK_IS(md_insert(view, md, &bad, 0, INSERT_AFTER, &out), PORTALS_MD_ILLEGAL);
	bad = good, bad.eq_handle = md;
	CHECK_IS(md_insert(view, md, &bad, 0, INSERT_AFTER, &out), PORTALS_EQ_INVALID);
	CHECK_IS(out, 77);
	CHECK_IS(status(&w, 0, STAT_MD_USED), 2);
	remove_md(&w, 0, bound);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule34_md_insert_runs_out)
{
	struct world w;
	struct md_args args = memory(0, 64, MD_OP_PUT, EQ_NONE);
	handle_t me, md, more;

	world_open(&w, &small_limits);
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	for (int i = 1; i < 8; i++)
		md = insert(&w, md, 0, 1, UNLINK_NEVER, i & 1);
	CHECK_IS(md_insert(&w.views[0], md, &args, 0, 0, &more), PORTALS_NO_SPACE);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* The handle goes to the application's memory, which other nodes may write to. Here it is in a field
 * of the new descriptor that is written after it: what is there then must not name a descriptor. */
TEST(rule33_a_handle_is_not_read_back)
{
	struct world w;
	struct process_view *view = &w.views[0];
	struct md_args args = memory(0, 64, MD_OP_PUT, EQ_NONE);
	handle_t me, other, first, second;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	other = bind(&w, 0, args, UNLINK_NEVER);
	CHECK_IS(HANDLE_INDEX(other), 0);
	CHECK_IS(md_attach(view, me, &args, UNLINK_NEVER, &view->mds[1].local_offset), 0);
	first = view->mds[1].handle;
	CHECK_IS(me_lookup(view, me)->first, 1);
	CHECK_IS(view->mds[1].local_offset, first);
	CHECK_IS(md_insert(view, first, &args, UNLINK_NEVER, INSERT_AFTER,
			   &view->mds[2].local_offset), 0);
	second = view->mds[2].handle;
	CHECK_IS(me_lookup(view, me)->last, 2);
	CHECK_IS(view->mds[2].local_offset, second);
	CHECK_IS(view->mds[0].prev, NO_INDEX);
	view->mds[1].local_offset = view->mds[2].local_offset = 0;
	CHECK_IS(put_arrives(&w, 5, 64), DELIVER_OK);
	remove_me(&w, 0, me);
	remove_md(&w, 0, other);
	world_close(&w);
}
