/*
 * nx_flow CASE COUNT: more messages than there are slots. Rank 0 prints "done" when all have
 * arrived, each once, in order.
 *
 *   early    all others send to rank 0, which first sleeps for a second
 *   self     each rank to itself, a thousand messages before it receives
 *   all      each rank to each, by isend, then the receives
 *   reverse  rank 1 sends types upwards, rank 0 receives them downwards
 *   long     messages that do not fit into slots, likewise to a sleeper
 *   mixed    lengths of 0 to 9,000 bytes to a sleeper
 *   kept     csend of up to 64 KB that is received after a later one: only over cards it does not
 *            wait for its receive
 */
#include "nx_test.h"
#include <stdlib.h>

enum { MOST = 70000 };

static char out[MOST], in[MOST];
static long me, ranks, count;

static long length_of(const char *what, long i)
{
	return !strcmp(what, "long") ? MOST : !strcmp(what, "mixed") ? i * 7919 % 9001 : 100;
}

static void to_a_sleeper(const char *what)
{
	static long next[64];

	if (me) {
		for (long i = 0; i < count; i++) {
			fill(out, (size_t)length_of(what, i), (uint32_t)(me * 1000 + i));
			csend(me, out, length_of(what, i), 0, 0);
		}
		return;
	}
	sleep(1);
	for (long i = 0; i < count * (ranks - 1); i++) {
		long from, number;

		crecv(-1, in, MOST);
		from = infonode();
		number = next[from]++;
		EQUAL(infotype(), from);
		EQUAL(infocount(), length_of(what, number));
		CHECK(is_filled(in, (size_t)infocount(), (uint32_t)(from * 1000 + number)));
	}
	EQUAL(iprobe(-1), 0);
}

static void to_itself(void)
{
	long value, sent = 0;

	for (long i = 0; i < count; i++) {
		while (sent < count && sent < i + 1000) {
			csend(1, &sent, sizeof(sent), me, 0);
			sent++;
		}
		crecv(1, &value, sizeof(value));
		EQUAL(value, i);
	}
}

static void each_to_each(void)
{
	static long numbers[1000], next[64], ids[2000];
	long at = 0, value;

	CHECK(count <= 1000 && count * ranks < NX_IDS);
	for (long i = 0; i < count; i++) {
		numbers[i] = i;
		for (long rank = 0; rank < ranks; rank++)
			ids[at++] = isend(2, &numbers[i], sizeof(long), rank, 0);
	}
	for (long i = 0; i < count * ranks; i++) {
		crecv(2, &value, sizeof(value));
		EQUAL(value, next[infonode()]++);
	}
	while (at-- > 0)
		msgwait(ids[at]);
}

static void in_reverse(void)
{
	long value;

	for (long i = 0; i < count && me == 1; i++)
		csend(i, &i, sizeof(i), 0, 0);
	for (long i = count; i-- > 0 && me == 0;) {
		crecv(i, &value, sizeof(value));
		EQUAL(value, i);
	}
}

static void kept(void)
{
	for (long i = 0; i < count; i++) {
		long bytes = 65536 - i % 5 * 10000;

		if (me == 1) {
			fill(out, (size_t)bytes, (uint32_t)i);
			csend(1, out, bytes, 0, 0);
			csend(2, &i, sizeof(i), 0, 0);
			crecv(3, in, 0);
		} else if (me == 0) {
			crecv(2, in, MOST);
			crecv(1, in, MOST);
			EQUAL(infocount(), bytes);
			CHECK(is_filled(in, (size_t)bytes, (uint32_t)i));
			csend(3, in, 0, 1, 0);
		}
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	me = mynode();
	ranks = numnodes();
	count = atol(argv[2]);
	if (!strcmp(argv[1], "self"))
		to_itself();
	else if (!strcmp(argv[1], "all"))
		each_to_each();
	else if (!strcmp(argv[1], "reverse"))
		in_reverse();
	else if (!strcmp(argv[1], "kept"))
		kept();
	else
		to_a_sleeper(argv[1]);
	gsync();
	if (me == 0)
		printf("done\n");
	return 0;
}
