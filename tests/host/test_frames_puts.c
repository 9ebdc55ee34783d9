/*
 * Plain puts over frames: their headers carry no ids of processes and users.
 */
#include "world.h"

#define LONG_NS  60000000000ull

/* Check the next events of process 0: a put of 8 bytes to `offset` by process 1. */
static void check_events(struct world *w, handle_t eq, uint64_t offset)
{
	const ptl_event_t *event = &w->event;

	CHECK_IS(next(w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(w, 0, eq), EVENT_PUT_END);
	CHECK(event->initiator.nid == 1 && event->initiator.pid == 1);
	CHECK(event->uid == w->views[0].uid && event->jid == w->views[0].jid);
	CHECK_IS(event->match_bits, 5);
	CHECK_IS(event->hdr_data, 0xabcdef);
	CHECK_IS(event->rlength, 8);
	CHECK_IS(event->offset, offset);
	CHECK_IS(next(w, 0, eq), -1);
}

/* A put to another process of the node has a full header, and is dropped there. */
TEST(frames_know_whom_a_plain_put_is_from_and_for)
{
	struct netsim_config network = netsim_defaults(PROCESSES, 21);
	struct link_config config = link_defaults(0, PROCESSES, 1000);
	struct initiator_args args;
	struct fabric fabric;
	struct world w;
	handle_t eq, md;

	world_open(&w, &test_limits);
	w.views[1].uid++;                                /* no job has that: it is not sent */
	fabric_open(&fabric, w.views, PROCESSES, &network, &config);
	eq = new_eq(&w, 0, 16);
	attach(&w, 0, new_me(&w, 0, 5), memory(0, WORDS, MD_OP_PUT | MD_MANAGE_REMOTE, eq),
	       UNLINK_NEVER);
	md = bind(&w, 1, memory(0, 8, 0, HANDLE_NONE), UNLINK_NEVER);
	args = to(md, 0, 5);                             /* a full header: the peer is not known yet */
	CHECK_IS(fabric_start(&fabric, 1, &args), PORTALS_OK);
	CHECK(fabric_settle(&fabric, LONG_NS));
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(w.event.uid, w.views[1].uid);
	for (uint32_t i = 0; i < 3; i++) {
		args = to(md, 0, 5);
		args.remote_offset = 8 * i;
		CHECK_IS(fabric_start(&fabric, 1, &args), PORTALS_OK);
		args.target_pid = 2;
		CHECK_IS(fabric_start(&fabric, 1, &args), PORTALS_OK);
		CHECK(fabric_settle(&fabric, LONG_NS));
		check_events(&w, eq, args.remote_offset);
		CHECK_IS(status(&w, 0, STAT_DROPPED), i + 1);
	}
	CHECK_IS(fabric_close(&fabric), 0);
	world_drop(&w);
}
