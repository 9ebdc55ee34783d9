/*
 * nx_asks: rank 0 waits in cprobex for rank 1, which ends; meanwhile rank 2 sends messages to a
 * handler, which calls iprobe. The wait still ends with EQNOACT.
 */
#include "nx_test.h"

enum { TYPE = 4, MESSAGES = 20 };

static char byte;
static volatile long calls;

static void asks(long type, long count, long node, long ptype)
{
	(void)type, (void)count, (void)node, (void)ptype;
	EQUAL(iprobe(9), 0);
	if (++calls < MESSAGES)
		hrecv(TYPE, &byte, 1, asks);
}

int main(void)
{
	long info[8];

	if (mynode() == 1) {
		usleep(500000);
	} else if (mynode() == 2) {
		for (int i = 0; i < MESSAGES; i++) {
			csend(TYPE, &byte, 1, 0, 0);
			usleep(50000);
		}
	} else {
		hrecv(TYPE, &byte, 1, asks);
		FAILS(_cprobex(1, 1, 0, info), EQNOACT);
		CHECK(calls > 0);
		printf("refused\n");
	}
	return 0;
}
