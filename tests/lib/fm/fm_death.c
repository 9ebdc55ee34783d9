/*
 * fm_death WHAT: the test kills rank 1 while rank 0 waits for it. Rank 0 prints "running", then how
 * its wait ended, and exits. (margay run --on-death continue)
 *
 *   credit    rank 0 sends more than rank 1 extracts: FM_send_piece fails
 *   handler   the same in a handler of rank 0, which rank 2 called
 *   rest      a handler waits for the rest of its message: FM_receive fails
 *   barrier   all wait in a barrier: FM_barrier fails, at rank 2 as well
 */
#include "fm_test.h"

enum { NOTHING = 1, REST, FORWARD };

static unsigned char bytes[100000];
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

/* Rank 1 runs until it is killed, and extracts nothing. */
static void live_on(const char *what)
{
	if (!strcmp(what, "rest")) {
		FM_stream *stream = FM_begin_message(0, 53000, REST);

		TRUE(stream);
		OK(FM_send_piece(stream, bytes, 3000));
	}
	for (;;)
		pause_ms(1000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	open_test();
	OK(FM_register(NOTHING, nothing));
	OK(FM_register(REST, rest));
	OK(FM_register(FORWARD, forward));
	OK(FM_barrier());
	if (rank == 0)
		for (unsigned to = 1; to < 3; to++)
			OK(FM_send_4(to, NOTHING, 0, 0, 0, 0));
	else
		extract_until(&told, 1);
	if (rank == 1)
		live_on(what);
	if (!strcmp(what, "barrier")) {
		say("running");
		FAILS(FM_barrier(), EHOSTDOWN);
		say("failed");
		ended = 1;
	} else if (rank == 2) {
		if (!strcmp(what, "handler"))
			OK(FM_send_4(0, FORWARD, 0, 0, 0, 0));
		ended = 1;
	} else if (!strcmp(what, "credit")) {
		say("running");
		send_on();
	}
	extract_until(&ended, 1);
	FAILS(FM_finalize(), EHOSTDOWN);
	return 0;
}
