/*
 * What the fuzzers (tests/fuzz) have found, each as a test of a few lines.
 */
#include "world.h"

/* max_size sends a descriptor away while a get on it is pending; the reply then
 * takes its last threshold. It must not leave twice: its queue would expect an
 * UNLINK event for ever, and no PtlMDUpdate that tests it would succeed. */
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
