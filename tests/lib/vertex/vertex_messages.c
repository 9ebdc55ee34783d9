/*
 * vertex_messages: the calls of Vertex, around the ring of ranks; rank 0 prints a line for each
 * case that all ranks have passed. vertex_messages sleeper COUNT: only this case: all others send
 * rank 0, which sleeps for a second, COUNT messages each.
 */
#include "nx_test.h"
#include <stdlib.h>
#include <vertex.h>

enum { MOST = 70000 };

static char out[MOST], in[MOST];
static int me, ranks, left, right;

static void identity(void)
{
	int proc, host, dim;

	whoami(&me, &proc, &host, &dim);
	whoami(NULL, NULL, NULL, NULL);
	EQUAL(me, mynode());
	EQUAL(proc, 0);
	EQUAL(host, -1);
	CHECK(1 << dim >= ranks && (dim == 0 || 1 << (dim - 1) < ranks));
	passed("identity");
}

static void messages(void)
{
	/* small enough to be kept early with 64 ranks too */
	static const int sizes[] = { 0, 1, 100, 700 };
	int src, type;

	for (int i = 0; i < 4; i++) {
		fill(out, (size_t)sizes[i], (uint32_t)(me + i));
		EQUAL(nwrite(out, sizes[i], right, 10 + i, NULL), 0);
		src = type = -1;
		EQUAL(nread(in, MOST, &src, &type, NULL), sizes[i]);
		EQUAL(src, left);
		EQUAL(type, 10 + i);
		CHECK(is_filled(in, (size_t)sizes[i], (uint32_t)(left + i)));
	}
	passed("messages");
}

/* Receives by source and type after a probe; a long message is cut. */
static void chosen(void)
{
	int src = -1, type = 32767;

	errno = 0;
	EQUAL(ntest(&src, &type), -1);
	EQUAL(errno, EAGAIN);
	fill(out, 700, (uint32_t)me);
	EQUAL(nwrite(out, 700, right, 1, NULL), 0);
	EQUAL(nwrite(out, 10, right, 2, NULL), 0);
	src = left;
	type = 2;
	EQUAL(nread(in, 10, &src, &type, NULL), 10);
	src = type = -1;
	EQUAL(ntest(&src, &type), 700);
	EQUAL(src, left);
	EQUAL(type, 1);
	in[500] = 'x';
	EQUAL(nread(in, 500, &src, &type, NULL), 500);
	CHECK(is_filled(in, 500, (uint32_t)left) && in[500] == 'x');
	src = type = -1;
	EQUAL(ntest(&src, &type), -1);
	passed("chosen");
}

static void to_all(void)
{
	int number = me;

	EQUAL(nwrite(&number, sizeof(number), VERTEX_ALL, 3, NULL), 0);
	for (int i = 1; i < ranks; i++) {
		int src = -1, type = 3;

		EQUAL(nread(&number, sizeof(number), &src, &type, NULL), sizeof(number));
		EQUAL(number, src);
	}
	passed("to_all");
}

static void arguments(void)
{
	int src = -1, type = 0, bad = 32768, no_node = ranks;

	FAILS(nwrite(out, 1, right, -1, NULL), EQTYPE);
	FAILS(nwrite(out, 1, right, 32768, NULL), EQTYPE);
	FAILS(nwrite(out, 1, ranks, 0, NULL), EQNODE);
	FAILS(nwrite(out, 1, -1, 0, NULL), EQNODE);
	FAILS(nwrite(out, -1, right, 0, NULL), EQLEN);
	FAILS(nwrite(NULL, 1, right, 0, NULL), EQPBUF);
	FAILS(nread(in, 1, NULL, &type, NULL), EQPBUF);
	FAILS(nread(in, 1, &src, &bad, NULL), EQTYPE);
	FAILS(nread(in, -1, &src, &type, NULL), EQLEN);
	FAILS(nread(in, 1, &no_node, &type, NULL), EQNODE);
	FAILS(ntest(&src, &bad), EQTYPE);
	FAILS(ntest(&src, NULL), EQPBUF);
	passed("arguments");
}

static void sleeper(int count)
{
	static int next[64];
	int size = 0;

	for (int i = 0; me && i < count; i++) {
		size = i * 53 % 900;
		fill(out, (size_t)size, (uint32_t)(me * 1000 + i));
		EQUAL(nwrite(out, size, 0, i, NULL), 0);
	}
	if (me == 0)
		sleep(1);
	for (int i = 0; me == 0 && i < count * (ranks - 1); i++) {
		int src = -1, type = -1;

		size = nread(in, MOST, &src, &type, NULL);
		EQUAL(type, next[src]++);
		EQUAL(size, type * 53 % 900);
		CHECK(is_filled(in, (size_t)size, (uint32_t)(src * 1000 + type)));
	}
	passed("sleeper");
}

int main(int argc, char **argv)
{
	ranks = (int)numnodes();
	identity();
	left = (me + ranks - 1) % ranks;
	right = (me + 1) % ranks;
	if (argc > 2) {
		sleeper(atoi(argv[2]));
		return 0;
	}
	messages();
	chosen();
	to_all();
	arguments();
	return 0;
}
