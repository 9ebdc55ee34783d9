/*
 * nx_room: receives of a force type that find no match entry free are posted later, in the order of
 * their calls. The program uses the entries itself, beside the library.
 */
#include "nx_test.h"
#include <portals3.h>

enum { MOST = 10240, PORTAL = 9, TYPE = NX_FORCE_TYPE + 1 };

static ptl_handle_me_t entries[MOST];
static int count;

static void use_all(ptl_handle_ni_t ni)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	int rc;

	do
		rc = PtlMEAttach(ni, PORTAL, any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER,
				 &entries[count]);
	while (rc == PTL_OK && ++count < MOST);
	EQUAL(rc, PTL_NO_SPACE);
}

static void free_all(void)
{
	while (count > 0)
		EQUAL(PtlMEUnlink(entries[--count]), PTL_OK);
}

int main(void)
{
	ptl_handle_ni_t ni;
	char first = 0, second = 0;
	long me = mynode(), ids[2];

	EQUAL(numnodes(), 1);
	EQUAL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
	use_all(ni);
	ids[0] = irecv(TYPE, &first, 1);
	free_all();
	ids[1] = irecv(TYPE, &second, 1);
	flick();
	csend(TYPE, "1", 1, me, 0);
	csend(TYPE, "2", 1, me, 0);
	for (int i = 0; i < 2; i++)
		msgwait(ids[i]);
	EQUAL(first, '1');
	EQUAL(second, '2');
	printf("done\n");
	return 0;
}
