/*
 * mad_messages: all packs and modes, from rank 0 to each other rank in turn, and back. Rank 0
 * prints a line for each case.
 */
#include "mad_test.h"

enum { MOST = 400000 };

static char out[MOST], in[MOST];
static int got;                         /* length of the last message */

static const int sizes[] = { 0, 1, 8, 100, 255, 256, 257, 900, 1000, 4096, 65536, MOST };
static const int modes[] = { SND_CHEAPER, SND_SAFER, SND_LATER };

#define SIZES   ((int)(sizeof(sizes) / sizeof(*sizes)))

/* For each other rank in turn, rank 0 sends it `first` and gets `second` back. */
static void with_each(void (*send)(int to), void (*receive)(void))
{
	if (me)
		recvbuf_receive(receive);
	for (int rank = 1; rank < nodes && me == 0; rank++) {
		send(rank);
		recvbuf_receive(receive);
	}
	if (me)
		send(0);
}

/* ---- sizes and modes ---- */

static int size, send_mode, receive_mode;

static void send_bytes(int to)
{
	fill(out, (size_t)size, (unsigned int)(me + size));
	sendbuf_init(to);
	sendbuf_pack_int(SND_SAFER | RECV_EXPRESS, &me, 1);
	sendbuf_pack_int(SND_SAFER | RECV_EXPRESS, &size, 1);
	if (send_mode == SND_LATER)
		fill(out, (size_t)size, 99);
	sendbuf_pack_byte(send_mode | receive_mode, out, size);
	if (send_mode == SND_SAFER)
		memset(out, 0, (size_t)size);
	if (send_mode == SND_LATER)
		fill(out, (size_t)size, (unsigned int)(me + size));
	sendbuf_send();
	memset(out, 0, (size_t)size);
}

static void receive_bytes(void)
{
	int from;

	memset(in, 0, sizeof(in));
	recvbuf_unpack_int(SND_SAFER | RECV_EXPRESS, &from, 1);
	recvbuf_unpack_int(SND_SAFER | RECV_EXPRESS, &got, 1);
	EQUAL(got, size);
	recvbuf_unpack_byte(send_mode | receive_mode, in, got);
	if (receive_mode == RECV_EXPRESS)
		CHECK(is_filled(in, (size_t)got, (unsigned int)(from + size)));
	recvbuf_receive_data();
	CHECK(is_filled(in, (size_t)got, (unsigned int)(from + size)));
}

/* ---- every kind, in one message ---- */

static void send_kinds(int to)
{
	static const double doubles[] = { 1.5, -2.25, 1e300 };
	static const float floats[] = { 0.5f, -1 };
	static const long longs[] = { -1, 1L << 40 };
	static int ints[1000];

	for (int i = 0; i < 1000; i++)
		ints[i] = i * i - me;
	sendbuf_init(to);
	sendbuf_pack_str(SND_CHEAPER | RECV_EXPRESS, "an express string");
	sendbuf_pack_int(SND_CHEAPER | RECV_CHEAPER, ints, 1000);
	sendbuf_pack_long(SND_CHEAPER | RECV_EXPRESS, longs, 2);
	sendbuf_pack_str(SND_CHEAPER | RECV_CHEAPER, "a cheap string");
	sendbuf_pack_double(SND_LATER | RECV_CHEAPER, doubles, 3);
	sendbuf_pack_float(SND_SAFER | RECV_CHEAPER, floats, 2);
	sendbuf_pack_byte(SND_SAFER | RECV_EXPRESS, NULL, 0);
	sendbuf_pack_int(SND_SAFER | RECV_EXPRESS, &me, 1);
	sendbuf_send();
}

static void receive_kinds(void)
{
	char text[40], other[40];
	double doubles[3];
	float floats[2];
	long longs[2];
	int ints[1000], from;

	recvbuf_unpack_str(SND_CHEAPER | RECV_EXPRESS, text);
	CHECK(!strcmp(text, "an express string"));
	recvbuf_unpack_int(SND_CHEAPER | RECV_CHEAPER, ints, 1000);
	recvbuf_unpack_long(SND_CHEAPER | RECV_EXPRESS, longs, 2);
	EQUAL(longs[0], -1);
	EQUAL(longs[1], 1L << 40);
	recvbuf_unpack_str(SND_CHEAPER | RECV_CHEAPER, other);
	recvbuf_unpack_double(SND_LATER | RECV_CHEAPER, doubles, 3);
	recvbuf_unpack_float(SND_SAFER | RECV_CHEAPER, floats, 2);
	recvbuf_unpack_byte(SND_SAFER | RECV_EXPRESS, NULL, 0);
	recvbuf_unpack_int(SND_SAFER | RECV_EXPRESS, &from, 1);
	recvbuf_receive_data();
	CHECK(!strcmp(other, "a cheap string"));
	CHECK(doubles[0] == 1.5 && doubles[1] == -2.25 && doubles[2] == 1e300);
	CHECK(floats[0] == 0.5f && floats[1] == -1);
	for (int i = 0; i < 1000; i++)
		EQUAL(ints[i], i * i - from);
}

/* ---- the paper's figures 4 and 5: two strings of unknown length ---- */

static void send_strings(int to)
{
	sendbuf_init(to);
	for (int i = 0; i < 2; i++) {
		int length = 10 + i * 3000;

		fill(out + i * 4000, (size_t)length, (unsigned int)i);
		sendbuf_pack_int(SND_SAFER | RECV_EXPRESS, &length, 1);
		sendbuf_pack_byte(SND_CHEAPER | RECV_CHEAPER, out + i * 4000, length);
	}
	sendbuf_send();
}

static void receive_strings(void)
{
	char *data[2];
	int lengths[2];

	for (int i = 0; i < 2; i++) {
		recvbuf_unpack_int(SND_SAFER | RECV_EXPRESS, &lengths[i], 1);
		EQUAL(lengths[i], 10 + i * 3000);
		data[i] = malloc((size_t)lengths[i]);
		recvbuf_unpack_byte(SND_CHEAPER | RECV_CHEAPER, data[i], lengths[i]);
	}
	recvbuf_receive_data();
	for (int i = 0; i < 2; i++) {
		CHECK(is_filled(data[i], (size_t)lengths[i], (unsigned int)i));
		free(data[i]);
	}
}

/* ---- the largest number of pieces ---- */

static void send_pieces(int to)
{
	fill(out, MAD_PIECES * 100, 5);
	sendbuf_init(to);
	for (int i = 0; i < MAD_PIECES; i++)
		sendbuf_pack_byte(SND_CHEAPER | RECV_CHEAPER, out + i * 100, 100);
	sendbuf_send();
}

/* Where a piece is received: in reverse order. */
static char *piece(int i)
{
	return in + (MAD_PIECES - 1 - i) * 100;
}

static void receive_pieces(void)
{
	static char expected[MAD_PIECES * 100];

	fill(expected, sizeof(expected), 5);
	memset(in, 0, sizeof(in));
	for (int i = 0; i < MAD_PIECES; i++)
		recvbuf_unpack_byte(SND_CHEAPER | RECV_CHEAPER, piece(i), 100);
	recvbuf_receive_data();
	for (int i = 0; i < MAD_PIECES; i++)
		CHECK(!memcmp(piece(i), expected + i * 100, 100));
}

/* ---- all kinds, modes and sizes in random order, and packs of nothing ---- */

enum { MIXED_MOST = 40, MIXED_BYTES = 12000, MIXED_ROUNDS = 30 };

static unsigned int mixed_round, mixed_state;

static unsigned int draw(unsigned int below)
{
	mixed_state = mixed_state * 1103515245 + 12345;
	return (mixed_state >> 16) % below;
}

/* The next piece, the same on both sides. */
struct mixed { int mode, kind, number; size_t bytes; unsigned int seed; };

static struct mixed draw_mixed(void)
{
	static const int numbers[] = { 0, 1, 20, 300, 1000 };
	static const size_t sizes_of[] = { 1, sizeof(int), sizeof(long), sizeof(float),
					   sizeof(double) };
	struct mixed made;

	made.mode = modes[draw(3)] | (draw(2) ? RECV_EXPRESS : RECV_CHEAPER);
	made.kind = (int)draw(5);
	made.number = numbers[draw(5)];
	made.bytes = (size_t)made.number * sizes_of[made.kind];
	made.seed = draw(1000);
	return made;
}

#define BY_KIND(call, made, at) do { \
	switch ((made).kind) { \
	case 0: call##_byte((made).mode, (at), (made).number); break; \
	case 1: call##_int((made).mode, (void *)(at), (made).number); break; \
	case 2: call##_long((made).mode, (void *)(at), (made).number); break; \
	case 3: call##_float((made).mode, (void *)(at), (made).number); break; \
	default: call##_double((made).mode, (void *)(at), (made).number); \
	} \
} while (0)

/* What is packed SND_SAFER changes after its pack; SND_LATER is there only when it is sent. */
static void send_mixed(int to)
{
	static _Alignas(16) char from[MIXED_MOST][MIXED_BYTES];
	struct mixed made[MIXED_MOST];

	mixed_state = mixed_round;
	sendbuf_init(to);
	for (int i = 0; i < MIXED_MOST; i++) {
		made[i] = draw_mixed();
		if (!(made[i].mode & SND_LATER))
			fill(from[i], made[i].bytes, made[i].seed);
		BY_KIND(sendbuf_pack, made[i], from[i]);
		if (made[i].mode & SND_SAFER)
			memset(from[i], 0, made[i].bytes);
		if (made[i].bytes > 20)         /* nothing, in the middle of something */
			sendbuf_pack_byte(SND_LATER | RECV_CHEAPER, from[i] + 10, 0);
	}
	for (int i = 0; i < MIXED_MOST; i++)
		if (made[i].mode & SND_LATER)
			fill(from[i], made[i].bytes, made[i].seed);
	sendbuf_send();
}

static void receive_mixed(void)
{
	static _Alignas(16) char into[MIXED_MOST][MIXED_BYTES];
	struct mixed made[MIXED_MOST];

	mixed_state = mixed_round;
	memset(into, 0, sizeof(into));
	for (int i = 0; i < MIXED_MOST; i++) {
		made[i] = draw_mixed();
		BY_KIND(recvbuf_unpack, made[i], into[i]);
		if (made[i].mode & RECV_EXPRESS)
			CHECK(is_filled(into[i], made[i].bytes, made[i].seed));
		if (made[i].bytes > 20)
			recvbuf_unpack_byte(SND_LATER | RECV_CHEAPER, into[i], 0);
	}
	recvbuf_receive_data();
	for (int i = 0; i < MIXED_MOST; i++) {
		CHECK(is_filled(into[i], made[i].bytes, made[i].seed));
		CHECK(!into[i][made[i].bytes]);
	}
}

static void passed(const char *name)
{
	if (me == 0)
		printf("ok %s\n", name);
}

int main(int argc, char **argv)
{
	mad_init(&argc, &argv, &nodes, &me);
	for (int i = 0; i < SIZES; i++)
		for (int mode = 0; mode < 6; mode++) {
			size = sizes[i];
			send_mode = modes[mode % 3];
			receive_mode = mode < 3 ? RECV_CHEAPER : RECV_EXPRESS;
			with_each(send_bytes, receive_bytes);
		}
	passed("modes");
	with_each(send_kinds, receive_kinds);
	passed("kinds");
	with_each(send_strings, receive_strings);
	passed("strings");
	with_each(send_pieces, receive_pieces);
	passed("pieces");
	for (mixed_round = 1; mixed_round <= MIXED_ROUNDS; mixed_round++)
		with_each(send_mixed, receive_mixed);
	passed("mixed");
	mad_exit();
	return 0;
}
