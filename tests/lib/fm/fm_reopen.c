/*
 * fm_reopen COUNT [keep]: Fast Messages are opened and closed COUNT times.
 *
 * Each rank sends to rank - 1, which sends it nothing in the barrier. With lost frames its messages
 * come late: a message that was not extracted is lost, and no message comes after the next
 * FM_initialize.
 *   keep    the program has the interface open, and rank 0 closes while its handler waits for a
 *           piece that never comes
 */
#include "fm_test.h"

enum { STAMP = 1, REST, BYTES = 1000, MESSAGES = 2, HEAD = 3000, TAIL = 90000 };

static unsigned open_count, stale;
static unsigned volatile begun;
static unsigned char bytes[HEAD + TAIL];

static int stamp(FM_stream *stream, unsigned sender)
{
	unsigned of_open;

	(void)sender;
	OK(FM_receive(stream, &of_open, sizeof(of_open)));
	stale += of_open != open_count;
	return FM_CONTINUE;
}

static int rest(FM_stream *stream, unsigned sender)
{
	(void)sender;
	OK(FM_receive(stream, bytes, HEAD));
	begun++;
	OK(FM_receive(stream, bytes, TAIL));
	TRUE(!"its piece has come");
	return FM_CONTINUE;
}

static void send_stamps(void)
{
	static unsigned message[BYTES / sizeof(unsigned)];

	message[0] = open_count;
	for (int i = 0; i < MESSAGES; i++)
		OK(FM_send((rank + ranks - 1) % ranks, STAMP, message, BYTES));
}

static void wait_for_piece(void)
{
	OK(FM_barrier());
	if (rank == 1) {
		FM_stream *stream = FM_begin_message(0, HEAD + TAIL, REST);

		TRUE(stream);
		OK(FM_send_piece(stream, bytes, HEAD));
	} else if (rank == 0) {
		extract_until(&begun, open_count);
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	int keeps = argc > 2;
	ptl_handle_ni_t ni;

	if (keeps)
		TRUE(PtlInit(0) == PTL_OK &&
		     PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	for (open_count = 1; open_count <= count; open_count++) {
		open_test();
		OK(FM_register(STAMP, stamp));
		OK(FM_register(REST, rest));
		if (keeps)
			wait_for_piece();
		else
			send_stamps();
		OK(FM_finalize());
	}
	TRUE(stale == 0);
	if (rank == 0)
		printf("done\n");
	return 0;
}
