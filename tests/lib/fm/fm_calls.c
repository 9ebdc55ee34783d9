/*
 * fm_calls: what each call of Fast Messages guarantees, in cases. Each rank sends to the next one
 * and receives from the previous one. Any number of ranks.
 */
#include "fm_test.h"

enum { KEEP = 1, PARTS, IGNORES, FOUR, LONG_1, REPLY, ANSWER, LONG, SLOW, COUNT, HOSTILE, FLOOD, WATER };
enum { MOST = 300000, PIECE = 100000 };

static unsigned next, before;
static unsigned volatile done;          /* handlers that have ended */
static unsigned wanted;   /* how many must end in all: a barrier may run handlers, too */
static unsigned char got[MOST + 64], source[MOST + 64];
static size_t got_bytes;
static struct FM_limits limits;

static FM_stream *begin(unsigned dest, size_t size, unsigned handler)
{
	FM_stream *stream = FM_begin_message(dest, size, handler);

	TRUE(stream);
	return stream;
}

static void send(unsigned dest, const void *from, size_t size, unsigned handler)
{
	FM_stream *stream = begin(dest, size, handler);

	OK(FM_send_piece(stream, from, size));
	OK(FM_end_message(stream));
}

/* ---- sizes: every size near a limit arrives whole ---- */

static int keep(FM_stream *stream, unsigned sender)
{
	TRUE(sender == before);
	got_bytes = FM_stream_bytes(stream);
	TRUE(got_bytes <= MOST);
	OK(FM_receive(stream, got, got_bytes));
	TRUE(FM_stream_bytes(stream) == 0);
	done++;
	return FM_CONTINUE;
}

static void sizes(void)
{
	const size_t p = limits.packet_bytes;
	const size_t some[] = { 0, 1, 7, 8, 9, 15, 16, 63, 64, 65, 127, 128, 129, 2047, 2048, 2049,
				4095, 4096, 4097, 4104, p - 1, p, p + 1, p + 8, 2 * p, 2 * p + 9,
				4 * p - 1, 4 * p, 4 * p + 1, MOST };

	for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		size_t size = some[i] < MOST ? some[i] : MOST;

		wanted += 1;
		fill(source, size, i, 0);
		memset(got, 0, size + 1);
		OK(FM_barrier());
		send(next, source, size, KEEP);
		memset(source, 0xee, size);     /* the caller may reuse it */
		extract_until(&done, wanted);
		TRUE(got_bytes == size && is_content(got, size, i, 0) && got[size] == 0);
		OK(FM_barrier());
	}
}

/* ---- pieces: different sizes on the two sides ---- */

static int parts(FM_stream *stream, unsigned sender)
{
	size_t step = 1, at = 0;

	(void)sender;
	while (FM_stream_bytes(stream)) {
		size_t n = FM_stream_bytes(stream) < step ? FM_stream_bytes(stream) : step;

		OK(FM_receive(stream, got + at, n));
		at += n;
		step = step * 3 + 1;
	}
	OK(FM_receive(stream, got, 0));
	got_bytes = at;
	done++;
	return FM_CONTINUE;
}

static void pieces(void)
{
	static const size_t steps[] = { 1, 5, 8, 9, 100, 2048, 3000, 70000 };

	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t size = steps[i] < 8 ? 5000 : 200000, at = 0;
		FM_stream *stream = begin(next, size, PARTS);

		wanted += 1;
		fill(source, size, i, 0);
		while (at < size) {
			size_t n = size - at < steps[i] ? size - at : steps[i];

			OK(FM_send_piece(stream, source + at, n));
			memset(source + at, 0xee, n);
			at += n;
			TRUE(FM_stream_bytes(stream) == size - at);
		}
		OK(FM_end_message(stream));
		extract_until(&done, wanted);
		TRUE(got_bytes == size && is_content(got, size, i, 0));
		OK(FM_barrier());
	}
}

/* ---- limit: FM_extract takes at most so many bytes, rounded up to a packet ---- */

static void limit(void)
{
	wanted += 10;
	for (int i = 0; i < 10; i++) {
		FM_stream *stream = begin(next, 100, KEEP);

		/* Bytes that travel in the packet's header are counted too. */
		OK(FM_send_piece(stream, source, FM_INLINE));
		OK(FM_send_piece(stream, source, 100 - FM_INLINE));
		OK(FM_end_message(stream));
	}
	TRUE(FM_extract(0) == 0);
	while (done < wanted) {
		unsigned ended = done;
		int taken = FM_extract(150);

		TRUE(taken == 0 || taken == 100 || taken == 200);
		TRUE(done - ended == (unsigned)taken / 100);
		if (taken == 0)
			OK(FM_wait(-1));
	}
	TRUE(FM_wait(0) == 0);
}

/* ---- discarded: the unreceived rest of a message; messages without a handler ---- */

static int ignores(FM_stream *stream, unsigned sender)
{
	(void)sender;
	OK(FM_receive(stream, got, 3));
	done++;
	return FM_CONTINUE;
}

static void discarded(void)
{
	struct FM_counters first, last;

	wanted += 3;
	OK(FM_get_counters(&first));
	OK(FM_barrier());
	send(next, source, 10, IGNORES);
	send(next, source, 200000, IGNORES);
	send(next, source, 200000, FM_HANDLERS - 1);
	send(next, source, 3, IGNORES);
	extract_until(&done, wanted);
	OK(FM_get_counters(&last));
	TRUE(last.discarded == first.discarded + 1);
}

/* ---- interleaved: two messages of one rank, each handler in its own thread ---- */

static char order[64];

static void note(char what)
{
	size_t n = strlen(order);

	TRUE(n < sizeof(order) - 1);
	order[n] = what;
}

static int slow(FM_stream *stream, unsigned sender)
{
	unsigned char mine[3000], name;

	(void)sender;
	OK(FM_receive(stream, mine, 3000));
	name = mine[0];
	note((char)name);
	OK(FM_receive(stream, mine, 2999));
	TRUE(mine[0] == name && mine[2998] == name);
	note((char)(name + 'a' - 'A'));
	OK(FM_receive(stream, mine, 1));
	done++;
	return FM_CONTINUE;
}

static void interleaved(void)
{
	static const char turns[] = "ABCBCA";
	struct FM_counters counters;
	FM_stream *streams[3];

	wanted += 3;
	memset(order, 0, sizeof(order));
	OK(FM_barrier());
	for (int i = 0; i < 3; i++)
		streams[i] = begin(next, 6000, SLOW);
	for (const char *turn = turns; *turn; turn++) {
		memset(source, *turn, 3000);
		OK(FM_send_piece(streams[*turn - 'A'], source, 3000));
	}
	for (int i = 0; i < 3; i++)
		OK(FM_end_message(streams[i]));
	extract_until(&done, wanted);
	OK(FM_get_counters(&counters));
	TRUE(counters.handlers_most >= 3);
	TRUE(!strcmp(order, "ABCbca"));
}

/* ---- named: a piece whose destination is named before its packets are sent ---- */

static unsigned volatile told;

static int count(void *buf, size_t bytes, unsigned sender)
{
	(void)sender;
	TRUE(bytes == 16 && *(uint32_t *)buf == 17);
	told++;
	return FM_CONTINUE;
}

/* Its second receive names the piece's destination before the sender sends any of the piece. */
static int named(FM_stream *stream, unsigned sender)
{
	OK(FM_receive(stream, got, 3000));
	OK(FM_receive(stream, got + 3000, PIECE));
	OK(FM_receive(stream, got + 3000 + PIECE, 4000));
	(void)sender;
	done++;
	return FM_CONTINUE;
}

static void direct(void)
{
	struct FM_counters first, last;
	
	FM_stream *stream;

	wanted += 1;
	fill(source, 7000 + PIECE, 5, 0);
	memset(got, 0, sizeof(got));
	OK(FM_get_counters(&first));
	OK(FM_barrier());
	stream = begin(next, 7000 + PIECE, LONG);
	OK(FM_send_piece(stream, source, 3000));
	do {                                    /* its first packet: then the handler waits */
		if (FM_extract(1) == 0)
			OK(FM_wait(100));
		OK(FM_get_counters(&last));
	} while (last.handlers_waited == first.handlers_waited);
	OK(FM_send_4(before, COUNT, 17, 0, 0, 0));
	extract_until(&told, 1);                /* arrives after the packet that names the piece */
	OK(FM_send_piece(stream, source + 3000, 40000));
	OK(FM_send_piece(stream, source + 43000, PIECE - 40000 + 4000));
	OK(FM_end_message(stream));
	extract_until(&done, wanted);
	TRUE(is_content(got, 7000 + PIECE, 5, 0));
	OK(FM_get_counters(&last));
	TRUE(last.bytes_direct - first.bytes_direct == PIECE);
	TRUE(last.bytes_copied - first.bytes_copied == 7000);
}

/* ---- one: the calls of 1.1 ---- */

static unsigned volatile words;

static int four(void *buf, size_t bytes, unsigned sender)
{
	const uint32_t *word = buf;

	TRUE(sender == before && bytes == 16);
	TRUE(word[0] == words && word[1] == 0xffffffffu && word[2] == before && word[3] == 7);
	words++;
	return FM_CONTINUE;
}

static int whole(void *buf, size_t bytes, unsigned sender)
{
	TRUE(sender == before && (uintptr_t)buf % 16 == 0);
	got_bytes = bytes;
	memcpy(got, buf, bytes);
	done++;
	return FM_CONTINUE;
}

static void one(void)
{
	const size_t some[] = { 0, 1, 16, 1000, limits.packet_bytes, limits.packet_bytes + 1, MOST };

	words = 0;
	OK(FM_barrier());
	for (unsigned i = 0; i < 100; i++)
		OK(FM_send_4(next, FOUR, i, 0xffffffffu, rank, 7));
	extract_until(&words, 100);
	for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {

		wanted += 1;
		fill(source, some[i], i, 0);
		OK(FM_barrier());
		OK(FM_send(next, LONG_1, source, some[i]));
		memset(source, 0xee, some[i]);
		extract_until(&done, wanted);
		TRUE(got_bytes == some[i] && is_content(got, some[i], i, 0));
		OK(FM_barrier());
	}
}

/* ---- answers: handlers that send; more requests than credit ---- */

/* Handlers that wait for credit may be overtaken: each answer arrives once, in any order. */
static unsigned volatile answers;
static unsigned seen[256];

static int reply(FM_stream *stream, unsigned sender)
{
	unsigned char bytes[200];
	FM_stream *back;

	OK(FM_receive(stream, bytes, sizeof(bytes)));
	TRUE((back = FM_begin_message(sender, sizeof(bytes), ANSWER)));
	OK(FM_send_piece(back, bytes, sizeof(bytes)));
	OK(FM_end_message(back));
	return FM_CONTINUE;
}

static int answer(FM_stream *stream, unsigned sender)
{
	unsigned char bytes[200];
	unsigned number;

	(void)sender;
	OK(FM_receive(stream, bytes, sizeof(bytes)));
	number = bytes[0] * 173u % 256;         /* the number from which fill made this byte */
	TRUE(is_content(bytes, sizeof(bytes), number, 0));
	seen[number]++;
	answers++;
	return FM_CONTINUE;
}

static void answered(void)
{
	answers = 0;
	OK(FM_barrier());
	for (unsigned i = 0; i < 256 * 24; i++) {
		fill(source, 200, i % 256, 0);
		send(next, source, 200, REPLY);
	}
	extract_until(&answers, 256 * 24);
	for (int i = 0; i < 256; i++)
		TRUE(seen[i] == 24);
}

/* ---- reused: a message while the handler of an earlier one waits for credit ---- */

enum { WATERS = 20 };
static ptl_handle_ni_t ni;
static unsigned volatile begun, waters, flooded;

static int flood(FM_stream *stream, unsigned sender)
{
	unsigned char one;

	OK(FM_receive(stream, &one, 1));
	begun++;
	for (int i = 0; i < WATERS; i++)        /* more than the ring holds */
		send(sender, source, PIECE, WATER);
	flooded++;
	return FM_CONTINUE;
}

static int water(FM_stream *stream, unsigned sender)
{
	(void)stream, (void)sender;
	waters++;
	return FM_CONTINUE;
}

/* A message of two packets, identified by its first byte. */
static int halves(FM_stream *stream, unsigned sender)
{
	static unsigned char bytes[6000];

	(void)sender;
	OK(FM_receive(stream, bytes, 3000));
	begun++;
	OK(FM_receive(stream, bytes + 3000, 3000));
	TRUE(is_content(bytes, 6000, 77, 0));
	done++;
	return FM_CONTINUE;
}

/* Rank 0 does not extract until rank 1 has begun both messages. The second one reuses the id of
 * the first, whose handler ends between the halves of the second. */
static void reused(void)
{
	FM_stream *stream = 0;

	if (ranks == 1)
		return;
	OK(FM_register(KEEP, halves));
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	fill(source, 6000, 77, 0);
	if (rank == 0) {
		send(1, source, 1, FLOOD);
		stream = begin(1, 6000, KEEP);
		OK(FM_send_piece(stream, source, 3000));
	} else if (rank == 1) {
		wanted += 1;
		extract_until(&begun, 2);
	}
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	if (rank == 0)
		extract_until(&waters, WATERS);
	else if (rank == 1)
		extract_until(&flooded, 1);
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	if (rank == 0) {
		OK(FM_send_piece(stream, source + 3000, 3000));
		OK(FM_end_message(stream));
	} else if (rank == 1) {
		extract_until(&done, wanted);
	}
}

/* ---- arguments ---- */

static int hostile(FM_stream *stream, unsigned sender)
{
	unsigned char bytes[16];
	FM_stream *other = FM_begin_message(sender, 4, KEEP);

	TRUE(other);
	FAILS(FM_receive(0, bytes, 1), EINVAL);
	FAILS(FM_receive(other, bytes, 1), EINVAL);
	FAILS(FM_receive(stream, 0, 1), EINVAL);
	FAILS(FM_receive(stream, bytes, 17), EMSGSIZE);
	FAILS(FM_send_piece(stream, bytes, 1), EINVAL);
	FAILS(FM_end_message(stream), EINVAL);
	FAILS(FM_extract(1), EBUSY);
	FAILS(FM_wait(0), EBUSY);
	FAILS(FM_barrier(), EBUSY);
	FAILS(FM_finalize(), EBUSY);
	OK(FM_receive(stream, bytes, 16));
	FAILS(FM_receive(stream, bytes, 1), EMSGSIZE);
	OK(FM_send_piece(other, bytes, 4));
	OK(FM_end_message(other));
	done++;
	return FM_CONTINUE;
}

static void arguments(void)
{
	FM_stream *open[FM_STREAMS], *stream;

	wanted += 2;
	errno = 0;
	TRUE(!FM_begin_message(ranks, 1, KEEP) && errno == EINVAL);
	TRUE(!FM_begin_message(0, 1, FM_HANDLERS) && errno == EINVAL);
	TRUE(!FM_begin_message(0, (size_t)FM_LONGEST + 1, KEEP) && errno == EINVAL);
	FAILS(FM_register(FM_HANDLERS, keep), EINVAL);
	FAILS(FM_register_1(FM_HANDLERS, four), EINVAL);
	FAILS(FM_check(ranks), EINVAL);
	FAILS(FM_get_limits(0), EINVAL);
	FAILS(FM_get_counters(0), EINVAL);
	FAILS(FM_send(0, KEEP, 0, 1), EINVAL);
	FAILS(FM_send(ranks, KEEP, source, 1), EINVAL);
	FAILS(FM_send_piece(0, source, 1), EINVAL);
	FAILS(FM_end_message(0), EINVAL);
	for (int i = 0; i < FM_STREAMS; i++)
		TRUE((open[i] = FM_begin_message(next, 1, IGNORES)));
	TRUE(!FM_begin_message(next, 1, KEEP) && errno == EAGAIN);
	FAILS(FM_send_piece(open[0], source, 2), EMSGSIZE);
	FAILS(FM_send_piece(open[0], 0, 1), EINVAL);
	FAILS(FM_send_piece(open[0], UNREADABLE, 1), EFAULT);
	FAILS(FM_end_message(open[0]), EMSGSIZE);
	FAILS(FM_cancel_message(0), EINVAL);
	OK(FM_cancel_message(open[0]));         /* nothing of it arrives */
	FAILS(FM_cancel_message(open[0]), EINVAL);
	for (int i = 0; i < 2 * FM_STREAMS; i++)
		FAILS(FM_send(next, KEEP, UNREADABLE, FEW_BYTES), EFAULT);
	TRUE((open[0] = FM_begin_message(next, 1, IGNORES)));
	OK(FM_register(IGNORES, 0));
	OK(FM_register(KEEP, ignores));
	OK(FM_barrier());
	for (int i = 0; i < FM_STREAMS; i++) {
		OK(FM_send_piece(open[i], source, 1));
		OK(FM_end_message(open[i]));
	}
	FAILS(FM_end_message(open[0]), EINVAL);
	TRUE((stream = FM_begin_message(next, 3001, IGNORES)));
	OK(FM_send_piece(stream, source, 3000));
	OK(FM_send_piece(stream, source, 1));
	FAILS(FM_cancel_message(stream), EALREADY);
	OK(FM_end_message(stream));
	TRUE((stream = FM_begin_message(next, 16, HOSTILE)));
	FAILS(FM_receive(stream, got, 1), EINVAL);
	OK(FM_send_piece(stream, source, 16));
	OK(FM_end_message(stream));
	extract_until(&done, wanted);
	OK(FM_check(next));
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "sizes", sizes }, { "pieces", pieces }, { "limit", limit },
		{ "discarded", discarded }, { "interleaved", interleaved }, { "direct", direct },
		{ "one", one }, { "answered", answered }, { "reused", reused },
		{ "arguments", arguments },
	};
	struct FM_limits none;

	FAILS(FM_extract(1), EINVAL);
	FAILS(FM_wait(0), EINVAL);
	FAILS(FM_barrier(), EINVAL);
	FAILS(FM_finalize(), EINVAL);
	FAILS(FM_get_limits(&none), EINVAL);
	TRUE(!FM_begin_message(0, 0, 0) && errno == EINVAL);
	open_test();
	OK(FM_initialize());
	OK(FM_finalize());
	next = (rank + 1) % ranks;
	before = (rank + ranks - 1) % ranks;
	OK(FM_get_limits(&limits));
	TRUE(limits.stacks > FM_STREAMS * ranks && limits.packet_bytes * 8 == limits.ring_bytes);
	OK(FM_register(KEEP, keep));
	OK(FM_register(PARTS, parts));
	OK(FM_register(IGNORES, ignores));
	OK(FM_register(REPLY, reply));
	OK(FM_register(ANSWER, answer));
	OK(FM_register(LONG, named));
	OK(FM_register(SLOW, slow));
	OK(FM_register(HOSTILE, hostile));
	OK(FM_register(FLOOD, flood));
	OK(FM_register(WATER, water));
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	OK(FM_register_1(COUNT, count));
	OK(FM_register_1(FOUR, four));
	OK(FM_register_1(LONG_1, whole));
	RUN_CASES(cases);
	TRUE(PtlNIFini(ni) == PTL_OK);
	FAILS(FM_extract(1), EINVAL);
	return 0;
}
