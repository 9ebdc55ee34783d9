/*
 * The block as a whole: layout, limits, life, handles across lives, status.
 */
#include <stdlib.h>
#include <string.h>
#include "../../net/portals/index.h"
#include "world.h"

TEST(block_default_size)
{
	const struct block_limits limits = BLOCK_DEFAULT_LIMITS;
	struct block_layout layout;

	CHECK_IS(block_layout(&limits, &layout), 0);
	CHECK(layout.bytes == block_bytes(&limits));
	CHECK(layout.bytes < 5u << 20);
	CHECK_IS(layout.slots % BLOCK_PAGE, 0);
	CHECK_IS(layout.bytes % BLOCK_PAGE, 0);
	CHECK(layout.slots + 8192ULL * EVENT_SLOT_BYTES <= layout.bytes);
	CHECK(layout.chains + index_chains(limits.mes) * sizeof(struct chain) <= layout.slots);
}

TEST(block_bad_limits)
{
	const struct block_limits good = BLOCK_DEFAULT_LIMITS;
	struct process_view view = { 0 };
	struct block_limits bad;
	uint32_t *field;

	for (unsigned int i = 0; i < sizeof(good) / sizeof(uint32_t); i++) {
		bad = good;
		field = (uint32_t *)&bad + i;
		*field = 0;
		CHECK_IS(block_bytes(&bad), 0);
		*field = 0xffffffff;
		CHECK_IS(block_bytes(&bad), 0);
	}
	bad = good;
	bad.mes = NO_INDEX;
	CHECK_IS(block_bytes(&bad), 0);
	CHECK_IS(view_init(&view, &view, block_bytes(&good) - 1, &good), PORTALS_FAIL);
}

TEST(block_position_independent)
{
	struct world w;
	struct process_view moved;
	uint64_t bytes = block_bytes(&test_limits);
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 16), answer;
	struct grant grant;
	handle_t me, md;
	void *copy = aligned_alloc(BLOCK_PAGE, bytes);

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, memory(64, 32, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	memcpy(copy, w.views[0].block, bytes);
	moved = w.views[0];
	CHECK_IS(view_init(&moved, copy, bytes, &test_limits), 0);
	CHECK(view_check(&moved));
	CHECK_IS(deliver_begin(&moved, &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(grant.offset, 64);
	CHECK_IS(grant.bytes, 16);
	CHECK_IS(deliver_end(&moved, &grant, NI_OK, &answer), DELIVER_OK);
	CHECK(md_lookup(&moved, md) != 0);
	free(copy);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(block_check_wants_same_limits_and_owner)
{
	struct world w;
	struct process_view view;

	world_open(&w, &test_limits);
	CHECK(view_check(&w.views[0]));
	view = w.views[0];
	view.nid = 9;
	CHECK(!view_check(&view));
	view = w.views[0];
	view.limits.ops--;
	CHECK(!view_check(&view));
	w.views[1].block->magic++;
	CHECK(!view_check(&w.views[1]));
	world_drop(&w);
}

TEST(rule01_no_interface_discards_and_counts)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 16), answer;
	struct grant grant;
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 64, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	m.target_pid = 2;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_CLOSED);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 1);
	m.target_pid = 1;
	block_close(&w.views[0]);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_CLOSED);
	CHECK_IS(grant.answers, 0);
	CHECK_IS(grant.op, HANDLE_NONE);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 2);
	m.operation = MESSAGE_GET;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_CLOSED);
	CHECK_IS(grant.answers, 1);
	CHECK_IS(answer.fail, NI_DROPPED);
	m.operation = MESSAGE_ACK;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_CLOSED);
	m.operation = MESSAGE_REPLY;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_CLOSED);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 5);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(block_close_waits_for_begun_operations)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 16), answer;
	struct initiator_args args;
	struct grant grant, source;
	handle_t me, md;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 64, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	md = bind(&w, 0, memory(128, 8, 0, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(block_pending(&w.views[0]), 1);
	args = to(md, 1, 0);
	CHECK_IS(initiator_put(&w.views[0], &args, &m, &source), 0);
	CHECK_IS(block_pending(&w.views[0]), 2);
	block_close(&w.views[0]);
	CHECK_IS(block_pending(&w.views[0]), 2);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(initiator_sent(&w.views[0], &m, &source, NI_OK), 0);
	CHECK_IS(block_pending(&w.views[0]), 0);
	block_open(&w.views[0]);
	CHECK_IS(initiator_get(&w.views[0], &args, &m), 0);
	CHECK_IS(block_pending(&w.views[0]), 1);
	block_close(&w.views[0]);     /* no data is written for a reply that has not begun */
	CHECK_IS(block_pending(&w.views[0]), 0);
	block_init(&w.views[0]);
	world_close(&w);
}

TEST(rule17_handles_stay_stale_across_lives)
{
	struct world w;
	struct process_view *view = &w.views[0];
	handle_t me, md, eq, ni, again;

	world_open(&w, &test_limits);
	ni = block_open(view);
	CHECK(block_is_ni(view, ni));
	me = new_me(&w, 0, 1);
	md = attach(&w, 0, me, memory(0, 8, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	eq = new_eq(&w, 0, 4);
	block_close(view);
	CHECK(!block_is_ni(view, ni));
	block_init(view);
	again = block_open(view);
	CHECK(again != ni && !block_is_ni(view, ni) && block_is_ni(view, again));
	CHECK(!me_lookup(view, me) && !md_lookup(view, md) && !eq_lookup(view, eq));
	w.readers[0][0].handle = PTL_INVALID_HANDLE;
	again = new_me(&w, 0, 1);
	CHECK_IS(HANDLE_INDEX(again), HANDLE_INDEX(me));
	CHECK(again != me);
	CHECK_IS(me_unlink(view, me), PORTALS_ME_INVALID);
	remove_me(&w, 0, again);
	world_close(&w);
}

TEST(block_status_registers)
{
	struct world w;
	uint64_t value;
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 2, 1);
	CHECK_IS(status(&w, 2, STAT_ME_USED), 1);
	remove_me(&w, 2, me);
	CHECK_IS(status(&w, 2, STAT_ME_USED), 0);
	CHECK_IS(status(&w, 2, STAT_ME_HIGH), 1);
	CHECK_IS(status(&w, 2, STAT_NID), 2);
	CHECK_IS(status(&w, 2, STAT_PID), 1);
	CHECK_IS(status(&w, 2, STAT_UID), 1000);
	CHECK_IS(status(&w, 2, STAT_JID), JOB);
	CHECK_IS(block_status(&w.views[0], STAT_COUNT, &value), PORTALS_SR_INDEX_INVALID);
	CHECK_IS(block_status(&w.views[0], 1ULL << 32, &value), PORTALS_SR_INDEX_INVALID);
	world_close(&w);
}

/* Damage to the block does not change what the view says. */
TEST(block_registers_of_the_view)
{
	struct world w;

	world_open(&w, &small_limits);
	w.views[0].inline_bytes = 64;
	w.views[0].block->limits.slots = 7;
	CHECK_IS(status(&w, 0, STAT_EVENT_SLOTS), 64);
	CHECK_IS(status(&w, 0, STAT_INLINE), 64);
	CHECK_IS(status(&w, 1, STAT_INLINE), 0);
	world_drop(&w);
}
