/*
 * Acks and replies: rules 11 to 17.
 */
#include <string.h>
#include "world.h"

TEST_PATHS(rule15_ack_echoes_the_request)
{
	struct world w;
	struct pair pair = pair_open(&w, MD_TRUNCATE, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	uint32_t link;

	args.ack = ACK_YES, args.remote_offset = 24;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	link = w.event.link;
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.link, link);
	CHECK_IS(w.event.mlength, 40);
	CHECK_IS(w.event.rlength, 64);
	CHECK_IS(w.event.offset, 24);
	CHECK_IS(w.event.match_bits, 5);
	CHECK_IS(w.event.pt_index, PT);
	CHECK_IS(w.event.hdr_data, 0xabcdef);
	CHECK_IS(w.event.initiator.nid, 0);           /* the process that answered */
	CHECK(w.event.md_handle == pair.source);
	CHECK_IS(w.event.ni_fail_type, NI_OK);
	CHECK_IS(next(&w, 1, pair.events), -1);
	pair_close(&w, &pair);
}

TEST(rule12_when_an_ack_is_sent)
{
	struct world w;
	struct pair pair = pair_open(&w, MD_ACK_DISABLE, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message m, answer;
	struct grant source, grant;
	handle_t quiet;

	args.ack = ACK_YES;                           /* the target's descriptor disables it */
	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(m.ack_request, ACK_YES);
	CHECK(m.eq_handle == pair.events && m.md_handle == pair.source);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(grant.answers, 0);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	CHECK_IS(w.views[1].block->pools[POOL_OP].used, 1);
	initiator_unanswered(&w.views[1], &m);        /* else the record would wait forever */
	CHECK_IS(w.views[1].block->pools[POOL_OP].used, 0);
	initiator_unanswered(&w.views[1], &m);        /* once more: harmless */
	remove_md(&w, 0, pair.md);
	pair.md = attach(&w, 0, pair.me, memory(1000, 64, MD_OP_PUT | MD_MANAGE_REMOTE, pair.eq),
			 UNLINK_NEVER);
	quiet = bind(&w, 1, memory(2000, 64, 0, EQ_NONE), UNLINK_NEVER);
	args.md = quiet;                              /* no event queue: no process could see it */
	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(m.ack_request, ACK_NO);
	CHECK_IS(m.op_handle, HANDLE_NONE);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	args.md = pair.source, args.ack = ACK_NO;     /* not asked for */
	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(grant.answers, 0);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	remove_md(&w, 1, quiet);
	remove_md(&w, 1, pair.source);
	remove_eq(&w, 1, pair.events);
	remove_me(&w, 0, pair.me);
	remove_eq(&w, 0, pair.eq);
	world_close(&w);
}

TEST(rule12_ack_is_made_before_the_event)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message m, answer, none;
	struct grant source, grant;

	args.ack = ACK_YES;
	CHECK_IS(initiator_put(&w.views[1], &args, &m, &source), 0);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(grant.answers, 0);                   /* not to be sent before the data is there */
	CHECK_IS(answer.operation, MESSAGE_ACK);      /* but complete, and outside the block */
	memset((void *)&w.views[0].ops[0].head, 0x77, sizeof(struct event_head) - 8);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(grant.answers, 1);
	CHECK_IS(answer.mlength, 64);
	CHECK_IS(answer.target_nid, 1);
	CHECK_IS(initiator_sent(&w.views[1], &m, &source, NI_OK), 0);
	CHECK_IS(deliver_begin(&w.views[1], &answer, 1, &grant, &none), DELIVER_OK);
	pair_close(&w, &pair);
}

TEST(rule13_ack_after_unlink_and_without_queue)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message first, second, third, none;
	struct grant grant;

	args.ack = ACK_YES;
	first = sent_put(&w, 1, &args);
	second = sent_put(&w, 1, &args);
	third = sent_put(&w, 1, &args);
	CHECK_IS(md_unlink(&w.views[1], pair.source), 0);     /* an awaited ack pins nothing */
	CHECK(message_refuse(&first, NI_OK, &first));
	first.mlength = 64;
	CHECK_IS(deliver_begin(&w.views[1], &first, 1, &grant, &none), DELIVER_OK);
	CHECK_IS(grant.op, HANDLE_NONE);
	for (int i = 0; i < 6; i++)
		CHECK_IS(next(&w, 1, pair.events), i % 2 ? EVENT_SEND_END : EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.mlength, 64);
	CHECK(w.event.md_handle == pair.source);
	CHECK_IS(w.event.md.length, 0);               /* it is gone */
	remove_eq(&w, 1, pair.events);
	CHECK(message_refuse(&second, NI_OK, &second));
	CHECK_IS(deliver_begin(&w.views[1], &second, 1, &grant, &none), DELIVER_DROPPED);
	CHECK_IS(status(&w, 1, STAT_DROPPED), 1);
	CHECK_IS(status(&w, 1, STAT_OP_USED), 1);
	pair.events = new_eq(&w, 1, 32);              /* the same slot, but not its queue */
	CHECK(message_refuse(&third, NI_OK, &third));
	CHECK_IS(HANDLE_INDEX(pair.events), HANDLE_INDEX(third.eq_handle));
	CHECK_IS(deliver_begin(&w.views[1], &third, 1, &grant, &none), DELIVER_DROPPED);
	CHECK_IS(status(&w, 1, STAT_DROPPED), 2);
	CHECK_IS(status(&w, 1, STAT_OP_USED), 0);
	CHECK_IS(next(&w, 1, pair.events), -1);
	pair_close(&w, &pair);
}

/* All fields of an answer but the manipulated length are the request's. */
TEST(rule15_the_answer_echoes_the_request)
{
	struct world w;
	struct pair pair = pair_open(&w, MD_TRUNCATE, MD_THRESH_INF, UNLINK_NEVER);
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 64), answer;
	static const uint8_t payload[64];
	struct grant grant;

	m.ack_request = ACK_YES;
	m.offset = 24, m.hdr_data = 7, m.sequence = 8;
	m.md_handle = 9, m.eq_handle = 10, m.op_handle = 11;
	CHECK_IS(deliver_inline(&w.views[0], &m, payload, &grant, &answer, 0), DELIVER_OK);
	CHECK_IS(grant.answers, 1);
	CHECK_IS(answer.operation, MESSAGE_ACK);
	CHECK_IS(answer.mlength, 40);
	CHECK(answer.length == 64 && answer.offset == 24 && answer.match_bits == 5 &&
	      answer.pt_index == PT && answer.hdr_data == 7 && answer.sequence == 8 &&
	      answer.md_handle == 9 && answer.eq_handle == 10 && answer.op_handle == 11);
	CHECK(answer.source_nid == 0 && answer.target_nid == 1);
	pair_close(&w, &pair);
}

TEST_PATHS(rule15_get_events_and_data)
{
	struct world w;
	struct pair pair = pair_open(&w, MD_TRUNCATE, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	uint32_t link;

	args.remote_offset = 4;
	CHECK_IS(get(&w, 1, args), 0);
	CHECK(shows(&w, 1, 2000, 0, 1004, 60));
	CHECK(shows(&w, 1, 2060, 1, 2060, 100));      /* nothing is written after the payload */
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	link = w.event.link;
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.link, link);
	CHECK_IS(w.event.rlength, 64);
	CHECK_IS(w.event.mlength, 60);
	CHECK_IS(w.event.offset, 4);
	CHECK_IS(w.event.match_bits, 5);
	CHECK_IS(w.event.hdr_data, 0);
	CHECK_IS(w.event.initiator.nid, 0);
	CHECK_IS(w.event.ni_fail_type, NI_OK);
	CHECK_IS(next(&w, 1, pair.events), -1);       /* a get has no SEND events */
	CHECK_IS(next(&w, 0, pair.eq), EVENT_GET_START);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_GET_END);
	CHECK_IS(w.event.mlength, 60);
	CHECK_IS(w.event.offset, 4);
	CHECK_IS(status(&w, 0, STAT_BYTES_OUT), 60);
	CHECK_IS(status(&w, 1, STAT_BYTES_IN), 60);
	pair_close(&w, &pair);
}

TEST_PATHS(rule14_reply_discards)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct md_args args = memory(3000, 64, 0, EQ_NONE);
	struct initiator_args want;
	struct message m, reply, none;
	struct grant grant, other;
	handle_t small, md;

	small = new_eq(&w, 1, 2);
	args.eq_handle = small;
	md = bind(&w, 1, args, UNLINK_NEVER);
	want = to(md, 0, 5);
	CHECK_IS(get(&w, 1, want), 0);                /* REPLY_START and REPLY_END fill it */
	CHECK(shows(&w, 1, 3000, 0, 1000, 64));
	fill(&w, 1);
	CHECK_IS(get(&w, 1, want), 0);
	CHECK(shows(&w, 1, 3000, 1, 3000, 64));       /* discarded */
	CHECK_IS(status(&w, 1, STAT_DROPPED), 1);
	CHECK_IS(next(&w, 1, small), EVENT_REPLY_START);
	CHECK_IS(get(&w, 1, want), 0);                /* one free slot is one too few */
	CHECK_IS(status(&w, 1, STAT_DROPPED), 2);
	CHECK_IS(next(&w, 1, small), EVENT_REPLY_END);
	CHECK_IS(next(&w, 1, small), -1);
	/* space is reserved at begin: two replies cannot both use it */
	CHECK_IS(initiator_get(&w.views[1], &want, &m), 0);
	CHECK_IS(initiator_get(&w.views[1], &want, &reply), 0);
	message_refuse(&m, NI_OK, &m);
	message_refuse(&reply, NI_OK, &reply);
	CHECK_IS(deliver_begin(&w.views[1], &m, 1, &grant, &none), DELIVER_OK);
	CHECK_IS(next(&w, 1, small), EVENT_REPLY_START);
	CHECK_IS(deliver_begin(&w.views[1], &reply, 1, &other, &none), DELIVER_DROPPED);
	CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
	CHECK_IS(next(&w, 1, small), EVENT_REPLY_END);
	CHECK_IS(eq_lookup(&w.views[1], small)->reserved, 0);
	CHECK_IS(status(&w, 1, STAT_DROPPED), 3);
	remove_md(&w, 1, md);                         /* discarded replies do not pin it */
	/* without a queue no reply is discarded: neither for threshold 0 nor for its length */
	args.eq_handle = EQ_NONE, args.threshold = 1;
	md = bind(&w, 1, args, UNLINK_NEVER);
	want = to(md, 0, 5);
	CHECK_IS(initiator_get(&w.views[1], &want, &m), 0);
	CHECK_IS(initiator_get(&w.views[1], &want, &reply), 0);
	message_refuse(&m, NI_OK, &m);
	message_refuse(&reply, NI_OK, &reply);
	CHECK_IS(deliver_inline(&w.views[1], &m, 0, &grant, &none, 0), DELIVER_OK);
	CHECK_IS(md_lookup(&w.views[1], md)->user.threshold, 0);
	reply.mlength = 1000;
	CHECK_IS(deliver_begin(&w.views[1], &reply, 1, &grant, &none), DELIVER_OK);
	CHECK_IS(grant.bytes, 64);
	CHECK_IS(grant.offset, 3000);
	CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
	remove_md(&w, 1, md);
	remove_eq(&w, 1, small);
	pair_close(&w, &pair);
}

/* A put that asks for an ack and is discarded at its target ends without an event, whatever the
 * reason, unless the descriptor that it was started from had MD_EVENT_DROPPED. */
TEST_PATHS(rule16_discarded_puts_end_silently)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct md_args md = memory(2000, 64, 0, pair.events);
	struct initiator_args args = to(pair.source, 0, 6);

	md.threshold = 3;
	args.ack = ACK_YES;
	for (int i = 0; i < 4; i++) {
		int is_atomic = i % 2, told = i / 2;
		handle_t source;

		md.options = told ? MD_EVENT_DROPPED : 0;
		source = bind(&w, 1, md, UNLINK_NEVER);
		args.md = source;
		args.operation = is_atomic ? MESSAGE_ATOMIC : MESSAGE_PUT;
		args.atomic_operation = ATOMIC_SUM, args.datatype = ATOMIC_UINT64;
		args.length = 8;
		CHECK_IS(put(&w, 1, args), 0);
		CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
		CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
		CHECK_IS(w.event.ni_fail_type, NI_OK);
		if (told) {
			CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
			CHECK_IS(w.event.ni_fail_type, NI_DROPPED);
			CHECK_IS(w.event.mlength, 0);
			CHECK_IS(w.event.rlength, 8);
		}
		CHECK_IS(next(&w, 1, pair.events), -1);
		CHECK_IS(md_lookup(&w.views[1], source)->user.threshold, told ? 1 : 2);
		CHECK_IS(status(&w, 1, STAT_OP_USED), 0);     /* it has ended nevertheless, */
		CHECK_IS(status(&w, 1, STAT_REFUSED), i + 1); /* and that is counted */
		CHECK_IS(status(&w, 1, STAT_MESSAGES_IN), told ? i - 1 : 0);
		CHECK_IS(status(&w, 1, STAT_DROPPED), 0);
		CHECK_IS(status(&w, 0, STAT_DROPPED), i + 1);
		remove_md(&w, 1, source);
	}
	pair_close(&w, &pair);
}

/* The option when the put starts counts: the descriptor may have been updated or unlinked since. */
TEST(rule16_option_of_when_the_put_started)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct message m[3], answer, none;
	struct grant grant;

	for (int told = 0; told < 2; told++) {
		struct md_args md = memory(2000, 64, told ? MD_EVENT_DROPPED : 0, pair.events);
		handle_t from = bind(&w, 1, md, UNLINK_NEVER);
		struct initiator_args args = to(from, 0, 6);

		args.ack = ACK_YES;
		for (int i = 0; i < 3; i++)
			m[i] = sent_put(&w, 1, &args);
		while (next(&w, 1, pair.events) >= 0)
			continue;
		for (int i = 0; i < 3; i++) {
			if (i == 1) {
				md.options ^= MD_EVENT_DROPPED;
				CHECK_IS(md_update(&w.views[1], from, 0, &md, EQ_NONE), 0);
			}
			if (i == 2)
				remove_md(&w, 1, from);
			CHECK(message_refuse(&m[i], NI_DROPPED, &answer));
			CHECK_IS(deliver_begin(&w.views[1], &answer, 1, &grant, &none), DELIVER_OK);
			CHECK_IS(grant.events, told);
			CHECK_IS(next(&w, 1, pair.events), told ? (int)EVENT_ACK : -1);
		}
	}
	CHECK_IS(status(&w, 1, STAT_OP_USED), 0);
	pair_close(&w, &pair);
}

/* A target's death causes an event whatever the options are. */
TEST(rule16_a_death_is_not_silent)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 6);

	args.ack = ACK_YES;
	sent_put(&w, 1, &args);
	CHECK_IS(block_peer_died(&w.views[1], 0, 0), 1);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(status(&w, 1, STAT_REFUSED), 0);
	pair_close(&w, &pair);
}

TEST_PATHS(rule16_discarded_gets_are_answered)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 6);

	CHECK_IS(get(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.ni_fail_type, NI_DROPPED);
	CHECK_IS(w.event.mlength, 0);
	CHECK_IS(w.event.rlength, 64);
	CHECK_IS(status(&w, 1, STAT_REFUSED), 1);
	args.ack = ACK_NO;                            /* stays silent */
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), -1);
	CHECK_IS(status(&w, 1, STAT_REFUSED), 1);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 2);
	CHECK_IS(status(&w, 0, STAT_MESSAGES_IN), 0);
	CHECK(shows(&w, 0, 0, 0, 0, WORDS) && shows(&w, 1, 0, 1, 0, WORDS));
	block_close(&w.views[0]);
	CHECK_IS(get(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.ni_fail_type, NI_DROPPED);
	block_open(&w.views[0]);
	pair_close(&w, &pair);
}

/* A descriptor that leaves without UNLINK needs no slot for it. */
TEST_PATHS(rule14_a_reply_needs_no_slot_for_a_disabled_unlink)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct md_args args = memory(3000, 64, MD_EVENT_START_DISABLE | MD_EVENT_UNLINK_DISABLE,
				     EQ_NONE);

	args.eq_handle = new_eq(&w, 1, 1);
	args.threshold = 1;
	CHECK_IS(get(&w, 1, to(bind(&w, 1, args, UNLINK_AUTO), 0, 5)), 0);
	CHECK_IS(status(&w, 1, STAT_DROPPED), 0);
	CHECK_IS(next(&w, 1, args.eq_handle), EVENT_REPLY_END);
	CHECK_IS(next(&w, 1, args.eq_handle), -1);
	CHECK_IS(status(&w, 1, STAT_MD_USED), 1);
	remove_eq(&w, 1, args.eq_handle);
	pair_close(&w, &pair);
}

/* The reply that makes a descriptor leave can end before an earlier one. The slot for UNLINK stays
 * reserved until the last one ends. */
TEST(rule22_the_slot_for_unlink_stays_reserved)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct md_args args = memory(3000, 64, MD_EVENT_START_DISABLE, EQ_NONE);
	struct message replies[4], none;
	struct initiator_args want;
	struct grant grants[4];
	handle_t small = new_eq(&w, 1, 4), other;

	args.eq_handle = small;
	args.threshold = 2;
	want = to(bind(&w, 1, args, UNLINK_AUTO), 0, 5);
	args.threshold = MD_THRESH_INF;
	other = bind(&w, 1, args, UNLINK_NEVER);
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			want.md = other;
		CHECK_IS(initiator_get(&w.views[1], &want, &replies[i]), 0);
		message_refuse(&replies[i], NI_OK, &replies[i]);
	}
	CHECK_IS(deliver_begin(&w.views[1], &replies[0], 1, &grants[0], &none), DELIVER_OK);
	CHECK_IS(deliver_begin(&w.views[1], &replies[1], 1, &grants[1], &none), DELIVER_OK);
	CHECK_IS(deliver_end(&w.views[1], &grants[1], NI_OK, &none), DELIVER_OK);
	CHECK_IS(deliver_begin(&w.views[1], &replies[2], 1, &grants[2], &none), DELIVER_OK);
	CHECK_IS(deliver_begin(&w.views[1], &replies[3], 1, &grants[3], &none), DELIVER_DROPPED);
	CHECK_IS(deliver_end(&w.views[1], &grants[0], NI_OK, &none), DELIVER_OK);
	CHECK_IS(deliver_end(&w.views[1], &grants[2], NI_OK, &none), DELIVER_OK);
	CHECK_IS(next(&w, 1, small), EVENT_REPLY_END);
	CHECK_IS(next(&w, 1, small), EVENT_REPLY_END);
	CHECK_IS(next(&w, 1, small), EVENT_UNLINK);
	CHECK_IS(next(&w, 1, small), EVENT_REPLY_END);
	CHECK_IS(next(&w, 1, small), -1);
	CHECK_IS(eq_lookup(&w.views[1], small)->reserved, 0);
	remove_md(&w, 1, other);
	remove_eq(&w, 1, small);
	pair_close(&w, &pair);
}

/* deliver_inline carries a cache line at most, so a reply that claims more is cut. */
TEST(rule14_a_longer_reply_in_one_step_is_cut)
{
	static const uint8_t payload[DELIVER_INLINE_BYTES] = { 1, 2, 3 };
	struct message m, answer, none;
	struct initiator_args args;
	struct grant grant;
	struct world w;
	handle_t eq, md;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 8);
	md = bind(&w, 0, memory(1000, 100, 0, eq), UNLINK_NEVER);
	args = to(md, 1, 5);
	CHECK_IS(initiator_get(&w.views[0], &args, &m), 0);
	CHECK(message_refuse(&m, NI_OK, &answer));
	answer.mlength = 100;
	CHECK_IS(deliver_inline(&w.views[0], &answer, payload, &grant, &none, 0), DELIVER_OK);
	CHECK_IS(next(&w, 0, eq), EVENT_REPLY_START);
	CHECK_IS(next(&w, 0, eq), EVENT_REPLY_END);
	CHECK_IS(w.event.mlength, DELIVER_INLINE_BYTES);
	CHECK_IS(w.views[0].memory[1002], 3);
	CHECK(shows(&w, 0, 1000 + DELIVER_INLINE_BYTES, 0, 1000 + DELIVER_INLINE_BYTES, 36));
	remove_md(&w, 0, md);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule17_answer_that_mixes_two_operations)
{
	struct message m[2], answer, none;
	struct initiator_args args;
	struct grant grant;
	handle_t md[2];
	struct world w;

	world_open(&w, &test_limits);
	for (int i = 0; i < 2; i++) {
		md[i] = bind(&w, 0, memory(1000 + 100 * (uint64_t)i, 64, 0, EQ_NONE), UNLINK_NEVER);
		args = to(md[i], 1, 5);
		CHECK_IS(initiator_get(&w.views[0], &args, &m[i]), 0);
	}
	CHECK(message_refuse(&m[0], NI_DROPPED, &answer));
	answer.md_handle = md[1];
	CHECK_IS(deliver_begin(&w.views[0], &answer, 1, &grant, &none), DELIVER_DROPPED);
	CHECK_IS(deliver_inline(&w.views[0], &answer, 0, &grant, &none, 0), DELIVER_DROPPED);
	for (int i = 0; i < 2; i++) {
		CHECK(message_refuse(&m[i], NI_DROPPED, &answer));
		CHECK_IS(deliver_inline(&w.views[0], &answer, 0, &grant, &none, 0), DELIVER_OK);
		remove_md(&w, 0, md[i]);
	}
	world_close(&w);
}

/* A reply arrives for a descriptor whose threshold is used up, and is longer than the descriptor:
 * it is accepted and truncated. */
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

/* An ack whose portal and cookie are invalid, from a process that no access control entry of the
 * initiator admits, is recorded nevertheless. */
TEST(rule11_an_ack_skips_access_control_and_matching)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);
	struct message m, answer, none;
	struct grant grant;

	args.ack = ACK_YES;
	m = sent_put(&w, 1, &args);
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
	CHECK_IS(w.event.pt_index, PT);               /* the request's, whatever the ack says */
	CHECK_IS(w.event.jid, JOB + 1);
	CHECK_IS(status(&w, 1, STAT_DROPPED), 0);
	pair_close(&w, &pair);
}

/* The same for a reply. The descriptor that it names accepts it though it is at no match entry and
 * no operation is enabled on it. */
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
