/*
 * p30_pingpong [ROUNDS]: a program in the style of Portals 3.0, as in its report. The ranks of each
 * pair send a message back and forth; processes are named by group and rank. A rank without a
 * partner sends to itself.
 */
#include "p30_test.h"

enum { PORTAL = 4, BYTES = 1000 };

static char in[BYTES], out[BYTES];

/* Sends all of `out`, with the round in the header data. */
static void throw(ptl_handle_md_t md, ptl_handle_eq_t eq, int to, int round)
{
	memset(out, round, sizeof out);
	OK(PtlPut(md, PTL_NOACK_REQ, rank_id(to), PORTAL, 0, 0x1234, 0, (ptl_hdr_data_t)round));
	EQUAL(expect(eq, PTL_EVENT_SENT).mlength, BYTES);
}

static void catch(ptl_handle_eq_t eq, int from, int round)
{
	ptl_event_t event = expect(eq, PTL_EVENT_PUT);

	EQUAL(event.hdr_data, round);
	EQUAL(event.initiator.addr_kind, PTL_ADDR_BOTH);
	EQUAL(event.initiator.rid, from);
	EQUAL(event.initiator.gid, self.gid);
	EQUAL(event.portal, PORTAL);
	EQUAL(event.mem_desc.length, BYTES);
	CHECK(in[0] == (char)round && in[BYTES - 1] == (char)round);
}

int main(int argc, char *argv[])
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	ptl_handle_eq_t sent, arrived;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	int partner;

	open_interface();
	partner = (self.rid ^ 1) < group_size ? self.rid ^ 1 : self.rid;
	OK(PtlEQAlloc(ni, 8, &sent));
	OK(PtlEQAlloc(ni, 8, &arrived));
	OK(PtlMEAttach(ni, PORTAL, rank_id(partner), 0x1234, 0, PTL_UNLINK, &me));
	OK(PtlMDAttach(me, region(in, BYTES, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
	                          PTL_MD_MANAGE_REMOTE, arrived), PTL_RETAIN, NULL));
	OK(PtlMDBind(ni, region(out, BYTES, PTL_MD_THRESH_INF, 0, sent), &md));
	OK(PtlNIBarrier(ni));
	for (int round = 0; round < rounds; round++) {
		int first = (round & 1) == (self.rid & 1);

		if (first || partner == self.rid)
			throw(md, sent, partner, round);
		if (!first || partner == self.rid)
			catch(arrived, partner, round);
	}
	OK(PtlMDUnlink(md));
	OK(PtlMEUnlink(me));
	OK(PtlEQFree(sent));
	OK(PtlEQFree(arrived));
	if (self.rid == 0)
		printf("ok %d rounds\n", rounds);
	close_interface();
	return 0;
}
