/*
 * p30_calls: features of Portals 3.0 that 3.3 lacks or defines differently: lists of descriptors,
 * table sizes, names of processes, PtlEQCount, updates. Rank 0 sends, rank 1 is the target (rank 0
 * again if it is alone). Prints "ok NAME" for each case.
 */
#include "p30_test.h"

enum { PORTAL = 5, PIECE = 16 };

static char in[8 * PIECE], out[8 * PIECE];
static int target;                        /* its rank */
static ptl_handle_eq_t eq;                /* events of this process as a target */
static ptl_handle_eq_t own;               /* and as an initiator */

static ptl_process_id_t any_process(void)
{
	ptl_process_id_t id = { .addr_kind = PTL_ADDR_NID, .nid = PTL_ID_ANY, .pid = PTL_ID_ANY };

	return id;
}

static void put_bytes(ptl_size_t bytes, ptl_ack_req_t ack, ptl_hdr_data_t hdr_data)
{
	ptl_handle_md_t md;

	OK(PtlMDBind(ni, region(out, bytes, PTL_MD_THRESH_INF, 0, own), &md));
	OK(PtlPut(md, ack, rank_id(target), PORTAL, 0, 7, 0, hdr_data));
	EQUAL(expect(own, PTL_EVENT_SENT).rlength, bytes);
	if (ack == PTL_ACK_REQ) {
		ptl_event_t event = expect(own, PTL_EVENT_ACK);

		EQUAL(event.rlength, bytes);
		EQUAL(event.initiator.rid, target);
	}
	OK(PtlMDUnlink(md));
}

static void nothing_left(void)
{
	ptl_size_t events;

	OK(PtlNIBarrier(ni));
	OK(PtlEQCount(eq, &events));
	EQUAL(events, 0);
	OK(PtlEQCount(own, &events));
	EQUAL(events, 0);
	memset(in, 0, sizeof in);
	OK(PtlNIBarrier(ni));
}

/* Each descriptor of a list accepts one message; the last one is unlinked with the entry. */
static void case_lists(void)
{
	ptl_handle_me_t me, again;
	ptl_handle_md_t md[3];
	ptl_size_t events;

	if (self.rid == target) {
		OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_UNLINK, &me));
		EQUAL(PtlMEAttach(ni, PORTAL, any_process(), 8, 0, PTL_UNLINK, &again), PTL_INUSE);
		OK(PtlMDAttach(me, region(in + PIECE, PIECE, 1, PTL_MD_OP_PUT, eq), PTL_UNLINK,
		               &md[1]));
		EQUAL(PtlMDAttach(me, region(in, PIECE, 1, PTL_MD_OP_PUT, eq), PTL_UNLINK, NULL),
		      PTL_INUSE);
		OK(PtlMDInsert(md[1], region(in, PIECE, 1, PTL_MD_OP_PUT, eq), PTL_UNLINK,
		               PTL_INS_BEFORE, &md[0]));
		OK(PtlMDInsert(md[1], region(in + 2 * PIECE, PIECE, 1, PTL_MD_OP_PUT, eq), PTL_UNLINK,
		               PTL_INS_AFTER, NULL));
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == 0)
		for (int i = 0; i < 3; i++)
			put_bytes((ptl_size_t)(i + 1), PTL_ACK_REQ, (ptl_hdr_data_t)i);
	OK(PtlNIBarrier(ni));
	if (self.rid == target) {
		OK(PtlEQCount(eq, &events));      /* no UNLINK events */
		EQUAL(events, 3);
		for (int i = 0; i < 3; i++) {
			ptl_event_t event = expect(eq, PTL_EVENT_PUT);

			EQUAL(event.hdr_data, i);
			EQUAL(event.md.threshold, 0);
			CHECK(event.mem_desc.start == in + i * PIECE);
			EQUAL(memcmp(in + i * PIECE, out, (size_t)i + 1), 0);
			EQUAL(in[i * PIECE + i + 1], 0);
			OK(PtlEQCount(eq, &events));
			EQUAL(events, 2 - i);
		}
		EQUAL(PtlMDUnlink(md[0]), PTL_INV_MD);
		OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_UNLINK, &again));
		OK(PtlMEUnlink(again));
		EQUAL(PtlMEUnlink(again), PTL_INV_ME);
	}
}

/* Too long: the first entry skips it, the second one truncates it. */
static void case_truncation(void)
{
	ptl_handle_me_t first, second;

	if (self.rid == target) {
		OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_RETAIN, &first));
		OK(PtlMDAttach(first, region(in, PIECE, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, eq),
		               PTL_RETAIN, NULL));
		OK(PtlMEInsert(first, rank_id(0), 7, 0, PTL_RETAIN, PTL_INS_AFTER, &second));
		OK(PtlMDAttach(second, region(in + PIECE, PIECE, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
		                              PTL_MD_TRUNCATE, eq), PTL_RETAIN, NULL));
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == 0)
		put_bytes(PIECE + 5, PTL_ACK_REQ, 0);
	OK(PtlNIBarrier(ni));
	if (self.rid == target) {
		ptl_event_t event = expect(eq, PTL_EVENT_PUT);

		EQUAL(event.rlength, PIECE + 5);
		EQUAL(event.mlength, PIECE);
		EQUAL(in[0] | in[2 * PIECE], 0);
		EQUAL(memcmp(in + PIECE, out, PIECE), 0);
		OK(PtlMEUnlink(first));
		OK(PtlMEUnlink(second));
	}
}

/* A discarded put gets no ack; the target counts it. */
static void case_drops(void)
{
	ptl_sr_value_t before, after;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_size_t events;

	OK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &before));
	if (self.rid == target)
		OK(PtlMEAttach(ni, PORTAL, any_process(), 8, 0, PTL_RETAIN, &me));
	OK(PtlNIBarrier(ni));
	if (self.rid == 0) {
		OK(PtlMDBind(ni, region(out, 5, PTL_MD_THRESH_INF, 0, own), &md));
		OK(PtlPut(md, PTL_ACK_REQ, rank_id(target), PORTAL, 0, 7, 0, 0));
		expect(own, PTL_EVENT_SENT);
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == 0) {
		OK(PtlEQCount(own, &events));
		EQUAL(events, 0);
		OK(PtlMDUnlink(md));
	}
	OK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &after));
	EQUAL(after - before, self.rid == target);
	if (self.rid == target)
		OK(PtlMEUnlink(me));
}

static void case_get(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	if (self.rid == target) {
		OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_UNLINK, &me));
		memset(in, 3, PIECE);
		OK(PtlMDAttach(me, region(in, PIECE, 1, PTL_MD_OP_GET, eq), PTL_UNLINK, NULL));
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == 0) {
		char got[PIECE] = { 0 };

		OK(PtlMDBind(ni, region(got, PIECE, 1, 0, own), &md));
		OK(PtlGet(md, rank_id(target), PORTAL, 0, 7, 0));
		EQUAL(expect(own, PTL_EVENT_REPLY).mlength, PIECE);
		EQUAL(got[0] + got[PIECE - 1], 6);
		OK(PtlMDUnlink(md));              /* it still exists at threshold 0 */
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == target)
		EQUAL(expect(eq, PTL_EVENT_GET).md.threshold, 0);
}

/* An update fails until the queue is empty; unlinking leaves no event in it. */
static void case_update(void)
{
	ptl_handle_me_t me, gone;
	ptl_handle_md_t md;
	ptl_md_t old, new;

	if (self.rid == target) {
		OK(PtlMEAttach(ni, PORTAL, rank_id(0), 7, 0, PTL_RETAIN, &gone));
		OK(PtlMDAttach(gone, region(NULL, 0, 1, PTL_MD_OP_PUT, eq), PTL_UNLINK, NULL));
		OK(PtlMEInsert(gone, any_process(), 7, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
		OK(PtlMDAttach(me, region(in, PIECE, 0, PTL_MD_OP_PUT, eq), PTL_RETAIN, &md));
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == 0)
		put_bytes(0, PTL_ACK_REQ, 1);
	OK(PtlNIBarrier(ni));
	if (self.rid == target) {
		new = region(in + PIECE, PIECE / 2, 1, PTL_MD_OP_PUT, eq);
		new.user_ptr = &old;
		memset(&old, 0, sizeof old);
		EQUAL(PtlMDUpdate(md, &old, &new, eq), PTL_NOUPDATE);
		CHECK(old.start == in && old.length == PIECE && old.threshold == 0);
		EQUAL(expect(eq, PTL_EVENT_PUT).hdr_data, 1);
		OK(PtlMDUpdate(md, &old, &new, eq));
		CHECK(old.start == in && old.options == PTL_MD_OP_PUT && old.eventq == eq);
		OK(PtlMDUpdate(md, &old, NULL, PTL_EQ_NONE));
		CHECK(old.start == in + PIECE && old.user_ptr == &old && old.threshold == 1);
		EQUAL(PtlMDUpdate(md, NULL, &new, 12345), PTL_INV_EQ);
		new.options = 0x20;
		EQUAL(PtlMDUpdate(md, NULL, &new, PTL_EQ_NONE), PTL_ILL_MD);
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == 0)
		put_bytes(4, PTL_ACK_REQ, 2);
	OK(PtlNIBarrier(ni));
	if (self.rid == target) {
		CHECK(expect(eq, PTL_EVENT_PUT).mem_desc.user_ptr == &old);
		EQUAL(memcmp(in + PIECE, out, 4), 0);
		OK(PtlMEUnlink(gone));
		OK(PtlMEUnlink(me));
	}
}

/* More events than a small queue holds: the oldest are lost, which is reported. */
static void case_overrun(void)
{
	enum { PUTS = 40 };
	ptl_handle_eq_t small;
	ptl_handle_me_t me;
	ptl_event_t event;
	ptl_size_t events;
	int got = 1;

	if (self.rid == target) {
		OK(PtlEQAlloc(ni, 2, &small));
		OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_RETAIN, &me));
		OK(PtlMDAttach(me, region(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, small), PTL_RETAIN,
		               NULL));
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == 0)
		for (int i = 0; i < PUTS; i++)
			put_bytes(0, PTL_ACK_REQ, (ptl_hdr_data_t)i);
	OK(PtlNIBarrier(ni));
	if (self.rid == target) {
		OK(PtlEQCount(small, &events));
		EQUAL(events, 2);
		EQUAL(PtlEQGet(small, &event), PTL_EQ_DROPPED);
		for (ptl_hdr_data_t last = event.hdr_data; last < PUTS - 1; last++, got++) {
			OK(PtlEQGet(small, &event));
			EQUAL(event.hdr_data, last + 1);
		}
		CHECK(got >= 2 && got < PUTS);
		EQUAL(PtlEQGet(small, &event), PTL_EQ_EMPTY);
		OK(PtlMEUnlink(me));
		OK(PtlEQFree(small));
		EQUAL(PtlEQCount(small, &events), PTL_INV_EQ);
	}
}

/* Both names of a process, and the distance to it. */
static void case_names(void)
{
	ptl_process_id_t both, back, bad = rank_id(group_size);
	unsigned long hops;
	double distance;

	EQUAL(self.addr_kind, PTL_ADDR_BOTH);
	for (int rank = 0; rank < group_size; rank++) {
		OK(PtlTransId(ni, rank_id(rank), &both));
		EQUAL(both.addr_kind, PTL_ADDR_BOTH);
		EQUAL(both.rid, rank);
		both.addr_kind = PTL_ADDR_NID;
		both.rid = both.gid = -5;
		OK(PtlTransId(ni, both, &back));
		EQUAL(back.rid, rank);
		EQUAL(back.gid, self.gid);
		OK(PtlNIDist(ni, both, &distance));
		OK(PtlNIDist(ni, rank_id(rank), &hops));
		EQUAL(hops, rank != self.rid);
		EQUAL(distance == (double)hops, 1);
	}
	EQUAL(PtlTransId(ni, bad, &both), PTL_ADDR_UNKNOWN);
	EQUAL(PtlNIDist(ni, bad, &distance), PTL_INV_PROC);
	bad = rank_id(0);
	bad.gid++;
	EQUAL(PtlTransId(ni, bad, &both), PTL_ADDR_UNKNOWN);
	bad = self;
	bad.pid += 100;
	EQUAL(PtlTransId(ni, bad, &both), PTL_ADDR_UNKNOWN);
}

/* Entry 1 of the access control table, set to this group and one portal. */
static void case_access(void)
{
	ptl_process_id_t group = rank_id(PTL_ID_ANY);
	ptl_handle_me_t me;
	ptl_handle_md_t md;

	if (self.rid == target) {
		OK(PtlACEntry(ni, 1, group, PORTAL));
		EQUAL(PtlACEntry(ni, 2, group, PORTAL), PTL_AC_INV_INDEX);
		EQUAL(PtlACEntry(ni, 1, group, 32), PTL_PT_INV_INDEX);
		group.gid++;
		EQUAL(PtlACEntry(ni, 1, group, PORTAL), PTL_INV_PROC);
		OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_RETAIN, &me));
		OK(PtlMDAttach(me, region(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, eq), PTL_RETAIN,
		               NULL));
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == 0) {
		OK(PtlMDBind(ni, region(NULL, 0, PTL_MD_THRESH_INF, 0, own), &md));
		OK(PtlPut(md, PTL_ACK_REQ, rank_id(target), PORTAL, 1, 7, 0, 0));
		expect(own, PTL_EVENT_SENT);
		expect(own, PTL_EVENT_ACK);
		OK(PtlMDUnlink(md));
	}
	OK(PtlNIBarrier(ni));
	if (self.rid == target) {
		expect(eq, PTL_EVENT_PUT);
		OK(PtlMEUnlink(me));
	}
}

static void case_errors(void)
{
	ptl_handle_ni_t other;
	ptl_handle_me_t me;
	ptl_sr_value_t value;
	ptl_event_t event;

	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, 32, 2, &other), PTL_INIT_DUP);
	OK(PtlNIHandle(eq, &other));
	EQUAL(other == ni, 1);
	EQUAL(PtlNIHandle(12345, &other), PTL_INV_HANDLE);
	EQUAL(PtlNIStatus(ni, 12345, &value), PTL_INV_SR_INDX);
	EQUAL(PtlMEAttach(ni, 32, any_process(), 0, 0, PTL_RETAIN, &me), PTL_INV_PTINDEX);
	EQUAL(PtlMEInsert(12345, any_process(), 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_INV_ME);
	EQUAL(PtlMDUnlink(12345), PTL_INV_MD);
	EQUAL(PtlEQGet(12345, &event), PTL_INV_EQ);
	EQUAL(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	EQUAL(PtlPut(12345, PTL_NOACK_REQ, self, 0, 0, 0, 0, 0), PTL_INV_MD);
	EQUAL(strcmp(ptl_err_str[PTL_NOINIT], "PTL_NOINIT"), 0);
	EQUAL(strcmp(ptl_err_str[PTL_ADDR_UNKNOWN], "PTL_ADDR_UNKNOWN"), 0);
}

/* Calls before PtlNIInit, and invalid sizes. */
static void sizes(void)
{
	ptl_process_id_t id;

	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, 8, 2, &ni), PTL_NOINIT);
	OK(PtlInit());
	EQUAL(PtlGetId(ni, &id, &group_size), PTL_NOINIT);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT + 1, 8, 2, &ni), PTL_INIT_INV);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, 0, 2, &ni), PTL_INV_PSIZE);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, 1 << 20, 2, &ni), PTL_INV_PSIZE);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, 8, 1 << 20, &ni), PTL_INV_ASIZE);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, 0x80000001U, 2, &ni), PTL_INV_PSIZE);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, 8, 0x80000001U, &ni), PTL_INV_ASIZE);
}

/* Each life of the interface frees its tables, whichever call ends it: a node has no memory for
 * so many tables at once. */
static void lives(void)
{
	for (int i = 0; i < 600; i++) {
		OK(PtlInit());
		OK(PtlNIInit(PTL_IFACE_DEFAULT, 8, (ptl_ac_index_t)(i % 3), &ni));
		OK(PtlEQAlloc(ni, 8, &eq));
		if (i % 2)
			OK(PtlNIFini(ni));
		PtlFini();
		EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, 8, 2, &ni), PTL_NOINIT);
	}
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "lists", case_lists }, { "truncation", case_truncation }, { "drops", case_drops },
		{ "get", case_get }, { "update", case_update }, { "overrun", case_overrun },
		{ "names", case_names }, { "access", case_access }, { "errors", case_errors },
	};

	sizes();
	lives();
	open_interface();
	target = 1 % group_size;
	OK(PtlEQAlloc(ni, 8, &eq));
	OK(PtlEQAlloc(ni, 8, &own));
	for (size_t i = 0; i < sizeof out; i++)
		out[i] = (char)(i + 1);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		cases[i].run();
		nothing_left();
		if (self.rid == 0)
			printf("ok %s\n", cases[i].name);
	}
	OK(PtlEQFree(eq));
	OK(PtlEQFree(own));
	close_interface();
	return 0;
}
