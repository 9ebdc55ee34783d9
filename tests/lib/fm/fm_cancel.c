/*
 * fm_cancel: messages that their sender abandons when packets of them have been sent, in cases. Each
 * rank sends to the next one; the streams and the handlers' threads are free again. Any number of
 * ranks.
 */
#include "fm_test.h"

enum { READS = 1, IGNORES, ANSWERS, PLAIN };
enum { SIZE = 300000, SENT = 200000, PART = 50000, ROUNDS = 3 * FM_STREAMS,
       ANSWERS_OF_ONE = 3 };

static unsigned next;
static unsigned volatile done;          /* handlers that have ended */
static unsigned wanted;                 /* how many must end in all */
static unsigned char source[SIZE], got[SIZE];
static ptl_sr_value_t inline_bytes;     /* PTL_SR_INLINE: all ones over shared memory */

/* Receives until it fails: a message of `unreadable` in parts. A barrier may run it, before the case
 * begins here. */
static int reads(FM_stream *stream, unsigned sender)
{
	const int is_whole = FM_stream_bytes(stream) == SIZE;
	size_t part = is_whole ? SIZE : PART;
	int failed = 0;

	(void)sender;
	while (FM_stream_bytes(stream) && !failed)
		failed = FM_receive(stream, got, part < FM_stream_bytes(stream) ? part :
				    FM_stream_bytes(stream));
	check(failed && errno == ECANCELED, "the message is abandoned", __LINE__);
	if (FM_stream_bytes(stream))
		FAILS(FM_receive(stream, got, 1), ECANCELED);
	TRUE(!is_whole || is_content(got, SENT, 0, 0));
	done++;
	return FM_CONTINUE;
}

static int ignores(FM_stream *stream, unsigned sender)
{
	(void)stream, (void)sender;
	done++;
	return FM_CONTINUE;
}

/* Its answers use up the credit, so it waits while the rest of its message comes. */
static int answers(FM_stream *stream, unsigned sender)
{
	OK(FM_receive(stream, got, 1000));
	for (int i = 0; i < ANSWERS_OF_ONE; i++)
		OK(FM_send(sender, PLAIN, source, SIZE));
	FAILS(FM_receive(stream, got, FM_stream_bytes(stream)), ECANCELED);
	done++;
	return FM_CONTINUE;
}

static int plain(FM_stream *stream, unsigned sender)
{
	(void)sender;
	OK(FM_receive(stream, got, FM_stream_bytes(stream)));
	done++;
	return FM_CONTINUE;
}

static void abandon(unsigned handler)
{
	for (int i = 0; i < ROUNDS; i++) {
		FM_stream *stream = FM_begin_message(next, SIZE, handler);

		TRUE(stream);
		OK(FM_send_piece(stream, source, SENT));
		OK(FM_cancel_message(stream));
		FAILS(FM_cancel_message(stream), EINVAL);
		OK(FM_send(next, PLAIN, source, 1000));
	}
	wanted += 2 * ROUNDS;
}

static void received(void)
{
	fill(source, SIZE, 0, 0);
	abandon(READS);
	extract_until(&done, wanted);
}

static void ignored(void)
{
	abandon(IGNORES);
	extract_until(&done, wanted);
}

/* Only rank 0: handlers of two ranks that wait for each other's credit would deadlock. */
static void late(void)
{
	FM_stream *stream;

	if (ranks > 1 && rank == 0) {
		TRUE((stream = FM_begin_message(next, SIZE, ANSWERS)));
		OK(FM_send_piece(stream, source, SENT / 2));
		OK(FM_cancel_message(stream));
		wanted += ANSWERS_OF_ONE;
	}
	wanted += ranks > 1 && rank == 1;
	extract_until(&done, wanted);
}

/* The kernel finds the end of memory behind many packets. Only over shared memory: over cards the
 * library copies, and the process faults. */
static void unreadable(void)
{
	for (int i = 0; i < 2 * FM_STREAMS; i++)
		FAILS(FM_send(next, READS, source, 1u << 30), EFAULT);
	wanted += 2 * FM_STREAMS;
	extract_until(&done, wanted);
	OK(FM_send(next, PLAIN, source, 1000));
	extract_until(&done, ++wanted);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "received", received }, { "ignored", ignored }, { "late", late },
		{ "unreadable", unreadable },
	};
	ptl_handle_ni_t ni;

	open_test();
	next = (rank + 1) % ranks;
	TRUE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni) == PTL_OK);
	TRUE(PtlNIStatus(ni, PTL_SR_INLINE, &inline_bytes) == PTL_OK);
	OK(FM_register(READS, reads));
	OK(FM_register(IGNORES, ignores));
	OK(FM_register(ANSWERS, answers));
	OK(FM_register(PLAIN, plain));
	run_cases(cases, sizeof(cases) / sizeof(cases[0]) - (inline_bytes < SIZE));
	return 0;
}
