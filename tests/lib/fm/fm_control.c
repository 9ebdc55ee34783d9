/*
 * fm_control RANKS: credits for all requests and answers of a job find a slot while the program makes
 * no call. Only one rank is there; it takes itself for rank 0 of RANKS, sends itself the credits by
 * Portals, and does not close the library.
 *
 * With 8 units in a ring, as in jobs of more than 256 ranks, the program can send 3 requests to each
 * rank and its handlers 3 answers; each is one packet of one unit, for which a credit comes back.
 */
#include "fm_test.h"
#include <margay/abi.h>
#include <portals3.h>

extern struct margay_start __glue_start; /* libmargay's copy; not public */

enum { PORTAL_CONTROL = 42, CREDIT = 0, CREDITS = 6 };

int main(int argc, char **argv)
{
	ptl_md_t md = { .threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE };
	ptl_handle_ni_t ni;
	ptl_handle_md_t handle;

	TRUE(argc == 2);
	__glue_start.size = (uint32_t)atoi(argv[1]);
	open_test();
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
	TRUE(PtlMDBind(ni, md, PTL_RETAIN, &handle) == PTL_OK);
	for (unsigned i = 0; i < CREDITS * ranks; i++)
		TRUE(PtlPut(handle, PTL_NO_ACK_REQ, margay_process(0), PORTAL_CONTROL, 0, CREDIT, 0,
		            1) == PTL_OK);
	TRUE(FM_extract(1) == 0);
	TRUE(FM_room(0) > 0);
	printf("done\n");
	return 0;
}
