/*
 * Access control entries as their owner sets them: rules 27 to 29, 33.
 */
#include "world.h"

static const struct ac_args any_process = { ANY_ID, ANY_ID, ANY_ID, ANY_ID, ANY_ID };

/* An entry of process 0 that accepts puts of 8 bytes from all that access control admits. */
static handle_t target(struct world *w)
{
	handle_t me = new_me(w, 0, 5);

	attach(w, 0, me, memory(0, 8, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE), UNLINK_NEVER);
	return me;
}

TEST(rule29_each_field_admits_and_refuses)
{
	struct world w;
	const struct message good = request(MESSAGE_PUT, 1, 0, 5, 8);
	const struct ac_args exact = { .nid = 1, .pid = 1, .uid = 1000, .jid = JOB, .pt_index = PT };
	struct ac_args args;
	struct message m;
	handle_t me;

	world_open(&w, &test_limits);
	me = target(&w);
	m = good, m.cookie = 2;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);   /* admits none until it is set */
	CHECK_IS(ac_set(&w.views[0], 2, &exact), 0);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
#define FIELD(field, message_change) \
	CHECK_IS(ac_set(&w.views[0], 2, &exact), 0); \
	m = good, m.cookie = 2, m.message_change; \
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED); \
	args = exact, args.field = ANY_ID; \
	CHECK_IS(ac_set(&w.views[0], 2, &args), 0); \
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK)
	FIELD(nid, source_nid = 2);
	FIELD(pid, source_pid = 2);
	FIELD(uid, uid = 1001);
	FIELD(jid, jid = JOB + 1);
	args = exact, args.pt_index = PT + 1;
	CHECK_IS(ac_set(&w.views[0], 2, &args), 0);
	m = good, m.cookie = 2;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	args.pt_index = ANY_ID;
	CHECK_IS(ac_set(&w.views[0], 2, &args), 0);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule27_defaults_can_be_replaced)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8);
	struct ac_args args = any_process;
	handle_t me;

	world_open(&w, &test_limits);
	me = target(&w);
	args.nid = 2;
	CHECK_IS(ac_set(&w.views[0], 0, &args), 0);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.source_nid = 2, m.jid = JOB + 1;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	CHECK_IS(ac_set(&w.views[0], 1, &any_process), 0);
	m.cookie = 1, m.source_nid = 1;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	block_close(&w.views[0]);     /* another PtlNIInit restores the defaults */
	block_init(&w.views[0]);
	block_open(&w.views[0]);
	me = target(&w);
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	m.cookie = 0, m.jid = JOB;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule33_access_control_index_bounds)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8);
	struct ac_args args = any_process;
	handle_t me;

	world_open(&w, &test_limits);
	me = target(&w);
	CHECK_IS(ac_set(&w.views[0], 64, &any_process), PORTALS_AC_INDEX_INVALID);
	CHECK_IS(ac_set(&w.views[0], 0xffffffff, &any_process), PORTALS_AC_INDEX_INVALID);
	CHECK_IS(ac_set(&w.views[0], 63, &any_process), 0);
	m.cookie = 63;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
	args.pt_index = 64;
	CHECK_IS(ac_set(&w.views[0], 62, &args), PORTALS_PT_INDEX_INVALID);
	CHECK_IS(ac_set(&w.views[0], 64, &args), PORTALS_AC_INDEX_INVALID);
	m.cookie = 62;
	CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	args.pt_index = 63;
	CHECK_IS(ac_set(&w.views[0], 62, &args), 0);
	w.views[0].block->granted = (struct block_granted){ .portals = 10, .acs = 5, .me_list = 9 };
	CHECK_IS(ac_set(&w.views[0], 4, &any_process), 0);
	CHECK_IS(ac_set(&w.views[0], 5, &any_process), PORTALS_AC_INDEX_INVALID);
	args.pt_index = 9;
	CHECK_IS(ac_set(&w.views[0], 4, &args), 0);
	args.pt_index = 10;
	CHECK_IS(ac_set(&w.views[0], 4, &args), PORTALS_PT_INDEX_INVALID);
	w.views[0].block->granted.acs = 1000;         /* damaged: the view's bound holds */
	CHECK_IS(ac_set(&w.views[0], 64, &any_process), PORTALS_AC_INDEX_INVALID);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* Everything matches but the job, or the entry's portal. */
TEST_PATHS(mistake_access_control_never_consulted)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 0);
	const struct ac_args any_portal = { ANY_ID, ANY_ID, ANY_ID, JOB, ANY_ID };
	const struct ac_args other_portal = { ANY_ID, ANY_ID, ANY_ID, JOB, PT + 1 };
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 0, MD_OP_PUT | MD_OP_GET, EQ_NONE), UNLINK_NEVER);
	for (int operation = MESSAGE_PUT; operation <= MESSAGE_GET; operation++) {
		m.operation = (uint8_t)operation;
		m.jid = JOB;
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_OK);
		m.jid = JOB + 1;
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
		m.jid = JOB;
		CHECK_IS(ac_set(&w.views[0], 0, &other_portal), 0);
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
		CHECK_IS(ac_set(&w.views[0], 0, &any_portal), 0);
	}
	CHECK_IS(status(&w, 0, STAT_DROPPED), 4);
	remove_me(&w, 0, me);
	world_close(&w);
}
