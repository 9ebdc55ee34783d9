/*
 * Operations that are always delivered in one step: GETPUT and FETCH_ATOMIC with all their errors,
 * barriers, and the limits of deliver_inline. [M]
 */
#include <string.h>
#include "world.h"

/* PtlGetPut of process 1: exchange 8 bytes at 2100 with those at 1000 of process 0. */
static struct initiator_args exchange(handle_t get_md, handle_t put_md)
{
	struct initiator_args args = to(get_md, 0, 5);

	args.operation = MESSAGE_GETPUT;
	args.put_md = put_md;
	return args;
}

static handle_t small(struct world *w, uint64_t offset, uint64_t length, handle_t eq)
{
	return bind(w, 1, memory(offset, length, 0, eq), UNLINK_NEVER);
}

TEST(getput_swaps_and_tells_both_sides)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	handle_t put_md = small(&w, 2100, 8, pair.events), both;
	struct initiator_args args = exchange(pair.source, put_md);
	uint32_t link;

	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK(shows(&w, 1, 2000, 0, 1000, 8));
	CHECK(shows(&w, 1, 2008, 1, 2008, 56));
	CHECK(shows(&w, 0, 1000, 1, 2100, 8));
	CHECK(shows(&w, 0, 1008, 0, 1008, 56));
	CHECK_IS(next(&w, 0, pair.eq), EVENT_GETPUT_START);
	link = w.event.link;
	CHECK_IS(next(&w, 0, pair.eq), EVENT_GETPUT_END);
	CHECK_IS(w.event.link, link);
	CHECK_IS(w.event.mlength, 8);
	CHECK_IS(w.event.hdr_data, 0xabcdef);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK(w.event.md_handle == put_md);
	link = w.event.link;
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK(w.event.md_handle == pair.source);
	CHECK_IS(w.event.link, link);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.mlength, 8);
	CHECK_IS(status(&w, 0, STAT_BYTES_IN), 8);
	CHECK_IS(status(&w, 0, STAT_BYTES_OUT), 8);
	CHECK_IS(status(&w, 1, STAT_BYTES_IN), 8);
	CHECK_IS(status(&w, 1, STAT_BYTES_OUT), 8);
	/* the reply is cut to the length of get_md; both descriptors may be the same */
	fill(&w, 0), fill(&w, 1);
	both = small(&w, 2200, 4, EQ_NONE);
	args = exchange(both, put_md);
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK(shows(&w, 1, 2200, 0, 1000, 4) && shows(&w, 1, 2204, 1, 2204, 60));
	CHECK(shows(&w, 0, 1000, 1, 2100, 8));
	fill(&w, 0), fill(&w, 1);
	args = exchange(put_md, put_md);
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK(shows(&w, 1, 2100, 0, 1000, 8) && shows(&w, 0, 1000, 1, 2100, 8));
	remove_md(&w, 1, both);
	remove_md(&w, 1, put_md);
	pair_close(&w, &pair);
}

TEST(rule33_exchange_arguments)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct md_args idle = memory(2300, 8, 0, EQ_NONE);
	handle_t put_md = small(&w, 2100, 8, EQ_NONE), long_md, idle_md;
	struct initiator_args args;

	idle.threshold = 0;
	idle_md = bind(&w, 1, idle, UNLINK_NEVER);
	long_md = small(&w, 2100, 65, EQ_NONE);
	args = exchange(put_md + HANDLE_NEXT, put_md);
	CHECK_IS(getput(&w, 1, &args), PORTALS_MD_INVALID);
	args = exchange(put_md, idle_md);
	CHECK_IS(getput(&w, 1, &args), PORTALS_MD_INVALID);
	args = exchange(idle_md, put_md);
	CHECK_IS(getput(&w, 1, &args), PORTALS_MD_INVALID);
	args = exchange(put_md, long_md);             /* more than may be exchanged */
	CHECK_IS(getput(&w, 1, &args), PORTALS_MD_ILLEGAL);
	args = exchange(long_md, put_md);             /* get_md may be longer */
	CHECK_IS(getput(&w, 1, &args), 0);
	args.most = 7;
	CHECK_IS(getput(&w, 1, &args), PORTALS_MD_ILLEGAL);
	args = exchange(put_md, put_md);
	args.target_pid = ANY_ID;
	CHECK_IS(getput(&w, 1, &args), PORTALS_PROCESS_INVALID);
	args = exchange(put_md, put_md);
	args.operation = MESSAGE_FETCH_ATOMIC;
	args.atomic_operation = ATOMIC_SUM, args.datatype = ATOMIC_INT32;
	args.length = 6;
	CHECK_IS(getput(&w, 1, &args), PORTALS_ATOMIC_INVALID);
	args.length = 68;
	CHECK_IS(getput(&w, 1, &args), PORTALS_ATOMIC_INVALID);
	args.length = 8, args.local_offset = 4;
	CHECK_IS(getput(&w, 1, &args), PORTALS_MD_ILLEGAL);
	args.local_offset = 0, args.put_offset = 4;
	CHECK_IS(getput(&w, 1, &args), PORTALS_MD_ILLEGAL);
	args.put_offset = 0, args.atomic_operation = ATOMIC_CSWAP;
	CHECK_IS(getput(&w, 1, &args), PORTALS_MD_ILLEGAL);
	args.length = 4;                              /* two values of 4 bytes fit */
	CHECK_IS(getput(&w, 1, &args), 0);
	args.atomic_operation = ATOMIC_OPERATIONS;
	CHECK_IS(getput(&w, 1, &args), PORTALS_ATOMIC_INVALID);
	CHECK_IS(status(&w, 1, STAT_MESSAGES_OUT), 2);
	CHECK_IS(status(&w, 1, STAT_OP_USED), 0);
	remove_md(&w, 1, long_md);
	remove_md(&w, 1, idle_md);
	remove_md(&w, 1, put_md);
	pair_close(&w, &pair);
}

TEST(rule04_exchange_wants_put_and_get)
{
	static const uint32_t options[] = { MD_OP_PUT, MD_OP_GET, MD_OP_PUT | MD_OP_GET };
	struct world w;

	for (int i = 0; i < 3; i++) {
		struct initiator_args args;
		handle_t me, md;

		world_open(&w, &test_limits);
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, memory(1000, 8, options[i], EQ_NONE), UNLINK_NEVER);
		md = small(&w, 2100, 8, EQ_NONE);
		args = exchange(md, md);
		CHECK_IS(getput(&w, 1, &args), 0);
		CHECK_IS(status(&w, 0, STAT_DROPPED), i < 2);
		CHECK(shows(&w, 0, 1000, i < 2 ? 0 : 1, i < 2 ? 1000 : 2100, 8));
		remove_md(&w, 1, md);
		remove_me(&w, 0, me);
		world_close(&w);
	}
}

TEST(rule07_exchange_spends_both_descriptors)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct md_args once = memory(2100, 8, 0, pair.events);
	struct initiator_args args;
	handle_t md;

	once.threshold = 2;
	md = bind(&w, 1, once, UNLINK_AUTO);
	args = exchange(md, md);
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(w.event.md.threshold, 1);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.md.threshold, 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_UNLINK);
	CHECK(!md_lookup(&w.views[1], md));
	once.threshold = 1;   /* unlinked by the send, pinned for its reply */
	md = bind(&w, 1, once, UNLINK_AUTO);
	args = exchange(md, md);
	CHECK_IS(getput(&w, 1, &args), 0);
	for (int i = 0; i < 4; i++)
		CHECK(next(&w, 1, pair.events) != EVENT_UNLINK);
	CHECK_IS(next(&w, 1, pair.events), EVENT_UNLINK);
	CHECK(!md_lookup(&w.views[1], md));
	pair_close(&w, &pair);
}

TEST(rule16_rule22_exchange_that_fails)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	handle_t md = small(&w, 2100, 8, pair.events);
	struct initiator_args args = exchange(md, md);

	args.match_bits = 6;   /* no entry matches: discarded, yet answered */
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(w.event.ni_fail_type, NI_OK);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.ni_fail_type, NI_DROPPED);
	CHECK_IS(w.event.mlength, 0);
	w.loop.dead = 1;                              /* the target has died */
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(w.event.ni_fail_type, NI_OK);        /* the failure came before it was sent */
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK(shows(&w, 1, 0, 1, 0, WORDS) && shows(&w, 0, 0, 0, 0, WORDS));
	remove_md(&w, 1, md);
	pair_close(&w, &pair);
}

TEST(inline_limits)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	static const uint8_t payload[DELIVER_OPERAND_BYTES];
	uint8_t fetched[DELIVER_INLINE_BYTES];
	struct message m, answer;
	struct grant grant;

	for (uint8_t operation = MESSAGE_PUT; operation < MESSAGE_BARRIER; operation++) {
		if (operation == MESSAGE_ACK || operation == MESSAGE_REPLY)
			continue;
		m = request(operation, 1, 0, 5, DELIVER_INLINE_BYTES + 1);
		CHECK_IS(deliver_inline(&w.views[0], &m, payload, &grant, &answer, fetched),
			 DELIVER_DROPPED);
		CHECK_IS(grant.answers, message_fetches(operation));
		m.length = DELIVER_INLINE_BYTES;
		CHECK_IS(deliver_inline(&w.views[0], &m, payload, &grant, &answer, fetched),
			 DELIVER_OK);
		CHECK_IS(grant.bytes, DELIVER_INLINE_BYTES);
		CHECK(grant.op == HANDLE_NONE);
	}
	m = request(MESSAGE_ATOMIC, 1, 0, 5, 8);
	m.datatype = ATOMIC_TYPES;                    /* no correct kernel sends it */
	CHECK_IS(deliver_inline(&w.views[0], &m, payload, &grant, &answer, 0), DELIVER_DROPPED);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 6);
	CHECK_IS(status(&w, 0, STAT_BUSY), 0);
	CHECK_IS(status(&w, 0, STAT_OP_HIGH), 0);
	pair_close(&w, &pair);
}

TEST(atomic_truncated_to_whole_elements)
{
	struct world w;
	struct pair pair = pair_open(&w, MD_TRUNCATE, MD_THRESH_INF, UNLINK_NEVER);
	static const uint64_t ones[2] = { 1, 1 };
	struct message m = request(MESSAGE_ATOMIC, 1, 0, 5, 16), answer;
	struct grant grant;
	uint64_t before, after;

	m.atomic_operation = ATOMIC_SUM, m.datatype = ATOMIC_UINT64;
	m.offset = 64 - 12;                           /* room for one element and a half */
	memcpy(&before, w.views[0].memory + 1052, 8);
	CHECK_IS(deliver_inline(&w.views[0], &m, ones, &grant, &answer, 0), DELIVER_OK);
	memcpy(&after, w.views[0].memory + 1052, 8);
	CHECK_IS(grant.bytes, 8);
	CHECK_IS(after, before + 1);
	CHECK(shows(&w, 0, 1060, 0, 1060, 100));
	pair_close(&w, &pair);
}

TEST(barrier_messages_are_counted_always)
{
	struct world w;
	struct message m = { .operation = MESSAGE_BARRIER, .target_pid = 1 }, answer;
	struct grant grant;
	uint64_t *barrier;

	world_open(&w, &small_limits);
	barrier = w.views[0].block->barrier;
	block_close(&w.views[0]);
	m.pt_index = 3;
	CHECK_IS(deliver_inline(&w.views[0], &m, 0, &grant, &answer, 0), DELIVER_OK);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK(grant.op == HANDLE_NONE && !grant.answers && !grant.events);
	CHECK_IS(barrier[3], 2);
	block_init(&w.views[0]);                      /* an early one is kept */
	CHECK_IS(barrier[3], 2);
	m.pt_index = BLOCK_BARRIER_FAILED;
	CHECK_IS(deliver_inline(&w.views[0], &m, 0, &grant, &answer, 0), DELIVER_OK);
	CHECK_IS(barrier[BLOCK_BARRIER_FAILED], 1);
	m.pt_index = BLOCK_BARRIER_NEWS;
	CHECK_IS(deliver_inline(&w.views[0], &m, 0, &grant, &answer, 0), DELIVER_DROPPED);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 1);
	block_open(&w.views[0]);
	world_close(&w);
}

TEST(puts_of_the_fast_path)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct md_args once = memory(2100, 8, 0, EQ_NONE);
	struct initiator_args args;
	struct message m;
	struct grant grant;
	handle_t md, other;

	once.threshold = 1;
	md = bind(&w, 1, once, UNLINK_NEVER);
	args = to(md, 0, 5);
	args.ack = ACK_YES;                           /* without a queue no ack is sent (rule 12) */
	CHECK_IS(initiator_fast_put(&w.views[1], &args, 64, &m, &grant), 1);
	CHECK_IS(m.ack_request, ACK_NO);
	CHECK(grant.offset == 2100 && grant.bytes == 8);
	CHECK_IS(md_lookup(&w.views[1], md)->pending, 0);
	CHECK_IS(initiator_fast_put(&w.views[1], &args, 64, &m, &grant), 0); /* threshold 0 */
	CHECK_IS(status(&w, 1, STAT_MESSAGES_OUT), 1);
	CHECK_IS(status(&w, 1, STAT_BYTES_OUT), 8);
	initiator_lost(&w.views[1], 8);
	CHECK_IS(status(&w, 1, STAT_BYTES_OUT), 0);
	CHECK_IS(status(&w, 1, STAT_FAILED), 1);
	initiator_lost(&w.views[1], 8);                 /* of an interface that is closed by now */
	CHECK_IS(status(&w, 1, STAT_BYTES_OUT), 0);
	other = small(&w, 2100, 65, EQ_NONE);              /* too long */
	args.md = other;
	CHECK_IS(initiator_fast_put(&w.views[1], &args, 64, &m, &grant), 0);
	remove_md(&w, 1, other);
	other = small(&w, 2100, 8, EQ_NONE);
	args.md = other;
	args.length = 8, args.local_offset = 1;       /* more than it has */
	CHECK_IS(initiator_fast_put(&w.views[1], &args, 64, &m, &grant), 0);
	CHECK_IS(status(&w, 1, STAT_MESSAGES_OUT), 1);
	args.length = 5, args.local_offset = 3;       /* a region */
	CHECK_IS(initiator_fast_put(&w.views[1], &args, 64, &m, &grant), 1);
	CHECK_IS(grant.offset, 2103);
	CHECK_IS(grant.bytes, 5);
	CHECK_IS(m.length, 5);
	CHECK_IS(status(&w, 1, STAT_MESSAGES_OUT), 2);
	remove_md(&w, 1, other);
	remove_md(&w, 1, md);
	pair_close(&w, &pair);
}
