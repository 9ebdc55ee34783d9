/*
 * nx_ends WHAT: rank 1 exits, or the test kills it, while others communicate with it.
 *
 *   exits    rank 1 ends without receiving; rank 0's sends to it fail with EQNOACT: one that
 *            waits for slots, and one that is long
 *   killed   rank 1 is killed while all send to each other: the job ends
 *   receives rank 1 is killed while rank 0 waits for a message of it: the job ends
 *   error    rank 0's call fails: it prints the error, and the job ends with status 1
 */
#include "nx_test.h"

static char bytes[100000];

static void to_one_that_exits(void)
{
	long sent = 0, id;

	if (mynode() == 1)
		return;
	id = isend(1, bytes, sizeof(bytes), 1, 0);
	while (_csend(1, bytes, 8, 1, 0) == 0 && sent < 5000)
		sent++;
	EQUAL(errno, EQNOACT);
	FAILS(_msgwait(id), EQNOACT);
	FAILS(_csend(1, bytes, 8, 1, 0), EQNOACT);
	printf("refused\n");
}

static void for_ever(void)
{
	long next = (mynode() + 1) % numnodes();

	for (long i = 0;; i++) {
		csendrecv(1, bytes, i % 2 ? 100 : (long)sizeof(bytes), next, 0, 1, bytes,
			  sizeof(bytes));
		if (i == 100 && mynode() == 0) {
			printf("running\n");
			fflush(stdout);
		}
	}
}

static void receive(void)
{
	if (mynode() == 0) {
		printf("running\n");
		fflush(stdout);
	}
	crecv(1, bytes, sizeof(bytes));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	if (!strcmp(argv[1], "exits"))
		to_one_that_exits();
	else if (!strcmp(argv[1], "killed"))
		for_ever();
	else if (!strcmp(argv[1], "receives"))
		receive();
	else if (mynode() == 0)
		csend(-5, bytes, 1, 0, 0);
	else
		crecv(1, bytes, 1);
	return 0;
}
