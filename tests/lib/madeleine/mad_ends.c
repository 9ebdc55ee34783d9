/*
 * mad_ends WHAT: rank 1 exits, or the test kills it, while rank 0 communicates with it.
 *
 *   short     rank 1 exits; rank 0 sends short messages until no slot is left
 *   long      rank 1 exits; rank 0 sends a long message
 *   killed    rank 1 is killed while all send around the ring
 *   receives  rank 1 is killed while rank 0 waits for a message
 *   header    rank 1 is killed while its messages, of several slots, arrive at rank 0, which goes on
 *             with those of rank 2 (--on-death continue, over cards)
 */
#include "mad_test.h"
#include <unistd.h>

static char bytes[100000];
static int length;

static void send(int to, int count)
{
	sendbuf_init(to);
	sendbuf_pack_int(SND_SAFER | RECV_EXPRESS, &count, 1);
	sendbuf_pack_byte(SND_CHEAPER | RECV_CHEAPER, bytes, count);
	sendbuf_send();
}

static void receive(void)
{
	recvbuf_unpack_int(SND_SAFER | RECV_EXPRESS, &length, 1);
	recvbuf_unpack_byte(SND_CHEAPER | RECV_CHEAPER, bytes, length);
	recvbuf_receive_data();
}

static void say_running(void)
{
	if (me == 0)
		printf("running\n");
	fflush(stdout);
}

static void during_headers(void)
{
	enum { LONG = 60000, SHORT = 8, COUNT = 30 };

	say_running();
	for (int from_2 = 0; me == 0 && from_2 < COUNT; from_2 += length == SHORT)
		recvbuf_receive(receive);
	for (int i = 0; me == 2 && i < COUNT; i++) {
		usleep(100000);
		send(0, SHORT);
	}
	while (me == 1)
		send(0, LONG);
	if (me == 0)
		printf("done\n");
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	int is_killed = argc == 2 && !strcmp(argv[1], "killed");

	mad_init(&argc, &argv, &nodes, &me);
	CHECK(argc == 2);
	if (is_killed) {
		for (int i = 0;; i++) {
			if (me == 0)
				send(1, i % 2 ? 10 : (int)sizeof(bytes));
			recvbuf_receive(receive);
			if (me)
				send((me + 1) % nodes, length);
			if (i == 50)
				say_running();
		}
	}
	if (!strcmp(argv[1], "header"))
		during_headers();
	if (!strcmp(argv[1], "receives")) {
		say_running();
		recvbuf_receive(receive);
	}
	if (me == 1)
		return 0;
	for (int i = 0; i < 1000; i++)
		send(1, !strcmp(argv[1], "long") ? (int)sizeof(bytes) : 8);
	return 0;
}
