/*
 * Whole operations between processes: what the initiator sees. Rules 7, 18, 22,
 * 25, 28, 30, 33, 34. Answers are in test_answer.c.
 */
#include "world.h"

TEST_PATHS(rule18_put_events_and_data)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	uint32_t link;

	CHECK_IS(put(&w, 1, to(pair.source, 0, 5)), 0);
	CHECK(shows(&w, 0, 1000, 1, 2000, 64));
	CHECK(shows(&w, 0, 0, 0, 0, 1000) && shows(&w, 0, 1064, 0, 1064, 1000));
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	link = w.event.link;
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(w.event.link, link);
	CHECK_IS(w.event.rlength, 64);
	CHECK_IS(w.event.mlength, 64);
	CHECK_IS(w.event.initiator.nid, 1);
	CHECK_IS(w.event.match_bits, 5);
	CHECK_IS(w.event.pt_index, PT);
	CHECK_IS(w.event.hdr_data, 0xabcdef);
	CHECK(w.event.md_handle == pair.source);
	CHECK_IS(next(&w, 1, pair.events), -1);       /* no ack was requested */
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_END);
	CHECK_IS(w.event.hdr_data, 0xabcdef);
	CHECK_IS(status(&w, 1, STAT_MESSAGES_OUT), 1);
	CHECK_IS(status(&w, 1, STAT_BYTES_OUT), 64);
	CHECK_IS(status(&w, 0, STAT_BYTES_IN), 64);
	CHECK_IS(eq_lookup(&w.views[1], pair.events)->begun, 0);
	pair_close(&w, &pair);
}

TEST_PATHS(rule07_threshold_of_a_put_with_ack)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, 2, UNLINK_AUTO);
	struct initiator_args args = to(pair.source, 0, 5);

	args.ack = ACK_YES;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(w.event.md.threshold, 1);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.md.threshold, 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_UNLINK);
	CHECK_IS(next(&w, 1, pair.events), -1);
	CHECK(!md_lookup(&w.views[1], pair.source));
	CHECK_IS(put(&w, 1, args), PORTALS_MD_INVALID);
	pair_close(&w, &pair);

	pair = pair_open(&w, 0, 1, UNLINK_AUTO);      /* unlinked when sent; the ack comes */
	args.md = pair.source;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_UNLINK);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.md.length, 0);
	CHECK_IS(next(&w, 1, pair.events), -1);
	pair_close(&w, &pair);

	pair = pair_open(&w, 0, 1, UNLINK_NEVER);     /* an ack is accepted at threshold 0 */
	args.md = pair.source;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.md.threshold, 0);
	CHECK_IS(put(&w, 1, args), PORTALS_MD_INVALID);
	pair_close(&w, &pair);
}

TEST(rule07_threshold_of_a_get)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, 1, UNLINK_AUTO);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message first, second, none;
	struct grant grant;

	/* two gets at threshold 1: the second one's reply is accepted at 0 */
	CHECK_IS(initiator_get(&w.views[1], &args, &first), 0);
	CHECK_IS(initiator_get(&w.views[1], &args, &second), 0);
	CHECK_IS(md_lookup(&w.views[1], pair.source)->user.threshold, 1);
	CHECK(message_refuse(&first, NI_OK, &first));
	CHECK(message_refuse(&second, NI_OK, &second));
	first.mlength = second.mlength = 64;
	CHECK_IS(deliver_begin(&w.views[1], &first, 1, &grant, &none), DELIVER_OK);
	CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
	CHECK(md_lookup(&w.views[1], pair.source) != 0);
	CHECK_IS(deliver_begin(&w.views[1], &second, 1, &grant, &none), DELIVER_OK);
	CHECK_IS(grant.bytes, 64);
	CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
	CHECK(!md_lookup(&w.views[1], pair.source));
	for (int i = 0; i < 2; i++) {
		CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
		CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
		CHECK_IS(w.event.md.threshold, 0);
	}
	CHECK_IS(next(&w, 1, pair.events), EVENT_UNLINK);
	CHECK_IS(next(&w, 1, pair.events), -1);
	pair_close(&w, &pair);
}

TEST_PATHS(rule22_unreachable_target_fails)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 2, 5);

	w.loop.dead = 1 << 2;
	args.ack = ACK_YES;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(w.event.ni_fail_type, NI_OK);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(get(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(next(&w, 1, pair.events), -1);
	CHECK_IS(status(&w, 1, STAT_FAILED), 3);
	pair_close(&w, &pair);
}

TEST(rule25_pending_operations_pin)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message m, answer, none;
	struct grant source, grant;

	args.ack = ACK_YES;
	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(md_unlink(&w.views[1], pair.source), PORTALS_MD_IN_USE);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(md_unlink(&w.views[0], pair.md), PORTALS_MD_IN_USE);
	CHECK_IS(me_unlink(&w.views[0], pair.me), PORTALS_ME_IN_USE);
	CHECK(me_lookup(&w.views[0], pair.me) != 0);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(md_unlink(&w.views[0], pair.md), 0);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	CHECK_IS(deliver_begin(&w.views[1], &answer, 1, &grant, &none), DELIVER_OK);
	CHECK_IS(initiator_get(&w.views[1], &args, &m), 0);
	CHECK_IS(md_unlink(&w.views[1], pair.source), PORTALS_MD_IN_USE);
	message_refuse(&m, NI_DROPPED, &answer);
	CHECK_IS(deliver_begin(&w.views[1], &answer, 1, &grant, &none), DELIVER_OK);
	CHECK_IS(md_unlink(&w.views[1], pair.source), PORTALS_MD_IN_USE);
	CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
	CHECK_IS(md_unlink(&w.views[1], pair.source), 0);
	pair_close(&w, &pair);
}

TEST_PATHS(rule33_initiator_bad_arguments)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	const struct initiator_args good = to(pair.source, 0, 5);
	struct md_args inactive = memory(0, 8, 0, EQ_NONE);
	struct initiator_args args;
	handle_t none;

	inactive.threshold = 0;
	none = bind(&w, 1, inactive, UNLINK_NEVER);
#define REFUSED(change, error) \
	args = good; \
	change; \
	CHECK_IS(put(&w, 1, args), error); \
	CHECK_IS(get(&w, 1, args), error)
	REFUSED(args.md = 0, PORTALS_MD_INVALID);
	REFUSED(args.md = pair.events, PORTALS_MD_INVALID);
	REFUSED(args.md = none, PORTALS_MD_INVALID);
	REFUSED(args.md = pair.source + HANDLE_NEXT, PORTALS_MD_INVALID);
	REFUSED(args.target_nid = ANY_ID, PORTALS_PROCESS_INVALID);
	REFUSED(args.target_pid = ANY_ID, PORTALS_PROCESS_INVALID);
	REFUSED((args.local_offset = 60, args.length = 5), PORTALS_MD_ILLEGAL);
	REFUSED((args.local_offset = 65, args.length = 0), PORTALS_MD_ILLEGAL);
	REFUSED((args.local_offset = ~0ULL - 3, args.length = 8), PORTALS_MD_ILLEGAL);
	REFUSED((args.local_offset = 8, args.length = ~0ULL - 3), PORTALS_MD_ILLEGAL);
	CHECK_IS(next(&w, 1, pair.events), -1);
	CHECK_IS(status(&w, 1, STAT_MESSAGES_OUT), 0);
	CHECK_IS(md_lookup(&w.views[1], pair.source)->pending, 0);
	remove_md(&w, 1, none);
	pair_close(&w, &pair);
}

TEST_PATHS(region_of_a_descriptor)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);

	args.local_offset = 10, args.length = 20, args.remote_offset = 5;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK(shows(&w, 0, 1005, 1, 2010, 20));
	CHECK(shows(&w, 0, 1000, 0, 1000, 5) && shows(&w, 0, 1025, 0, 1025, 39));
	fill(&w, 0);
	CHECK_IS(get(&w, 1, args), 0);
	CHECK(shows(&w, 1, 2010, 0, 1005, 20));
	CHECK(shows(&w, 1, 2000, 1, 2000, 10) && shows(&w, 1, 2030, 1, 2030, 34));
	pair_close(&w, &pair);
}

TEST(rule34_records_run_out_at_the_initiator)
{
	struct world w;
	struct initiator_args args;
	struct message m[8], more;
	struct grant grant;
	handle_t md, eq;

	world_open(&w, &small_limits);
	eq = new_eq(&w, 1, 32);
	md = bind(&w, 1, memory(0, 8, 0, eq), UNLINK_NEVER);
	args = to(md, 0, 5);
	args.ack = ACK_YES;
	for (int i = 0; i < 8; i++)
		CHECK_IS(initiator_get(&w.views[1], &args, &m[i]), 0);
	CHECK_IS(initiator_get(&w.views[1], &args, &more), PORTALS_NO_SPACE);
	CHECK_IS(initiator_put(&w.views[1], &args, &more, &grant), PORTALS_NO_SPACE);
	CHECK_IS(next(&w, 1, eq), -1);
	CHECK_IS(block_pending(&w.views[1]), 8);
	for (int i = 0; i < 8; i++) {
		message_refuse(&m[i], NI_DROPPED, &more);
		CHECK_IS(deliver_begin(&w.views[1], &more, 1, &grant, &more), DELIVER_OK);
		CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &more), DELIVER_OK);
	}
	remove_md(&w, 1, md);
	remove_eq(&w, 1, eq);
	world_close(&w);
}

TEST_PATHS(rule34_overlap_to_oneself)
{
	struct world w;
	handle_t me, md;

	for (int shift = -40; shift <= 40; shift += 20) {
		world_open(&w, &test_limits);
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, memory((uint64_t)(1000 + shift), 64, MD_OP_PUT | MD_OP_GET,
					 EQ_NONE), UNLINK_NEVER);
		md = bind(&w, 0, memory(1000, 64, 0, EQ_NONE), UNLINK_NEVER);
		CHECK_IS(put(&w, 0, to(md, 0, 5)), 0);
		CHECK(shows(&w, 0, (uint64_t)(1000 + shift), 0, 1000, 64));
		remove_me(&w, 0, me);
		fill(&w, 0);
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, memory((uint64_t)(1000 + shift), 64, MD_OP_GET, EQ_NONE),
		       UNLINK_NEVER);
		CHECK_IS(get(&w, 0, to(md, 0, 5)), 0);
		CHECK(shows(&w, 0, 1000, 0, (uint64_t)(1000 + shift), 64));
		remove_me(&w, 0, me);
		remove_md(&w, 0, md);
		world_close(&w);
	}
}

TEST(rule28_identity_is_the_kernels)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct grant source;
	struct message m;

	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(m.source_nid, 1);
	CHECK_IS(m.source_pid, 1);
	CHECK_IS(m.uid, 1000);
	CHECK_IS(m.jid, JOB);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	pair_close(&w, &pair);
}

TEST_PATHS(rule30_order_between_two_processes)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);

	for (uint64_t i = 0; i < 10; i++) {
		args.hdr_data = i;
		CHECK_IS(put(&w, 1, args), 0);
	}
	for (uint64_t i = 0; i < 10; i++) {
		CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_START);
		CHECK_IS(w.event.hdr_data, i);
		CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_END);
		CHECK_IS(w.event.hdr_data, i);
	}
	pair_close(&w, &pair);
}

TEST(freed_queue_records_nothing)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, 1, UNLINK_AUTO);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message m, answer;
	struct grant source, grant;
	handle_t other;

	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	remove_eq(&w, 0, pair.eq);
	remove_eq(&w, 1, pair.events);
	pair.eq = new_eq(&w, 0, 32);
	other = pair.events;
	pair.events = new_eq(&w, 1, 32);
	CHECK_IS(HANDLE_INDEX(other), HANDLE_INDEX(pair.events));
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	CHECK_IS(next(&w, 0, pair.eq), -1);
	CHECK_IS(next(&w, 1, pair.events), -1);
	CHECK_IS(eq_lookup(&w.views[0], pair.eq)->begun, 0);
	CHECK_IS(eq_lookup(&w.views[1], pair.events)->begun, 0);
	pair_close(&w, &pair);
}

/* initiator_fast_put, the fast path for puts, leaves other puts to initiator_put and then changes
 * nothing. */
TEST(rule07_plainest_puts_only_of_active_descriptors)
{
	static const struct { int32_t threshold; int unlink, queue; uint32_t options; int fast; }
	cases[] = {
		{ MD_THRESH_INF, UNLINK_NEVER, 0, 0, 1 }, { 2, UNLINK_NEVER, 0, 0, 1 },
		{ 0, UNLINK_NEVER, 0, 0, 0 }, { 1, UNLINK_AUTO, 0, 0, 0 },
		{ 2, UNLINK_NEVER, 1, 0, 0 }, { 2, UNLINK_NEVER, 0, MD_IOVEC, 0 },
		{ 2, UNLINK_NEVER, 1, MD_EVENT_START_DISABLE, 0 },
		{ 2, UNLINK_NEVER, 1, MD_EVENT_END_DISABLE, 0 },
		{ 2, UNLINK_NEVER, 1, MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE, 1 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct initiator_args put_args;
		struct md_args args;
		struct message m;
		struct grant grant;
		struct world w;
		handle_t eq, md;

		world_open(&w, &test_limits);
		eq = new_eq(&w, 0, 8);
		args = memory(1000, 16, cases[i].options, cases[i].queue ? eq : EQ_NONE);
		args.threshold = cases[i].threshold;
		if (cases[i].options & MD_IOVEC)
			args.length = 0;
		md = bind(&w, 0, args, cases[i].unlink);
		put_args = to(md, 1, 5);
		CHECK_IS(initiator_fast_put(&w.views[0], &put_args, 17, &m, &grant), cases[i].fast);
		CHECK_IS(status(&w, 0, STAT_MESSAGES_OUT), cases[i].fast);
		CHECK_IS(md_lookup(&w.views[0], md)->user.threshold,
			 cases[i].threshold > 0 ? cases[i].threshold - cases[i].fast
						: cases[i].threshold);
		if (cases[i].fast) {
			CHECK_IS(m.length, 16);
			CHECK_IS(grant.offset, 1000);
			CHECK_IS(grant.bytes, 16);
		}
		put_args.length = 17;         /* longer than the descriptor */
		CHECK_IS(initiator_fast_put(&w.views[0], &put_args, 17, &m, &grant), 0);
		put_args = to(md + HANDLE_NEXT, 1, 5);
		CHECK_IS(initiator_fast_put(&w.views[0], &put_args, 17, &m, &grant), 0);
		put_args = to(md, 1, 5);
		put_args.target_pid = ANY_ID;
		CHECK_IS(initiator_fast_put(&w.views[0], &put_args, 17, &m, &grant), 0);
		put_args = to(md, 1, 5);
		put_args.ack = ACK_YES;         /* requested only if a queue can take it */
		CHECK_IS(initiator_fast_put(&w.views[0], &put_args, 17, &m, &grant), cases[i].fast);
		CHECK(!cases[i].fast ||
		      (m.ack_request == (cases[i].queue ? ACK_YES : ACK_NO) &&
		       m.eq_handle == (cases[i].queue ? eq : EQ_NONE)));
		CHECK_IS(block_pending(&w.views[0]), 0);
		remove_md(&w, 0, md);
		remove_eq(&w, 0, eq);
		world_close(&w);
	}
}
