/*
 * fm_flow WHAT COUNT: floods, in which nothing is lost and nothing waits forever.
 *
 *   sleeper   all others send COUNT messages to rank 0, which sleeps for a second first. What it
 *             finds then has arrived while it slept
 *   all       every rank sends COUNT messages to every rank, of sizes up to a packet
 *   answers   every rank sends COUNT requests to every rank, some of several packets; handlers
 *             answer each
 *   long      ranks in pairs send each other COUNT messages of 1 MB, both at a time
 *   headers   the same with requests whose first 8 bytes are a piece, of one unit and these
 *   cycle     three ranks use all the credit of the program; then handlers answer, each before
 *             it frees its packet, and packets skip the ring's end
 *   silent    rank 0 does not extract until the others have sent 3/8 of a ring's messages
 *   open      rank 0 opens as many messages as it may, 128 in all, and one more
 */
#include "fm_test.h"

enum { NUMBERED = 1, REQUEST, ANSWER, LONG, OPENED, BACK, DROP, BYTES = 1 << 20, REQUEST_MOST = 6000 };

static unsigned volatile got, answered;
static unsigned from[FM_RANKS];
static unsigned peer;                   /* the other rank of a pair, or this one */
static unsigned char bytes[BYTES], to[BYTES];
static unsigned char wanted[BYTES];     /* a long message of the peer */

static int numbered(FM_stream *stream, unsigned sender)
{
	size_t size = FM_stream_bytes(stream);
	unsigned n;

	OK(FM_receive(stream, &n, 4));
	TRUE(n == from[sender]++);
	OK(FM_receive(stream, to, size - 4));
	TRUE(is_content(to, size - 4, sender, 4));
	got++;
	return FM_CONTINUE;
}

static int request(FM_stream *stream, unsigned sender)
{
	size_t size = FM_stream_bytes(stream);
	unsigned char copy[REQUEST_MOST];
	FM_stream *back;

	TRUE(size <= sizeof(copy));
	OK(FM_receive(stream, copy, size));
	TRUE(is_content(copy, size, sender, 0));
	TRUE((back = FM_begin_message(sender, size, ANSWER)));
	OK(FM_send_piece(back, copy, size / 2));
	OK(FM_send_piece(back, copy + size / 2, size - size / 2));
	OK(FM_end_message(back));
	got++;
	return FM_CONTINUE;
}

/* A handler of 1.1, which holds its packet until it has returned. */
static int back(void *copy, size_t size, unsigned sender)
{
	OK(FM_send(sender, ANSWER, copy, size));
	got++;
	return FM_CONTINUE;
}

static int answer(FM_stream *stream, unsigned sender)
{
	size_t size = FM_stream_bytes(stream);

	(void)sender;
	OK(FM_receive(stream, to, size));
	TRUE(is_content(to, size, rank, 0));
	answered++;
	return FM_CONTINUE;
}

static int is_long(FM_stream *stream, unsigned sender)
{
	OK(FM_receive(stream, to, BYTES));
	TRUE(sender == peer && !memcmp(to, wanted, BYTES));
	memset(to, 0, BYTES);
	got++;
	return FM_CONTINUE;
}

static void send(unsigned dest, unsigned n, size_t size)
{
	FM_stream *stream = FM_begin_message(dest, size, NUMBERED);

	TRUE(stream);
	OK(FM_send_piece(stream, &n, 4));
	OK(FM_send_piece(stream, bytes + 4, size - 4));
	OK(FM_end_message(stream));
}

static void sleeper(unsigned count)
{
	if (rank) {
		for (unsigned n = 0; n < count; n++)
			send(0, n, 4 + n % 3000);
		return;
	}
	pause_ms(1000);
	extract_until(&got, (ranks - 1) * count);
}

static void all(unsigned count)
{
	for (unsigned n = 0; n < count; n++)
		for (unsigned i = 0; i < ranks; i++)
			send((rank + i) % ranks, n, 4 + n * 97 % 9000);
	extract_until(&got, ranks * count);
}

static void answers(unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		for (unsigned i = 0; i < ranks; i++) {
			size_t size = n % 5 ? 1 + (n * 13 + i) % 600 : REQUEST_MOST;
			size_t half = n % 5 ? size : size / 2;
			FM_stream *stream = FM_begin_message((rank + i) % ranks, size, REQUEST);

			TRUE(stream);
			OK(FM_send_piece(stream, bytes, half));
			OK(FM_send_piece(stream, bytes + half, size - half));
			OK(FM_end_message(stream));
		}
	}
	extract_until(&answered, ranks * count);
	extract_until(&got, ranks * count);
}

static unsigned unit_bytes(void)
{
	struct FM_limits limits;

	OK(FM_get_limits(&limits));
	return (unsigned)limits.ring_bytes / limits.credits;
}

static void headers(unsigned count)
{
	unsigned unit = unit_bytes();

	for (unsigned n = 0; n < count; n++) {
		for (unsigned i = 1; i < ranks; i++) {
			FM_stream *stream = FM_begin_message((rank + i) % ranks, FM_INLINE + unit,
							     REQUEST);

			TRUE(stream);
			OK(FM_send_piece(stream, bytes, FM_INLINE));
			OK(FM_send_piece(stream, bytes + FM_INLINE, unit));
			OK(FM_end_message(stream));
		}
	}
	extract_until(&answered, (ranks - 1) * count);
	extract_until(&got, (ranks - 1) * count);
}

/* Sends requests to a rank while there is credit. Returns how many. */
static unsigned use_credit(unsigned dest)
{
	const size_t most = 102 * unit_bytes();
	unsigned sent = 0;

	for (size_t room; (room = FM_room(dest)) > 0; sent++)
		OK(FM_send(dest, BACK, bytes, room >= most ? most : 1));
	return sent;
}

static void cycle(void)
{
	unsigned next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, sent;
	struct FM_counters counters;
	struct FM_limits limits;
	ptl_handle_ni_t ni;

	TRUE(PtlInit(0) == PTL_OK);
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	OK(FM_get_limits(&limits));
	for (int i = 0; i < 3; i++)             /* three eighths of the ring: its end comes sooner */
		OK(FM_send(next, DROP, bytes, limits.packet_bytes));
	do {
		OK(FM_extract(SIZE_MAX));
		OK(FM_get_counters(&counters));
	} while (counters.discarded < 3);
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	sent = use_credit(last);
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	sent += use_credit(next);
	OK(FM_get_counters(&counters));
	TRUE(counters.credit_waits == 0);
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	extract_until(&answered, sent);
	extract_until(&got, sent);
	TRUE(PtlNIFini(ni) == PTL_OK);
}

static void both(unsigned count)
{
	for (unsigned n = 0; n < count; n++)
		OK(FM_send(peer, LONG, bytes, BYTES));
	extract_until(&got, count);
}

/* Rank 0 makes no call between its two barriers, which does not hold up the others. */
static void silent(void)
{
	struct FM_limits limits;
	struct FM_counters counters;
	unsigned count;
	ptl_handle_ni_t ni;

	OK(FM_get_limits(&limits));
	count = limits.credits * 3 / 8;
	TRUE(PtlInit(0) == PTL_OK);
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	for (unsigned n = 0; rank && n < count; n++)
		send(0, n, 4 + n % 60);
	OK(FM_get_counters(&counters));
	TRUE(counters.credit_waits == 0);
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	if (rank == 0)
		extract_until(&got, (ranks - 1) * count);
	TRUE(PtlNIFini(ni) == PTL_OK);
}

static int opened(FM_stream *stream, unsigned sender)
{
	TRUE(FM_stream_bytes(stream) == 1 && sender == 0);
	got++;
	return FM_CONTINUE;
}

static void open_all(void)
{
	unsigned peers = ranks < 128 / FM_STREAMS ? ranks : 128 / FM_STREAMS;
	FM_stream *open[128];

	for (unsigned i = 0; rank == 0 && i < peers * FM_STREAMS; i++)
		TRUE((open[i] = FM_begin_message(i / FM_STREAMS, 1, OPENED)));
	TRUE(rank || (!FM_begin_message(ranks - 1, 1, OPENED) && errno == EAGAIN));
	for (unsigned i = 0; rank == 0 && i < peers * FM_STREAMS; i++) {
		OK(FM_send_piece(open[i], bytes, 1));
		OK(FM_end_message(open[i]));
	}
	extract_until(&got, rank < peers ? FM_STREAMS : 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 1;

	open_test();
	peer = (rank ^ 1) < ranks ? rank ^ 1 : rank;
	fill(bytes, BYTES, rank, 0);
	fill(wanted, BYTES, peer, 0);
	OK(FM_register(NUMBERED, numbered));
	OK(FM_register(REQUEST, request));
	OK(FM_register(ANSWER, answer));
	OK(FM_register_1(BACK, back));
	OK(FM_register(LONG, is_long));
	OK(FM_register(OPENED, opened));
	OK(FM_barrier());
	if (!strcmp(what, "sleeper"))
		sleeper(count);
	else if (!strcmp(what, "all"))
		all(count);
	else if (!strcmp(what, "answers"))
		answers(count);
	else if (!strcmp(what, "headers"))
		headers(count);
	else if (!strcmp(what, "cycle"))
		cycle();
	else if (!strcmp(what, "long"))
		both(count);
	else if (!strcmp(what, "silent"))
		silent();
	else if (!strcmp(what, "open"))
		open_all();
	else
		TRUE(!"a mode");
	OK(FM_finalize());
	if (rank == 0)
		printf("done\n");
	return 0;
}
