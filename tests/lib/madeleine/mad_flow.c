/*
 * mad_flow CASE COUNT [COPIED]: rank 0 prints "done" when all messages have arrived, each once and
 * in order.
 *
 *   sleeper   all others send to rank 0, which sleeps for a second first
 *   ring      messages of changing length around the ring, each rank receiving and sending on
 *   zerocopy  of 1 KB to 1 MB: nothing is copied but headers, on either side, and bodies of up to
 *             COPIED bytes
 *   edges     bodies around the longest that travels with its header over cards, and long headers
 */
#include "mad_test.h"
#include <unistd.h>

enum { MOST = 1 << 20 };

static char out[MOST], in[MOST];
static char filler[860];
static int number, from, length, filled;
static int next[1024];

static void send(int to, int i, int bytes)
{
	fill(out, (size_t)bytes, (unsigned int)(me * 1000 + i));
	sendbuf_init(to);
	sendbuf_pack_int(SND_CHEAPER | RECV_EXPRESS, &me, 1);
	sendbuf_pack_int(SND_CHEAPER | RECV_EXPRESS, &i, 1);
	sendbuf_pack_int(SND_CHEAPER | RECV_EXPRESS, &bytes, 1);
	sendbuf_pack_byte(SND_SAFER | RECV_EXPRESS, filler, filled);
	sendbuf_pack_byte(SND_CHEAPER | RECV_CHEAPER, out, bytes);
	sendbuf_send();
}

static void receive(void)
{
	recvbuf_unpack_int(SND_CHEAPER | RECV_EXPRESS, &from, 1);
	recvbuf_unpack_int(SND_CHEAPER | RECV_EXPRESS, &number, 1);
	recvbuf_unpack_int(SND_CHEAPER | RECV_EXPRESS, &length, 1);
	recvbuf_unpack_byte(SND_SAFER | RECV_EXPRESS, filler, filled);
	recvbuf_unpack_byte(SND_CHEAPER | RECV_CHEAPER, in, length);
	recvbuf_receive_data();
	EQUAL(number, next[from]);
	next[from]++;
	CHECK(is_filled(in, (size_t)length, (unsigned int)(from * 1000 + number)));
}

static void sleeper(int count)
{
	for (int i = 0; i < count && me; i++)
		send(0, i, i % 5 ? 100 : i % 10 ? 2000 : 30000);
	if (me == 0) {
		sleep(1);
		for (int i = 0; i < count * (nodes - 1); i++)
			recvbuf_receive(receive);
	}
}

static void ring(int count)
{
	for (int i = 0; i < count; i++) {
		if (me == 0)
			send(1 % nodes, i, i * 7919 % (nodes > 1 ? 20000 : 256));
		recvbuf_receive(receive);
		if (me)
			send((me + 1) % nodes, i, length);
	}
}

static void zerocopy(int count, int copied)
{
	uint64_t before;
	int sent = 0;

	for (int bytes = 1024; bytes <= MOST; bytes *= 4)
		for (int i = 0; i < count; i++) {
			before = mad_copied();
			if (me == 0)
				send(1, sent++, bytes);
			else
				recvbuf_receive(receive);
			EQUAL(mad_copied() - before,
			      3 * sizeof(int) + (bytes <= copied ? (size_t)bytes : 0));
		}
}

static void edges(int count)
{
	int sent = 0;

	filled = sizeof(filler);
	for (int i = 0; i < count; i++)
		for (int bytes = 65500; bytes <= 65600; bytes += 4)
			if (me == 0)
				send(1, sent++, bytes);
			else if (me == 1)
				recvbuf_receive(receive);
}

int main(int argc, char **argv)
{
	mad_init(&argc, &argv, &nodes, &me);
	CHECK(argc == 3 || argc == 4);
	if (!strcmp(argv[1], "sleeper"))
		sleeper(atoi(argv[2]));
	else if (!strcmp(argv[1], "ring"))
		ring(atoi(argv[2]));
	else if (!strcmp(argv[1], "edges"))
		edges(atoi(argv[2]));
	else
		zerocopy(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0);
	mad_exit();
	if (me == 0)
		printf("done\n");
	return 0;
}
