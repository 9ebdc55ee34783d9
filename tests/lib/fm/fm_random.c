/*
 * fm_random SEED COUNT: every rank sends COUNT messages to ranks chosen at random, itself among
 * them, in pieces of random sizes, several open at a time, by the calls of both generations.
 * Handlers receive in pieces of other sizes, and some leave the rest. The model: each message has a
 * number within its pair of ranks, which determines its size, contents and handler. All bytes are
 * checked, and that messages sent one after the other start in order.
 */
#include "fm_test.h"

enum { WHOLE = 1, PIECES, PART, ONE, OPEN = 3, LARGEST = 300000 };

static uint64_t state;
static unsigned expected[FM_RANKS], sent[FM_RANKS];
static unsigned volatile ended;
static unsigned char *contents;

static uint32_t roll(uint64_t *from, uint32_t below)
{
	*from = *from * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*from >> 33) % below;
}

/* The n-th message from one rank to another. */
struct message {
	unsigned number, handler;
	size_t size;
};

static struct message message(unsigned from, unsigned to, unsigned n)
{
	static const size_t scales[] = { 8, 64, 600, 5000, 70000, LARGEST - 8 };
	uint64_t seed = ((uint64_t)from << 40) ^ ((uint64_t)to << 20) ^ n;
	struct message m = { .number = n * 31 + from };

	roll(&seed, 2);
	m.handler = WHOLE + roll(&seed, 4);
	m.size = 4 + roll(&seed, (uint32_t)scales[roll(&seed, 6)]);
	return m;
}

/* A message begins with its number, which must be its sender's next one. */
static struct message begins(unsigned sender, unsigned n, size_t bytes)
{
	struct message m = message(sender, rank, n);

	TRUE(n == expected[sender]++);
	TRUE(m.size == bytes);
	return m;
}

/* Receives `bytes` of a message from `at` on, and checks them. */
static void receive(FM_stream *stream, const struct message *m, size_t at, size_t bytes)
{
	unsigned char *to = malloc(bytes + 1);

	TRUE(to);
	OK(FM_receive(stream, to, bytes));
	TRUE(is_content(to, bytes, m->number, at));
	free(to);
}

static int receives(FM_stream *stream, unsigned sender)
{
	size_t size = FM_stream_bytes(stream), at = 4;
	struct message m;
	uint64_t seed;
	unsigned n;

	OK(FM_receive(stream, &n, 4));
	m = begins(sender, n, size);
	seed = n;
	while (at < size) {
		size_t left = size - at, bytes = m.handler == WHOLE ? left :
			1 + roll(&seed, left < 40000 ? (uint32_t)left : 40000);

		if (m.handler == PART && at > size / 2)
			break;
		receive(stream, &m, at, bytes);
		at += bytes;
	}
	ended++;
	return FM_CONTINUE;
}

static int receives_1(void *buf, size_t bytes, unsigned sender)
{
	struct message m;
	unsigned n;

	memcpy(&n, buf, 4);
	m = begins(sender, n, bytes);
	TRUE(m.handler == ONE);
	TRUE(is_content((unsigned char *)buf + 4, bytes - 4, m.number, 4));
	ended++;
	return FM_CONTINUE;
}

static void prepare(const struct message *m, unsigned n, unsigned char *bytes)
{
	fill(bytes, m->size, m->number, 0);
	memcpy(bytes, &n, 4);
}

/* An open message; each open one goes to another rank. */
struct open {
	FM_stream *stream;
	unsigned to;
	struct message m;
	size_t at;
	unsigned char *bytes;
};

static void send_some(struct open *open)
{
	size_t left = open->m.size - open->at;
	size_t bytes = 1 + roll(&state, left < 50000 ? (uint32_t)left : 50000);

	if (roll(&state, 3) == 0 && bytes > 10)
		bytes = 10;
	OK(FM_send_piece(open->stream, open->bytes + open->at, bytes));
	memset(open->bytes + open->at, 0xee, bytes);
	open->at += bytes;
	if (open->at < open->m.size)
		return;
	OK(FM_end_message(open->stream));
	open->stream = 0;
}

/* Begins a message to a rank to which no other is open. Returns 1 if it did. */
static int begin_one(struct open *opens)
{
	unsigned to = roll(&state, ranks);
	struct open *open = 0;

	for (int i = 0; i < OPEN; i++) {
		if (opens[i].stream && opens[i].to == to)
			return 0;
		if (!opens[i].stream)
			open = &opens[i];
	}
	if (!open)
		return 0;
	open->to = to;
	open->m = message(rank, to, sent[to]);
	open->at = 0;
	prepare(&open->m, sent[to]++, open->bytes);
	if (open->m.handler == ONE) {
		OK(FM_send(to, ONE, open->bytes, open->m.size));
		return 1;
	}
	TRUE((open->stream = FM_begin_message(to, open->m.size, open->m.handler)));
	return 1;
}

/* How many messages each rank has for this one. */
static unsigned announced[FM_RANKS];
static unsigned volatile heard;

static int announces(void *buf, size_t bytes, unsigned sender)
{
	TRUE(bytes == 16);
	memcpy(&announced[sender], buf, 4);
	heard++;
	return FM_CONTINUE;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 20, begun = 0, busy;
	static struct open opens[OPEN];

	open_test();
	state = (argc > 1 ? strtoull(argv[1], 0, 0) : 1) * 1000003 + rank;
	contents = malloc((size_t)OPEN * LARGEST);
	TRUE(contents);
	for (int i = 0; i < OPEN; i++)
		opens[i].bytes = contents + (size_t)i * LARGEST;
	OK(FM_register(WHOLE, receives));
	OK(FM_register(PIECES, receives));
	OK(FM_register(PART, receives));
	OK(FM_register_1(ONE, receives_1));
	OK(FM_register_1(200, announces));
	OK(FM_barrier());
	do {
		busy = 0;
		if (begun < count)
			begun += (unsigned)begin_one(opens);
		for (int i = 0; i < OPEN; i++) {
			if (opens[i].stream && roll(&state, 2))
				send_some(&opens[i]);
			busy += opens[i].stream != 0;
		}
		if (roll(&state, 4) == 0)
			OK(FM_extract(roll(&state, 100000)));
	} while (begun < count || busy);
	for (unsigned i = 0; i < ranks; i++)
		OK(FM_send_4(i, 200, sent[i], 0, 0, 0));
	extract_until(&heard, ranks);
	for (unsigned i = 0; i < ranks; i++)
		extract_until(&expected[i], announced[i]);
	for (unsigned total = 0, i = 0; i < ranks; i++)
		if ((total += announced[i]), i == ranks - 1)
			extract_until(&ended, total);
	OK(FM_finalize());
	if (rank == 0)
		printf("done\n");
	return 0;
}
