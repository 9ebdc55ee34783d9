/*
 * Arriving puts and gets: their effects on the matching descriptor. Rules 5 to 9, 18, 19, 22, 34.
 */
#include <string.h>
#include "world.h"

TEST_PATHS(rule05_local_and_managed_offsets)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 10);
	uint64_t offset, bytes;
	handle_t me, md;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, memory(100, 32, MD_OP_PUT | MD_OP_GET, EQ_NONE), UNLINK_NEVER);
	m.offset = 7;                         /* ignored here */
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(offset, 100);
	m.operation = MESSAGE_GET;
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(offset, 110);
	m.operation = MESSAGE_PUT;
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(offset, 120);
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_DROPPED);
	m.length = 2;
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(offset, 130);
	m.length = 0;
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(bytes, 0);
	remove_md(&w, 0, md);

	md = attach(&w, 0, me, memory(100, 32, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE),
		    UNLINK_NEVER);
	for (int i = 0; i < 3; i++) {
		m.length = 8, m.offset = 24;
		CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
		CHECK_IS(offset, 124);
	}
	m.offset = 25;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.offset = ~0ULL - 3;                 /* offset + length wraps round to 4 */
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.offset = 8, m.length = ~0ULL - 3;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST_PATHS(rule05_truncation)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 20);
	uint64_t offset, bytes;
	handle_t me, md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, memory(100, 32, MD_OP_PUT | MD_TRUNCATE, eq), UNLINK_NEVER);
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(bytes, 20);
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(bytes, 12);
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(bytes, 0);
	for (int i = 0; i < 3; i++) {
		CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
		CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
		CHECK_IS(w.event.rlength, 20);
		CHECK_IS(w.event.mlength, i == 0 ? 20 : i == 1 ? 12 : 0);
		CHECK_IS(w.event.offset, i == 0 ? 0 : i == 1 ? 20 : 32);
	}
	remove_md(&w, 0, md);
	md = attach(&w, 0, me, memory(100, 32, MD_OP_PUT | MD_TRUNCATE | MD_MANAGE_REMOTE,
				      EQ_NONE), UNLINK_NEVER);
	m.offset = 33;                        /* past the end: nothing fits */
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(bytes, 0);
	m.offset = ~0ULL;
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(bytes, 0);
	m.offset = 30, m.length = ~0ULL;
	CHECK_IS(arrives(&w, 0, m, &offset, &bytes), DELIVER_OK);
	CHECK_IS(bytes, 2);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST_PATHS(rule06_max_size)
{
	struct world w;
	struct md_args args = memory(0, 32, MD_OP_PUT | MD_MAX_SIZE, EQ_NONE);
	handle_t me, md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	me = new_me(&w, 0, 5);
	args.max_size = 12;
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 20), DELIVER_OK);         /* 12 remain: not below max_size */
	CHECK_IS(put_arrives(&w, 5, 1), DELIVER_OK);
	CHECK_IS(put_arrives(&w, 5, 1), DELIVER_DROPPED);     /* now inactive */
	CHECK(md_lookup(&w.views[0], md) != 0);
	remove_md(&w, 0, md);

	args.eq_handle = eq;
	for (int threshold = -1; threshold <= 2; threshold++) {
		if (threshold == 0)
			continue;
		args.threshold = threshold;
		md = attach(&w, 0, me, args, UNLINK_AUTO);
		CHECK_IS(put_arrives(&w, 5, 21), DELIVER_OK);
		CHECK(!md_lookup(&w.views[0], md));
		CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
		CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
		CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
		CHECK_IS(next(&w, 0, eq), -1);
	}
	args.threshold = MD_THRESH_INF;
	args.options |= MD_MANAGE_REMOTE;                     /* disables max_size */
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(put_arrives(&w, 5, 32), DELIVER_OK);
	CHECK_IS(put_arrives(&w, 5, 32), DELIVER_OK);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST_PATHS(rule07_threshold_at_the_target)
{
	struct world w;
	struct md_args args = memory(0, 64, MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE, EQ_NONE);
	handle_t me, md;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	args.threshold = 2;
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(md_lookup(&w.views[0], md)->user.threshold, 1);
	CHECK_IS(arrives(&w, 0, request(MESSAGE_GET, 1, 0, 5, 8), 0, 0), DELIVER_OK);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_DROPPED);
	CHECK_IS(md_lookup(&w.views[0], md)->user.threshold, 0);
	remove_md(&w, 0, md);
	args.threshold = MD_THRESH_INF;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	for (int i = 0; i < 100; i++)
		CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(md_lookup(&w.views[0], md)->user.threshold, MD_THRESH_INF);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST_PATHS(rule08_unlink_at_begin_gone_at_end)
{
	struct world w;
	struct process_view *view = &w.views[0];
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct md_args args = memory(0, 64, MD_OP_PUT, EQ_NONE);
	struct me_args any = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID,
			       .unlink = UNLINK_AUTO };
	struct grant first, second;
	handle_t me, md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	me = new_me_with(&w, 0, PT, any);
	args.threshold = 2, args.eq_handle = eq;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(deliver_begin(view, &m, 1, &first, &answer), DELIVER_OK);
	CHECK(me_lookup(view, me) != 0);
	CHECK_IS(deliver_begin(view, &m, 1, &second, &answer), DELIVER_OK);
	CHECK(!me_lookup(view, me));          /* the entry was unlinked with its list */
	CHECK(md_lookup(view, md) != 0);      /* the descriptor is pinned */
	CHECK_IS(md_unlink(view, md), PORTALS_MD_IN_USE);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_DROPPED);
	CHECK_IS(deliver_end(view, &second, NI_OK, &answer), DELIVER_OK);
	CHECK(md_lookup(view, md) != 0);
	CHECK_IS(second.events, 1);
	CHECK_IS(deliver_end(view, &first, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(first.events, 2);
	CHECK(!md_lookup(view, md));
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	CHECK(w.event.md_handle == md);
	CHECK_IS(w.event.md.threshold, 0);
	CHECK_IS(next(&w, 0, eq), -1);
	CHECK_IS(eq_lookup(view, eq)->begun, 0);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST_PATHS(rule08_retained_entry_and_threshold_zero_at_creation)
{
	struct world w;
	struct md_args args = memory(0, 64, MD_OP_PUT, EQ_NONE);
	handle_t me, md;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	args.threshold = 1;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK(!md_lookup(&w.views[0], md));
	CHECK(me_lookup(&w.views[0], me) != 0);       /* PTL_RETAIN */
	args.threshold = 0;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_DROPPED);
	CHECK(md_lookup(&w.views[0], md) != 0);   /* an initial threshold of 0 unlinks nothing */
	remove_md(&w, 0, md);
	args.threshold = 1;
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK(md_lookup(&w.views[0], md) != 0);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule09_nothing_outside_the_range)
{
	struct world w;
	uint8_t before[SEGMENT], payload[256];
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 256), answer;
	struct grant grant;
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(1000, 100, MD_OP_PUT | MD_TRUNCATE, EQ_NONE), UNLINK_NEVER);
	memset(payload, 0, sizeof(payload));
	memcpy(before, w.views[0].memory, SEGMENT);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	/* parts in any order, one across the end, some past it */
	deliver_data(&w.views[0], &grant, 200, payload + 200, 56);
	deliver_data(&w.views[0], &grant, 90, payload + 90, 110);
	deliver_data(&w.views[0], &grant, 0, payload, 90);
	deliver_data(&w.views[0], &grant, 100, payload, ~0ULL);
	deliver_data(&w.views[0], &grant, ~0ULL, payload, 10);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK(!memcmp(before, w.views[0].memory, 1000));
	CHECK(!memcmp(payload, w.views[0].memory + 1000, 100));
	CHECK(!memcmp(before + 1100, w.views[0].memory + 1100, SEGMENT - 1100));
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST_PATHS(rule18_events_of_a_put_and_a_get)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 0x55, 8), answer;
	struct md_args args = memory(100, 64, MD_OP_PUT | MD_OP_GET, EQ_NONE);
	struct grant grant;
	handle_t me, md, eq;
	uint64_t number;
	uint32_t link;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	args.eq_handle = eq, args.threshold = 5;
	me = new_me(&w, 0, 0x55);
	md = attach(&w, 0, me, args, UNLINK_NEVER);
	m.hdr_data = 0xdddd, m.offset = 3;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(grant.events, 1);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	link = w.event.link;
	number = w.event.sequence;
	CHECK_IS(w.event.md.threshold, 4);
	CHECK_IS(next(&w, 0, eq), -1);        /* END is not there before the data is */
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(grant.events, 1);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(w.event.link, link);
	CHECK_IS(w.event.sequence, number + 1);
	CHECK_IS(w.event.initiator.nid, 1);
	CHECK_IS(w.event.initiator.pid, 1);
	CHECK_IS(w.event.uid, 1000);
	CHECK_IS(w.event.jid, JOB);
	CHECK_IS(w.event.pt_index, PT);
	CHECK_IS(w.event.match_bits, 0x55);
	CHECK_IS(w.event.rlength, 8);
	CHECK_IS(w.event.mlength, 8);
	CHECK_IS(w.event.offset, 0);
	CHECK(w.event.md_handle == md);
	CHECK_IS((uintptr_t)w.event.md.start, BASE + 100);
	CHECK_IS(w.event.md.length, 64);
	CHECK_IS(w.event.md.threshold, 4);
	CHECK_IS(w.event.md.options, MD_OP_PUT | MD_OP_GET);
	CHECK_IS((uintptr_t)w.event.md.user_ptr, 0x1234);
	CHECK(w.event.md.eq_handle == eq);
	CHECK_IS(w.event.hdr_data, 0xdddd);
	CHECK_IS(w.event.ni_fail_type, NI_OK);
	m.operation = MESSAGE_GET, m.hdr_data = 0;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), EVENT_GET_START);
	CHECK(w.event.link != link);
	link = w.event.link;
	CHECK_IS(next(&w, 0, eq), EVENT_GET_END);
	CHECK_IS(w.event.link, link);
	CHECK_IS(w.event.offset, 8);
	CHECK_IS(next(&w, 0, eq), -1);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST_PATHS(rule19_event_options)
{
	struct world w;
	struct md_args args = memory(0, 64, 0, EQ_NONE);
	struct initiator_args send;
	handle_t me, md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	me = new_me(&w, 0, 5);
	args.eq_handle = eq, args.threshold = 1;
	args.options = MD_OP_PUT | MD_EVENT_START_DISABLE;
	attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	args.options = MD_OP_PUT | MD_EVENT_END_DISABLE;
	attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	args.options = MD_OP_PUT | MD_EVENT_UNLINK_DISABLE;
	attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(next(&w, 0, eq), -1);
	CHECK_IS(w.views[0].block->pools[POOL_MD].used, 0);
	args.options = MD_OP_PUT | MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE;
	attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	CHECK_IS(next(&w, 0, eq), -1);
	/* the same at the initiator: a put to itself causes only ACK and UNLINK */
	attach(&w, 0, me, memory(0, 64, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	args.threshold = 2;
	md = bind(&w, 0, args, UNLINK_AUTO);
	send = to(md, 0, 5);
	send.ack = ACK_YES;
	CHECK_IS(put(&w, 0, send), 0);
	CHECK_IS(next(&w, 0, eq), EVENT_ACK);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	CHECK_IS(next(&w, 0, eq), -1);
	args.threshold = 1;
	md = bind(&w, 0, args, UNLINK_AUTO);
	CHECK_IS(get(&w, 0, to(md, 0, 6)), 0);        /* dropped, and silent */
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	CHECK_IS(next(&w, 0, eq), -1);
	CHECK_IS(eq_lookup(&w.views[0], eq)->begun, 0);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule34_no_record_is_busy_not_a_drop)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct grant grants[9];
	handle_t me;

	world_open(&w, &small_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 1024, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	for (int i = 0; i < 8; i++)
		CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grants[i], &answer), DELIVER_OK);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grants[8], &answer), DELIVER_BUSY);
	CHECK_IS(status(&w, 0, STAT_BUSY), 1);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 0);
	CHECK_IS(deliver_end(&w.views[0], &grants[3], NI_OK, &answer), DELIVER_OK);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grants[8], &answer), DELIVER_OK);
	CHECK_IS(grants[8].offset, 64);       /* BUSY did not move the offset */
	CHECK_IS(deliver_end(&w.views[0], &grants[3], NI_OK, &answer), DELIVER_STALE);
	for (int i = 0; i < 9; i++)
		if (i != 3)
			CHECK_IS(deliver_end(&w.views[0], &grants[i], NI_OK, &answer), DELIVER_OK);
	CHECK_IS(status(&w, 0, STAT_OP_HIGH), 8);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule22_failed_delivery_ends)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct grant grant;
	handle_t me, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 64, MD_OP_PUT, eq), UNLINK_NEVER);
	m.ack_request = ACK_YES;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(grant.answers, 0);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_FAIL, &answer), DELIVER_OK);
	CHECK_IS(grant.answers, 1);
	CHECK_IS(answer.fail, NI_FAIL);
	CHECK_IS(answer.mlength, 0);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(status(&w, 0, STAT_FAILED), 1);
	CHECK_IS(status(&w, 0, STAT_BYTES_IN), 0);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

/* The descriptor accepts a put and a get. Neither fits a kind that is not a request. */
TEST_PATHS(message_of_unknown_kind_is_dropped)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8);
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 64, MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE, EQ_NONE),
	       UNLINK_NEVER);
	for (int operation = 0; operation < 256; operation++) {
		if (operation == MESSAGE_BARRIER ||
		    (operation >= MESSAGE_PUT && operation <= MESSAGE_FETCH_ATOMIC))
			continue;
		m.operation = (uint8_t)operation;
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	}
	CHECK_IS(status(&w, 0, STAT_DROPPED), 248);
	CHECK(shows(&w, 0, 0, 0, 0, 64));
	m.operation = MESSAGE_PUT;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	remove_me(&w, 0, me);
	world_close(&w);
}

/*
 * max_size unlinks a descriptor while a get on it is pending; the reply then uses up its threshold.
 * It must not be unlinked twice: its queue would expect an UNLINK event forever, and a PtlMDUpdate
 * that tests the queue would never succeed.
 */
TEST(rule08_leaves_once_by_max_size_and_threshold)
{
	struct md_args args;
	struct initiator_args get_args;
	struct message m, answer;
	struct grant grant;
	struct world w;
	handle_t eq, md;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	args = memory(1000, 64, MD_OP_PUT | MD_MAX_SIZE, eq);
	args.threshold = 2, args.max_size = 60;
	md = attach(&w, 0, new_me_with(&w, 0, PT, (struct me_args){ .match_bits = 5,
		    .nid = ANY_ID, .pid = ANY_ID, .unlink = UNLINK_AUTO }), args, UNLINK_AUTO);
	get_args = to(md, 1, 5);
	CHECK_IS(initiator_get(&w.views[0], &get_args, &m), 0);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK(message_refuse(&m, NI_DROPPED, &answer));
	CHECK_IS(deliver_begin(&w.views[0], &answer, 1, &grant, &m), DELIVER_OK);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &m), DELIVER_OK);
	CHECK_IS(eq_lookup(&w.views[0], eq)->begun, 0);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(next(&w, 0, eq), EVENT_REPLY_START);
	CHECK_IS(next(&w, 0, eq), EVENT_REPLY_END);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	CHECK_IS(next(&w, 0, eq), -1);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule06_max_size_counts_with_its_option_only)
{
	struct md_args args;
	struct world w;
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	args = memory(1000, 64, MD_OP_PUT, EQ_NONE);
	args.max_size = 60;
	attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(put_arrives(&w, 5, 56), DELIVER_OK);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* A payload longer than the grant, in parts as a link delivers it. */
TEST(rule09_what_was_not_granted_is_not_written)
{
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 64), answer;
	uint8_t payload[64];
	struct grant grant;
	struct world w;
	handle_t me;

	world_open(&w, &test_limits);
	memset(payload, 0xee, sizeof(payload));
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(1000, 24, MD_OP_PUT | MD_TRUNCATE, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(grant.bytes, 24);
	for (uint64_t at = 0; at < 64; at += 16)
		deliver_data(&w.views[0], &grant, at, payload + at, 16);
	deliver_data(&w.views[0], &grant, 0, payload, 64);
	deliver_data(&w.views[0], &grant, 1ULL << 40, payload, 64);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(w.views[0].memory[1000], 0xee);
	CHECK_IS(w.views[0].memory[1023], 0xee);
	CHECK(shows(&w, 0, 1024, 0, 1024, 200));
	CHECK(shows(&w, 0, 900, 0, 900, 100));
	remove_me(&w, 0, me);
	world_close(&w);
}

/* The call that records PUT_END also returns the complete ack. */
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
