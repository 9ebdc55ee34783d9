/*
 * mad_wrong WHAT: a mistake that must end the job with an error line. Rank 0 sends to rank 1. Only
 * the debug library detects those from `kind` on; both libraries detect the others.
 */
#include "mad_test.h"

static const char *what;
static char bytes[2000], text[10];
static int value;

static int is(const char *name)
{
	return !strcmp(what, name);
}

static void nothing(void)
{
}

static void handler(void)
{
	if (is("second"))
		recvbuf_unpack_str(RECV_EXPRESS, text);
	if (is("less") || is("second"))
		recvbuf_unpack_byte(RECV_CHEAPER, bytes, 999);
	else if (is("more"))
		recvbuf_unpack_byte(RECV_CHEAPER, bytes, 1001);
	else if (is("nested"))
		recvbuf_receive(nothing);
	else if (is("kind"))
		recvbuf_unpack_int(RECV_CHEAPER, (int *)(void *)bytes, 250);
	else if (is("modes"))
		recvbuf_unpack_byte(RECV_CHEAPER | SND_SAFER, bytes, 1000);
	else if (is("express"))
		recvbuf_unpack_byte(RECV_EXPRESS, bytes, 1000);
	else if (is("number")) {
		recvbuf_unpack_byte(RECV_CHEAPER, bytes, 500);
		recvbuf_unpack_byte(RECV_CHEAPER, bytes + 500, 500);
	} else if (!is("unfinished"))
		recvbuf_unpack_byte(RECV_CHEAPER, bytes, 1000);
	if (!is("unfinished"))
		recvbuf_receive_data();
	if (is("after"))
		recvbuf_unpack_int(RECV_EXPRESS, &value, 1);
}

static void sender(void)
{
	if (is("closed"))
		sendbuf_pack_int(SND_CHEAPER, &value, 1);
	if (is("unopened"))
		sendbuf_send();
	sendbuf_init(is("node") ? nodes : is("self") ? me : 1);
	if (is("twice"))
		sendbuf_init(1);
	if (is("mode"))
		sendbuf_pack_int(0x40, &value, 1);
	if (is("exclusive"))
		sendbuf_pack_int(SND_SAFER | SND_LATER, &value, 1);
	if (is("null"))
		sendbuf_pack_int(SND_CHEAPER, NULL, 1);
	if (is("negative"))
		sendbuf_pack_int(SND_CHEAPER, &value, -1);
	if (is("string"))
		sendbuf_pack_str(SND_CHEAPER, NULL);
	for (int i = 0; i <= MAD_PIECES && is("pieces"); i++)
		sendbuf_pack_int(SND_CHEAPER, &value, 1);
	if (is("second"))
		sendbuf_pack_str(RECV_EXPRESS, "before");
	sendbuf_pack_byte(SND_CHEAPER, bytes, 1000);
	if (is("again"))
		sendbuf_pack_byte(SND_SAFER, bytes + 999, 1);
	sendbuf_send();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "early"))
		sendbuf_init(0);
	mad_init(&argc, &argv, &nodes, &me);
	what = argc > 1 ? argv[1] : "";
	if (me == 0 && is("unpack"))
		recvbuf_unpack_int(RECV_EXPRESS, &value, 1);
	if (me == 0 && is("data"))
		recvbuf_receive_data();
	if (me == 0 && is("handler"))
		recvbuf_receive(NULL);
	if (me == 0)
		sender();
	else
		recvbuf_receive(handler);
	mad_exit();
	return 0;
}
