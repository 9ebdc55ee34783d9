/*
 * fm_packets RANKS: no packet is longer than FM_get_limits says, however small the pieces of its
 * message are. The number of ranks decides how long a packet may be. Only one is there; it takes
 * itself for rank 0 of RANKS, sends to itself, and does not close the library.
 */
#include "fm_test.h"
#include <margay/abi.h>

extern struct margay_start __glue_start; /* libmargay's copy; not public */

enum { MOST = 6144, PIECES = 8 };

static unsigned char out[MOST], in[MOST];
static int messages;

static int receive(FM_stream *stream, unsigned sender)
{
	size_t bytes = FM_stream_bytes(stream);

	OK(FM_receive(stream, in, bytes));
	TRUE(is_content(in, bytes, sender, 0));
	messages++;
	return FM_CONTINUE;
}

/* Sends a message in pieces, the last of 0 bytes, and takes its packets one at a time. */
static void send(const size_t *pieces, size_t packet_bytes)
{
	size_t bytes = 0, sent = 0;
	int before = messages, taken;
	FM_stream *stream;

	for (int i = 0; pieces[i]; i++)
		bytes += pieces[i];
	TRUE((stream = FM_begin_message(0, bytes, 1)));
	for (int i = 0; pieces[i]; sent += pieces[i++])
		OK(FM_send_piece(stream, out + sent, pieces[i]));
	OK(FM_end_message(stream));
	while ((taken = FM_extract(1)) > 0)
		TRUE((size_t)taken <= packet_bytes + FM_INLINE);
	TRUE(messages == before + 1);
}

int main(int argc, char **argv)
{
	static const size_t pieces[][PIECES] = {
		{ 2048, 2048, 2048 }, { 1500, 1500, 1500 }, { 100, 2000, 2048, 1000 },
		{ 8, 2048, 100 }, { 3, 2047, 2048, 8 }, { 8, 2040, 2048 }, { 2048 },
	};
	struct FM_limits limits;

	TRUE(argc == 2);
	__glue_start.size = (uint32_t)atoi(argv[1]);
	open_test();
	OK(FM_get_limits(&limits));
	OK(FM_register(1, receive));
	fill(out, MOST, 0, 0);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		send(pieces[i], limits.packet_bytes);
	printf("packets of %zu bytes\n", limits.packet_bytes);
	return 0;
}
