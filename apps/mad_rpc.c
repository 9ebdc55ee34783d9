/*
 * mad_rpc [SIZE]: remote procedure calls with Madeleine. Node 0 makes each other node in turn sort
 * numbers. Only the message itself says how many: the server reads the request and makes room, and
 * the numbers land straight there.
 *
 *     tools/margay run -n 4 build/apps/mad_rpc.elf 100000
 */
#include <madeleine.h>
#include <stdio.h>
#include <stdlib.h>

enum { SORT = 1, STOP = 2 };

struct header {
	int service, count;
};

static int me, nodes;
static int *numbers, have;              /* of the last message */

static void call(int node, int service, const int *array, int count)
{
	const struct header header = { service, count };

	sendbuf_init(node);
	sendbuf_pack_byte(SND_CHEAPER | RECV_EXPRESS, &header, sizeof(header));
	sendbuf_pack_int(SND_CHEAPER | RECV_CHEAPER, array, count);
	sendbuf_send();
}

static int service;

static void take(void)
{
	struct header header;

	recvbuf_unpack_byte(SND_CHEAPER | RECV_EXPRESS, &header, sizeof(header));
	service = header.service;
	if (header.count > have) {
		free(numbers);
		numbers = malloc((size_t)header.count * sizeof(int));
		if (!numbers)
			exit(1);
	}
	have = header.count;
	recvbuf_unpack_int(SND_CHEAPER | RECV_CHEAPER, numbers, header.count);
	recvbuf_receive_data();
}

static int compare(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return (left > right) - (left < right);
}

static void serve(void)
{
	for (;;) {
		recvbuf_receive(take);
		if (service == STOP)
			return;
		qsort(numbers, (size_t)have, sizeof(int), compare);
		call(0, SORT, numbers, have);
	}
}

static int is_sorted(void)
{
	for (int i = 1; i < have; i++)
		if (numbers[i - 1] > numbers[i])
			return 0;
	return 1;
}

int main(int argc, char *argv[])
{
	int size, *array, wrong = 0;

	mad_init(&argc, &argv, &nodes, &me);
	size = argc > 1 ? atoi(argv[1]) : 10000;
	if (size < 1 || size > 1000000) {
		if (me == 0)
			fprintf(stderr, "usage: mad_rpc [SIZE]    (1 to 1000000)\n");
		return 2;
	}
	if (me == 0) {
		array = malloc((size_t)size * sizeof(int));
		for (int node = 1; array && node < nodes; node++) {
			for (int i = 0; i < size; i++)
				array[i] = rand();
			call(node, SORT, array, size / node);
			recvbuf_receive(take);
			wrong += have != size / node || !is_sorted();
			call(node, STOP, NULL, 0);
		}
		printf("%d calls, %d wrong; %lu bytes copied\n", nodes - 1, wrong,
		       (unsigned long)mad_copied());
	} else {
		serve();
	}
	mad_exit();
	return wrong != 0;
}
