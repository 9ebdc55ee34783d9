/*
 * ptl_lists: PtlMEAttachAny, lists of descriptors (PtlMDInsert), PtlMDUpdate and
 * max_size, with their errors. The numbers are those of the rules that a case
 * tests. Prints "ok NAME" for each case; see ptl.h for the roles.
 */
#include "ptl.h"

static const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };

static ptl_handle_me_t entry(struct roles *r, uint64_t bits, ptl_unlink_t unlink)
{
	ptl_handle_me_t me;

	EQUAL(PtlMEAttach(r->job.ni, PT, any_process, bits, 0, unlink, PTL_INS_AFTER, &me), PTL_OK);
	return me;
}

/* 33: PtlMEAttachAny takes the lowest portal without entries, until there is none. */
static void case_attach_any(struct roles *r)
{
	ptl_handle_ni_t ni = r->job.ni;
	ptl_handle_me_t me[64], own;
	ptl_pt_index_t pt, last = 0;
	int n = 0, rc;

	if (!r->target)
		return;
	own = entry(r, 1, PTL_RETAIN);
	EQUAL(PtlMEAttachAny(ni ^ 1ULL << 30, &pt, any_process, 1, 0, PTL_RETAIN, me), PTL_NI_INVALID);
	EQUAL(PtlMEAttachAny(ni, (ptl_pt_index_t *)8, any_process, 1, 0, PTL_RETAIN, me), PTL_SEGV);
	EQUAL(PtlMEAttachAny(ni, &pt, any_process, 1, 0, PTL_RETAIN, (ptl_handle_me_t *)8), PTL_SEGV);
	while ((rc = PtlMEAttachAny(ni, &pt, any_process, 1, 0, PTL_UNLINK, &me[n])) == PTL_OK) {
		EQUAL(pt, n == 0 ? 0 : last + 1 + (last + 1 == PT) + (last + 1 == JOB_PORTAL));
		last = pt;
		n++;
	}
	EQUAL(rc, PTL_PT_FULL);
	EQUAL(n, 64 - 2);
	EQUAL(PtlMEUnlink(me[30]), PTL_OK);
	EQUAL(PtlMEUnlink(me[9]), PTL_OK);
	EQUAL(PtlMEAttachAny(ni, &pt, any_process, 1, 0, PTL_RETAIN, &me[9]), PTL_OK);
	EQUAL(pt, 9 + 2);                         /* the lower one of the two */
	EQUAL(PtlMEAttachAny(ni, &pt, any_process, 1, 0, PTL_RETAIN, &me[30]), PTL_OK);
	EQUAL(pt, 30 + 2);
	while (n-- > 0)
		EQUAL(PtlMEUnlink(me[n]), PTL_OK);
	EQUAL(PtlMEUnlink(own), PTL_OK);
}

/* 33: entries of PtlMEAttachAny match like those of PtlMEAttach. */
static void case_attached_portal(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t md;
	ptl_pt_index_t pt = 99;

	if (r->target) {
		EQUAL(PtlMEAttachAny(r->job.ni, &pt, any_process, 0xf0, 0xf, PTL_UNLINK, &me), PTL_OK);
		EQUAL(pt, 0);
		EQUAL(PtlMDAttach(me, memory(r->in, 8, 1, PTL_MD_OP_PUT, r->eq), PTL_UNLINK, &md), PTL_OK);
	}
	sync_ranks(r);
	if (r->initiator) {
		ptl_handle_md_t from;

		EQUAL(PtlMDBind(r->job.ni, memory(r->out, 8, 1, 0, r->own), PTL_UNLINK, &from), PTL_OK);
		EQUAL(PtlPut(from, PTL_NO_ACK_REQ, r->to, 0, 0, 0xf7, 0, 5), PTL_OK);
		expect(r->own, PTL_EVENT_SEND_END);
		expect(r->own, PTL_EVENT_UNLINK);
	}
	if (r->target) {
		ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

		EQUAL(event.pt_index, 0);
		EQUAL(event.match_bits, 0xf7);
		EQUAL(event.hdr_data, 5);
		expect(r->eq, PTL_EVENT_UNLINK);
		EQUAL(PtlMEUnlink(me), PTL_ME_INVALID);
	}
}

/* 3, 8, 26: only the first descriptor of a list counts; when it is unlinked, the next one does. */
static void case_insert(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t md[4];

	if (r->target) {
		ptl_md_t part = memory(r->in, 8, 1, PTL_MD_OP_PUT, r->eq);

		me = entry(r, 1, PTL_UNLINK);
		EQUAL(PtlMDAttach(me, part, PTL_UNLINK, &md[1]), PTL_OK);
		part.start = r->in + 8;
		EQUAL(PtlMDAttach(me, part, PTL_UNLINK, &md[2]), PTL_ME_IN_USE);
		part.start = r->in + 24;
		EQUAL(PtlMDInsert(md[1], part, PTL_UNLINK, PTL_INS_AFTER, &md[3]), PTL_OK);
		part.start = r->in + 16;
		EQUAL(PtlMDInsert(md[3], part, PTL_UNLINK, PTL_INS_BEFORE, &md[2]), PTL_OK);
		part.start = r->in + 32;
		part.threshold = 2;
		EQUAL(PtlMDInsert(md[1], part, PTL_UNLINK, PTL_INS_BEFORE, &md[0]), PTL_OK);
	}
	sync_ranks(r);
	if (r->initiator) {
		for (int i = 0; i < 5; i++)
			EQUAL(put(r, 4, 1, 0, i).ni_fail_type, PTL_NI_OK);
		put_dropped(r, 4, 1, 0);              /* the entry was unlinked with the last one */
	}
	sync_ranks(r);
	if (r->target) {
		static const int order[] = { 0, 0, 1, 2, 3 }, at[] = { 32, 32, 0, 16, 24 };

		for (int i = 0; i < 5; i++) {
			ptl_event_t event = expect(r->eq, PTL_EVENT_PUT_END);

			EQUAL(event.hdr_data, i);
			EQUAL(event.offset, i == 1 ? 4 : 0);
			CHECK(PtlHandleIsEqual(event.md_handle, md[order[i]]));
			CHECK(event.md.start == r->in + at[i]);
			if (i)
				CHECK(PtlHandleIsEqual(expect(r->eq, PTL_EVENT_UNLINK).md_handle, md[order[i]]));
		}
		EQUAL(PtlMEUnlink(me), PTL_ME_INVALID);
	}
}

/* 3: a first descriptor that rejects hides the later ones; PtlMDUnlink uncovers them. */
static void case_hidden(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t first, second;

	if (r->target) {
		me = entry(r, 1, PTL_RETAIN);
		EQUAL(PtlMDAttach(me, memory(r->in, 2, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, r->eq), PTL_RETAIN,
		                  &first), PTL_OK);
		EQUAL(PtlMDInsert(first, memory(r->in + 8, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, r->eq),
		                  PTL_RETAIN, PTL_INS_AFTER, &second), PTL_OK);
	}
	sync_ranks(r);
	if (r->initiator)
		put_dropped(r, 4, 1, 0);
	sync_ranks(r);
	if (r->target)
		EQUAL(PtlMDUnlink(first), PTL_OK);
	sync_ranks(r);
	if (r->initiator)
		put_ok(r, 4, 1, 0, 4);
	sync_ranks(r);
	if (r->target) {
		CHECK(PtlHandleIsEqual(expect(r->eq, PTL_EVENT_PUT_END).md_handle, second));
		EQUAL(r->in[0], 0);
		CHECK(memcmp(r->in + 8, r->out, 4) == 0);
		EQUAL(PtlMEUnlink(me), PTL_OK);           /* with the rest of its list */
		EQUAL(PtlMDUnlink(second), PTL_MD_INVALID);
	}
}

/* 33: the errors of PtlMDInsert; a bad call changes nothing. */
static void case_insert_arguments(struct roles *r)
{
	ptl_md_t good = memory(r->in, 8, 1, PTL_MD_OP_PUT, r->eq), wrong = good;
	ptl_handle_md_t bound, first, other;
	ptl_handle_me_t me;

	if (!r->target)
		return;
	me = entry(r, 1, PTL_RETAIN);
	EQUAL(PtlMDAttach(me, good, PTL_RETAIN, &first), PTL_OK);
	EQUAL(PtlMDBind(r->job.ni, good, PTL_RETAIN, &bound), PTL_OK);
	EQUAL(PtlMDInsert(bound, good, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_MD_INVALID);
	EQUAL(PtlMDInsert(me, good, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_MD_INVALID);
	EQUAL(PtlMDInsert(PTL_INVALID_HANDLE, good, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_MD_INVALID);
	EQUAL(PtlMDInsert(first, good, PTL_RETAIN, PTL_INS_AFTER, (ptl_handle_md_t *)8), PTL_SEGV);
	wrong.start = (void *)case_insert;
	EQUAL(PtlMDInsert(first, wrong, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_SEGV);
	wrong = good;
	wrong.threshold = -2;
	EQUAL(PtlMDInsert(first, wrong, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_MD_ILLEGAL);
	wrong = good;
	wrong.options |= 0x1000;
	EQUAL(PtlMDInsert(first, wrong, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_MD_ILLEGAL);
	wrong = good;
	wrong.eq_handle = r->own ^ 1ULL << 40;
	EQUAL(PtlMDInsert(first, wrong, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_EQ_INVALID);
	EQUAL(status(r, PTL_SR_MD_USED), r->mds + 2);
	EQUAL(PtlMDUnlink(bound), PTL_OK);
	EQUAL(PtlMEUnlink(me), PTL_OK);
	EQUAL(PtlMDInsert(first, good, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_MD_INVALID);
}

/* 24: an update replaces everything visible to the user, and copies out the old values. */
static void case_update(struct roles *r)
{
	ptl_handle_me_t me = 0;
	ptl_handle_md_t md = 0;
	ptl_md_t old, off = memory(r->in, 8, 0, PTL_MD_OP_PUT, r->eq);

	off.user_ptr = &me;
	if (r->target) {
		me = entry(r, 1, PTL_RETAIN);
		EQUAL(PtlMDAttach(me, off, PTL_RETAIN, &md), PTL_OK);
	}
	sync_ranks(r);
	if (r->initiator)
		put_dropped(r, 8, 1, 0);
	sync_ranks(r);
	if (r->target) {
		ptl_md_t on = memory(r->in + 100, 20, 3, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, r->eq);

		on.user_ptr = &md;
		EQUAL(PtlMDUpdate(md, &old, &on, r->eq), PTL_OK);
		CHECK(old.start == r->in && old.length == 8 && old.threshold == 0 &&
		      old.user_ptr == &me && old.options == off.options && old.eq_handle == r->eq);
	}
	sync_ranks(r);
	for (int i = 0; r->initiator && i < 2; i++)
		put_ok(r, 16, 1, 0, i ? 4 : 16);
	sync_ranks(r);
	if (r->target) {
		ptl_md_t again = memory(r->in + 200, 16, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, r->eq);

		EQUAL(PtlMDUpdate(md, &old, &again, r->eq), PTL_MD_NO_UPDATE);     /* two events there */
		CHECK(old.start == r->in + 100 && old.threshold == 1 && old.user_ptr == &md);
		expect(r->eq, PTL_EVENT_PUT_END);
		EQUAL(PtlMDUpdate(md, NULL, &again, r->eq), PTL_MD_NO_UPDATE);     /* still one */
		EQUAL(PtlMDUpdate(md, NULL, &again, r->own), PTL_OK);              /* another queue */
		EQUAL(PtlMDUpdate(md, &old, NULL, r->eq), PTL_OK);                 /* read only */
		CHECK(old.start == again.start && old.length == 16 &&
		      old.threshold == PTL_MD_THRESH_INF);
		EQUAL(expect(r->eq, PTL_EVENT_PUT_END).offset, 16);
	}
	sync_ranks(r);
	if (r->initiator)
		put_ok(r, 16, 1, 0, 16);                  /* from local offset 0 again */
	sync_ranks(r);
	if (r->target) {
		EQUAL(expect(r->eq, PTL_EVENT_PUT_END).offset, 0);
		CHECK(memcmp(r->in + 200, r->out, 16) == 0 && memcmp(r->in + 100, r->out, 16) == 0 &&
		      memcmp(r->in + 116, r->out, 4) == 0 && r->in[120] == 0 && r->in[0] == 0);
		EQUAL(PtlMDUpdate(md, NULL, &off, PTL_EQ_NONE), PTL_OK);  /* 8: not unlinked at 0 */
		EQUAL(PtlMEUnlink(me), PTL_OK);
		EQUAL(PtlMDUpdate(md, &old, NULL, PTL_EQ_NONE), PTL_MD_INVALID);
	}
}

/* 33: the errors of PtlMDUpdate: nothing is copied out then. */
static void case_update_arguments(struct roles *r)
{
	ptl_md_t good = memory(r->in, 8, 1, PTL_MD_OP_PUT, r->eq), wrong = good, old;
	ptl_handle_md_t md;
	ptl_md_iovec_t pieces[2] = { { r->in, 4 }, { (void *)8, 4 } };

	if (!r->target)
		return;
	memset(&old, 0x55, sizeof old);
	EQUAL(PtlMDBind(r->job.ni, good, PTL_RETAIN, &md), PTL_OK);
	EQUAL(PtlMDUpdate(PTL_INVALID_HANDLE, &old, &good, PTL_EQ_NONE), PTL_MD_INVALID);
	EQUAL(PtlMDUpdate(r->eq, &old, &good, PTL_EQ_NONE), PTL_MD_INVALID);
	EQUAL(PtlMDUpdate(md, (ptl_md_t *)8, &good, PTL_EQ_NONE), PTL_SEGV);
	EQUAL(PtlMDUpdate(md, &old, (ptl_md_t *)8, PTL_EQ_NONE), PTL_SEGV);
	wrong.start = (void *)case_update;
	EQUAL(PtlMDUpdate(md, &old, &wrong, PTL_EQ_NONE), PTL_SEGV);
	wrong = good;
	wrong.length = ~0ULL;
	EQUAL(PtlMDUpdate(md, &old, &wrong, PTL_EQ_NONE), PTL_SEGV);
	wrong = memory(pieces, 2, 1, PTL_MD_IOVEC, r->eq);
	EQUAL(PtlMDUpdate(md, &old, &wrong, PTL_EQ_NONE), PTL_SEGV);
	wrong = good;
	wrong.threshold = -9;
	EQUAL(PtlMDUpdate(md, &old, &wrong, PTL_EQ_NONE), PTL_MD_ILLEGAL);
	wrong = good;
	wrong.eq_handle = md;
	EQUAL(PtlMDUpdate(md, &old, &wrong, PTL_EQ_NONE), PTL_EQ_INVALID);
	EQUAL(PtlMDUpdate(md, &old, &good, md), PTL_EQ_INVALID);
	EQUAL(PtlMDUpdate(md, &old, NULL, r->eq ^ 1ULL << 40), PTL_EQ_INVALID);
	for (size_t i = 0; i < sizeof old; i++)
		EQUAL(((unsigned char *)&old)[i], 0x55);
	EQUAL(PtlMDUpdate(md, &old, NULL, PTL_EQ_NONE), PTL_OK);
	CHECK(old.start == r->in && old.length == 8 && old.threshold == 1 && old.eq_handle == r->eq);
	EQUAL(PtlMDUnlink(md), PTL_OK);
}

/* 6: with less than max_size left after the local offset it is inactive, or unlinked; but not
 * with a remote offset. */
static void case_max_size(struct roles *r)
{
	static const struct { int bits, unlink; unsigned options; } kinds[] = {
		{ 1, 0, PTL_MD_MAX_SIZE }, { 2, 1, PTL_MD_MAX_SIZE }, { 3, 0, 0 },
		{ 4, 1, PTL_MD_MAX_SIZE | PTL_MD_MANAGE_REMOTE },
	};
	ptl_handle_me_t me[4];
	ptl_handle_md_t md[4];

	for (int i = 0; r->target && i < 4; i++) {
		ptl_md_t in = memory(r->in + 100 * i, 32, PTL_MD_THRESH_INF,
		                     PTL_MD_OP_PUT | kinds[i].options, r->eq);

		in.max_size = 8;
		me[i] = entry(r, kinds[i].bits, PTL_RETAIN);
		EQUAL(PtlMDAttach(me[i], in, kinds[i].unlink ? PTL_UNLINK : PTL_RETAIN, &md[i]), PTL_OK);
	}
	sync_ranks(r);
	for (int i = 0; r->initiator && i < 4; i++) {
		put_ok(r, 24, kinds[i].bits, 0, 24);      /* 8 are left: enough */
		put_ok(r, 1, kinds[i].bits, 0, 1);        /* 7 are not */
		if (i < 2)
			put_dropped(r, 1, kinds[i].bits, 0);
		else
			put_ok(r, 1, kinds[i].bits, 0, 1);
	}
	sync_ranks(r);
	for (int i = 0; r->target && i < 4; i++) {
		expect(r->eq, PTL_EVENT_PUT_END);
		expect(r->eq, PTL_EVENT_PUT_END);
		if (i >= 2)
			expect(r->eq, PTL_EVENT_PUT_END);
		if (i == 1)
			EQUAL(expect(r->eq, PTL_EVENT_UNLINK).md_handle, md[1]);
		EQUAL(PtlMDUnlink(md[i]), i == 1 ? PTL_MD_INVALID : PTL_OK);
		EQUAL(PtlMEUnlink(me[i]), PTL_OK);
	}
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "attach_any", case_attach_any }, { "attached_portal", case_attached_portal },
		{ "insert", case_insert }, { "hidden", case_hidden },
		{ "insert_arguments", case_insert_arguments }, { "update", case_update },
		{ "update_arguments", case_update_arguments }, { "max_size", case_max_size },
	};
	static struct roles roles;

	open_roles(&roles);
	return run_cases(&roles, cases, sizeof cases / sizeof cases[0]);
}
