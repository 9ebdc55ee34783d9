/*
 * mad_strings: figures 4 and 5 of the Madeleine paper. Each node sends the next one two
 * strings. The receiver does not know their lengths: it unpacks each length at once, makes room,
 * and has both strings when recvbuf_receive_data returns.
 *
 *     tools/margay run -n 3 build/apps/mad_strings.elf
 */
#include <madeleine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *data[2];

static void handler(void)
{
	for (int i = 0; i < 2; i++) {
		int size;

		recvbuf_unpack_int(RECV_EXPRESS | SND_SAFER, &size, 1);
		data[i] = malloc((size_t)size);
		if (!data[i])
			exit(1);
		recvbuf_unpack_byte(RECV_CHEAPER | SND_CHEAPER, data[i], size);
	}
	recvbuf_receive_data();
}

static void send_strings(int me, int dest)
{
	static char texts[2][100];

	sendbuf_init(dest);
	for (int i = 0; i < 2; i++) {
		int size = snprintf(texts[i], sizeof(texts[i]), i ? "with %d more words" :
				    "greetings from node %d", i ? me * 7 : me) + 1;

		sendbuf_pack_int(SND_SAFER | RECV_EXPRESS, &size, 1);
		sendbuf_pack_byte(SND_CHEAPER | RECV_CHEAPER, texts[i], size);
	}
	sendbuf_send();
}

int main(int argc, char *argv[])
{
	int me, nodes;

	mad_init(&argc, &argv, &nodes, &me);
	send_strings(me, (me + 1) % nodes);
	recvbuf_receive(handler);
	printf("%d received: %s, %s\n", me, data[0], data[1]);
	mad_exit();
	return 0;
}
