/*
 * fm_held WHAT: a handler of rank 0 waits for credit while it has not read all of its packet, and
 * other packets of the same rank follow. Three ranks; rank 2 extracts nothing until the end.
 *
 *   kept    packets that land without a copy, and a rank that uses all of its credit: the packet
 *           stays as it is until its handler has read it
 *   ended   rank 1 ends: what it had sent still comes
 */
#include "fm_test.h"

enum { HOLDS = 1, NAMES, HALVES, FLOOD, DROP };
enum { PACKET = 60000, PIECE = 2049, PIECES = 200, WATERS = 20, FLOODS = 2000, SIGNAL = 50 };

static unsigned char bytes[WATERS * PACKET], named_bytes[3000 + PIECES * PIECE];
static unsigned volatile begun, done, dropped;
static ptl_handle_ni_t ni;

static void send(unsigned to, const void *from, size_t size, unsigned handler)
{
	FM_stream *stream = FM_begin_message(to, size, handler);

	TRUE(stream);
	OK(FM_send_piece(stream, from, size));
	OK(FM_end_message(stream));
}

/* Waits for credit of rank 2 with most of its packet unread. */
static int holds(FM_stream *stream, unsigned sender)
{
	static unsigned char got[PACKET], water[PACKET];

	TRUE(sender == 1);
	OK(FM_receive(stream, got, 100));
	begun++;
	for (int i = 0; i < WATERS; i++)        /* more than the ring holds */
		send(2, water, sizeof(water), DROP);
	OK(FM_receive(stream, got + 100, PACKET - 100));
	TRUE(is_content(got, PACKET, 1, 0));
	done++;
	return FM_CONTINUE;
}

static int names(FM_stream *stream, unsigned sender)
{
	(void)sender;
	OK(FM_receive(stream, named_bytes, 3000));
	begun++;
	OK(FM_receive(stream, named_bytes + 3000, PIECES * PIECE));
	TRUE(is_content(named_bytes, sizeof(named_bytes), 2, 0));
	done++;
	return FM_CONTINUE;
}

static int halves(FM_stream *stream, unsigned sender)
{
	static unsigned char got[6000];

	(void)sender;
	OK(FM_receive(stream, got, 3000));
	begun++;
	OK(FM_receive(stream, got + 3000, 3000));
	TRUE(is_content(got, 6000, 2, 0));
	done++;
	return FM_CONTINUE;
}

/* Runs at rank 1: uses all the credit that rank 0 has given. */
static int flood(FM_stream *stream, unsigned sender)
{
	static unsigned char water[500];

	(void)stream, (void)sender;
	memset(water, 0xee, sizeof(water));
	for (int i = 0; i < FLOODS; i++)
		send(0, water, sizeof(water), DROP);
	done++;
	return FM_CONTINUE;
}

static int drop(FM_stream *stream, unsigned sender)
{
	(void)stream, (void)sender;
	dropped++;
	return FM_CONTINUE;
}

static void all_ranks(void)
{
	TRUE(PtlNIBarrier(ni) == PTL_OK);
}

static void kept(void)
{
	FM_stream *stream = 0;

	fill(bytes, sizeof(named_bytes), 2, 0);
	if (rank == 1) {
		TRUE((stream = FM_begin_message(0, sizeof(named_bytes), NAMES)));
		OK(FM_send_piece(stream, bytes, 3000));
	} else if (rank == 0) {
		extract_until(&begun, 1);
	}
	all_ranks();
	if (rank == 1) {
		unsigned char *held = bytes + sizeof(named_bytes);

		fill(held, PACKET, 1, 0);
		send(0, held, PACKET, HOLDS);
	} else if (rank == 0) {
		extract_until(&begun, 2);
	}
	all_ranks();
	for (size_t at = 3000; rank == 1 && at < sizeof(named_bytes); at += PIECE)
		OK(FM_send_piece(stream, bytes + at, PIECE));
	if (rank == 1)
		OK(FM_end_message(stream));
	else if (rank == 0)
		extract_until(&done, 1);
	all_ranks();
	if (rank == 1) {
		struct FM_counters first, last;

		send(1, bytes, 1, FLOOD);
		OK(FM_get_counters(&first));
		do {
			OK(FM_extract(SIZE_MAX));
			OK(FM_get_counters(&last));
		} while (last.credit_waits == first.credit_waits);
	}
	all_ranks();
	if (rank == 0)
		extract_until(&dropped, FLOODS);
	else if (rank == 1)
		extract_until(&done, 1);
	else
		extract_until(&dropped, WATERS);
	if (rank == 0)
		TRUE(done == 2);
	OK(FM_finalize());
}

/* ---- rank 0 tells rank 2 to extract; by Portals, as neither may extract before ---- */

static void await_signal(ptl_handle_eq_t signals)
{
	ptl_event_t event;

	TRUE(PtlEQWait(signals, &event) == PTL_OK);
}

static ptl_handle_eq_t open_signals(void)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .threshold = PTL_MD_THRESH_INF, .options = PTL_MD_OP_PUT |
			PTL_MD_EVENT_START_DISABLE };
	ptl_handle_me_t entry;
	ptl_handle_md_t handle;

	TRUE(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &md.eq_handle) == PTL_OK);
	TRUE(PtlMEAttach(ni, SIGNAL, any_process, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &entry) == PTL_OK);
	TRUE(PtlMDAttach(entry, md, PTL_RETAIN, &handle) == PTL_OK);
	return md.eq_handle;
}

static void signal_to(int other)
{
	const ptl_md_t md = { .threshold = PTL_MD_THRESH_INF, .options = PTL_MD_EVENT_START_DISABLE |
			      PTL_MD_EVENT_END_DISABLE, .eq_handle = PTL_EQ_NONE };
	ptl_handle_md_t handle;

	TRUE(PtlMDBind(ni, md, PTL_RETAIN, &handle) == PTL_OK);
	TRUE(PtlPutRegion(handle, 0, 0, PTL_NOACK_REQ, margay_process(other), SIGNAL, 0, 0, 0,
			  0) == PTL_OK);
}

/* The half of a message that lies behind the held packet comes, although rank 1 is gone. */
static void ended(void)
{
	ptl_handle_eq_t signals = open_signals();

	all_ranks();
	fill(bytes, 6000, 2, 0);
	fill(bytes + 6000, PACKET, 1, 0);
	if (rank == 1) {
		FM_stream *stream = FM_begin_message(0, 6000, HALVES);

		TRUE(stream);
		OK(FM_send_piece(stream, bytes, 3000));
		send(0, bytes + 6000, PACKET, HOLDS);
		OK(FM_send_piece(stream, bytes + 3000, 3000));
		OK(FM_end_message(stream));
		_Exit(0);
	} else if (rank == 0) {
		extract_until(&begun, 2);
		while (FM_check(1) == 0)
			pause_ms(1);
		OK(FM_extract(SIZE_MAX));
		TRUE(done == 0);
		signal_to(2);
		extract_until(&done, 2);
	} else {
		await_signal(signals);
		extract_until(&dropped, WATERS);
	}
	FAILS(FM_finalize(), EHOSTDOWN);
}

int main(int argc, char **argv)
{
	open_test();
	TRUE(ranks == 3 && argc == 2);
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	OK(FM_register(HOLDS, holds));
	OK(FM_register(NAMES, names));
	OK(FM_register(HALVES, halves));
	OK(FM_register(FLOOD, flood));
	OK(FM_register(DROP, drop));
	if (!strcmp(argv[1], "kept"))
		kept();
	else
		ended();
	if (rank == 0)
		printf("done\n");
	return 0;
}
