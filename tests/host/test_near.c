/*
 * The near transport (net/portals/near.h): rule 18's order of events on both sides, and the state
 * after a target dies in between.
 */
#include "world.h"
#include <string.h>

/* Counts of the events so far at node 1, the sender, and at node 0. */
static struct {
	struct world w;
	struct pair pair;
	int sent, acked, put;          /* SEND_END, ACK; PUT_END or GETPUT_END */
	int steps;                     /* under a lock */
	int dies_at;                   /* step before which node 0 dies; 0: it does not */
	int settles;                   /* 1: its death is reported to node 1's block in that step */
	int wrong;                     /* steps after which there was a PUT_END or an ACK, but no
					  SEND_END */
	int wants_ack;
} s;

static void look(void)
{
	int type;

	while ((type = next(&s.w, 1, s.pair.events)) >= 0) {
		s.sent += type == EVENT_SEND_END;
		s.acked += type == EVENT_ACK;
		s.wrong += s.acked > s.sent;
	}
	while ((type = next(&s.w, 0, s.pair.eq)) >= 0)
		s.put += type == EVENT_PUT_END || type == EVENT_GETPUT_END;
	s.wrong += s.put > s.sent || (s.wants_ack && s.put > s.acked);
}

static void entered(struct loop *loop, struct process_view *view)
{
	(void)view;
	look();
	if (++s.steps != s.dies_at)
		return;
	loop->dead = 1;
	if (s.settles)
		block_peer_died(&s.w.views[1], 0, 0);
}

/* One operation of node 1; `operation`, ack, and bytes. */
static void run(uint8_t operation, uint32_t ack, uint64_t bytes, int dies_at)
{
	struct initiator_args args;
	handle_t md;

	s.pair = pair_open(&s.w, MD_TRUNCATE, MD_THRESH_INF, UNLINK_NEVER);
	s.sent = s.acked = s.put = s.steps = s.wrong = 0;
	s.wants_ack = ack == ACK_YES;
	s.dies_at = dies_at;
	s.w.loop.entered = entered;
	md = bind(&s.w, 1, memory(2048, bytes, 0, s.pair.events), UNLINK_NEVER);
	args = to(md, 0, 5);
	args.operation = operation;
	args.ack = ack;
	args.length = bytes;
	args.put_md = md;
	args.atomic_operation = ATOMIC_SUM;
	args.datatype = ATOMIC_UINT64;
	CHECK_IS(put(&s.w, 1, args), 0);
	s.w.loop.entered = 0;
	look();
}

static void done(void)
{
	s.w.loop.dead = 0;
	world_drop(&s.w);
}

static const struct {
	uint8_t operation;
	uint32_t ack;
	uint64_t bytes;
} kinds[] = {
	{ MESSAGE_PUT, ACK_NO, 8 }, { MESSAGE_PUT, ACK_YES, 8 }, { MESSAGE_PUT, ACK_NO, 0 },
	{ MESSAGE_PUT, ACK_NO, 256 }, { MESSAGE_PUT, ACK_YES, 256 },
	{ MESSAGE_ATOMIC, ACK_NO, 8 }, { MESSAGE_ATOMIC, ACK_YES, 8 },
	{ MESSAGE_GETPUT, ACK_NO, 8 }, { MESSAGE_FETCH_ATOMIC, ACK_NO, 8 },
};

TEST_PATHS(rule18_send_end_and_ack_before_put_end)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		run(kinds[i].operation, kinds[i].ack, kinds[i].bytes, 0);
		CHECK_IS(s.sent, 1);
		CHECK_IS(s.put, 1);
		CHECK_IS(s.acked, kinds[i].ack == ACK_YES);
		CHECK_IS(s.wrong, 0);
		done();
	}
}

/* The same in one queue of one process, which shows the order directly. */
TEST_PATHS(rule18_to_oneself)
{
	for (uint64_t bytes = 8; bytes <= 512; bytes *= 8)
		for (uint32_t ack = ACK_NO; ack <= ACK_YES; ack++) {
			struct world w;
			struct pair pair = pair_open(&w, MD_TRUNCATE, MD_THRESH_INF, UNLINK_NEVER);
			struct md_args source = memory(2048, bytes, 0, pair.eq);
			struct initiator_args args = to(bind(&w, 0, source, UNLINK_NEVER), 0, 5);
			int send_end = 0, acked = 0, put_end = 0, type;

			args.ack = ack;
			CHECK_IS(put(&w, 0, args), 0);
			for (int i = 1; (type = next(&w, 0, pair.eq)) >= 0; i++) {
				send_end = type == EVENT_SEND_END ? i : send_end;
				acked = type == EVENT_ACK ? i : acked;
				put_end = type == EVENT_PUT_END ? i : put_end;
			}
			CHECK(send_end && send_end < put_end);
			CHECK(ack == ACK_NO ? !acked : send_end < acked && acked < put_end);
			world_drop(&w);
		}
}

/* Wherever the target dies, the initiator gets exactly one event for each operation that it waits
 * for. Its kernel may learn of the death in the middle. */
TEST_PATHS(rule22_a_target_that_dies_in_between)
{
	for (unsigned i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++)
		for (int step = 1; step <= 5; step++) {
			unsigned kind = i / 2;
			uint64_t used = 1;

			s.settles = i % 2;
			run(kinds[kind].operation, kinds[kind].ack, kinds[kind].bytes, step);
			s.settles = 0;
			CHECK_IS(s.sent, 1);
			CHECK_IS(s.acked, kinds[kind].ack == ACK_YES);
			CHECK_IS(s.wrong, 0);
			CHECK_IS(block_status(&s.w.views[1], STAT_OP_USED, &used), 0);
			CHECK_IS(used, 0);
			CHECK_IS(block_pending(&s.w.views[1]), 0);
			CHECK_IS(status(&s.w, 1, STAT_DROPPED), 0);
			done();
		}
}

TEST(rule22_a_failure_after_send_end_is_counted)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = to(pair.source, 0, 5);

	args.length = 8;
	w.loop.dead = 1;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(w.event.ni_fail_type, NI_OK);
	CHECK_IS(status(&w, 1, STAT_FAILED), 1);
	w.loop.dead = 0;
	pair_close(&w, &pair);
}

/* An entry's descriptor has no fast path, as other operations may use it at the same time. */
TEST(rule18_only_unbound_descriptors_do_without_the_lock)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	handle_t me = new_me(&w, 1, 6);
	struct md_args args = memory(2048, 8, MD_OP_PUT, HANDLE_NONE);
	struct initiator_args from_entry = to(attach(&w, 1, me, args, UNLINK_NEVER), 0, 5);
	struct initiator_args from_none = to(bind(&w, 1, args, UNLINK_NEVER), 0, 5);
	struct message message;
	struct grant grant;

	CHECK_IS(initiator_fast_put(&w.views[1], &from_entry, 8, &message, &grant), 0);
	CHECK_IS(initiator_fast_put(&w.views[1], &from_none, 8, &message, &grant), 1);
	CHECK_IS(put(&w, 1, from_entry), 0);          /* the general path handles it */
	CHECK_IS(status(&w, 1, STAT_MESSAGES_OUT), 2);
	remove_md(&w, 1, from_none.md);
	remove_me(&w, 1, me);
	pair_close(&w, &pair);
}

/* A long put without an event queue takes the target's lock twice. The target may die before either.
 * The initiator's half has ended by then. The put counts as failed if the target dies before the
 * first. Over frames there is nothing to test, as the near transport takes no lock. */
TEST(rule22_a_long_put_without_events)
{
	for (int dies_at = 0; dies_at <= 2; dies_at++) {
		uint64_t bytes;
		handle_t md;

		s.pair = pair_open(&s.w, MD_TRUNCATE, MD_THRESH_INF, UNLINK_NEVER);
		s.sent = s.acked = s.put = s.steps = s.wrong = 0;
		s.dies_at = dies_at;
		if (s.w.fabric) {
			done();
			return;
		}
		s.w.loop.entered = entered;
		md = bind(&s.w, 1, memory(2048, 256, 0, EQ_NONE), UNLINK_NEVER);
		CHECK_IS(put(&s.w, 1, to(md, 0, 5)), 0);
		s.w.loop.entered = 0;
		look();
		CHECK_IS(s.steps, 2);   /* or the target's, then the own one to count the failure */
		CHECK_IS(s.sent, 0);
		CHECK_IS(s.put, dies_at == 0);
		bytes = dies_at == 1 ? 0 : 256;
		CHECK_IS(status(&s.w, 1, STAT_BYTES_OUT), bytes);
		CHECK_IS(status(&s.w, 1, STAT_FAILED), dies_at == 1);
		CHECK_IS(status(&s.w, 1, STAT_MESSAGES_OUT), 1);
		if (dies_at != 1)
			CHECK(shows(&s.w, 0, 1000, 1, 2048, 64));
		CHECK_IS(block_pending(&s.w.views[1]), 0);
		done();
	}
}

/* The descriptor records no SEND_START and no SEND_END. Then all paths record the same ACK event. */
TEST_PATHS(rule16_acks_of_puts_without_send_events)
{
	static const struct {
		uint64_t bits, bytes;
		uint32_t options, target;       /* of the sender's descriptor, and the target's */
		int acked, fail;
		uint64_t mlength;
	} cases[] = {
		{ 5, 8, 0, 0, 1, NI_OK, 8 }, { 5, 200, 0, 0, 1, NI_OK, 64 },
		{ 5, 0, 0, 0, 1, NI_OK, 0 }, { 5, 200, 0, MD_ACK_DISABLE, 0, 0, 0 },
		{ 6, 200, 0, 0, 0, 0, 0 }, { 6, 200, MD_EVENT_DROPPED, 0, 1, NI_DROPPED, 0 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair pair = pair_open(&s.w, MD_TRUNCATE | cases[i].target, MD_THRESH_INF,
					     UNLINK_NEVER);
		struct md_args source = memory(2048, cases[i].bytes, MD_EVENT_START_DISABLE |
					       MD_EVENT_END_DISABLE | cases[i].options, pair.events);
		struct initiator_args args;
		uint32_t link = 0;
		handle_t md;

		source.threshold = 5;
		md = bind(&s.w, 1, source, UNLINK_NEVER);
		args = to(md, 0, cases[i].bits);
		args.remote_offset = 0;
		args.ack = ACK_YES;
		for (int turn = 0; turn < 2; turn++) {
			CHECK_IS(put(&s.w, 1, args), 0);
			if (!cases[i].acked)
				continue;
			CHECK_IS(next(&s.w, 1, pair.events), EVENT_ACK);
			CHECK_IS(s.w.event.ni_fail_type, cases[i].fail);
			CHECK_IS(s.w.event.initiator.nid, 0);
			CHECK_IS(s.w.event.initiator.pid, 1);
			CHECK_IS(s.w.event.uid, s.w.views[0].uid);
			CHECK_IS(s.w.event.jid, s.w.views[0].jid);
			CHECK_IS(s.w.event.pt_index, args.pt_index);
			CHECK_IS(s.w.event.match_bits, cases[i].bits);
			CHECK_IS(s.w.event.rlength, cases[i].bytes);
			CHECK_IS(s.w.event.mlength, cases[i].mlength);
			CHECK_IS(s.w.event.offset, 0);
			CHECK_IS(s.w.event.md_handle, md);
			CHECK_IS(s.w.event.md.threshold, 3 - 2 * turn);
			CHECK_IS(s.w.event.hdr_data, args.hdr_data);
			CHECK(s.w.event.link != link || turn == 0);
			link = s.w.event.link;
		}
		CHECK_IS(next(&s.w, 1, pair.events), -1);
		CHECK_IS(md_lookup(&s.w.views[1], md)->user.threshold, cases[i].acked ? 1 : 3);
		CHECK_IS(status(&s.w, 1, STAT_OP_USED), 0);
		CHECK_IS(status(&s.w, 1, STAT_DROPPED), 0);
		CHECK_IS(block_pending(&s.w.views[1]), 0);
		done();
	}
}

/* The ack is recorded before PUT_END, and there is exactly one, wherever the target dies. */
TEST_PATHS(rule22_an_acked_put_without_send_events)
{
	for (int dies_at = 0; dies_at <= 5; dies_at++) {
		struct initiator_args args;
		struct md_args source;

		s.pair = pair_open(&s.w, MD_TRUNCATE, MD_THRESH_INF, UNLINK_NEVER);
		s.sent = 1;             /* SEND_END is not recorded */
		s.acked = s.put = s.steps = s.wrong = 0;
		s.wants_ack = 1;
		s.dies_at = dies_at;
		s.w.loop.entered = entered;
		source = memory(2048, 256, MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE,
				s.pair.events);
		args = to(bind(&s.w, 1, source, UNLINK_NEVER), 0, 5);
		args.ack = ACK_YES;
		CHECK_IS(put(&s.w, 1, args), 0);
		s.w.loop.entered = 0;
		look();
		CHECK_IS(s.acked, 1);
		CHECK_IS(s.wrong, 0);
		CHECK_IS(status(&s.w, 1, STAT_OP_USED), 0);
		CHECK_IS(status(&s.w, 1, STAT_MESSAGES_OUT), 1);
		done();
	}
}

/* Source and destination overlap in both directions, short and long. */
TEST(rule34_put_to_oneself_that_overlaps)
{
	static const struct { uint64_t from, to, bytes; } moves[] = {
		{ 1000, 1008, 64 }, { 1008, 1000, 64 }, { 1000, 1001, 500 }, { 1001, 1000, 500 },
		{ 1000, 1000, 500 }, { 1000, 1300, 500 },
	};
	struct world w;

	for (unsigned int i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		uint8_t *memory_of = 0;
		handle_t me, source;
		int wrong = 0;

		world_open(&w, &test_limits);
		memory_of = w.views[0].memory;
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, memory(moves[i].to, moves[i].bytes, MD_OP_PUT, EQ_NONE),
		       UNLINK_NEVER);
		source = bind(&w, 0, memory(moves[i].from, moves[i].bytes, 0, EQ_NONE),
			      UNLINK_NEVER);
		CHECK_IS(put(&w, 0, to(source, 0, 5)), 0);
		for (uint64_t at = 0; at < moves[i].bytes; at++)
			wrong += memory_of[moves[i].to + at] != pattern(0, moves[i].from + at);
		CHECK_IS(wrong, 0);
		remove_me(&w, 0, me);
		remove_md(&w, 0, source);
		world_close(&w);
	}
}
