/*
 * nx_ends WHAT: rank 1 exits, or the test kills it, while others communicate with it.
 *
 *   exits    rank 1 ends without receiving; rank 0's sends to it fail with EQNOACT: one that
 *            waits for slots, and one that is long
 *   killed   rank 1 is killed while all send to each other: the job ends
 *   receives rank 1 is killed while rank 0 waits for a message of it: the job ends
 *   WHAT [exits]   calls of rank 0 that wait for rank 1 fail with EQNOACT when it is killed (--on-death
 *                  continue), or exits; rank 2 sends to rank 0 all the time
 *       sends      for slots          named   in crecvx, for a message
 *       probes     in cprobex         gsync   of all ranks, in a global operation
 *       kept       rank 1 exits after it has sent: its messages are received
 *   reused   rank 1 exits while long force messages to it are under way: they fail, and their ends,
 *            which come later, are not those of rank 0's next sends (a card with high latency)
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

static int keep_waiting(const char *what)
{
	long info[8] = { -7, -7, -7, -7 };

	if (!strcmp(what, "named")) {
		int result = _crecvx(1, bytes, sizeof(bytes), 1, 0, info), error = errno;

		EQUAL(info[0] + info[1] + info[2] + info[3], -28);      /* no message: unchanged */
		errno = error;
		return result;
	}
	if (!strcmp(what, "probes"))
		return _cprobex(1, 1, 0, info);
	if (!strcmp(what, "gsync"))
		return _gsync();
	while (_csend(1, bytes, 8, 1, 0) == 0)
		;
	return -1;
}

static void to_one_that_dies(const char *what, int exits)
{
	volatile long enough = 0;
	long id;

	if (mynode() == 1) {
		while (!exits)
			sleep(1);
	} else if (mynode() == 2 && strcmp(what, "gsync")) {
		id = irecv(3, (void *)&enough, sizeof(enough));
		while (!msgdone(id)) {
			csend(NX_FORCE_TYPE, bytes, 8, 0, 0);
			usleep(20000);
		}
	} else {
		printf("running\n");
		fflush(stdout);
		FAILS(keep_waiting(what), EQNOACT);
		if (strcmp(what, "gsync"))
			csend(3, &id, sizeof(id), 2, 0);
		printf("refused\n");
	}
}

/* Early messages, then the end: receives take them, and one more fails. */
static void from_one_that_exits(void)
{
	enum { COUNT = 20, SIZE = 700 };
	long info[8], number;

	for (number = 0; mynode() == 1 && number < COUNT; number++) {
		fill(bytes, SIZE, (uint32_t)number);
		csend(1, bytes, SIZE, 0, 0);
	}
	if (mynode())
		return;
	sleep(1);
	for (number = 0; number < COUNT; number++) {
		EQUAL(_crecvx(1, bytes, sizeof(bytes), 1, 0, info), 0);
		CHECK(info[1] == SIZE && is_filled(bytes, SIZE, (uint32_t)number));
	}
	FAILS(_crecvx(1, bytes, sizeof(bytes), 1, 0, info), EQNOACT);
	FAILS(_cprobex(1, 1, 0, info), EQNOACT);
	printf("refused\n");
}

static void keep_sending(void)
{
	long number = 0;

	for (; !iprobe(2); usleep(20000))
		csend(3, &number, sizeof(number), 0, 0);
	crecv(2, &number, sizeof(number));
	while (number-- > 0)
		crecv(1, bytes, sizeof(bytes));
}

/* Sends to rank 1, while messages of rank 2 come, until one fails: then all that are under way. */
static long send_until_it_ends(void)
{
	enum { LONG = 20000, MOST = 500 };
	long ids[MOST], ended = 0, begun = 0, number, failed = 0;

	while (failed == 0 && begun < MOST) {
		ids[begun++] = isend(NX_FORCE_TYPE, bytes, LONG, 1, 0);
		crecv(3, &number, sizeof(number));
		while (ended < begun && (failed = _msgdone(ids[ended])) == 1)
			ended++;
	}
	EQUAL(failed, -1);
	EQUAL(errno, EQNOACT);
	for (long i = ended + 1; i < begun; i++)
		FAILS(_msgwait(ids[i]), EQNOACT);
	return begun - ended;
}

static void sends_that_end_late(void)
{
	long ids[500], number = 0;

	if (mynode() == 2)
		keep_sending();
	if (mynode() == 1)
		usleep(300000);
	if (mynode())
		return;
	number = send_until_it_ends();
	for (long i = 0; i < number; i++)
		ids[i] = isend(1, bytes, sizeof(bytes), 2, 0);
	for (int look = 0; look < 20; look++) {
		usleep(100000);
		for (long i = 0; i < number; i++)
			CHECK(!msgdone(ids[i]));
	}
	csend(2, &number, sizeof(number), 2, 0);
	for (long i = 0; i < number; i++)
		msgwait(ids[i]);
	printf("done\n");
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
	CHECK(argc > 1);
	if (strstr("sends named probes gsync", argv[1]))
		to_one_that_dies(argv[1], argc > 2);
	else if (!strcmp(argv[1], "kept"))
		from_one_that_exits();
	else if (!strcmp(argv[1], "reused"))
		sends_that_end_late();
	else if (!strcmp(argv[1], "exits"))
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
