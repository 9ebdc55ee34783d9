/*
 * Which descriptor an arriving put or get finds: rules 2, 3, 4, 27, 29.
 */
#include "world.h"

TEST_PATHS(rule02_portal_index_in_range)
{
	struct world w;
	struct me_args any = { .nid = ANY_ID, .pid = ANY_ID };
	struct message m = request(MESSAGE_PUT, 1, 0, 0, 8);
	handle_t me[4];

	world_open(&w, &test_limits);
	any.ignore_bits = ~0ULL;
	for (int i = 0; i < 4; i++) {         /* a small index would find one of them */
		me[i] = new_me_with(&w, 0, 63, any);
		attach(&w, 0, me[i], memory(0, 8, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE),
		       UNLINK_NEVER);
	}
	m.pt_index = 63;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.pt_index = 64;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.pt_index = ANY_ID;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 2);
	CHECK_IS(status(&w, 0, STAT_MESSAGES_IN), 1);
	for (int i = 0; i < 4; i++)
		remove_me(&w, 0, me[i]);
	world_close(&w);
}

/* Even if the memory after the last portal looks like a portal. */
TEST(rule02_the_portal_behind_the_last)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8);
	struct ac_args all = { ANY_ID, ANY_ID, ANY_ID, ANY_ID, ANY_ID };

	(void)pair;
	CHECK_IS(ac_set(&w.views[0], 2, &all), 0);
	w.views[0].portals[test_limits.portals] = w.views[0].portals[PT];
	m.cookie = 2;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.pt_index = test_limits.portals;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	world_drop(&w);
}

TEST(rule02_access_control_index_in_range)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 0, 8);

	world_open(&w, &test_limits);
	w.views[0].acs[63] = w.views[0].acs[0];
	w.views[0].acs[64] = w.views[0].acs[0];       /* past the last one */
	m.cookie = 63;
	CHECK_IS(ac_admits(&w.views[0], &m), 1);
	m.cookie = 64;
	CHECK_IS(ac_admits(&w.views[0], &m), 0);
	world_drop(&w);
}

TEST_PATHS(rule27_default_access_control)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8);
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 8, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);        /* entry 0: the same job */
	m.jid = JOB + 1;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.jid = JID_SYSTEM;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.cookie = 1;                                         /* entry 1: system processes */
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.jid = JOB;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	for (m.cookie = 2; m.cookie < 64; m.cookie++)         /* the others: no process */
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);   /* 64: no entry */
	m.cookie = 0xffffffff;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 67);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule29_access_control_fields_and_wildcards)
{
	struct world w;
	const struct message good = request(MESSAGE_PUT, 1, 0, 5, 8);
	const struct ac exact = { .kind = AC_NAMES, .nid = 1, .pid = 1, .uid = 1000, .jid = JOB,
				  .pt_index = PT };
	struct message m;

	world_open(&w, &test_limits);
	w.views[0].acs[3] = exact;
#define ADMITS(change, whether) \
	m = good, m.cookie = 3; \
	change; \
	CHECK_IS(ac_admits(&w.views[0], &m), whether)
	ADMITS((void)0, 1);
	ADMITS(m.source_nid = 2, 0);
	ADMITS(m.source_pid = 2, 0);
	ADMITS(m.uid = 1001, 0);
	ADMITS(m.jid = JOB + 1, 0);
	ADMITS(m.pt_index = PT + 1, 0);
	w.views[0].acs[3].nid = ANY_ID;
	ADMITS(m.source_nid = 2, 1);
	w.views[0].acs[3].pid = ANY_ID;
	ADMITS(m.source_pid = 2, 1);
	w.views[0].acs[3].uid = ANY_ID;
	ADMITS(m.uid = 1001, 1);
	w.views[0].acs[3].jid = ANY_ID;
	ADMITS(m.jid = JOB + 1, 1);
	w.views[0].acs[3].pt_index = ANY_ID;
	ADMITS(m.pt_index = PT + 1, 1);
	world_close(&w);
}

TEST(rule29_each_field_of_an_entry_counts_by_itself)
{
	struct world w;
	const struct message good = request(MESSAGE_PUT, 1, 0, 5, 8);
	struct ac_args named;
	struct message m;

	world_open(&w, &test_limits);
#define NAMES(job, field, value, change) \
	named = (struct ac_args){ ANY_ID, ANY_ID, ANY_ID, job, ANY_ID }; \
	CHECK_IS(ac_set(&w.views[0], 3, &named), 0); \
	ADMITS(change, 1); \
	named.field = (value); \
	CHECK_IS(ac_set(&w.views[0], 3, &named), 0); \
	ADMITS((void)0, 1); \
	ADMITS(change, 0)
	NAMES(ANY_ID, jid, JOB, m.jid = JOB + 1);
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t job = i ? JOB : ANY_ID;

		NAMES(job, nid, 1, m.source_nid = 2);
		NAMES(job, pid, 1, m.source_pid = 2);
		NAMES(job, uid, 1000, m.uid = 1001);
		NAMES(job, pt_index, PT, m.pt_index = PT + 1);
	}
	world_close(&w);
}

TEST_PATHS(rule03_match_bits_and_source)
{
	struct world w;
	struct me_args args = { .match_bits = 0xf0f0, .ignore_bits = 0x00ff, .nid = 1, .pid = 1 };
	struct message m = request(MESSAGE_PUT, 1, 0, 0xf0f0, 8);
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me_with(&w, 0, PT, args);
	attach(&w, 0, me, memory(0, 8, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.match_bits = 0xf00f;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.match_bits = 0xf1f0;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.match_bits = 0x800000000000f0f0;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.match_bits = 0xf0f0, m.source_nid = 2;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.source_nid = 1, m.source_pid = 2;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	w.views[0].mes[HANDLE_INDEX(me)].pid = ANY_ID;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.source_nid = 2;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	w.views[0].mes[HANDLE_INDEX(me)].nid = ANY_ID;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	m.pt_index = PT + 1;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST_PATHS(rule03_first_that_accepts_in_list_order)
{
	struct world w;
	uint64_t offset;
	handle_t me[5];

	world_open(&w, &test_limits);
	for (int i = 0; i < 5; i++)
		me[i] = new_me(&w, 0, 5);
	/* no descriptor; gets only; too short; right; right too */
	attach(&w, 0, me[1], memory(100, 64, MD_OP_GET, EQ_NONE), UNLINK_NEVER);
	attach(&w, 0, me[2], memory(200, 4, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	attach(&w, 0, me[3], memory(300, 64, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	attach(&w, 0, me[4], memory(400, 64, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 8), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 300);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_GET, 1, 0, 5, 8), &offset, 0), DELIVER_OK);
	CHECK_IS(offset, 100);
	for (int i = 0; i < 5; i++)
		remove_me(&w, 0, me[i]);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_DROPPED);
	world_close(&w);
}

TEST_PATHS(rule04_operation_length_threshold)
{
	struct world w;
	struct md_args args = memory(0, 16, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE);
	handle_t me, md;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 16), DELIVER_OK);
	CHECK_IS(put_arrives(&w, 5, 17), DELIVER_DROPPED);
	CHECK_IS(put_arrives(&w, 5, ~0ULL), DELIVER_DROPPED);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_GET, 1, 0, 5, 8), 0, 0), DELIVER_DROPPED);
	remove_md(&w, 0, md);
	args.threshold = 0;
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_DROPPED);
	remove_md(&w, 0, md);
	args.options |= MD_TRUNCATE, args.threshold = 1;
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 17), DELIVER_OK);
	CHECK_IS(put_arrives(&w, 5, 17), DELIVER_DROPPED);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST_PATHS(rule04_full_queue_does_not_reject)
{
	struct world w;
	handle_t me, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 2);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 16, MD_OP_PUT | MD_MANAGE_REMOTE, eq), UNLINK_NEVER);
	for (int i = 0; i < 5; i++)
		CHECK_IS(put_arrives(&w, 5, 16), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), -2);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

/*
 * The entry that the hash finds first is skipped for every reason for which the list search skips
 * it, and the next one that matches is used. An older wildcard entry comes before a newer exact
 * one.
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
			attach(&w, 0, first, rejects[i], UNLINK_NEVER);  /* otherwise it has none */
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
