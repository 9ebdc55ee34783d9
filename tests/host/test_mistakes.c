/*
 * Mistakes that earlier implementations are known for, a test each: bounds that
 * are off by one, access control that nobody asks, an event before its ack,
 * replies that are rejected, a fast search that forgets a rule.
 */
#include <string.h>
#include "world.h"

static void bounds(const struct block_limits *limits)
{
	struct world w;
	struct me_args anyone = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID,
				  .position = INSERT_AFTER };
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 0);
	handle_t me, none;

	world_open(&w, limits);
	me = new_me_with(&w, 0, limits->portals - 1, anyone);
	attach(&w, 0, me, memory(0, 0, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(me_attach(&w.views[0], limits->portals, &anyone, &none),
		 PORTALS_PT_INDEX_INVALID);
	m.pt_index = limits->portals - 1;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.pt_index = limits->portals;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.pt_index = limits->portals - 1;
	m.cookie = limits->acs - 1;               /* the last entry is there: it admits nobody */
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

/* Everything fits but the job, or the portal that the entry is for. */
TEST_PATHS(mistake_access_control_never_consulted)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 0);
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 0, MD_OP_PUT | MD_OP_GET, EQ_NONE), UNLINK_NEVER);
	for (int operation = MESSAGE_PUT; operation <= MESSAGE_GET; operation++) {
		m.operation = (uint8_t)operation;
		m.jid = JOB;
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
		m.jid = JOB + 1;
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
		m.jid = JOB;
		w.views[0].acs[0].pt_index = PT + 1;
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
		w.views[0].acs[0].pt_index = ANY_ID;
	}
	CHECK_IS(status(&w, 0, STAT_DROPPED), 4);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* The call that records PUT_END also gives out the ack, complete. */
TEST(mistake_put_event_before_its_ack)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message m, answer, kept, none;
	struct grant source, grant;

	args.ack = ACK_YES;
	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	kept = answer;
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, pair.eq), -1);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(grant.answers, 1);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_END);
	CHECK(memcmp(&kept, &answer, sizeof(kept)) == 0);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	CHECK_IS(deliver_begin(&w.views[1], &answer, 1, &grant, &none), DELIVER_OK);
	pair_close(&w, &pair);
}

/* A reply comes to a descriptor whose threshold is used up, and brings more
 * than it holds: accepted, truncated. */
TEST(mistake_reply_rejected_for_threshold_or_length)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, 1, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message first, second, reply, none;
	struct grant grant;

	CHECK_IS(initiator_get(&w.views[1], &args, &first), 0);
	CHECK_IS(initiator_get(&w.views[1], &args, &second), 0);
	for (int i = 0; i < 2; i++) {
		CHECK(message_refuse(i ? &second : &first, NI_OK, &reply));
		reply.length = reply.mlength = 1000;
		CHECK_IS(deliver_begin(&w.views[1], &reply, 0, &grant, &none), DELIVER_OK);
		CHECK_IS(grant.bytes, 64);
		CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
		CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
		CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
		CHECK_IS(w.event.mlength, 64);
		CHECK_IS(w.event.md.threshold, 0);
		CHECK_IS(w.event.ni_fail_type, NI_OK);
	}
	CHECK_IS(status(&w, 1, STAT_DROPPED), 0);
	pair_close(&w, &pair);
}

/*
 * The entry that a hash would find at once is passed over for every reason that
 * the list search has, and the next one that fits is taken; an older wildcard
 * entry comes before a younger exact one.
 */
TEST_PATHS(mistake_fast_search_skips_a_rule)
{
	struct world w;
	struct me_args exact = { .match_bits = 5, .nid = 1, .pid = 1, .position = INSERT_AFTER };
	struct me_args wild = { .match_bits = 4, .ignore_bits = 1, .nid = ANY_ID, .pid = ANY_ID,
				.position = INSERT_AFTER };
	struct md_args fits = memory(500, 50, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE);
	struct md_args rejects[] = {
		memory(100, 50, MD_OP_GET | MD_MANAGE_REMOTE, EQ_NONE),       /* operation */
		memory(100, 9, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE),        /* length */
		memory(100, 50, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE),       /* threshold */
	};
	uint64_t offset;
	handle_t first, second;

	rejects[2].threshold = 0;
	for (unsigned int i = 0; i <= sizeof(rejects) / sizeof(rejects[0]); i++) {
		world_open(&w, &test_limits);
		first = new_me_with(&w, 0, PT, exact);
		if (i < sizeof(rejects) / sizeof(rejects[0]))
			attach(&w, 0, first, rejects[i], UNLINK_NEVER);  /* else it has none */
		second = new_me_with(&w, 0, PT, wild);
		attach(&w, 0, second, fits, UNLINK_NEVER);
		CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 10), &offset, 0), DELIVER_OK);
		CHECK_IS(offset, 500);
		CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 2, 0, 5, 10), &offset, 0), DELIVER_OK);
		CHECK_IS(offset, 500);
		remove_me(&w, 0, first);
		remove_me(&w, 0, second);
		world_close(&w);
	}
	world_open(&w, &test_limits);
	first = new_me_with(&w, 0, PT, wild);
	attach(&w, 0, first, fits, UNLINK_NEVER);
	second = new_me_with(&w, 0, PT, exact);
	attach(&w, 0, second, memory(100, 50, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 10), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 500);
	remove_me(&w, 0, first);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 10), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 100);
	remove_me(&w, 0, second);
	world_close(&w);
}
