/*
 * fm_match1, fm_match2: tagged messages over either generation of Fast Messages, in cases.
 *
 *   fm_matchN              the cases
 *   fm_matchN random SEED  random messages against a model: a table of senders, receivers, tags and
 *                          sizes, the same on all ranks
 *   fm_matchN death        rank 1 dies while rank 0 receives from it, and rank 2 sends to it
 *   fm_matchN tests        the same, but rank 0 tests receives that it has posted
 *   fm_matchN probes       the same, but rank 0 only calls FMM_probe
 *   fm_matchN last         the other ranks end as soon as they have sent to rank 0
 *   fm_matchN nested       the layer is opened twice, closed once, and still works; two ranks
 *   fm_match2 unreadable   sends of unreadable memory, and receives of abandoned messages, fail;
 *                          later ones work
 */
#include <fm_match.h>

#include "../fm_test.h"

enum { LONGEST = 250000, MESSAGES = 20, LAST = 5000 };

static unsigned char out[LONGEST], in[4][LONGEST];
static int next, before;

static void send(int to, int tag, unsigned number, size_t bytes)
{
	fill(out, bytes, number, 0);
	OK(FMM_send((unsigned)to, tag, out, bytes));
	memset(out, 0xee, bytes);
}

static void is_status(const struct FMM_status *status, int source, int tag, size_t bytes)
{
	TRUE(status->source == source && status->tag == tag && status->bytes == bytes);
}

static void receive(int from, int tag, unsigned number, size_t bytes)
{
	struct FMM_status status;

	memset(in[0], 0, bytes);
	OK(FMM_recv(from, tag, in[0], LONGEST, &status));
	is_status(&status, from, tag, bytes);
	TRUE(is_content(in[0], bytes, number, 0));
}

static void posted(void)
{
	static const size_t sizes[] = { 0, 1, 16, 500, 5000, 70000, LONGEST };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct FMM_request request;
		struct FMM_status status;

		OK(FMM_irecv(before, 7, in[0], LONGEST, &request));
		OK(FM_barrier());
		send(next, 7, i, sizes[i]);
		OK(FMM_wait(&request, &status));
		is_status(&status, before, 7, sizes[i]);
		TRUE(is_content(in[0], sizes[i], i, 0));
	}
}

/* Received in a different order than sent. */
static void early(void)
{
	for (int i = 0; i < 50; i++)
		send(next, i, (unsigned)i, (size_t)i * 300);
	for (int i = 49; i >= 0; i--)
		receive(before, i, (unsigned)i, (size_t)i * 300);
}

static void any(void)
{
	struct FMM_status status;

	send(next, 3, 1, 100);
	send(next, 4, 2, 200);
	OK(FMM_recv(before, FMM_ANY, in[0], LONGEST, &status));
	is_status(&status, before, 3, 100);
	OK(FMM_recv(FMM_ANY, 4, in[0], LONGEST, &status));
	is_status(&status, before, 4, 200);
	TRUE(is_content(in[0], 200, 2, 0));
}

/* Receives with one tag: first posted, first filled. */
static void ordered(void)
{
	struct FMM_request requests[4];

	for (int i = 0; i < 4; i++)
		OK(FMM_irecv(before, i == 2 ? 9 : FMM_ANY, in[i], LONGEST, &requests[i]));
	OK(FM_barrier());
	for (unsigned i = 0; i < 4; i++)
		send(next, i == 3 ? 9 : 8, i, 1000 + i);
	for (unsigned i = 0; i < 4; i++) {
		static const unsigned takes[] = { 0, 1, 3, 2 };
		struct FMM_status status;

		OK(FMM_wait(&requests[i], &status));
		TRUE(status.bytes == 1000 + takes[i]);
		TRUE(is_content(in[i], 1000 + takes[i], takes[i], 0));
	}
}

static void cut(void)
{
	struct FMM_status status;

	for (int late = 0; late < 2; late++) {
		struct FMM_request request;

		memset(in[0], 0, 100);
		if (!late)
			OK(FMM_irecv(before, 1, in[0], 50, &request));
		OK(FM_barrier());
		send(next, 1, 4, 90000);
		send(next, 2, 5, 10);
		OK(FM_barrier());
		if (late)
			OK(FMM_irecv(before, 1, in[0], 50, &request));
		OK(FMM_wait(&request, &status));
		is_status(&status, before, 1, 90000);
		TRUE(is_content(in[0], 50, 4, 0) && in[0][50] == 0);
		receive(before, 2, 5, 10);
	}
}

static void probed(void)
{
	struct FMM_status status;
	struct FMM_request request;

	TRUE(FMM_probe(FMM_ANY, FMM_ANY, &status) == 0);
	OK(FM_barrier());
	send(next, 5, 6, 77);
	while (!FMM_probe(before, 5, &status))
		OK(FM_wait(1000));
	is_status(&status, before, 5, 77);
	TRUE(FMM_probe(before, 6, 0) == 0);
	receive(before, 5, 6, 77);
	OK(FMM_irecv(before, 5, in[1], 10, &request));
	TRUE(FMM_test(&request, 0) == 0);
	OK(FM_barrier());
	send(next, 5, 6, 10);
	while (!FMM_test(&request, &status))
		OK(FM_wait(1000));
	is_status(&status, before, 5, 10);
	for (int tag = 0; tag < 4; tag++)
		send((int)rank, tag, 6, 10);
	TRUE(FMM_probe((int)rank, 3, 0) == 1);  /* it has come, though behind others */
	for (int tag = 0; tag < 4; tag++)
		receive((int)rank, tag, 6, 10);
}

enum { CALLS = 1 };

static int called;

/* A handler of Fast Messages, which may not use the layer. */
static int calls(FM_stream *stream, unsigned sender)
{
	static struct FMM_request request;

	(void)stream;
	FAILS(FMM_send(sender, 1, out, 1), EBUSY);
	FAILS(FMM_irecv(0, 1, out, 1, &request), EBUSY);
	FAILS(FMM_recv(0, 1, out, 1, 0), EBUSY);
	FAILS(FMM_wait(&request, 0), EBUSY);
	FAILS(FMM_test(&request, 0), EBUSY);
	FAILS(FMM_probe(0, 1, 0), EBUSY);
	FAILS(FMM_finalize(), EBUSY);
	called = 1;
	return FM_CONTINUE;
}

static void arguments(void)
{
	struct FMM_request request;
	FM_stream *stream;

	FAILS(FMM_send(ranks, 1, out, 1), EINVAL);
	FAILS(FMM_send(0, -1, out, 1), EINVAL);
	FAILS(FMM_send(0, 1, 0, 1), EINVAL);
	FAILS(FMM_irecv((int)ranks, 1, out, 1, &request), EINVAL);
	FAILS(FMM_irecv(-2, 1, out, 1, &request), EINVAL);
	FAILS(FMM_irecv(0, -2, out, 1, &request), EINVAL);
	FAILS(FMM_irecv(0, 1, 0, 1, &request), EINVAL);
	FAILS(FMM_irecv(0, 1, out, 1, 0), EINVAL);
	FAILS(FMM_wait(0, 0), EINVAL);
	FAILS(FMM_test(0, 0), EINVAL);
	FAILS(FMM_probe((int)ranks, 1, 0), EINVAL);
	FAILS(FMM_probe(-2, 1, 0), EINVAL);
	FAILS(FMM_probe(0, -2, 0), EINVAL);
	OK(FM_register(CALLS, calls));
	TRUE((stream = FM_begin_message(rank, 0, CALLS)));
	OK(FM_end_message(stream));
	while (!called)
		OK(FM_extract(1));
}

/* ---- random ---- */

static uint32_t roll(uint64_t *from, uint32_t below)
{
	*from = *from * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*from >> 33) % below;
}

/* The table of all messages. A receiver takes its messages in an order of its own; those of one
 * source with one tag must arrive in the order in which they were sent, which the model knows. */
static void at_random(uint64_t seed)
{
	enum { COUNT = 400 };
	static struct { int from, to, tag; size_t bytes; int taken; } all[COUNT];
	struct FMM_request requests[4];
	int of[4] = { -1, -1, -1, -1 }, at = 0, mine = 0;

	for (int i = 0; i < COUNT; i++) {
		static const uint32_t scales[] = { 20, 1000, 9000, LONGEST };

		all[i].from = (int)roll(&seed, ranks);
		all[i].to = (int)roll(&seed, ranks);
		all[i].tag = (int)roll(&seed, 3);
		all[i].bytes = roll(&seed, scales[roll(&seed, 4)]);
		mine += all[i].to == (int)rank;
	}
	seed += rank;
	while (at < COUNT || mine > 0) {
		unsigned slot = roll(&seed, 4);
		int i, pick = -1;

		if (at < COUNT && roll(&seed, 2)) {
			if (all[at].from == (int)rank)
				send(all[at].to, all[at].tag, (unsigned)at, all[at].bytes);
			at++;
			continue;
		}
		if (of[slot] >= 0) {
			/* The program may wait only after it has sent all that others wait for. */
			struct FMM_status status;
			int ended = at < COUNT ? FMM_test(&requests[slot], &status) :
				    FMM_wait(&requests[slot], &status) + 1;

			OK(ended);
			if (!ended)
				continue;
			i = of[slot];
			is_status(&status, all[i].from, all[i].tag, all[i].bytes);
			TRUE(is_content(in[slot], all[i].bytes, (unsigned)i, 0));
			of[slot] = -1;
			mine--;
			continue;
		}
		i = (int)roll(&seed, COUNT);
		for (int k = 0; k < COUNT && pick < 0; k++, i = (i + 1) % COUNT)
			if (all[i].to == (int)rank && !all[i].taken)
				pick = i;
		for (int k = 0; pick >= 0 && k < pick; k++)     /* the first of its kind */
			if (all[k].to == (int)rank && !all[k].taken && all[k].tag == all[pick].tag &&
			    all[k].from == all[pick].from)
				pick = k;
		if (pick < 0)
			continue;
		all[pick].taken = 1;
		of[slot] = pick;
		OK(FMM_irecv(all[pick].from, all[pick].tag, in[slot], LONGEST, &requests[slot]));
	}
}

/* With `tests` a receive from rank 2, which lives and sends no such message, is tested before each test. */
static int await(int source, int tests, int probes)
{
	static struct FMM_request living;
	struct FMM_request request;
	int done;

	if (probes) {
		while ((done = FMM_probe(source, 1, 0)) == 0)
			;
		return done;
	}
	if (!tests)
		return FMM_recv(source, 1, in[0], 10, 0);
	if (!living.buf)
		OK(FMM_irecv(2, 9, in[1], 10, &living));
	OK(FMM_irecv(source, 1, in[0], 10, &request));
	do {
		pause_ms(1);
		OK(FMM_test(&living, 0));
	} while ((done = FMM_test(&request, 0)) == 0);
	return done;
}

static void unreadable(void)
{
	const struct { int32_t tag; uint32_t bytes; } header = { 8, LONGEST };
	for (int i = 0; i < 2 * FM_STREAMS; i++)
		FAILS(FMM_send((unsigned)next, 7, UNREADABLE, FEW_BYTES), EFAULT);
	send(next, 7, 1, 1000);
	receive(before, 7, 1, 1000);
	for (int i = 0; i < 2 * FM_STREAMS; i++) {      /* the same behind the first packet */
		FM_stream *stream = FM_begin_message((unsigned)next, sizeof(header) + LONGEST,
						     FMM_HANDLER);

		TRUE(stream);
		OK(FM_send_piece(stream, &header, sizeof(header)));
		OK(FM_send_piece(stream, out, LONGEST - 1));
		OK(FM_cancel_message(stream));
		FAILS(FMM_recv(before, 8, in[0], LONGEST, 0), ECANCELED);
	}
	send(next, 7, 1, 1000);
	receive(before, 7, 1, 1000);
	OK(FMM_finalize());
	if (rank == 0)
		printf("done\n");
}

/* Fast Messages stay open to the end. The last FMM_finalize comes when half of a message without a
 * receive has come: the other half does not change memory that the program has allocated since. */
static void nested(void)
{
	enum { BYTES = 30000, BLOCKS = 8, BLOCK = 32768 };
	const struct { int32_t tag; uint32_t bytes; } header = { 9, BYTES };
	static unsigned char *blocks[BLOCKS];
	struct FMM_request request;
	struct FMM_status status;
	FM_stream *stream;

	OK(FM_initialize());
	OK(FMM_initialize());
	OK(FMM_irecv(before, 1, in[1], LONGEST, &request));
	send(next, 2, 2, 100);
	while (!FMM_probe(before, 2, &status))
		OK(FM_wait(1000));
	OK(FMM_finalize());
	send(next, 1, 1, 5000);
	OK(FMM_wait(&request, &status));
	is_status(&status, before, 1, 5000);
	receive(before, 2, 2, 100);
	TRUE((stream = FM_begin_message((unsigned)next, sizeof(header) + BYTES, FMM_HANDLER)));
	OK(FM_send_piece(stream, &header, sizeof(header)));
	OK(FM_send_piece(stream, out, 4000));
	OK(FM_barrier());
	OK(FM_extract(SIZE_MAX));
	OK(FMM_finalize());
	FAILS(FMM_finalize(), EINVAL);
	for (int i = 0; i < BLOCKS; i++) {
		TRUE((blocks[i] = malloc(BLOCK)));
		memset(blocks[i], 0, BLOCK);
	}
	OK(FM_barrier());
	OK(FM_send_piece(stream, out, BYTES - 4000));
	OK(FM_end_message(stream));
	OK(FM_barrier());
	OK(FM_extract(SIZE_MAX));
	for (int i = 0; i < BLOCKS; i++)
		for (int k = 0; k < BLOCK; k++)
			TRUE(blocks[i][k] == 0);
	OK(FM_finalize());
	if (rank == 0)
		printf("done\n");
}

static void death(int tests, int probes)
{
	while (rank == 1)
		pause_ms(1000);
	if (rank == 0) {
		printf("running\n");
		fflush(stdout);
		FAILS(await(1, tests, probes), EHOSTDOWN);
		FAILS(await(FMM_ANY, tests, probes), EHOSTDOWN);
		printf("failed\n");
		end_busy(2);
	} else {
		keep_busy(0);
	}
	FAILS(FMM_finalize(), EHOSTDOWN);
}

/* All ranks but 0 send and end at once. Rank 0 receives all of it. */
static void last_bytes(void)
{
	for (int i = 1; rank == 0 && i < (int)ranks; i++)
		for (unsigned number = 0; number < MESSAGES; number++)
			receive(i, 0, number, LAST);
	if (rank == 0) {
		printf("done\n");
		exit(0);
	}
	for (unsigned number = 0; number < MESSAGES; number++)
		send(0, 0, number, LAST);
	_Exit(0);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "posted", posted }, { "early", early }, { "any", any }, { "ordered", ordered },
		{ "cut", cut }, { "probed", probed }, { "arguments", arguments },
	};

	OK(FMM_initialize());
	open_test();
	OK(FM_finalize());
	next = (int)(rank + 1) % (int)ranks;
	before = (int)(rank + ranks - 1) % (int)ranks;
	if (argc > 2) {
		at_random(strtoull(argv[2], 0, 0));
		OK(FMM_finalize());
		if (rank == 0)
			printf("done\n");
	} else if (argc > 1 && !strcmp(argv[1], "unreadable")) {
		unreadable();
	} else if (argc > 1 && !strcmp(argv[1], "nested")) {
		nested();
	} else if (argc > 1 && !strcmp(argv[1], "last")) {
		last_bytes();
	} else if (argc > 1) {
		death(!strcmp(argv[1], "tests"), !strcmp(argv[1], "probes"));
	} else {
		OK(FM_initialize());
		RUN_CASES(cases);
		OK(FMM_finalize());
	}
	return 0;
}
