/*
 * What the reference model (tests/model) has found, each as a test of a few lines.
 */
#include "world.h"

/* A descriptor of process 0 that records nothing, in a queue with a handler. */
static handle_t silent(struct world *w, struct eq_info *queue)
{
	CHECK_IS(eq_alloc(&w->views[0], 8, BASE + WORDS, 1, queue), 0);
	return bind(w, 0, memory(1000, 100, MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE,
				 queue->handle), UNLINK_NEVER);
}

/* grant.upcall rings an application's doorbell: for an event, not for a queue. */
TEST(rule23_no_upcall_without_an_event)
{
	struct message m, answer, none;
	struct initiator_args args;
	struct eq_info queue;
	struct grant grant;
	struct world w;
	handle_t md;

	world_open(&w, &test_limits);
	md = silent(&w, &queue);
	args = to(md, 1, 5);
	args.length = 16;
	CHECK_IS(initiator_put(&w.views[0], &args, &m, &grant), 0);
	CHECK_IS(grant.upcall, 0);
	CHECK_IS(initiator_sent(&w.views[0], &m, &grant, NI_OK), DELIVER_OK);
	CHECK_IS(grant.events, 0);
	CHECK_IS(grant.upcall, 0);
	for (int in_one_step = 0; in_one_step < 2; in_one_step++) {
		CHECK_IS(initiator_get(&w.views[0], &args, &m), 0);
		CHECK(message_refuse(&m, NI_DROPPED, &answer));
		if (in_one_step) {
			CHECK_IS(deliver_inline(&w.views[0], &answer, 0, &grant, &none, 0),
				 DELIVER_OK);
		} else {
			CHECK_IS(deliver_begin(&w.views[0], &answer, 1, &grant, &none),
				 DELIVER_OK);
			CHECK_IS(grant.upcall, 0);
			CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &none), DELIVER_OK);
		}
		CHECK_IS(grant.events, 0);
		CHECK_IS(grant.upcall, 0);
	}
	remove_md(&w, 0, md);
	CHECK_IS(eq_free(&w.views[0], queue.handle), 0);
	world_close(&w);
}

/* deliver_inline carries a cache line: a reply that claims more brings no more. */
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
