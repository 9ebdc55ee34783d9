/*
 * p30_later: extensions of Cplant's library beyond the report of Portals 3.0: SENT for PtlGet and
 * max_offset, each by its macro, and PtlEQWait_timeout. Every rank is its own target. Prints "ok
 * NAME" for each case.
 */
#define P30_SENT_FOR_GET
#define P30_MAX_OFFSET
#include "p30_test.h"
#include <time.h>

enum { PORTAL = 5, PIECE = 16 };

static char in[4 * PIECE], out[PIECE];
static ptl_handle_eq_t eq, own;           /* events as a target, as an initiator */

static ptl_process_id_t any_process(void)
{
	ptl_process_id_t id = { .addr_kind = PTL_ADDR_NID, .nid = PTL_ID_ANY, .pid = PTL_ID_ANY };

	return id;
}

static ptl_md_t limited(void *start, ptl_size_t length, ptl_size_t max_offset,
                        unsigned int options, ptl_handle_eq_t queue)
{
	ptl_md_t md = region(start, length, PTL_MD_THRESH_INF, options, queue);

	md.max_offset = max_offset;
	return md;
}

static void put(ptl_size_t bytes)
{
	ptl_handle_md_t md;

	OK(PtlMDBind(ni, limited(out, bytes, bytes, 0, own), &md));
	OK(PtlPut(md, PTL_NOACK_REQ, rank_id(self.rid), PORTAL, 0, 7, 0, 0));
	expect(own, PTL_EVENT_SENT);
	OK(PtlMDUnlink(md));
}

/* SENT, then REPLY; sequence numbers grow across both, and events stay in order. */
static void case_sent(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t source, md;
	ptl_event_t put_sent, sent, reply, again;
	ptl_size_t events;
	char got[PIECE];

	OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_RETAIN, &me));
	OK(PtlMDAttach(me, limited(in, PIECE, PIECE, PTL_MD_OP_GET | PTL_MD_OP_PUT |
	                           PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN, &md));
	OK(PtlMDBind(ni, limited(got, PIECE, PIECE, 0, own), &source));
	EQUAL(PtlGet(source, rank_id(group_size), PORTAL, 0, 7, 0), PTL_INV_PROC);
	EQUAL(PtlGet(12345, rank_id(self.rid), PORTAL, 0, 7, 0), PTL_INV_MD);
	OK(PtlPut(source, PTL_NOACK_REQ, rank_id(self.rid), PORTAL, 0, 7, 0, 0));
	OK(PtlGet(source, rank_id(self.rid), PORTAL, 0, 7, 0));
	OK(PtlEQCount(own, &events));
	EQUAL(events, 3);
	put_sent = expect(own, PTL_EVENT_SENT);
	EQUAL(put_sent.mlength, PIECE);
	sent = expect(own, PTL_EVENT_SENT);
	EQUAL(sent.rlength, PIECE);
	EQUAL(sent.mlength, 0);
	EQUAL(sent.initiator.rid, self.rid);
	EQUAL(sent.portal, PORTAL);
	EQUAL(sent.match_bits, 7);
	CHECK(sent.md.start == got);
	reply = expect(own, PTL_EVENT_REPLY);
	EQUAL(reply.mlength, PIECE);
	CHECK(sent.sequence > put_sent.sequence && reply.sequence > sent.sequence);
	OK(PtlGet(source, rank_id(self.rid), PORTAL, 0, 7, 0));
	again = expect(own, PTL_EVENT_SENT);
	CHECK(again.sequence > reply.sequence);
	CHECK(expect(own, PTL_EVENT_REPLY).sequence > again.sequence);
	OK(PtlMDUnlink(source));
	OK(PtlMEUnlink(me));
}

/* A descriptor accepts at max_offset, not beyond; then it is unlinked, or accepts nothing. */
static void case_max_offset(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	ptl_event_t event;
	ptl_md_t old, new;

	OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_UNLINK, &me));
	OK(PtlMDAttach(me, limited(in, sizeof in, PIECE, PTL_MD_OP_PUT, eq), PTL_UNLINK, &md));
	put(PIECE);                       /* at 0 */
	put(1);                           /* at PIECE, the last allowed offset */
	put(1);
	event = expect(eq, PTL_EVENT_PUT);
	EQUAL(event.md.max_offset, PIECE);
	EQUAL(expect(eq, PTL_EVENT_PUT).offset, PIECE);
	EQUAL(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	EQUAL(PtlMDUnlink(md), PTL_INV_MD);       /* unlinked with its entry */
	EQUAL(PtlMEUnlink(me), PTL_INV_ME);

	OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_RETAIN, &me));
	OK(PtlMDAttach(me, limited(in, sizeof in, 0, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, eq),
	               PTL_RETAIN, &md));
	put(0);                           /* the offset stays 0, so it always accepts */
	put(0);
	put(1);
	put(0);
	for (int i = 0; i < 3; i++)
		expect(eq, PTL_EVENT_PUT);
	EQUAL(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
	new = limited(in, sizeof in, sizeof in, PTL_MD_OP_PUT, eq);
	OK(PtlMDUpdate(md, &old, &new, PTL_EQ_NONE));
	EQUAL(old.max_offset, 0);
	put(PIECE);                       /* all of it: no limit */
	put(PIECE);
	put(PIECE);
	put(PIECE);
	for (int i = 0; i < 4; i++)
		expect(eq, PTL_EVENT_PUT);
	OK(PtlMEUnlink(me));
}

static void case_timeout(void)
{
	struct timespec start, end;
	ptl_event_t event;
	ptl_handle_me_t me;

	EQUAL(PtlEQWait_timeout(12345, &event, 1), PTL_INV_EQ);
	EQUAL(PtlEQWait_timeout(eq, &event, 0), PTL_EQ_EMPTY);
	EQUAL(PtlEQWait_timeout(eq, &event, -1), PTL_EQ_EMPTY);
	clock_gettime(CLOCK_MONOTONIC, &start);
	EQUAL(PtlEQWait_timeout(eq, &event, 1), PTL_EQ_EMPTY);
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK((end.tv_sec - start.tv_sec) * 1000000000L + end.tv_nsec - start.tv_nsec >= 1000000000L);
	OK(PtlMEAttach(ni, PORTAL, any_process(), 7, 0, PTL_RETAIN, &me));
	OK(PtlMDAttach(me, limited(in, PIECE, PIECE, PTL_MD_OP_PUT, eq), PTL_RETAIN, NULL));
	put(1);
	OK(PtlEQWait_timeout(eq, &event, 0x7fffffff));
	EQUAL(event.type, PTL_EVENT_PUT);
	OK(PtlMEUnlink(me));
}

int main(void)
{
	OK(PtlInit());
	OK(PtlNIInit(PTL_IFACE_DEFAULT, 32, 0, &ni));
	OK(PtlGetId(ni, &self, &group_size));
	OK(PtlEQAlloc(ni, 8, &eq));
	OK(PtlEQAlloc(ni, 8, &own));
	case_sent();
	puts("ok sent");
	case_max_offset();
	puts("ok max_offset");
	case_timeout();
	puts("ok timeout");
	close_interface();
	return 0;
}
