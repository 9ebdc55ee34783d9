/*
 * fm_death WHAT [busy]: the test kills rank 1 while rank 0 waits for it. Rank 0 prints "running",
 * then how its wait ended, and exits. (margay run --on-death continue)
 *
 *   credit    rank 0 sends more than rank 1 extracts: FM_send_piece fails
 *   handler   the same in a handler of rank 0, which rank 2 called
 *   rest      a handler waits for the rest of its message: FM_receive fails
 *   polls     the same, while rank 0 only calls FM_extract
 *   speaks    the same, while rank 1 sends other messages as fast as it can
 *   barrier   all wait in a barrier: FM_barrier fails, at rank 2 as well
 *   whole     rank 1 has sent a message of several packets and ends by itself: the message comes
 *             although rank 0 knows that
 *   busy      rank 2 sends to rank 0 all the time, so rank 0 is never without a message
 */
#include "fm_test.h"

enum { NOTHING = 1, REST, FORWARD, WHOLE };

static unsigned char bytes[200000];
static unsigned volatile ended;
static unsigned volatile told;          /* rank 0 has left the barrier */

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static int nothing(FM_stream *stream, unsigned sender)
{
	(void)stream, (void)sender;
	told = 1;
	return FM_CONTINUE;
}

static void send_on(void)
{
	for (;;) {
		FM_stream *stream = FM_begin_message(1, sizeof(bytes), NOTHING);

		if (!stream) {
			TRUE(errno == EHOSTDOWN);
			break;
		}
		if (FM_send_piece(stream, bytes, sizeof(bytes))) {
			TRUE(errno == EHOSTDOWN);
			FAILS(FM_end_message(stream), EHOSTDOWN);
			break;
		}
		OK(FM_end_message(stream));
	}
	say("failed");
	ended = 1;
}

static int forward(FM_stream *stream, unsigned sender)
{
	(void)stream, (void)sender;
	say("running");
	send_on();
	return FM_CONTINUE;
}

static int rest(FM_stream *stream, unsigned sender)
{
	TRUE(sender == 1);
	OK(FM_receive(stream, bytes, 3000));
	say("running");
	FAILS(FM_receive(stream, bytes, 50000), EHOSTDOWN);
	say("failed");
	ended = 1;
	return FM_CONTINUE;
}

static int whole(FM_stream *stream, unsigned sender)
{
	TRUE(sender == 1);
	OK(FM_receive(stream, bytes, sizeof(bytes)));
	TRUE(is_content(bytes, sizeof(bytes), 5, 0));
	say("whole");
	ended = 1;
	return FM_CONTINUE;
}

static void send_whole(void)
{
	FM_stream *stream = FM_begin_message(0, sizeof(bytes), WHOLE);

	TRUE(stream);
	fill(bytes, sizeof(bytes), 5, 0);
	OK(FM_send_piece(stream, bytes, sizeof(bytes)));
	OK(FM_end_message(stream));
	_Exit(0);
}

static void receive_whole(void)
{
	while (FM_check(1) == 0)
		pause_ms(10);
	say("running");
}

/* Rank 1 runs until it is killed, and extracts nothing. */
static void live_on(const char *what)
{
	if (!strcmp(what, "rest") || !strcmp(what, "polls") || !strcmp(what, "speaks")) {
		FM_stream *stream = FM_begin_message(0, 53000, REST);

		TRUE(stream);
		OK(FM_send_piece(stream, bytes, 3000));
	}
	while (!strcmp(what, "speaks"))
		OK(FM_send_4(0, NOTHING, 0, 0, 0, 0));
	for (;;)
		pause_ms(1000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int is_busy = argc > 2;

	open_test();
	OK(FM_register(NOTHING, nothing));
	OK(FM_register(REST, rest));
	OK(FM_register(FORWARD, forward));
	OK(FM_register(WHOLE, whole));
	OK(FM_barrier());
	if (rank == 0)
		for (unsigned to = 1; to < 3; to++)
			OK(FM_send_4(to, NOTHING, 0, 0, 0, 0));
	else
		extract_until(&told, 1);
	if (rank == 1 && !strcmp(what, "whole"))
		send_whole();
	if (rank == 1)
		live_on(what);
	if (!strcmp(what, "barrier") && !(is_busy && rank == 2)) {
		say("running");
		FAILS(FM_barrier(), EHOSTDOWN);
		say("failed");
		ended = 1;
	} else if (rank == 2) {
		if (!strcmp(what, "handler"))
			OK(FM_send_4(0, FORWARD, 0, 0, 0, 0));
		if (is_busy)
			keep_busy(0);
		ended = 1;
	} else if (!strcmp(what, "whole")) {
		receive_whole();
	} else if (!strcmp(what, "credit")) {
		say("running");
		send_on();
	}
	while (!strcmp(what, "polls") && !ended)
		OK(FM_extract(SIZE_MAX));
	extract_until(&ended, 1);
	if (is_busy && rank == 0)
		end_busy(2);
	FAILS(FM_finalize(), EHOSTDOWN);
	return 0;
}
