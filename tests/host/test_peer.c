/*
 * Peers: their deaths (rule 22), and the state per peer (rule 31).
 */
#include <string.h>
#include "world.h"

TEST(rule22_peer_dies_while_it_delivers)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct md_args args = memory(0, 64, MD_OP_PUT | MD_OP_GET, EQ_NONE);
	struct grant dead, alive;
	uint32_t events = 0;
	handle_t me, md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	args.eq_handle = eq, args.threshold = 2;
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &dead, &answer), DELIVER_OK);
	m = request(MESSAGE_GET, 2, 0, 5, 8);
	CHECK_IS(deliver_begin(&w.views[0], &m, 2, &alive, &answer), DELIVER_OK);
	CHECK_IS(block_peer_died(&w.views[0], 1, &events), 1);
	CHECK_IS(events, 1);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_GET_START);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(next(&w, 0, eq), -1);
	CHECK_IS(block_peer_died(&w.views[0], 1, &events), 0);
	/* if its kernel is alive after all, its end comes too late */
	CHECK_IS(deliver_end(&w.views[0], &dead, NI_OK, &answer), DELIVER_STALE);
	CHECK_IS(dead.events, 0);
	CHECK(md_lookup(&w.views[0], md) != 0);
	CHECK_IS(block_peer_died(&w.views[0], 2, &events), 1);
	CHECK_IS(events, 3);
	CHECK_IS(next(&w, 0, eq), EVENT_GET_END);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	CHECK(!md_lookup(&w.views[0], md));
	CHECK_IS(status(&w, 0, STAT_FAILED), 2);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule22_peer_dies_that_should_answer)
{
	struct world w;
	struct md_args args = memory(0, 64, 0, EQ_NONE);
	struct initiator_args want;
	struct message get1, get2, put1, answer, none;
	struct grant grant;
	uint32_t events = 0;
	handle_t md, eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 1, 16);
	args.eq_handle = eq;
	md = bind(&w, 1, args, UNLINK_NEVER);
	want = to(md, 0, 5);
	want.ack = ACK_YES, want.remote_offset = 24;
	put1 = sent_put(&w, 1, &want);
	CHECK_IS(initiator_get(&w.views[1], &want, &get1), 0);
	want.target_nid = 2;
	CHECK_IS(initiator_get(&w.views[1], &want, &get2), 0);
	CHECK_IS(next(&w, 1, eq), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, eq), EVENT_SEND_END);
	CHECK_IS(block_peer_died(&w.views[1], 0, &events), 2);
	CHECK_IS(events, 3);
	CHECK_IS(next(&w, 1, eq), EVENT_ACK);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(w.event.hdr_data, 0xabcdef);
	CHECK_IS(w.event.link, (uint32_t)put1.sequence);
	CHECK_IS(w.event.offset, 24);
	CHECK_IS(w.event.initiator.nid, 0);
	CHECK_IS(next(&w, 1, eq), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, eq), EVENT_REPLY_END);
	CHECK_IS(w.event.ni_fail_type, NI_FAIL);
	CHECK_IS(w.event.mlength, 0);
	CHECK_IS(w.event.rlength, 64);
	CHECK_IS(w.event.link, (uint32_t)get1.sequence);
	CHECK_IS(next(&w, 1, eq), -1);
	CHECK_IS(md_lookup(&w.views[1], md)->pending, 1);     /* the get from node 2 */
	message_refuse(&get1, NI_OK, &answer);                /* too late */
	CHECK_IS(deliver_begin(&w.views[1], &answer, 1, &grant, &none), DELIVER_DROPPED);
	message_refuse(&get2, NI_OK, &answer);
	CHECK_IS(deliver_begin(&w.views[1], &answer, 1, &grant, &none), DELIVER_OK);
	/* node 2 has answered: node 1 itself carries the reply and ends it */
	CHECK_IS(block_peer_died(&w.views[1], 2, &events), 0);
	CHECK_IS(deliver_end(&w.views[1], &grant, NI_OK, &none), DELIVER_OK);
	remove_md(&w, 1, md);
	remove_eq(&w, 1, eq);
	world_close(&w);
}

/* How many bytes differ. */
static uint64_t differing(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < bytes; i++)
		count += a[i] != b[i];
	return count;
}

/* A thousand peers that have sent something leave no more state than one does: counters, and one
 * record that is free again. No process has to connect first. */
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
