/*
 * fm_sockets: stream sockets between ranks, in cases. Each rank connects to the next one and
 * accepts from the previous one. fm_sockets death: rank 1 dies while rank 0 receives from it, and
 * rank 2 sends to it. fm_sockets polls: the same, but the socket does not block. fm_sockets leaves:
 * rank 1 ends in the middle of what it sends to rank 0 (17 ranks: a packet is shorter than what a
 * socket sends at a time). fm_sockets last: the others end as soon as they have sent to rank 0.
 * fm_sockets breaks: rank 0 sends rank 1 memory that ends in the middle of a message (33 ranks,
 * shared memory). fm_sockets full: rank 0 uses all its credit of rank 1 by sockets that do not
 * block (two ranks).
 */
#include <fm_socket.h>

#include "fm_test.h"

enum { PORT = 80, MOST = 1 << 20, LEAVE = 2, LAST = 60000 };

static unsigned next, before;
static unsigned char out[MOST], in[MOST];
static int listener, to, from;          /* connections with `next` and `before` */
static ptl_handle_ni_t ni;

static void join(void)
{
	unsigned who;

	to = FMS_connect(next, PORT, 1);
	OK(to);
	from = FMS_accept(listener, &who);
	OK(from);
	TRUE(who == before);
}

static void leave(void)
{
	OK(FMS_close(to));
	OK(FMS_close(from));
}

static void receive_all(int s, size_t bytes, unsigned number)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t part = FMS_recv(s, in + got, bytes - got);

		TRUE(part > 0);
		got += (size_t)part;
	}
	TRUE(is_content(in, bytes, number, 0));
}

static void echoed(void)
{
	static const size_t sizes[] = { 1, 10, 1000, 30000 };

	join();
	for (unsigned i = 0; i < 4; i++) {
		fill(out, sizes[i], i, 0);
		TRUE(FMS_send(to, out, sizes[i]) == (ssize_t)sizes[i]);
		receive_all(from, sizes[i], i);
		TRUE(FMS_send(from, in, sizes[i]) == (ssize_t)sizes[i]);
		receive_all(to, sizes[i], i);
	}
	leave();
}

/* A megabyte each way at a time, without blocking. */
static void streams(void)
{
	size_t sent = 0, got = 0;
	ssize_t part;

	join();
	OK(FMS_set_blocking(to, 0));
	OK(FMS_set_blocking(from, 0));
	fill(out, MOST, rank, 0);
	while (sent < MOST || got < MOST) {
		struct FMS_pollfd polled[2] = {
			{ .socket = to, .events = sent < MOST ? FMS_OUT : 0 },
			{ .socket = from, .events = FMS_IN },
		};

		OK(FMS_poll(polled, 2, 1000));
		if (polled[0].revents & FMS_OUT) {
			part = FMS_send(to, out + sent, MOST - sent < 9999 ? MOST - sent : 9999);
			OK(part);
			sent += (size_t)part;
		}
		if (polled[1].revents & FMS_IN) {
			part = FMS_recv(from, in + got, MOST - got < 7777 ? MOST - got : 7777);
			TRUE(part > 0);
			got += (size_t)part;
		}
	}
	TRUE(is_content(in, MOST, before, 0));
	FAILS(FMS_recv(from, in, 1), EAGAIN);
	OK(FM_barrier());
	leave();
}

/* A connection that is not read blocks its sender, but no others. */
static void held(void)
{
	FM_stream *open[FM_STREAMS];
	int second_to, second_from, early;
	size_t sent = 0;

	join();
	second_to = FMS_connect(next, PORT, 1);
	OK(second_to);
	second_from = FMS_accept(listener, 0);
	OK(second_from);
	OK(FMS_set_blocking(to, 0));
	fill(out, MOST, 3, 0);
	for (int i = 0; i < 2 * FM_STREAMS; i++)
		FAILS(FMS_send(to, UNREADABLE, FEW_BYTES), EFAULT);
	for (;;) {
		ssize_t part = FMS_send(to, out + sent, 5000);

		if (part < 0)
			break;
		sent += (size_t)part;
	}
	TRUE(errno == EAGAIN && sent == FMS_BUFFER);
	OK(FM_barrier());
	TRUE(FMS_send(second_to, out, 100) == 100);
	receive_all(second_from, 100, 3);
	for (int i = 0; i < FM_STREAMS; i++)    /* so that the sender cannot be told of free space, */
		TRUE((open[i] = FM_begin_message(before, 1, 1)));
	receive_all(from, sent, 3);
	for (int i = 0; i < FM_STREAMS; i++)
		OK(FM_cancel_message(open[i]));
	OK(FMS_set_blocking(from, 0));          /* but the next call that receives tells it */
	early = FMS_recv(from, in, 1) == 1;     /* and the other end may be quick */
	while (FMS_send(to, out, 1) < 0) {
		TRUE(errno == EAGAIN);
		OK(FM_wait(1000));
	}
	OK(FMS_set_blocking(from, 1));
	receive_all(from, !early, 3);
	OK(FMS_close(second_to));
	OK(FMS_close(second_from));
	leave();
}

/* The end of a stream: bytes sent before it arrive. */
static void closed(void)
{
	join();
	fill(out, 20000, 9, 0);
	TRUE(FMS_send(to, out, 20000) == 20000);
	OK(FMS_close(to));
	receive_all(from, 20000, 9);
	TRUE(FMS_recv(from, in, 1) == 0);
	TRUE(FMS_recv(from, in, 1) == 0);
	FAILS(FMS_send(from, out, 1), EPIPE);
	FAILS(FMS_recv(to, in, 1), EBADF);
	OK(FMS_close(from));
}

static void refused(void)
{
	struct FMS_pollfd polled;
	int s;

	FAILS(FMS_connect(next, PORT + 1, 1), ECONNREFUSED);
	s = FMS_connect(next, PORT + 1, 0);
	OK(s);
	polled = (struct FMS_pollfd){ .socket = s, .events = FMS_OUT };
	TRUE(FMS_poll(&polled, 1, -1) == 1 && polled.revents & FMS_HUP);
	FAILS(FMS_send(s, out, 1), ENOTCONN);
	OK(FMS_close(s));
	s = FMS_connect(next, PORT, 0);
	OK(s);
	polled = (struct FMS_pollfd){ .socket = s, .events = FMS_OUT };
	TRUE(FMS_poll(&polled, 1, -1) == 1 && polled.revents == FMS_OUT);
	from = FMS_accept(listener, 0);
	OK(from);
	OK(FMS_close(s));
	TRUE(FMS_recv(from, in, 1) == 0);
	OK(FMS_close(from));
}

/* More connections than sockets, one after the other; and connections closed before they are
 * accepted. */
static void many(void)
{
	for (int i = 0; i < 2 * FMS_SOCKETS; i++) {
		join();
		TRUE(FMS_send(to, &i, sizeof(i)) == sizeof(i));
		TRUE(FMS_recv(from, in, 4) == 4 && !memcmp(in, &i, 4));
		leave();
	}
	for (int i = 0; i < 10; i++) {
		to = FMS_connect(next, PORT, 1);
		OK(to);
		OK(FMS_close(to));
		from = FMS_accept(listener, 0);
		OK(from);
		TRUE(FMS_recv(from, in, 1) == 0);
		OK(FMS_close(from));
	}
}

static int called;

/* A handler of Fast Messages, which may not use sockets. */
static int calls(FM_stream *stream, unsigned sender)
{
	struct FMS_pollfd polled = { .socket = listener };

	(void)stream;
	FAILS(FMS_open(), EBUSY);
	FAILS(FMS_listen(PORT + 1), EBUSY);
	FAILS(FMS_connect(sender, PORT, 0), EBUSY);
	FAILS(FMS_connect(sender, PORT, 1), EBUSY);
	FAILS(FMS_accept(listener, 0), EBUSY);
	FAILS(FMS_send(listener, out, 1), EBUSY);
	FAILS(FMS_recv(listener, in, 1), EBUSY);
	FAILS(FMS_set_blocking(listener, 0), EBUSY);
	FAILS(FMS_poll(&polled, 1, 0), EBUSY);
	FAILS(FMS_close(listener), EBUSY);
	called = 1;
	return FM_CONTINUE;
}

static void arguments(void)
{
	struct FMS_pollfd polled = { .socket = 200 };
	FM_stream *stream, *open[FM_STREAMS];

	OK(FM_register(1, calls));
	TRUE((stream = FM_begin_message(rank, 0, 1)));
	OK(FM_end_message(stream));
	while (!called)
		OK(FM_extract(1));

	FAILS(FMS_listen(PORT), EADDRINUSE);
	FAILS(FMS_connect(ranks, PORT, 1), EINVAL);
	FAILS(FMS_accept(FMS_SOCKETS, 0), EBADF);
	FAILS(FMS_accept(-1, 0), EBADF);
	FAILS(FMS_close(200), EBADF);
	FAILS(FMS_send(listener, out, 1), EINVAL);
	FAILS(FMS_recv(listener, in, 1), EINVAL);
	FAILS(FMS_set_blocking(200, 1), EBADF);
	FAILS(FMS_poll(0, 1, 0), EINVAL);
	FAILS(FMS_poll(&polled, 1, 0), EBADF);
	polled.socket = listener;
	polled.events = FMS_IN;
	TRUE(FMS_poll(&polled, 1, 10) == 0 && polled.revents == 0);
	OK(FMS_set_blocking(listener, 0));
	FAILS(FMS_accept(listener, 0), EAGAIN);
	OK(FMS_set_blocking(listener, 1));
	OK(FM_barrier());
	join();
	FAILS(FMS_accept(to, 0), EINVAL);
	FAILS(FMS_send(to, 0, 1), EINVAL);
	FAILS(FMS_recv(to, 0, 1), EINVAL);
	TRUE(FMS_recv(to, in, 0) == 0);
	for (int i = 0; i < FM_STREAMS; i++)    /* the program has all messages to that rank open */
		TRUE((open[i] = FM_begin_message(next, 1, 1)));
	FAILS(FMS_send(to, out, 1), EAGAIN);
	FAILS(FMS_close(to), EAGAIN);
	for (int i = 0; i < FM_STREAMS; i++)
		OK(FM_cancel_message(open[i]));
	fill(out, 9, 2, 0);
	TRUE(FMS_send(to, out, 9) == 9);
	receive_all(from, 9, 2);
	leave();
}

/* Rank 1 is connected by all sockets that rank 0 has, which has closed all but `from`. It waits for
 * each close: connections that come faster than rank 0 accepts them are refused. */
static void before_death(void)
{
	enum { CLOSED = FMS_SOCKETS - 2 };

	for (int i = 0; i <= CLOSED; i++) {
		if (rank == 1)
			OK(to = FMS_connect(0, PORT, 1));
		if (rank == 0)
			OK(from = FMS_accept(listener, 0));
		if (rank == 0 && i < CLOSED)
			OK(FMS_close(from));
		if (rank == 1 && i < CLOSED)
			TRUE(FMS_recv(to, in, 1) == 0);
	}
	if (rank == 1)
		TRUE(FMS_send(to, "x", 1) == 1);
	else
		TRUE(FMS_recv(from, in, 1) == 1 && in[0] == 'x');
}

static int receive(int polls)
{
	int got;

	if (!polls)
		return (int)FMS_recv(from, in, 1);
	OK(FMS_set_blocking(from, 0));
	while ((got = (int)FMS_recv(from, in, 1)) < 0 && errno == EAGAIN)
		pause_ms(1);
	return got;
}

static void death(int polls)
{
	if (rank < 2)
		before_death();
	while (rank == 1)
		pause_ms(1000);
	if (rank == 0) {
		struct FMS_pollfd polled = { .socket = from, .events = FMS_OUT };

		printf("running\n");
		fflush(stdout);
		FAILS(receive(polls), ECONNRESET);
		FAILS(FMS_send(from, in, 1), ECONNRESET);
		TRUE(FMS_poll(&polled, 1, 0) == 1 && polled.revents & FMS_HUP);
		FAILS(FMS_connect(1, PORT, 1), ECONNRESET);
		to = FMS_connect(2, PORT, 1);           /* the dead rank's sockets are free */
		OK(to);
		OK(FMS_close(to));
		OK(FMS_close(from));
		printf("failed\n");
		end_busy(2);
	} else {
		keep_busy(0);
	}
	FAILS(FM_finalize(), EHOSTDOWN);
}

static int leave_job(FM_stream *stream, unsigned sender)
{
	(void)stream, (void)sender;
	_Exit(0);
}

/* Rank 1 runs the handler that ends it when FMS_send waits for credit. */
static void send_and_leave(void)
{
	to = FMS_connect(0, PORT, 1);
	OK(to);
	from = FMS_connect(0, PORT, 1);
	OK(from);
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	OK(FMS_send(to, out, FMS_BUFFER));
	OK(FMS_send(from, out, FMS_BUFFER));
	TRUE(0);
}

/* Rank 0 closes the connection and makes another one. Over cards it waits two seconds for the rest of
 * the message; that has nothing to do with the new connection. */
static void connect_again(void)
{
	struct FMS_pollfd polled;

	OK(from = FMS_accept(listener, 0));
	OK(to = FMS_accept(listener, 0));
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	OK(FM_send_4(1, LEAVE, 0, 0, 0, 0));
	while (FM_check(1) == 0)
		pause_ms(1);
	OK(FMS_set_blocking(to, 0));
	while (FMS_recv(to, in, MOST) > 0)
		;
	OK(FMS_close(to));
	OK(to = FMS_connect(2, PORT, 1));
	polled = (struct FMS_pollfd){ .socket = to, .events = FMS_IN };
	for (int i = 0; i < 25; i++)
		TRUE(FMS_poll(&polled, 1, 100) == 0);
	TRUE(FMS_send(to, "x", 1) == 1);
	TRUE(FMS_recv(to, in, 1) == 1 && in[0] == 'x');
	printf("done\n");
}

static void left(void)
{
	OK(FM_register(LEAVE, leave_job));
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	if (rank == 0)
		connect_again();
	else if (rank == 1)
		send_and_leave();
	else
		TRUE(PtlNIBarrier(ni) == PTL_OK);
	if (rank == 2) {
		OK(from = FMS_accept(listener, 0));
		TRUE(FMS_recv(from, in, 1) == 1);
		TRUE(FMS_send(from, in, 1) == 1);
	}
	FAILS(FM_finalize(), EHOSTDOWN);
}

/* The first page behind `out` that no process has. */
static const char *end_of_memory(void)
{
	const char *end = (const char *)(((uintptr_t)out + 4095) & ~4095UL);

	while (FM_send(rank, NO_HANDLER, end, 1) == 0)
		end += 4096;
	TRUE(errno == EFAULT);
	return end;
}

static void broken(void)
{
	if (rank == 0) {
		OK(to = FMS_connect(1, PORT, 1));
		FAILS((int)FMS_send(to, end_of_memory() - 20000, 40000), EFAULT);
		FAILS((int)FMS_send(to, out, 1), ECONNRESET);
		OK(FMS_close(to));
		for (int i = 0; i < 2 * FMS_SOCKETS; i++) {     /* the number is free at both ends */
			OK(to = FMS_connect(1, PORT, 1));
			TRUE(FMS_send(to, out, 1) == 1);
			TRUE(FMS_recv(to, in, 1) == 0);
			OK(FMS_close(to));
		}
		printf("done\n");
	}
	if (rank == 1) {
		ssize_t part;

		OK(from = FMS_accept(listener, 0));
		while ((part = FMS_recv(from, in, MOST)) > 0)
			;
		TRUE(part == -1 && errno == ECONNRESET);
		FAILS((int)FMS_send(from, out, 1), ECONNRESET);
		OK(FMS_close(from));
		for (int i = 0; i < 2 * FMS_SOCKETS; i++) {
			OK(from = FMS_accept(listener, 0));
			TRUE(FMS_recv(from, in, 1) == 1);
			OK(FMS_close(from));
		}
	}
	OK(FM_finalize());
}

/* Rank 1 makes no call meanwhile. Neither FMS_send nor FMS_connect waits for it, FMS_poll says so, and
 * all that FMS_send has taken arrives. */
static void full(void)
{
	enum { SOCKETS = 10, TURNS = 50 };
	struct FMS_pollfd polled = { .events = FMS_OUT };
	unsigned sent[SOCKETS] = { 0 };
	struct FM_counters counters;
	int s[SOCKETS];

	TRUE(PtlInit(0) == PTL_OK);
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	fill(out, FMS_BUFFER, 1, 0);
	for (int i = 0; i < SOCKETS; i++) {
		OK(s[i] = rank ? FMS_accept(listener, 0) : FMS_connect(1, PORT, 1));
		OK(FMS_set_blocking(s[i], rank != 0));
	}
	OK(FM_barrier());
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	for (int n = 0; rank == 0 && n < TURNS * SOCKETS; n++) {
		int i = n % SOCKETS;
		ssize_t part = 0;

		if (i == 0)
			pause_ms(1);            /* cards may still read the last packets */
		polled.socket = s[i];
		OK(FMS_poll(&polled, 1, 0));
		if (sent[i] < FMS_BUFFER)
			part = FMS_send(s[i], out + sent[i], FMS_BUFFER - sent[i]);
		TRUE(part > 0 || (polled.revents == 0 && (part == 0 || errno == EAGAIN)));
		sent[i] += part > 0 ? (unsigned)part : 0;
	}
	if (rank == 0) {
		FAILS(FMS_connect(1, PORT, 0), EAGAIN);
		OK(FM_get_counters(&counters));
		TRUE(counters.credit_waits == 0);
	}
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	for (int i = 0; i < SOCKETS; i++) {
		while (rank == 0 && sent[i] < FMS_BUFFER) {
			ssize_t part;

			polled.socket = s[i];
			TRUE(FMS_poll(&polled, 1, -1) == 1 && polled.revents == FMS_OUT);
			part = FMS_send(s[i], out + sent[i], FMS_BUFFER - sent[i]);
			TRUE(part > 0);
			sent[i] += (unsigned)part;
		}
		if (rank)
			receive_all(s[i], FMS_BUFFER, 1);
		OK(FMS_close(s[i]));
	}
	OK(FM_finalize());
	if (rank == 0)
		printf("done\n");
}

/* All ranks but 0 send, close and end at once. Rank 0 receives all of it, and then the close. */
static void last_bytes(void)
{
	if (rank) {
		OK(to = FMS_connect(0, PORT, 1));
		fill(out, LAST, rank, 0);
		TRUE(FMS_send(to, out, LAST) == LAST);
		OK(FMS_close(to));
		_Exit(0);
	}
	for (unsigned i = 1; i < ranks; i++) {
		unsigned sender;

		OK(from = FMS_accept(listener, &sender));
		receive_all(from, LAST, sender);
		TRUE(FMS_recv(from, in, 1) == 0);
		OK(FMS_close(from));
	}
	printf("done\n");
	exit(0);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "echoed", echoed }, { "streams", streams }, { "held", held },
		{ "closed", closed }, { "refused", refused }, { "many", many },
		{ "arguments", arguments },
	};

	open_test();
	next = (rank + 1) % ranks;
	before = (rank + ranks - 1) % ranks;
	OK(FMS_open());
	listener = FMS_listen(PORT);
	OK(listener);
	OK(FM_barrier());
	if (argc > 1 && !strcmp(argv[1], "leaves"))
		left();
	else if (argc > 1 && !strcmp(argv[1], "breaks"))
		broken();
	else if (argc > 1 && !strcmp(argv[1], "full"))
		full();
	else if (argc > 1 && !strcmp(argv[1], "last"))
		last_bytes();
	else if (argc > 1)
		death(!strcmp(argv[1], "polls"));
	else
		RUN_CASES(cases);
	return 0;
}
