/*
 * nx_random SEED ROUNDS: all ranks send messages of random types and lengths to random ranks, and
 * receive theirs with random selectors, in any order. The seed tells every rank what all send: a
 * receive must get the first unreceived message of its source that its selector matches. Rank 0
 * prints "done".
 */
#include "nx_test.h"
#include <stdlib.h>

enum { RANKS = 64, MESSAGES = 400, MOST = 12000, TYPES = 40 };

struct planned {
	long type, bytes;
	int taken;
};

static struct planned plans[RANKS][MESSAGES];   /* from each sender to this rank, in order */
static int planned[RANKS];
static char out[MESSAGES][MOST], in[MOST];
static long me, ranks;

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static long length(uint64_t *state)
{
	switch (next(state) % 4) {
	case 0:
		return (long)(next(state) % 64);
	case 1:
		return (long)(next(state) % 1500);
	case 2:
		return (long)(next(state) % 5000);
	default:
		return (long)(next(state) % MOST);
	}
}

static uint32_t seed_of(long from, long to, int number)
{
	return (uint32_t)(from * 1000003 + to * 1009 + number);
}

/* Plan what this rank sends, and what the others send to it. */
static void plan(uint64_t seed, int round, int messages, long *ids)
{
	static int numbers[RANKS];

	memset(planned, 0, sizeof(planned));
	for (long from = 0; from < ranks; from++) {
		uint64_t state = seed * 1000 + (uint64_t)(round * 64 + from);

		memset(numbers, 0, sizeof(numbers));
		for (int i = 0; i < messages; i++) {
			long to = (long)(next(&state) % (uint64_t)ranks);
			long type = (long)(next(&state) % TYPES), bytes = length(&state);
			int number = numbers[to]++;

			if (to == me)
				plans[from][planned[from]++] = (struct planned){ type, bytes, 0 };
			if (from != me)
				continue;
			fill(out[i], (size_t)bytes, seed_of(me, to, number));
			ids[i] = isend(type, out[i], bytes, to, 0);
		}
	}
}

static int fits(long selector, long type)
{
	if (selector >= 0)
		return type == selector;
	return selector == -1 || ((unsigned long)selector >> (type < 30 ? type : 30) & 1);
}

/* A selector that matches the message, and perhaps others. */
static long selector_of(long type, uint64_t *state)
{
	uint64_t bit = 1ULL << (type < 30 ? type : 30);

	switch (next(state) % 4) {
	case 0:
		return -1;
	case 1:
		return (long)(int32_t)(0x80000000U | (next(state) & 0x7fffffffU) | bit);
	default:
		return type;
	}
}

static void receive_one(uint64_t *state, int messages)
{
	long from, info[8], selector, source;
	int at;

	do {
		from = (long)(next(state) % (uint64_t)ranks);
		at = (int)(next(state) % (uint64_t)messages);
	} while (at >= planned[from] || plans[from][at].taken);
	selector = selector_of(plans[from][at].type, state);
	source = next(state) % 2 ? from : -1;
	if (next(state) % 4 == 0)
		cprobex(selector, source, -1, info);
	if (next(state) % 2)
		crecvx(selector, in, MOST, source, -1, info);
	else
		msgwait(irecvx(selector, in, MOST, source, -1, info));
	CHECK(source < 0 || info[2] == source);
	for (at = 0; plans[info[2]][at].taken || !fits(selector, plans[info[2]][at].type); at++)
		CHECK(at < planned[info[2]]);
	CHECK(at < planned[info[2]]);
	EQUAL(info[0], plans[info[2]][at].type);
	EQUAL(info[1], plans[info[2]][at].bytes);
	CHECK(is_filled(in, (size_t)info[1], seed_of(info[2], me, at)));
	plans[info[2]][at].taken = 1;
}

int main(int argc, char **argv)
{
	static long ids[MESSAGES];
	uint64_t state;
	int messages, left;

	CHECK(argc == 3);
	me = mynode();
	ranks = numnodes();
	messages = ranks > 8 ? 40 : MESSAGES;
	state = strtoull(argv[1], NULL, 0) * 77 + (uint64_t)me;
	for (int round = 0; round < atoi(argv[2]); round++) {
		plan(strtoull(argv[1], NULL, 0), round, messages, ids);
		left = 0;
		for (long from = 0; from < ranks; from++)
			left += planned[from];
		while (left-- > 0)
			receive_one(&state, messages);
		for (int i = 0; i < messages; i++)
			msgwait(ids[i]);
		EQUAL(iprobe(-1), 0);
		gsync();
	}
	if (me == 0)
		printf("done\n");
	return 0;
}
