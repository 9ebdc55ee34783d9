/*
 * PtlMDUpdate: rule 24, checks, and changes.
 */
#include <string.h>
#include "world.h"

static int update(struct world *w, handle_t md, struct md_args *old, const struct md_args *new,
		  handle_t test_eq)
{
	return md_update(&w->views[0], md, old, new, test_eq);
}

TEST(rule24_replaces_all_that_the_user_sees)
{
	struct world w;
	struct md_args first = memory(100, 64, MD_OP_PUT | MD_MAX_SIZE, EQ_NONE), old, now;
	struct md_args second = memory(500, 32, MD_OP_PUT | MD_OP_GET, EQ_NONE);
	handle_t me, md;
	uint64_t offset;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	first.max_size = 60;
	md = attach(&w, 0, me, first, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 16), DELIVER_OK);         /* 48 remain: inactive */
	CHECK_IS(put_arrives(&w, 5, 16), DELIVER_DROPPED);
	second.threshold = 3, second.user_ptr = 99, second.max_size = 7;
	CHECK_IS(update(&w, md, &old, &second, EQ_NONE), 0);
	CHECK_IS(old.start, first.start);
	CHECK_IS(old.length, 64);
	CHECK_IS(old.max_size, 60);
	CHECK_IS(old.threshold, MD_THRESH_INF);
	CHECK_IS(update(&w, md, &now, 0, EQ_NONE), 0);
	CHECK(memcmp(&now, &second, sizeof(now)) == 0);
	CHECK(md_lookup(&w.views[0], md) != 0);               /* the handle stays valid */
	/* active again, and the local offset is 0 */
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 16), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 500);
	CHECK_IS(update(&w, md, &old, 0, EQ_NONE), 0);
	CHECK_IS(old.threshold, 2);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule24_old_alone_changes_nothing)
{
	struct world w;
	struct md_args args = memory(100, 64, MD_OP_PUT, EQ_NONE), old;
	handle_t md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	md = bind(&w, 0, args, UNLINK_NEVER);
	memset(&old, 0xff, sizeof(old));
	CHECK_IS(update(&w, md, &old, 0, eq), 0);
	CHECK(memcmp(&old, &args, sizeof(old)) == 0);
	CHECK_IS(update(&w, md, 0, 0, eq), 0);
	args.length = 8;
	CHECK_IS(update(&w, md, 0, &args, eq), 0);            /* and new alone returns nothing */
	CHECK_IS(update(&w, md, &old, &args, EQ_NONE), 0);
	CHECK_IS(old.length, 8);
	remove_md(&w, 0, md);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule24_unread_events_block)
{
	struct world w;
	struct md_args args = memory(100, 64, MD_OP_PUT, EQ_NONE), old = args;
	struct event_head head = { 0 };
	handle_t md, eq, other;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	other = new_eq(&w, 0, 4);
	md = bind(&w, 0, args, UNLINK_NEVER);
	args.length = 8;
	eq_record(&w.views[0], eq_lookup(&w.views[0], eq), &head, EVENT_ACK, 0, 0, 0, 0);
	old.length = 77;
	CHECK_IS(update(&w, md, &old, &args, eq), PORTALS_MD_NO_UPDATE);
	CHECK_IS(old.length, 64);                             /* copied out nevertheless */
	CHECK_IS(md_lookup(&w.views[0], md)->user.length, 64);
	CHECK_IS(update(&w, md, &old, &args, other), 0);      /* the other queue is empty */
	args.length = 9;
	CHECK_IS(next(&w, 0, eq), EVENT_ACK);
	CHECK_IS(update(&w, md, &old, &args, eq), 0);         /* the reader's word decides */
	CHECK_IS(old.length, 8);
	eq_record(&w.views[0], eq_lookup(&w.views[0], eq), &head, EVENT_ACK, 0, 0, 0, 0);
	args.length = 10;
	CHECK_IS(update(&w, md, 0, &args, EQ_NONE), 0);       /* no test: applied */
	remove_md(&w, 0, md);
	remove_eq(&w, 0, eq);
	remove_eq(&w, 0, other);
	world_close(&w);
}

/* MPI's race: an early message is still being copied into the overflow descriptor. START is
 * disabled, so there is no event yet. */
TEST(rule24_begun_operations_block)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct md_args posted = memory(0, 64, MD_OP_PUT, EQ_NONE), old;
	struct grant grant;
	handle_t eq, overflow, me, md;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 8);
	overflow = new_me(&w, 0, 5);
	attach(&w, 0, overflow, memory(1000, 64, MD_OP_PUT | MD_EVENT_START_DISABLE, eq),
	       UNLINK_NEVER);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), -1);
	me = new_me_with(&w, 0, PT, (struct me_args){ .match_bits = 5, .nid = ANY_ID,
						      .pid = ANY_ID });
	posted.threshold = 0;
	md = attach(&w, 0, me, posted, UNLINK_NEVER);
	posted.threshold = 1;
	CHECK_IS(update(&w, md, &old, &posted, eq), PORTALS_MD_NO_UPDATE);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);          /* accepted by the overflow entry */
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(update(&w, md, &old, &posted, eq), PORTALS_MD_NO_UPDATE);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(update(&w, md, &old, &posted, eq), PORTALS_MD_NO_UPDATE);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(update(&w, md, &old, &posted, eq), 0);
	CHECK_IS(old.threshold, 0);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), -1);                        /* the posted receive has it */
	remove_me(&w, 0, me);
	remove_me(&w, 0, overflow);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule24_unlink_still_to_come_blocks)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct md_args args, own = memory(0, 64, 0, EQ_NONE);
	struct grant grant;
	handle_t eq, me, md;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 8);
	me = new_me(&w, 0, 5);
	args = memory(1000, 64, MD_OP_PUT | MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE, eq);
	args.threshold = 1;
	attach(&w, 0, me, args, UNLINK_AUTO);
	md = bind(&w, 0, own, UNLINK_NEVER);
	CHECK_IS(update(&w, md, 0, &own, eq), 0);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(update(&w, md, 0, &own, eq), PORTALS_MD_NO_UPDATE);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(update(&w, md, 0, &own, eq), PORTALS_MD_NO_UPDATE);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	CHECK_IS(update(&w, md, 0, &own, eq), 0);
	remove_md(&w, 0, md);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

/* A pending operation on the descriptor itself prevents the update, with or without a queue. */
TEST(rule24_pending_operations_block)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer, started;
	struct md_args args = memory(100, 64, MD_OP_PUT, EQ_NONE), old;
	struct initiator_args to_one;
	struct grant grant;
	handle_t me, md, own;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	args.start = BASE + 200;
	old.length = 77;
	CHECK_IS(update(&w, md, &old, &args, EQ_NONE), PORTALS_MD_NO_UPDATE);
	CHECK_IS(old.length, 64);
	CHECK_IS(old.start, BASE + 100);
	CHECK_IS(update(&w, md, &old, 0, EQ_NONE), 0);        /* reads only */
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(update(&w, md, &old, &args, EQ_NONE), 0);
	own = bind(&w, 0, args, UNLINK_NEVER);
	to_one = to(own, 1, 5);
	CHECK_IS(initiator_put(&w.views[0], &to_one, &started, &grant), 0);
	CHECK_IS(update(&w, own, 0, &args, EQ_NONE), PORTALS_MD_NO_UPDATE);
	CHECK_IS(initiator_sent(&w.views[0], &started, &grant, NI_OK), 0);
	CHECK_IS(update(&w, own, 0, &args, EQ_NONE), 0);
	remove_md(&w, 0, own);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule24_leaving_is_gone)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct md_args args = memory(100, 64, MD_OP_PUT, EQ_NONE), old = args;
	struct grant grant;
	handle_t me, md;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	args.threshold = 1;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	old.length = 77;
	CHECK_IS(update(&w, md, &old, &args, EQ_NONE), PORTALS_MD_INVALID);
	CHECK_IS(update(&w, md, &old, 0, EQ_NONE), PORTALS_MD_INVALID);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(update(&w, md, &old, &args, EQ_NONE), PORTALS_MD_INVALID);
	CHECK_IS(old.length, 77);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* Rule 8: a descriptor that is created with or updated to threshold 0 is not unlinked. */
TEST(rule08_update_to_threshold_0_does_not_unlink)
{
	struct world w;
	struct md_args args = memory(100, 64, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE);
	handle_t me, md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 8);
	me = new_me(&w, 0, 5);
	args.eq_handle = eq, args.options |= MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	args.threshold = 0;
	CHECK_IS(update(&w, md, 0, &args, EQ_NONE), 0);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_DROPPED);
	CHECK_IS(next(&w, 0, eq), -1);
	args.threshold = 2;           /* PTL_UNLINK is still on */
	CHECK_IS(update(&w, md, 0, &args, EQ_NONE), 0);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK(md_lookup(&w.views[0], md) != 0);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK(!md_lookup(&w.views[0], md));
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

/* Arguments are checked first, in order; an error changes and returns nothing. */
TEST(rule33_update_bad_arguments)
{
	struct world w;
	struct md_args good = memory(100, 64, MD_OP_PUT, EQ_NONE), bad, old = good;
	handle_t me, md, eq, gone;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	eq = new_eq(&w, 0, 4);
	gone = new_eq(&w, 0, 4);
	remove_eq(&w, 0, gone);
	md = bind(&w, 0, good, UNLINK_NEVER);
	old.length = 77;
#define REJECTED(change, test, error) \
	bad = good; \
	change; \
	CHECK_IS(update(&w, md, &old, &bad, test), error)
	REJECTED(bad.options |= 0x1000, gone, PORTALS_MD_ILLEGAL);
	REJECTED(bad.threshold = -2, eq, PORTALS_MD_ILLEGAL);
	REJECTED(bad.start = BASE - 1, gone, PORTALS_SEGV);
	REJECTED(bad.start = BASE + SEGMENT - 63, EQ_NONE, PORTALS_SEGV);
	REJECTED((bad.start = ~0ULL, bad.eq_handle = gone), EQ_NONE, PORTALS_SEGV);
	REJECTED(bad.start = BASE + SEGMENT, EQ_NONE, PORTALS_SEGV);
	REJECTED(bad.eq_handle = gone, EQ_NONE, PORTALS_EQ_INVALID);
	REJECTED(bad.eq_handle = md, EQ_NONE, PORTALS_EQ_INVALID);
	REJECTED(bad.length = 8, gone, PORTALS_EQ_INVALID);
	REJECTED(bad.length = 8, md, PORTALS_EQ_INVALID);
	CHECK_IS(update(&w, md, &old, 0, gone), PORTALS_EQ_INVALID);
	CHECK_IS(update(&w, md ^ 1ULL << 30, &old, &good, EQ_NONE), PORTALS_MD_INVALID);
	CHECK_IS(update(&w, eq, &old, &good, EQ_NONE), PORTALS_MD_INVALID);
	CHECK_IS(update(&w, me, &old, &good, EQ_NONE), PORTALS_MD_INVALID);
	CHECK_IS(update(&w, 0, 0, 0, EQ_NONE), PORTALS_MD_INVALID);
	CHECK_IS(old.length, 77);
	CHECK_IS(update(&w, md, &old, 0, EQ_NONE), 0);
	CHECK(memcmp(&old, &good, sizeof(old)) == 0);
	remove_md(&w, 0, md);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

/* A posted receive that is not yet active, and an overflow entry after it. */
struct posting {
	handle_t eq, early;                   /* queues: of the receive, of the overflow */
	handle_t posted, overflow;            /* entries */
	handle_t md;                          /* the receive, inactive */
};

static struct posting posting_open(struct world *w)
{
	struct posting p;
	struct md_args inactive;

	world_open(w, &test_limits);
	p.eq = new_eq(w, 0, 8);
	p.early = new_eq(w, 0, 8);
	p.posted = new_me(w, 0, 5);
	inactive = memory(100, 64, MD_OP_PUT, p.eq);
	inactive.threshold = 0;
	p.md = attach(w, 0, p.posted, inactive, UNLINK_NEVER);
	p.overflow = new_me(w, 0, 5);
	attach(w, 0, p.overflow, memory(1000, 4096, MD_OP_PUT | MD_EVENT_START_DISABLE, p.early),
	       UNLINK_NEVER);
	return p;
}

static void posting_close(struct world *w, struct posting *p)
{
	remove_me(w, 0, p->posted);
	remove_me(w, 0, p->overflow);
	remove_eq(w, 0, p->eq);
	remove_eq(w, 0, p->early);
	world_close(w);
}

static int activate(struct world *w, struct posting *p, struct md_args *old)
{
	struct md_args active = memory(200, 64, MD_OP_PUT, p->eq);

	active.threshold = 1;
	return md_update(&w->views[0], p->md, old, &active, p->early);
}

TEST_PATHS(rule24_nothing_early_then_the_update_is_made)
{
	struct world w;
	struct posting p = posting_open(&w);
	struct md_args old;
	uint64_t offset;

	CHECK_IS(activate(&w, &p, &old), 0);
	CHECK_IS(old.start, BASE + 100);
	CHECK_IS(old.threshold, 0);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 10), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 200);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 10), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 1000);
	posting_close(&w, &p);
}
