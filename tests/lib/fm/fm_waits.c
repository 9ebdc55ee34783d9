/*
 * fm_waits WHAT: calls that wait end in time, and calls that do not wait return.
 *
 *   still   a handler of rank 0 waits for the rest of a message, while the kernel of rank 1 answers
 *           nothing (--control poll): FM_wait ends when its time is over
 */
#include "fm_test.h"

enum { REST = 1 };
enum { HEAD = 3000, TAIL = 47000, STILL_MS = 3000, WAIT_MS = 100, LEAST_WAITS = 5 };

static unsigned char bytes[HEAD + TAIL];
static unsigned volatile begun, ended;

static int rest(FM_stream *stream, unsigned sender)
{
	(void)sender;
	OK(FM_receive(stream, bytes, HEAD));
	begun = 1;
	OK(FM_receive(stream, bytes, TAIL));
	ended = 1;
	return FM_CONTINUE;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void still(void)
{
	unsigned waits = 0;

	if (rank == 1) {
		FM_stream *stream = FM_begin_message(0, HEAD + TAIL, REST);
		int64_t end = now_ms() + STILL_MS;

		TRUE(stream);
		OK(FM_send_piece(stream, bytes, HEAD));
		while (now_ms() < end)          /* makes no system call */
			;
		OK(FM_send_piece(stream, bytes, TAIL));
		OK(FM_end_message(stream));
		return;
	}
	extract_until(&begun, 1);
	while (!ended) {
		if (FM_extract(SIZE_MAX) == 0)
			waits += FM_wait(WAIT_MS) == 0;
	}
	TRUE(waits >= LEAST_WAITS);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	open_test();
	OK(FM_register(REST, rest));
	OK(FM_barrier());
	if (!strcmp(what, "still"))
		still();
	OK(FM_finalize());
	if (rank == 0)
		printf("done\n");
	return 0;
}
