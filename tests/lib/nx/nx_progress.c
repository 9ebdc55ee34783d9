/*
 * nx_progress: receives go on while no rank calls the library; rank 0 prints a line for each case.
 *
 *   posted   rank 1 computes; short and long messages arrive in its receives
 *   many     more messages than rank 0 has slots, into posted receives
 *   early    the same, after more early messages that asked for an ack than may wait for one
 *   fetched  a long message that came early: the get, once begun, needs no call of the sender
 */
#include "nx_test.h"

enum { MOST = 500000, MANY = 2000, EARLY = 700 };  /* EARLY: of 1,024 slots */

static char out[MOST], in[MOST];

static void posted(void)
{
	static const long sizes[] = { 1, 100, 4096, 5000, MOST };

	for (int i = 0; i < 5; i++) {
		long bytes = sizes[i], id = 0;
		char before;

		fill(out, (size_t)bytes, (uint32_t)i);
		before = (char)(out[bytes - 1] + 1);
		in[bytes - 1] = before;
		if (mynode() == 1)
			id = irecv(1, in, MOST);
		gsync();
		if (mynode() == 0)
			csend(1, out, bytes, 1, 0);
		if (mynode() == 1) {
			CHECK(changes(in + bytes - 1, before));
			msgwait(id);
			CHECK(is_filled(in, (size_t)bytes, (uint32_t)i));
		}
	}
	passed("posted");
}

/* More messages than rank 0 has slots. */
static void into_posted(void)
{
	static char bytes[MANY];
	static long ids[MANY];

	if (mynode() == 1)
		for (int i = 0; i < MANY; i++)
			ids[i] = irecv(i, &bytes[i], 1);
	gsync();
	if (mynode() == 0)
		for (int i = 0; i < MANY; i++)
			csend(i, "x", 1, 1, 0);
	if (mynode() == 1) {
		CHECK(changes(&bytes[MANY - 1], 0));
		for (int i = 0; i < MANY; i++) {
			EQUAL(bytes[i], 'x');
			msgwait(ids[i]);
		}
		memset(bytes, 0, sizeof(bytes));
	}
}

static void many(void)
{
	into_posted();
	passed("many");
}

/* Early messages ask for an ack once half of the slots are in use, and get none. */
static void early(void)
{
	char byte;

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < EARLY && mynode() == 0; i++)
			csend(1, "x", 1, 1, 0);
		gsync();
		for (int i = 0; i < EARLY && mynode() == 1; i++)
			crecv(1, &byte, 1);
	}
	into_posted();
	passed("early");
}

static void fetched(void)
{
	char before;
	long id = 0;

	fill(out, MOST, 77);
	if (mynode() == 0)
		id = isend(1, out, MOST, 1, 0);
	if (mynode() == 1) {
		cprobe(1);
		EQUAL(infocount(), MOST);
		before = (char)(out[MOST - 1] + 1);
		in[MOST - 1] = before;
		id = irecv(1, in, MOST);
		CHECK(changes(in + MOST - 1, before));
		csend(2, "x", 1, 0, 0);
	} else {
		char byte = 0;
		long seen = irecv(2, &byte, 1);

		CHECK(changes(&byte, 0));       /* no call until the other rank has all of it */
		msgwait(seen);
	}
	msgwait(id);
	CHECK(mynode() == 0 || is_filled(in, MOST, 77));
	passed("fetched");
}

int main(void)
{
	EQUAL(numnodes(), 2);
	posted();
	many();
	early();
	fetched();
	return 0;
}
