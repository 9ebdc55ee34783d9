/*
 * PtlMEMDPost: entry, descriptor and rule 24's test in one step, all or nothing.
 */
#include <string.h>
#include "../../net/portals/post.h"
#include "world.h"

/* A receive in front of an overflow entry, whose queue is tested. */
struct receiver {
	handle_t early, posted;        /* queues of the overflow entry and of the posted receive */
	handle_t overflow;
	struct post_args args;
};

static struct receiver receiver_open(struct world *w)
{
	struct receiver r = { .early = new_eq(w, 0, 8), .posted = new_eq(w, 0, 8) };

	r.overflow = new_me(w, 0, 5);
	attach(w, 0, r.overflow, memory(1000, 256, MD_OP_PUT | MD_EVENT_START_DISABLE, r.early),
	       UNLINK_NEVER);
	r.args = (struct post_args){
		.base = r.overflow, .unlink = UNLINK_AUTO, .test_eq = r.early,
		.me = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID, .unlink = UNLINK_AUTO,
			.position = INSERT_BEFORE },
		.md = memory(0, 64, MD_OP_PUT | MD_EVENT_START_DISABLE, r.posted),
	};
	r.args.md.threshold = 1;
	return r;
}

static void receiver_close(struct world *w, struct receiver *r)
{
	remove_me(w, 0, r->overflow);
	remove_eq(w, 0, r->early);
	remove_eq(w, 0, r->posted);
	world_close(w);
}

/* A copy of the whole block, to check that nothing has changed. */
static uint8_t before[1 << 20];

static void keep(const struct world *w)
{
	const struct process_view *view = &w->views[0];

	CHECK(block_bytes(&view->limits) <= sizeof(before));
	memcpy(before, view->block, block_bytes(&view->limits));
}

static int is_kept(const struct world *w)
{
	return memcmp(before, w->views[0].block, block_bytes(&w->views[0].limits)) == 0;
}

/* The call fails with this error and changes nothing, handles included. */
#define REFUSED(w, args, error) do { \
	handle_t me_ = 11, md_ = 12; \
	keep(w); \
	CHECK_IS(post_entry(&(w)->views[0], args, &me_, &md_), error); \
	CHECK(is_kept(w)); \
	CHECK_IS(me_, 11); \
	CHECK_IS(md_, 12); \
} while (0)

TEST(rule24_posts_entry_and_descriptor_at_once)
{
	handle_t me = 0, md = 0;
	struct receiver r;
	struct world w;

	world_open(&w, &test_limits);
	r = receiver_open(&w);
	CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
	CHECK(me_lookup(&w.views[0], me) && md_lookup(&w.views[0], md));
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(next(&w, 0, r.posted), EVENT_PUT_END);       /* the posted one comes first */
	CHECK_IS(w.event.md_handle, md);
	CHECK_IS(next(&w, 0, r.posted), EVENT_UNLINK);   /* both are unlinked with their message */
	CHECK(!me_lookup(&w.views[0], me) && !md_lookup(&w.views[0], md));
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(next(&w, 0, r.early), EVENT_PUT_END);
	r.args.me.position = INSERT_AFTER;
	CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(next(&w, 0, r.posted), -1);                  /* after the overflow entry */
	CHECK_IS(next(&w, 0, r.early), EVENT_PUT_END);
	remove_me(&w, 0, me);
	receiver_close(&w, &r);
}

/* Entry and descriptor equal those of the three separate calls. */
TEST(rule24_posts_what_the_three_calls_make)
{
	struct md_args inactive, old;
	struct me one, other;
	struct receiver r;
	struct world w;
	handle_t me, md;

	for (uint32_t options = 0; options <= MD_OPTIONS; options++) {
		struct md once, steps;

		if (options & MD_IOVEC)
			continue;
		world_open(&w, &test_limits);
		r = receiver_open(&w);
		r.args.md.options = options;
		r.args.md.max_size = 7, r.args.md.user_ptr = 99;
		r.args.md.eq_handle = options & 1 ? r.posted : EQ_NONE;
		r.args.unlink = options >> 1 & 1;
		r.args.me.unlink = options >> 2 & 1;
		CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
		one = *me_lookup(&w.views[0], me);
		once = *md_lookup(&w.views[0], md);
		remove_me(&w, 0, me);
		CHECK_IS(me_insert(&w.views[0], r.overflow, &r.args.me, &me), 0);
		inactive = r.args.md;
		inactive.threshold = 0;
		CHECK_IS(md_attach(&w.views[0], me, &inactive, r.args.unlink, &md), 0);
		CHECK_IS(md_update(&w.views[0], md, &old, &r.args.md, r.early), 0);
		other = *me_lookup(&w.views[0], me);
		steps = *md_lookup(&w.views[0], md);
		CHECK_IS(HANDLE_INDEX(other.handle), HANDLE_INDEX(one.handle));
		CHECK_IS(HANDLE_INDEX(steps.handle), HANDLE_INDEX(once.handle));
		other.handle = one.handle;     /* but for the generations */
		steps.handle = once.handle;
		CHECK(memcmp(&one, &other, sizeof(one)) == 0);
		CHECK(memcmp(&once, &steps, sizeof(once)) == 0);
		remove_me(&w, 0, me);
		receiver_close(&w, &r);
	}
}

/*
 * An early message makes it fail: an event is unread, still to come, or an UNLINK is still to come.
 */
TEST(rule24_post_waits_for_early_messages)
{
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct grant grant;
	struct receiver r;
	struct world w;
	handle_t me, md;

	world_open(&w, &test_limits);
	r = receiver_open(&w);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	REFUSED(&w, &r.args, PORTALS_MD_NO_UPDATE);           /* no event is there yet */
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	REFUSED(&w, &r.args, PORTALS_MD_NO_UPDATE);
	CHECK_IS(next(&w, 0, r.early), EVENT_PUT_END);
	CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
	remove_me(&w, 0, me);
	receiver_close(&w, &r);
}

TEST(rule24_post_without_a_test)
{
	struct receiver r;
	struct world w;
	handle_t me, md;

	world_open(&w, &test_limits);
	r = receiver_open(&w);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	REFUSED(&w, &r.args, PORTALS_MD_NO_UPDATE);
	r.args.test_eq = r.posted;                            /* the other queue is empty */
	CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
	remove_me(&w, 0, me);
	r.args.test_eq = EQ_NONE;
	CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
	remove_me(&w, 0, me);
	CHECK_IS(next(&w, 0, r.early), EVENT_PUT_END);
	receiver_close(&w, &r);
}

/* A refused post uses up nothing: no free entry, no generation, and no high-water mark. */
TEST(rule24_refused_posts_leave_no_trace)
{
	handle_t me, md, me_before, md_before;
	uint64_t me_high, md_high;
	struct receiver r;
	struct world w;

	world_open(&w, &test_limits);
	r = receiver_open(&w);
	CHECK_IS(post_entry(&w.views[0], &r.args, &me_before, &md_before), 0);
	remove_me(&w, 0, me_before);
	me_high = status(&w, 0, STAT_ME_HIGH);
	md_high = status(&w, 0, STAT_MD_HIGH);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	for (int i = 0; i < 20000; i++)
		CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), PORTALS_MD_NO_UPDATE);
	CHECK_IS(status(&w, 0, STAT_ME_HIGH), me_high);
	CHECK_IS(status(&w, 0, STAT_MD_HIGH), md_high);
	CHECK_IS(next(&w, 0, r.early), EVENT_PUT_END);
	CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
	CHECK_IS(me, me_before + HANDLE_NEXT);
	CHECK_IS(md, md_before + HANDLE_NEXT);
	remove_me(&w, 0, me);
	receiver_close(&w, &r);
}

/* Arguments are checked first, in the order of the three calls; an error changes nothing. */
TEST(rule33_post_bad_arguments)
{
	struct post_args bad;
	struct receiver r;
	struct world w;
	handle_t gone, me;

	world_open(&w, &test_limits);
	r = receiver_open(&w);
	gone = new_eq(&w, 0, 4);
	remove_eq(&w, 0, gone);
	me = new_me(&w, 0, 6);
	remove_me(&w, 0, me);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);          /* the queue's test would fail too */
#define REJECTED(change, error) \
	bad = r.args; \
	change; \
	REFUSED(&w, &bad, error)
	REJECTED((bad.base = me, bad.md.options = 0x80000000), PORTALS_ME_INVALID);
	REJECTED(bad.base = r.early, PORTALS_ME_INVALID);
	REJECTED(bad.base = HANDLE_NONE, PORTALS_ME_INVALID);
	REJECTED((bad.md.options |= 0x80000000, bad.md.start = 0), PORTALS_MD_ILLEGAL);
	REJECTED(bad.md.threshold = -2, PORTALS_MD_ILLEGAL);
	REJECTED((bad.md.start = BASE - 1, bad.md.eq_handle = gone), PORTALS_SEGV);
	REJECTED(bad.md.start = BASE + SEGMENT - 63, PORTALS_SEGV);
	REJECTED((bad.md.start = ~0ULL, bad.test_eq = gone), PORTALS_SEGV);
	REJECTED(bad.md.eq_handle = gone, PORTALS_EQ_INVALID);
	REJECTED(bad.test_eq = gone, PORTALS_EQ_INVALID);
	REJECTED(bad.test_eq = r.overflow, PORTALS_EQ_INVALID);
	CHECK_IS(next(&w, 0, r.early), EVENT_PUT_END);
	receiver_close(&w, &r);
}

/* If any pool is exhausted, it fails and takes nothing from the others. */
TEST(rule34_post_without_space)
{
	const struct block_limits few_mes = { .mes = 2 }, few_mds = { .mds = 2 };
	handle_t me, md, more = HANDLE_NONE;
	struct receiver r;
	struct world w;

	for (int which = 0; which < 3; which++) {
		world_open(&w, &test_limits);
		block_close(&w.views[0]);
		block_init(&w.views[0]);
		block_grant(&w.views[0], which == 0 ? &few_mes : which == 1 ? &few_mds : 0,
			    which == 2 ? 2 : 0, 0);
		block_open(&w.views[0]);
		r = receiver_open(&w);
		if (which == 1)
			more = bind(&w, 0, memory(0, 8, 0, EQ_NONE), UNLINK_NEVER);
		else
			CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
		REFUSED(&w, &r.args, which == 2 ? PORTALS_ME_LIST_TOO_LONG : PORTALS_NO_SPACE);
		if (which == 1)
			remove_md(&w, 0, more);
		else
			remove_me(&w, 0, me);
		CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
		remove_me(&w, 0, me);
		receiver_close(&w, &r);
	}
}

/* Pieces are taken with the rest, or not at all. */
TEST(rule10_post_takes_pieces)
{
	struct iovec_args pieces[2] = { { BASE + 100, 8 }, { BASE + 200, 8 } };
	struct post_args bad;
	struct receiver r;
	struct world w;
	handle_t me, md;
	uint64_t left;

	world_open(&w, &test_limits);
	r = receiver_open(&w);
	memcpy(w.views[0].memory + 512, pieces, sizeof(pieces));
	r.args.md.start = BASE + 512, r.args.md.length = 2;
	r.args.md.options |= MD_IOVEC;
	CHECK_IS(post_entry(&w.views[0], &r.args, &me, &md), 0);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 2);
	CHECK_IS(md_lookup(&w.views[0], md)->room, 16);
	CHECK_IS(put_arrives(&w, 5, 16), DELIVER_OK);
	CHECK_IS(next(&w, 0, r.posted), EVENT_PUT_END);
	CHECK_IS(w.event.mlength, 16);
	CHECK_IS(next(&w, 0, r.posted), EVENT_UNLINK);
	REJECTED(bad.md.length = BLOCK_MAX_PIECES + 1, PORTALS_MD_ILLEGAL);
	REJECTED(bad.md.start += 4, PORTALS_SEGV);
	left = w.views[0].block->pools[POOL_PIECE].limit;
	w.views[0].block->pools[POOL_PIECE].limit = 1;
	REJECTED(bad.unlink = 0, PORTALS_NO_SPACE);
	w.views[0].block->pools[POOL_PIECE].limit = (uint32_t)left;
	receiver_close(&w, &r);
}
