/*
 * What arrives without a search, updates against arrivals, and what nobody
 * remembers. Rules 11, 24, 31.
 */
#include <string.h>
#include "world.h"

/* An ack whose portal and cookie name nothing, from a process that no access
 * control entry of the initiator admits: it is recorded all the same. */
TEST(rule11_an_ack_skips_access_control_and_matching)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message m, answer, none;
	struct grant source, grant;

	args.ack = ACK_YES;
	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	CHECK(message_refuse(&m, NI_OK, &answer));
	answer.pt_index = 9999;
	answer.cookie = 9999;
	answer.jid = JOB + 1;
	answer.uid = 0;
	answer.mlength = 64;
	CHECK_IS(deliver_begin(&w.views[1], &answer, 0, &grant, &none), DELIVER_OK);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.pt_index, PT);               /* what was asked for, whatever it says */
	CHECK_IS(w.event.jid, JOB + 1);
	CHECK_IS(status(&w, 1, STAT_DROPPED), 0);
	pair_close(&w, &pair);
}

/* The same for a reply; the descriptor that it names takes it though no match
 * entry leads there and no operation is enabled on it. */
TEST(rule11_a_reply_skips_access_control_and_matching)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message m, reply, none;
	struct grant grant;

	CHECK_IS(initiator_get(&w.views[1], &args, &m), 0);
	CHECK(message_refuse(&m, NI_OK, &reply));
	reply.pt_index = 9999;
	reply.cookie = 9999;
	reply.jid = JOB + 1;
	reply.match_bits = ~m.match_bits;
	reply.mlength = 64;
	CHECK_IS(deliver_begin(&w.views[1], &reply, 0, &grant, &none), DELIVER_OK);
	CHECK_IS(grant.offset, 2000);
	CHECK_IS(grant.bytes, 64);
	CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(status(&w, 1, STAT_DROPPED), 0);
	pair_close(&w, &pair);
}

/* How many bytes differ. */
static uint64_t differing(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < bytes; i++)
		count += a[i] != b[i];
	return count;
}

/* A thousand peers that have sent something leave no more behind than one:
 * counters, and one record that is free again. Nobody says hello first. */
TEST_PATHS(rule31_nothing_is_kept_for_a_silent_peer)
{
	static uint8_t before[1 << 20];
	struct world w;
	struct process_view *view;
	uint64_t bytes = block_bytes(&test_limits);
	handle_t me;

	world_open(&w, &test_limits);
	view = &w.views[0];
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(100, 64, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE), UNLINK_NEVER);
	CHECK(bytes <= sizeof(before));
	CHECK_IS(put_arrives(&w, 5, 10), DELIVER_OK);
	memcpy(before, (const void *)view->block, bytes);
	for (uint32_t peer = 0; peer < 1000; peer++) {
		struct message m = request(MESSAGE_PUT, peer, 0, 5, 10);

		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
		CHECK_IS(status(&w, 0, STAT_OP_USED), 0);
	}
	CHECK(differing(before, (const uint8_t *)view->block, bytes) <=
	      sizeof(struct block_side) + sizeof(struct operation));
	remove_me(&w, 0, me);
	world_close(&w);
}

/* A posted receive that waits to be activated, an overflow behind it. */
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

TEST_PATHS(rule24_an_event_that_was_not_taken_refuses)
{
	struct world w;
	struct posting p = posting_open(&w);
	struct md_args old;

	CHECK_IS(put_arrives(&w, 5, 10), DELIVER_OK);
	memset(&old, 0, sizeof(old));
	CHECK_IS(activate(&w, &p, &old), PORTALS_MD_NO_UPDATE);
	CHECK_IS(old.start, BASE + 100);      /* copied all the same */
	CHECK_IS(md_lookup(&w.views[0], p.md)->user.threshold, 0);
	CHECK_IS(next(&w, 0, p.early), EVENT_PUT_END);
	CHECK_IS(activate(&w, &p, 0), 0);
	posting_close(&w, &p);
}

/* The message has begun to arrive, is being copied, and left no event yet. */
TEST(rule24_a_begun_operation_refuses)
{
	struct world w;
	struct posting p = posting_open(&w);
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 1000), answer;
	struct grant grant;

	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(next(&w, 0, p.early), -1);
	CHECK_IS(activate(&w, &p, 0), PORTALS_MD_NO_UPDATE);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(activate(&w, &p, 0), PORTALS_MD_NO_UPDATE);
	CHECK_IS(next(&w, 0, p.early), EVENT_PUT_END);
	CHECK_IS(activate(&w, &p, 0), 0);
	posting_close(&w, &p);
}

TEST(rule24_an_operation_on_the_descriptor_refuses)
{
	struct world w;
	struct posting p = posting_open(&w);
	struct md_args other = memory(300, 8, MD_OP_PUT, p.eq);
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 10), answer;
	struct grant grant;

	CHECK_IS(activate(&w, &p, 0), 0);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(md_update(&w.views[0], p.md, 0, &other, EQ_NONE), PORTALS_MD_NO_UPDATE);
	CHECK_IS(md_update(&w.views[0], p.md, &other, 0, EQ_NONE), 0);   /* only a look */
	CHECK_IS(other.start, BASE + 200);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(md_update(&w.views[0], p.md, 0, &other, EQ_NONE), 0);
	posting_close(&w, &p);
}

TEST(rule24_bad_arguments_change_nothing)
{
	struct world w;
	struct posting p = posting_open(&w);
	struct md_args bad = memory(SEGMENT, 1, MD_OP_PUT, p.eq);
	struct md_args old = { .start = 17 };

	CHECK_IS(md_update(&w.views[0], p.md, &old, &bad, EQ_NONE), PORTALS_SEGV);
	bad = memory(0, 8, 1u << 30, p.eq);
	CHECK_IS(md_update(&w.views[0], p.md, &old, &bad, EQ_NONE), PORTALS_MD_ILLEGAL);
	bad = memory(0, 8, MD_OP_PUT, p.md);
	CHECK_IS(md_update(&w.views[0], p.md, &old, &bad, EQ_NONE), PORTALS_EQ_INVALID);
	bad = memory(0, 8, MD_OP_PUT, p.eq);
	CHECK_IS(md_update(&w.views[0], p.md, &old, &bad, p.md), PORTALS_EQ_INVALID);
	CHECK_IS(md_update(&w.views[0], p.posted, &old, &bad, EQ_NONE), PORTALS_MD_INVALID);
	CHECK_IS(old.start, 17);
	CHECK_IS(md_lookup(&w.views[0], p.md)->user.start, BASE + 100);
	posting_close(&w, &p);
}
