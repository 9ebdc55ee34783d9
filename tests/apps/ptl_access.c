/*
 * ptl_access UID: the interface's calls, access control, and the identity that messages carry; UID
 * is the one that the launcher has given to the job. The numbers are those of the rules that a case
 * tests. Prints "ok NAME" for each case; see ptl.h for the roles.
 */
#include "ptl.h"

enum { NO_PROCESS = 0xfffffffe };     /* an id that no process has */

static uint32_t uid, jid;         /* of the job */

/* PtlNIDist, PtlNIHandle, PtlGet*, PtlNIStatus, the error texts. */
static void case_interface(struct roles *r)
{
	ptl_handle_ni_t ni = r->job.ni, bad = ni ^ 1ULL << 30, found;
	ptl_process_id_t id = { 0, 0 };
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_sr_value_t value;
	unsigned long distance;
	uint32_t got;

	for (int rank = 0; rank < r->job.size; rank++) {
		EQUAL(PtlNIDist(ni, margay_process(rank), &distance), PTL_OK);
		EQUAL(distance, rank != r->job.rank);
	}
	EQUAL(PtlNIDist(ni, margay_process(r->job.size), &distance), PTL_PROCESS_INVALID);
	EQUAL(PtlNIDist(ni, (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY }, &distance),
	      PTL_PROCESS_INVALID);
	id = margay_process(0);
	id.pid++;
	EQUAL(PtlNIDist(ni, id, &distance), PTL_PROCESS_INVALID);
	id.pid = PTL_PID_ANY;
	EQUAL(PtlNIDist(ni, id, &distance), PTL_PROCESS_INVALID);
	EQUAL(PtlNIDist(bad, margay_process(0), &distance), PTL_NI_INVALID);
	EQUAL(PtlNIDist(ni, margay_process(0), (unsigned long *)8), PTL_SEGV);

	me = attach(r, 1, 0, memory(r->in, 8, 1, PTL_MD_OP_PUT, r->eq), PTL_RETAIN);
	EQUAL(PtlMDBind(ni, memory(r->in, 8, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &md), PTL_OK);
	const ptl_handle_any_t live[] = { ni, me, md, r->eq }, none[] = {
		PTL_EQ_NONE, PTL_HANDLE_NONE, PTL_INVALID_HANDLE, bad, me ^ 1ULL << 30, md ^ 1ULL << 60,
		r->eq ^ 1 << 9, ni ^ 1,
	};

	for (size_t i = 0; i < sizeof live / sizeof live[0]; i++) {
		found = 0;
		EQUAL(PtlNIHandle(live[i], &found), PTL_OK);
		CHECK(PtlHandleIsEqual(found, ni) && !PtlHandleIsEqual(found, me));
	}
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		EQUAL(PtlNIHandle(none[i], &found), PTL_HANDLE_INVALID);
	EQUAL(PtlNIHandle(me, (ptl_handle_ni_t *)8), PTL_SEGV);
	EQUAL(PtlMEUnlink(me), PTL_OK);
	EQUAL(PtlMDUnlink(md), PTL_OK);
	EQUAL(PtlNIHandle(me, &found), PTL_HANDLE_INVALID);
	EQUAL(PtlNIHandle(md, &found), PTL_HANDLE_INVALID);

	EQUAL(PtlGetId(ni, &id), PTL_OK);
	CHECK(id.nid == margay_process(r->job.rank).nid && id.pid == margay_process(r->job.rank).pid);
	EQUAL(PtlGetUid(ni, &got), PTL_OK);
	EQUAL(got, uid);
	EQUAL(PtlGetJid(ni, &got), PTL_OK);
	EQUAL(got, jid);
	EQUAL(PtlGetId(bad, &id), PTL_NI_INVALID);
	EQUAL(PtlGetUid(bad, &got), PTL_NI_INVALID);
	EQUAL(PtlGetJid(bad, &got), PTL_NI_INVALID);
	EQUAL(PtlNIFini(bad), PTL_NI_INVALID);
	for (ptl_sr_index_t i = 0; i < PTL_SR_COUNT; i++)
		EQUAL(PtlNIStatus(ni, i, &value), PTL_OK);
	EQUAL(PtlNIStatus(ni, PTL_SR_COUNT, &value), PTL_SR_INDEX_INVALID);
	EQUAL(PtlNIStatus(ni, ~0u, &value), PTL_SR_INDEX_INVALID);
	EQUAL(PtlNIStatus(ni, 0, (ptl_sr_value_t *)8), PTL_SEGV);
	CHECK(strcmp(PtlErrorStr(PTL_MD_NO_UPDATE), "PTL_MD_NO_UPDATE") == 0);
	CHECK(strcmp(PtlEventKindStr(PTL_EVENT_GETPUT_START), "PTL_EVENT_GETPUT_START") == 0);
	CHECK(PtlErrorStr(-1) && PtlErrorStr(1000) && PtlEventKindStr(1000));
}

/* 27: the defaults: entry 0 admits the job, all others no process. */
static void case_defaults(struct roles *r)
{
	static const ptl_ac_index_t refused[] = { 1, 2, 3, 62, 63, 64, 65, 0xffff, 0x10000, ~0u };
	ptl_handle_me_t me = 0;
	ptl_sr_value_t before = 0;

	if (r->target) {
		before = status(r, PTL_SR_DROP_COUNT);
		me = attach(r, 1, 0, memory(r->in, 64, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, r->eq), PTL_RETAIN);
	}
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t md;

		put_ok(r, 8, 1, 0, 8);
		EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_DROPPED,
		                                  r->own), PTL_RETAIN, &md), PTL_OK);
		for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
			EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, refused[i], 1, 0, 0), PTL_OK);
			expect(r->own, PTL_EVENT_SEND_END);
			EQUAL(expect(r->own, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
			EQUAL(PtlGet(md, r->to, PT, refused[i], 1, 0), PTL_OK);
			EQUAL(expect(r->own, PTL_EVENT_REPLY_END).ni_fail_type, PTL_NI_DROPPED);
		}
		EQUAL(PtlMDUnlink(md), PTL_OK);
	}
	sync_ranks(r);
	if (r->target) {
		expect(r->eq, PTL_EVENT_PUT_END);
		EQUAL(status(r, PTL_SR_DROP_COUNT), before + 2 * sizeof refused / sizeof refused[0]);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* 2, 28, 29: an entry checks each part of the identity, and the portal; each may be a wildcard. */
static void case_entries(struct roles *r)
{
	ptl_process_id_t from = margay_process(0);
	const struct { ptl_process_id_t id; uint32_t uid, jid, pt; int admits; } entries[] = {
		{ { PTL_NID_ANY, PTL_PID_ANY }, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY, 1 },
		{ from, uid, jid, PT, 1 },
		{ { from.nid, PTL_PID_ANY }, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY, 1 },
		{ { PTL_NID_ANY, from.pid }, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY, 1 },
		{ { PTL_NID_ANY, PTL_PID_ANY }, uid, PTL_JID_ANY, PTL_PT_INDEX_ANY, 1 },
		{ { PTL_NID_ANY, PTL_PID_ANY }, PTL_UID_ANY, jid, PTL_PT_INDEX_ANY, 1 },
		{ { PTL_NID_ANY, PTL_PID_ANY }, PTL_UID_ANY, PTL_JID_ANY, PT, 1 },
		{ { from.nid + 1, from.pid }, uid, jid, PT, 0 },
		{ { from.nid, from.pid + 1 }, uid, jid, PT, 0 },
		{ from, uid + 1, jid, PT, 0 },
		{ from, uid, jid + 1, PT, 0 },
		{ from, uid, PTL_JID_NONE, PT, 0 },
		{ from, uid, jid, PT + 1, 0 },
		{ from, uid, jid, 0, 0 },
		{ { NO_PROCESS, NO_PROCESS }, NO_PROCESS, NO_PROCESS, 63, 0 },
	};
	enum { ENTRIES = sizeof entries / sizeof entries[0] };
	ptl_handle_me_t me = 0;
	ptl_sr_value_t before = 0;
	int index[] = { 2, 63 };

	if (r->target) {
		before = status(r, PTL_SR_DROP_COUNT);
		me = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
		                            PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	}
	for (int i = 0; i < ENTRIES; i++) {
		int ac = index[i % 2];

		if (r->target)
			EQUAL(PtlACEntry(r->job.ni, ac, entries[i].id, entries[i].uid, entries[i].jid,
			                 entries[i].pt), PTL_OK);
		sync_ranks(r);
		if (r->initiator) {
			int wanted = entries[i].admits ? PTL_NI_OK : PTL_NI_DROPPED;
			ptl_handle_md_t md;

			EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_DROPPED,
			                                  r->own), PTL_RETAIN, &md), PTL_OK);
			EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, ac, 1, 0, i), PTL_OK);
			expect(r->own, PTL_EVENT_SEND_END);
			EQUAL(expect(r->own, PTL_EVENT_ACK).ni_fail_type, wanted);
			EQUAL(PtlGet(md, r->to, PT, ac, 1, 0), PTL_OK);
			EQUAL(expect(r->own, PTL_EVENT_REPLY_END).ni_fail_type, wanted);
			EQUAL(PtlGetPut(md, md, r->to, PT, ac, 1, 0, 0), PTL_OK);
			expect(r->own, PTL_EVENT_SEND_END);
			EQUAL(expect(r->own, PTL_EVENT_REPLY_END).ni_fail_type, wanted);
			EQUAL(PtlMDUnlink(md), PTL_OK);
		}
		sync_ranks(r);
		if (r->target && entries[i].admits) {
			EQUAL(expect(r->eq, PTL_EVENT_PUT_END).hdr_data, i);
			expect(r->eq, PTL_EVENT_GET_END);
			expect(r->eq, PTL_EVENT_GETPUT_END);
		}
	}
	if (r->target) {
		EQUAL(status(r, PTL_SR_DROP_COUNT), before + 3 * 8);
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

/* 2, 28: an entry for one node admits that one and no other sender. */
static void case_each_rank(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t md;
	int size = r->job.size;

	if (r->job.rank == 0)
		me = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                            PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, PTL_MD_THRESH_INF, PTL_MD_EVENT_END_DISABLE |
	                                  PTL_MD_EVENT_DROPPED, r->own),
	                PTL_RETAIN, &md), PTL_OK);
	for (int admitted = 0; admitted < size; admitted++) {
		if (r->job.rank == 0)
			EQUAL(PtlACEntry(r->job.ni, 5, margay_process(admitted), PTL_UID_ANY, jid, PT), PTL_OK);
		sync_ranks(r);
		EQUAL(PtlPut(md, PTL_ACK_REQ, margay_process(0), PT, 5, 1, 0, r->job.rank), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_ACK).ni_fail_type,
		      r->job.rank == admitted ? PTL_NI_OK : PTL_NI_DROPPED);
		sync_ranks(r);
		if (r->job.rank == 0) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

			EQUAL(event.hdr_data, admitted);
			EQUAL(event.initiator.nid, margay_process(admitted).nid);
			expect_empty(r->eq);
		}
	}
	EQUAL(PtlMDUnlink(md), PTL_OK);
	if (r->job.rank == 0)
		EQUAL(PtlMEUnlink(me), PTL_OK);
}

/* 11: acks and replies skip access control. */
static void case_answers(struct roles *r)
{
	ptl_process_id_t no_process = { NO_PROCESS, NO_PROCESS }, any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_me_t me = 0;

	if (r->target)
		me = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
		                            PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN);
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t md;

		if (!r->target)                           /* no process may send to the initiator */
			EQUAL(PtlACEntry(r->job.ni, 0, no_process, NO_PROCESS, NO_PROCESS, PTL_PT_INDEX_ANY), PTL_OK);
		put_ok(r, 8, 1, 0, 8);
		EQUAL(PtlMDBind(r->job.ni, memory(r->in + 8, 8, 1, 0, r->own), PTL_RETAIN, &md), PTL_OK);
		EQUAL(PtlGet(md, r->to, PT, 0, 1, 0), PTL_OK);
		EQUAL(expect(r->own, PTL_EVENT_REPLY_END).mlength, 8);
		EQUAL(PtlMDUnlink(md), PTL_OK);
		EQUAL(PtlACEntry(r->job.ni, 0, any_process, PTL_UID_ANY, jid, PTL_PT_INDEX_ANY), PTL_OK);
	}
	sync_ranks(r);
	if (r->target)
		EQUAL(PtlMEUnlink(me), PTL_OK);
}

/* 33: the errors of PtlACEntry; a bad call changes nothing. */
static void case_arguments(struct roles *r)
{
	ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_ni_t ni = r->job.ni;

	EQUAL(PtlACEntry(ni ^ 1ULL << 30, 2, any_process, 0, 0, PT), PTL_NI_INVALID);
	EQUAL(PtlACEntry(ni, 64, any_process, 0, 0, PT), PTL_AC_INDEX_INVALID);
	EQUAL(PtlACEntry(ni, ~0u, any_process, 0, 0, PT), PTL_AC_INDEX_INVALID);
	EQUAL(PtlACEntry(ni, 63, any_process, NO_PROCESS, 0, 63), PTL_OK);
	EQUAL(PtlACEntry(ni, 63, any_process, PTL_UID_ANY, PTL_JID_ANY, 64), PTL_PT_INDEX_INVALID);
	EQUAL(PtlACEntry(ni, 63, any_process, PTL_UID_ANY, PTL_JID_ANY, NO_PROCESS), PTL_PT_INDEX_INVALID);
}

/* 15, 28: the identity in the events of every kind. */
static void case_identity(struct roles *r)
{
	ptl_process_id_t from = margay_process(0);
	ptl_handle_me_t me = 0;

	if (r->target)
		me = attach(r, 1, 0, memory(r->in, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
		                            PTL_MD_MANAGE_REMOTE, r->eq), PTL_RETAIN);
	sync_ranks(r);
	if (r->initiator) {
		static const ptl_event_kind_t kinds[] = { PTL_EVENT_SEND_END, PTL_EVENT_ACK,
			PTL_EVENT_REPLY_END, PTL_EVENT_SEND_END, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK };
		ptl_handle_md_t md;

		EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, 5, 0, r->own), PTL_UNLINK, &md), PTL_OK);
		EQUAL(PtlPut(md, PTL_ACK_REQ, r->to, PT, 0, 1, 0, 0), PTL_OK);
		for (int i = 0; i < 6; i++) {
			int own = kinds[i] == PTL_EVENT_SEND_END || kinds[i] == PTL_EVENT_UNLINK;
			ptl_event_t event;

			/* Each starts when the one before has ended, so that the order is known. */
			if (i == 2)
				EQUAL(PtlGet(md, r->to, PT, 0, 1, 0), PTL_OK);
			if (i == 3)
				EQUAL(PtlGetPut(md, md, r->to, PT, 0, 1, 0, 0), PTL_OK);
			event = expect(r->own, kinds[i]);
			EQUAL(event.initiator.nid, own ? from.nid : r->to.nid);
			EQUAL(event.initiator.pid, own ? from.pid : r->to.pid);
			EQUAL(event.uid, uid);
			EQUAL(event.jid, jid);
		}
	}
	sync_ranks(r);
	if (r->target) {
		static const ptl_event_kind_t kinds[] = { PTL_EVENT_PUT_END, PTL_EVENT_GET_END,
		                                          PTL_EVENT_GETPUT_END };

		for (int i = 0; i < 3; i++) {
			ptl_event_t event = expect(r->eq, kinds[i]);

			EQUAL(event.initiator.nid, from.nid);
			EQUAL(event.initiator.pid, from.pid);
			EQUAL(event.uid, uid);
			EQUAL(event.jid, jid);
		}
		EQUAL(PtlMEUnlink(me), PTL_OK);
	}
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "interface", case_interface }, { "defaults", case_defaults },
		{ "entries", case_entries }, { "each_rank", case_each_rank },
		{ "answers", case_answers }, { "arguments", case_arguments },
		{ "identity", case_identity },
	};
	static struct roles roles;

	uid = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	open_roles(&roles);
	EQUAL(PtlGetJid(roles.job.ni, &jid), PTL_OK);
	CHECK(jid != PTL_JID_NONE && jid != PTL_JID_ANY);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
