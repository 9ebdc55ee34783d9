/*
 * fm_waits WHAT: calls that wait end in time, and calls that do not wait return.
 *
 *   still   a handler of rank 0 waits for the rest of a message, while the kernel of rank 1 answers
 *           nothing (--control poll): FM_wait ends when its time is over
 *   late    a handler of rank 0 waits for credit, which has come when rank 0 calls FM_extract again:
 *           the handler goes on, and FM_extract tells it, although there is no packet
 *   lost    more control messages come than rank 0 has room for: it ends with a line that says so
 */
#include "fm_test.h"

enum { REST = 1, FLOOD, DROP };
enum { HEAD = 3000, TAIL = 47000, STILL_MS = 3000, WAIT_MS = 100, LEAST_WAITS = 5,
       LEAST_TAKEN = 4 };

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

/* Sends more than a ring to rank 1. */
static int flood(FM_stream *stream, unsigned sender)
{
	struct FM_limits limits;

	(void)stream;
	OK(FM_get_limits(&limits));
	for (size_t sent = 0; sent <= limits.ring_bytes; sent += TAIL)
		OK(FM_send(sender, DROP, bytes, TAIL));
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

static void late(void)
{
	struct FM_counters counters;
	ptl_handle_ni_t ni;

	TRUE(PtlInit(0) == PTL_OK);
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	if (rank == 1)
		OK(FM_send_4(0, FLOOD, 0, 0, 0, 0));
	do {
		if (rank == 0)
			OK(FM_extract(SIZE_MAX));
		OK(FM_get_counters(&counters));
	} while (rank == 0 && counters.credit_waits == 0);
	TRUE(rank || !ended);
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	if (rank == 1) {
		do {
			OK(FM_extract(SIZE_MAX));
			OK(FM_get_counters(&counters));
		} while (counters.discarded < LEAST_TAKEN);
		OK(FM_check(0));                /* what it has told rank 0 is there */
	}
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	if (rank == 0)
		TRUE(FM_extract(SIZE_MAX) > 0 && ended);
	TRUE(PtlNIFini(ni) == PTL_OK);
}

static void lost(void)
{
	enum { CONTROL = 42, NO_KIND = 15, MESSAGES = 4000 };
	const ptl_md_t md = { .threshold = PTL_MD_THRESH_INF, .options = PTL_MD_EVENT_START_DISABLE |
			      PTL_MD_EVENT_END_DISABLE, .eq_handle = PTL_EQ_NONE };
	ptl_handle_md_t handle;
	ptl_handle_ni_t ni;

	TRUE(PtlInit(0) == PTL_OK);
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	TRUE(PtlMDBind(ni, md, PTL_RETAIN, &handle) == PTL_OK);
	for (int i = 0; rank == 1 && i < MESSAGES; i++)
		TRUE(PtlPutRegion(handle, 0, 0, PTL_NOACK_REQ, margay_process(0), CONTROL, 0,
				  NO_KIND, 0, 0) == PTL_OK);
	TRUE(PtlNIBarrier(ni) == PTL_OK);
	if (rank == 0)
		FM_wait(0);
	pause_ms(10000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	open_test();
	OK(FM_register(REST, rest));
	OK(FM_register(FLOOD, flood));
	OK(FM_barrier());
	if (!strcmp(what, "still"))
		still();
	else if (!strcmp(what, "late"))
		late();
	else if (!strcmp(what, "lost"))
		lost();
	OK(FM_finalize());
	if (rank == 0)
		printf("done\n");
	return 0;
}
