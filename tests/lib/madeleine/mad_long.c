/*
 * mad_long COUNT: rank 0 sends so many doubles to rank 1 in one piece, which may be longer than 2 GiB.
 */
#include "mad_test.h"

#define STEP 1000003               /* each so many elements are checked */

static double *values;
static int count;

static void receive(void)
{
	recvbuf_unpack_double(SND_CHEAPER | RECV_CHEAPER, values, count);
	recvbuf_receive_data();
	for (int i = 0; i < count - 1; i += STEP)
		CHECK(values[i] == i + 0.5);
	CHECK(values[count - 1] == 7.5);
	printf("done\n");
}

int main(int argc, char **argv)
{
	mad_init(&argc, &argv, &nodes, &me);
	count = argc > 1 ? atoi(argv[1]) : 1000;
	values = malloc(sizeof(*values) * (size_t)count);
	CHECK(values);
	if (me == 0) {
		for (int i = 0; i < count; i += STEP)
			values[i] = i + 0.5;
		values[count - 1] = 7.5;
		sendbuf_init(1);
		sendbuf_pack_double(SND_CHEAPER | RECV_CHEAPER, values, count);
		sendbuf_send();
	} else {
		recvbuf_receive(receive);
	}
	mad_exit();
	return 0;
}
