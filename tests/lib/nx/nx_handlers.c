/*
 * nx_handlers: hsend, hrecv, hsendrecv and masktrap; rank 0 prints a line for each case.
 */
#include "nx_test.h"

enum { MOST = 200000, COUNT = 3000 };

static char out[MOST], in[MOST];
static volatile char byte;
static volatile long calls, got_type, got_count, got_node;
static long me, ranks, left, right;

static void note(long type, long count, long node, long ptype)
{
	EQUAL(ptype, 0);
	got_type = type;
	got_count = count;
	got_node = node;
	calls++;
	byte = 1;
}

static void wait_for(long wanted)
{
	for (time_t end = time(NULL) + 20; calls < wanted && time(NULL) < end;)
		;
	EQUAL(calls, wanted);
}

static void received(void)
{
	static const long sizes[] = { 0, 10, 4096, 5000, MOST };

	for (int early = 0; early < 2; early++)
		for (int i = 0; i < 5; i++) {
			long bytes = sizes[i], seed = 10 * i + early;

			calls = 0;
			fill(out, (size_t)bytes, (uint32_t)(me + seed));
			memset(in, 0, sizeof(in));
			if (early) {
				msgignore(isend(3, out, bytes, right, 0));
				cprobe(3);
			}
			hrecv(3, in, MOST, note);
			if (!early) {
				gsync();
				msgignore(isend(3, out, bytes, right, 0));
			}
			wait_for(1);
			EQUAL(got_type, 3);
			EQUAL(got_count, bytes);
			EQUAL(got_node, left);
			CHECK(is_filled(in, (size_t)bytes, (uint32_t)(left + seed)));
			gsync();
		}
	passed("received");
}

static void sent(void)
{
	long id, bytes = 10;

	for (int i = 0; i < 2; i++, bytes = MOST) {
		calls = 0;
		memset(in, 0, sizeof(in));
		id = irecv(3, in, MOST);
		fill(out, (size_t)bytes, (uint32_t)(me + 10 * i));
		hsend(3, out, bytes, right, 0, note);
		wait_for(1);
		EQUAL(got_count, bytes);
		EQUAL(got_node, me);
		msgwait(id);
		CHECK(is_filled(in, (size_t)bytes, (uint32_t)(left + 10 * i)));
		calls = 0;
		memset(in, 0, sizeof(in));
		fill(out, (size_t)bytes, (uint32_t)(me + 10 * i + 1));
		hsendrecv(3, out, bytes, right, 0, 3, in, MOST, note);
		wait_for(1);
		EQUAL(got_count, bytes);
		EQUAL(got_node, left);
		CHECK(is_filled(in, (size_t)bytes, (uint32_t)(left + 10 * i + 1)));
		gsync();
	}
	passed("sent");
}

/* A server while the program computes: a handler that posts the next receive. */
static int number;
static volatile long served;

static void serve(long type, long count, long node, long ptype)
{
	(void)type, (void)ptype;
	EQUAL(count, sizeof(number));
	EQUAL(number, served);
	EQUAL(node, left);
	FAILS(_crecv(9, in, 1), EQHAND);
	FAILS(_gsync(), EQHAND);
	served++;
	if (served < COUNT)
		hrecv(4, &number, sizeof(number), serve);
}

static void server(void)
{
	served = 0;
	hrecv(4, &number, sizeof(number), serve);
	gsync();
	for (int i = 0; i < COUNT; i++)
		csend(4, &i, sizeof(i), right, 0);
	for (time_t end = time(NULL) + 30; served < COUNT && time(NULL) < end;)
		;
	EQUAL(served, COUNT);
	passed("server");
}

/* The program receives while a handler posts its next receive: each gets its messages in order. */
static void beside(void)
{
	int got;

	if (ranks == 1) {
		passed("beside");
		return;
	}
	served = 0;
	if (me == 0)
		hrecv(4, &number, sizeof(number), serve);
	gsync();
	for (int i = 0; i < COUNT && right == 0; i++) {
		csend(4, &i, sizeof(i), 0, 0);
		csend(3, &i, sizeof(i), 0, 0);
	}
	for (int i = 0; i < COUNT && me == 0; i++) {
		crecv(3, &got, sizeof(got));
		EQUAL(got, i);
	}
	for (time_t end = time(NULL) + 30; me == 0 && served < COUNT && time(NULL) < end;)
		;
	EQUAL(served, me == 0 ? COUNT : 0);
	gsync();
	passed("beside");
}

/* A handler posts a receive of a force type while early messages wait for their upcalls. The
 * message that is sent then must not be lost. */
static void post_forced(long type, long count, long node, long ptype)
{
	(void)type, (void)count, (void)ptype;
	while (!byte)
		;
	hrecv(NX_FORCE_TYPE + 5, in, 1, note);
	csend(15, "r", 1, node, 0);
}

static void forced(void)
{
	char start, flag = 1;
	long id = -1;

	calls = 0;
	byte = 0;
	if (me == 0 && ranks > 1) {
		id = irecv(13, (char *)&byte, 1);
		hrecv(16, &start, 1, post_forced);
	}
	gsync();
	if (right == 0 && ranks > 1) {
		csend(16, "x", 1, 0, 0);
		for (int i = 0; i < 5; i++)
			csend(17, "early", 5, 0, 0);
		csend(13, &flag, 1, 0, 0);
		crecv(15, in, 1);
		csend(NX_FORCE_TYPE + 5, "f", 1, 0, 0);
	}
	if (id >= 0) {
		wait_for(1);
		msgwait(id);
		for (int i = 0; i < 5; i++)
			crecv(17, out, 5);
	}
	gsync();
	passed("forced");
}

/* Handlers that answer, while the program waits in crecv. */
static void answer(long type, long count, long node, long ptype)
{
	(void)type, (void)ptype;
	csend(6, in, count, node, 0);
	calls++;
	if (calls < 100)
		hrecv(5, in, 8, answer);
}

static void answers(void)
{
	char reply[8];

	calls = 0;
	hrecv(5, in, 8, answer);
	gsync();
	for (int i = 0; i < 100; i++) {
		memset(out, i, 8);
		EQUAL(csendrecv(5, out, 8, right, 0, 6, reply, 8), 8);
		EQUAL(reply[7], i);
	}
	passed("answers");
}

/* A csend to all others in a handler fails if it would wait for slots, and sends nothing. */
static volatile long all_error;

static void to_all(long type, long count, long node, long ptype)
{
	(void)type, (void)count, (void)node, (void)ptype;
	errno = 0;
	all_error = _csend(21, out, 8, -1, 0) ? errno : 0;
	memset(out, 0, 8);
	calls++;
}

static void broadcast(void)
{
	long id, last = -1, value = 0;

	calls = 0;
	hrecv(20, in, 1, to_all);
	csend(20, "x", 1, me, 0);
	wait_for(1);
	EQUAL(all_error, 0);
	for (long i = 1; i < ranks; i++)
		crecv(21, in, 8);
	gsync();
	while (id = isend(22, &value, sizeof(value), right, 0), msgdone(id))
		;
	hrecv(20, in, 1, to_all);
	if (right != me)
		csend(20, "x", 1, me, 0);
	else
		msgignore(isend(20, "x", 1, me, 0));
	gsync();
	if (right != me) {
		wait_for(2);
		EQUAL(all_error, EQHAND);
	}
	gsync();
	msgignore(isend(22, &last, sizeof(last), right, 0));
	do
		crecv(22, &value, sizeof(value));
	while (value != last);
	msgwait(id);
	wait_for(2);
	gsync();
	EQUAL(iprobe(21), 0);
	passed("broadcast");
}

/* A handler's own calls do not change what the program's info calls return. */
static void looks(long type, long count, long node, long ptype)
{
	(void)type, (void)count, (void)node, (void)ptype;
	EQUAL(iprobe(12), 1);
	EQUAL(infotype(), 12);
	EQUAL(infocount(), 3);
	calls++;
}

static void info(void)
{
	calls = 0;
	EQUAL(masktrap(1), 0);
	csend(12, "two", 3, me, 0);
	hrecv(11, in, 1, looks);
	csend(11, "x", 1, me, 0);
	csend(14, "four", 5, me, 0);
	cprobe(14);
	masktrap(0);
	wait_for(1);
	EQUAL(infotype(), 14);
	EQUAL(infocount(), 5);
	crecv(14, in, 5);
	crecv(12, in, 3);
	passed("info");
}

static void masked(void)
{
	calls = 0;
	EQUAL(masktrap(1), 0);
	hrecv(7, in, 1, note);
	csend(7, "x", 1, me, 0);
	csend(8, "y", 1, me, 0);
	crecv(8, in + 1, 1);
	EQUAL(calls, 0);
	EQUAL(masktrap(0), 1);
	EQUAL(calls, 1);
	EQUAL(in[0], 'x');
	FAILS(_hrecv(7, in, 1, NULL), EQPARAM);
	FAILS(_hsend(7, in, 1, ranks, 0, note), EQNODE);
	passed("masked");
}

int main(void)
{
	me = mynode();
	ranks = numnodes();
	left = (me + ranks - 1) % ranks;
	right = (me + 1) % ranks;
	received();
	sent();
	server();
	beside();
	forced();
	answers();
	broadcast();
	masked();
	info();
	return 0;
}
