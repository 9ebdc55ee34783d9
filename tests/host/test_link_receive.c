/*
 * The receiving half of the link, frame by frame: order, the stash, refusals, acknowledgements,
 * dropped frames, incarnations.
 */
#include <string.h>
#include "link_probe.h"

static void give_data(struct probe *p, uint32_t sequence, uint64_t length, uint64_t at, uint64_t id)
{
	struct wire wire = probe_data(sequence, length, at);

	probe_give(p, 1, &wire, id);
}

TEST(link_receives_and_acknowledges_after_a_while)
{
	const struct wire *ack;
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 0, 8, 0, 7);
	TOLD(&p, "w");
	CHECK(p.notes[0].id == 7 && p.notes[0].node == 1 && p.notes[0].bytes == 8);
	CHECK(!probe_next(&p));
	probe_pass(&p, LINK_ACK_DELAY + 2048);
	ack = probe_next(&p);
	CHECK(ack && probe_is_bare(ack) && ack->ack == 1 && ack->selective == 0);
	CHECK(ack && ack->destination == PEER_LIFE && ack->source == PROBE_LIFE);
	CHECK(!probe_next(&p));
	CHECK(link_deadline(p.link) == LINK_NEVER);
	probe_close(&p, 1);
}

TEST(link_acknowledges_with_what_it_sends)
{
	const struct wire *data;
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 0, 8, 0, 7);
	probe_send(&p, 1, 8, 1);
	data = probe_next(&p);
	CHECK(data && probe_is_data(data) && data->ack == 1);
	probe_pass(&p, MS);
	CHECK(!probe_next(&p));
	probe_close(&p, 0);
}

TEST(link_is_not_due_for_what_has_left_already)
{
	struct wire ack = probe_ack(1, 0, 8);
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 0, 8, 0, 7);
	CHECK(link_deadline(p.link) <= p.now + LINK_ACK_DELAY + 2048);
	probe_send(&p, 1, 8, 1);        /* carries the acknowledgement */
	link_before_halt(p.link, p.now);
	CHECK(link_deadline(p.link) > p.now + LINK_LEAST_TIMEOUT - 2048);
	CHECK(link_deadline(p.link) < p.now + LINK_MOST_TIMEOUT + 2048);
	CHECK(link_only_retransmits(p.link, link_deadline(p.link)));
	CHECK(!link_only_retransmits(p.link, p.now));
	probe_give(&p, 1, &ack, 0);
	link_before_halt(p.link, p.now);
	CHECK(link_deadline(p.link) == LINK_NEVER);
	CHECK(!link_only_retransmits(p.link, LINK_NEVER));
	give_data(&p, 1, 8, 0, 8);
	link_before_halt(p.link, p.now);
	CHECK(!link_only_retransmits(p.link, link_deadline(p.link)));
	CHECK(link_deadline(p.link) <= p.now + LINK_ACK_DELAY + 2048);
	while (probe_next(&p))
		continue;
	probe_complete(&p);
	probe_close(&p, 0);
}

TEST(link_does_not_only_send_again_where_another_node_is_soon_acknowledged)
{
	struct wire other = probe_data(0, 8, 0);
	struct probe p;
	uint64_t due;

	probe_open_default(&p);
	probe_send(&p, 1, 8, 1);
	link_before_halt(p.link, p.now);
	due = link_deadline(p.link);
	probe_pass(&p, due - p.now - LINK_ACK_DELAY / 2);
	CHECK(link_only_retransmits(p.link, due));
	probe_give(&p, 2, &other, 9);
	link_before_halt(p.link, p.now);
	CHECK(link_deadline(p.link) == due);
	CHECK(!link_only_retransmits(p.link, due));
	probe_close(&p, 0);
}

TEST(link_acknowledges_before_a_rest_what_a_sender_may_wait_for)
{
	const struct wire *frame;
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 8, 1);
	CHECK(probe_next(&p));                          /* it grants a whole window */
	/* its sender keeps a copy, and waits for nothing */
	give_data(&p, 0, LINK_FAST_BYTES, 0, 1);
	link_before_halt(p.link, p.now);
	CHECK(!probe_next(&p));
	give_data(&p, 1, LINK_FAST_BYTES + 1, 0, 2);
	give_data(&p, 2, LINK_FAST_BYTES + 1, 0, 3);
	CHECK(!probe_next(&p));                         /* a frame may carry it */
	link_before_halt(p.link, p.now);
	frame = probe_next(&p);
	CHECK(frame && probe_is_bare(frame) && frame->ack == 3);
	link_before_halt(p.link, p.now);
	CHECK(!probe_next(&p));

	give_data(&p, 3, 2 * PROBE_FRAGMENT, 0, 4);     /* the first of two frames */
	link_before_halt(p.link, p.now);
	CHECK(!probe_next(&p));
	give_data(&p, 4, 2 * PROBE_FRAGMENT, PROBE_FRAGMENT, 4);
	probe_send(&p, 1, 8, 2);
	frame = probe_next(&p);
	CHECK(frame && probe_is_data(frame) && frame->ack == 5);
	link_before_halt(p.link, p.now);
	CHECK(!probe_next(&p));
	probe_close(&p, 0);
}

TEST(link_keeps_short_messages_that_come_early)
{
	const struct wire *ack = 0;
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 2, 8, 0, 2);
	give_data(&p, 1, 8, 0, 1);
	TOLD(&p, "");
	while (p.seen < p.n_sent)
		ack = probe_next(&p);
	CHECK(ack && ack->ack == 0 && ack->selective == 6);
	give_data(&p, 0, 8, 0, 0);
	TOLD(&p, "www");
	CHECK(p.notes[0].id == 0 && p.notes[1].id == 1 && p.notes[2].id == 2);
	probe_close(&p, 1);
}

TEST(link_places_fragments_in_any_order)
{
	struct probe p;

	probe_open_default(&p);
	/* the first is missing, but the second shows where the message begins */
	give_data(&p, 1, 700, 256, 9);
	TOLD(&p, "bd");
	CHECK_IS(p.notes[1].at, 256);
	give_data(&p, 2, 700, 512, 9);
	TOLD(&p, "d");
	CHECK_IS(p.notes[2].bytes, 188);
	give_data(&p, 0, 700, 0, 9);
	TOLD(&p, "de");
	probe_close(&p, 1);
}

TEST(link_begins_and_ends_in_order)
{
	static uint8_t memory[3 * 512];
	struct probe p;

	probe_open_default(&p);
	p.place = memory;
	p.apart = 512;
	give_data(&p, 0, 400, 0, 1);
	give_data(&p, 3, 300, 256, 2);            /* the last fragment alone shows nothing */
	TOLD(&p, "bd");
	CHECK_IS(link_counter(p.link, LINK_EARLY), 1);
	give_data(&p, 2, 300, 0, 2);              /* begins while 1 is not whole */
	give_data(&p, 3, 300, 256, 2);
	TOLD(&p, "bdd");
	give_data(&p, 1, 400, 256, 1);
	TOLD(&p, "dee");
	CHECK_IS(p.notes[p.n_notes - 1].id, 2);
	probe_close(&p, 1);
}

TEST(link_asks_again_for_what_was_refused)
{
	const struct wire *ack;
	struct probe p;

	probe_open_default(&p);
	p.busy = 1;
	give_data(&p, 0, 8, 0, 1);
	TOLD(&p, "");
	CHECK(!probe_next(&p));
	probe_pass(&p, LINK_AGAIN_DELAY + 2048);
	ack = probe_next(&p);
	CHECK(ack && ack->again && ack->ack == 0 && ack->refused == 1);
	give_data(&p, 0, 8, 0, 1);
	TOLD(&p, "w");
	/* a message from the stash finds the user busy, so it counts as not arrived */
	give_data(&p, 2, 8, 0, 3);
	p.busy = 0;
	give_data(&p, 1, 300, 0, 2);
	p.busy = 1;
	give_data(&p, 2, 300, 256, 2);
	probe_close(&p, 0);
}

/* Not before a halt either, though another acknowledgement is pending. */
TEST(link_does_not_ask_at_once_for_what_was_refused)
{
	const struct wire *ack;
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 0, LINK_FAST_BYTES + 1, 0, 1);
	p.busy = 1;
	give_data(&p, 1, 8, 0, 2);
	link_before_halt(p.link, p.now);
	CHECK(!probe_next(&p));
	probe_pass(&p, LINK_AGAIN_DELAY + 2048);
	ack = probe_next(&p);
	CHECK(ack && ack->again && ack->ack == 1 && ack->refused == 1);
	probe_close(&p, 0);
}

TEST(link_takes_back_an_early_message_that_finds_the_user_busy)
{
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 2, 8, 0, 2);
	give_data(&p, 0, 400, 0, 1);
	p.busy = 1;
	give_data(&p, 1, 400, 256, 1);
	TOLD(&p, "bdde");
	CHECK_IS(link_figures(p.link).records, 0);
	give_data(&p, 2, 8, 0, 2);
	TOLD(&p, "w");
	probe_close(&p, 1);
}

TEST(link_acknowledges_repeated_frames_at_once)
{
	const struct wire *ack;
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 0, 8, 0, 1);
	give_data(&p, 0, 8, 0, 1);
	TOLD(&p, "w");
	ack = probe_next(&p);
	CHECK(ack && ack->ack == 1);
	CHECK_IS(link_counter(p.link, LINK_DUPLICATES), 1);
	probe_close(&p, 1);
}

TEST(link_drops_frames_outside_the_window)
{
	struct probe p;

	probe_open_default(&p);
	give_data(&p, LINK_FIRST_WINDOW, 8, 0, 1);
	give_data(&p, 1u << 31, 8, 0, 1);
	give_data(&p, 0x7fffffff, 8, 0, 1);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_OUTSIDE) + link_counter(p.link, LINK_DUPLICATES), 3);
	give_data(&p, LINK_FIRST_WINDOW - 1, 8, 0, 1);
	CHECK_IS(link_counter(p.link, LINK_STASHED), 1);
	probe_close(&p, 0);
}

/* A quarter of what remains of 191 frames, or three quarters of the limit for long messages. */
static void acknowledge_wide_window(uint32_t window_bytes, uint32_t frames)
{
	const struct wire *ack;
	struct probe p;

	probe_open(&p);
	p.config.window_bytes = window_bytes;
	probe_start(&p);
	give_data(&p, 0, 8, 0, 1);
	probe_pass(&p, MS);                             /* from now on it has the whole window */
	CHECK_IS(probe_next(&p)->window, LINK_MOST_WINDOW);
	for (uint32_t i = 1; i < frames; i++)
		give_data(&p, i, 8, 0, 1);
	CHECK(!probe_next(&p));
	give_data(&p, frames, 8, 0, 1);
	ack = probe_next(&p);
	CHECK(ack && ack->ack == frames + 1);
	CHECK(!probe_next(&p));
	probe_close(&p, 1);
}

TEST(link_acknowledges_a_quarter_of_a_wide_window_at_most)
{
	acknowledge_wide_window(LINK_MOST_WINDOW * PROBE_FRAGMENT, 39);
	acknowledge_wide_window(32 * PROBE_FRAGMENT, 24);
	acknowledge_wide_window(0, LINK_FIRST_WINDOW * 3 / 4);
}

TEST(link_keeps_behind_a_gap_what_its_map_shows)
{
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 0, 100000, 0, 1);
	probe_pass(&p, MS);                             /* from now on it has the whole window */
	CHECK_IS(probe_next(&p)->window, LINK_MOST_WINDOW);
	TOLD(&p, "bd");
	for (uint32_t i = 1; i <= 100; i++)
		give_data(&p, i, 100000, 256 * i, 1);
	CHECK_IS(strlen(probe_story(&p)), 100);
	give_data(&p, 101 + 64, 100000, 256 * 165, 1);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_EARLY), 1);
	give_data(&p, 101 + 63, 100000, 256 * 164, 1);
	TOLD(&p, "d");
	give_data(&p, 101 + 63, 100000, 256 * 164, 1);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_DUPLICATES), 1);
	probe_close(&p, 0);
}

TEST(link_drops_fragments_that_contradict_the_first)
{
	struct probe p;
	struct wire wire;

	probe_open_default(&p);
	give_data(&p, 0, 2000, 0, 1);
	TOLD(&p, "bd");
	give_data(&p, 1, 2001, 256, 1);
	give_data(&p, 1, 2000, 512, 1);
	wire = probe_data(1, 2000, 256);
	wire.bytes = 255;
	probe_give(&p, 1, &wire, 1);
	wire = probe_data(1, 2000, 257);
	probe_give(&p, 1, &wire, 1);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 4);
	/* no correct sender splits a short message */
	wire = probe_data(8, 100, 0);
	wire.bytes = 50;
	probe_give(&p, 2, &wire, 1);
	wire.sequence = 0;
	probe_give(&p, 2, &wire, 1);
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 5);
	/* more fragments than sequence numbers */
	wire = probe_data(0, WIRE_MOST_LENGTH, 0);
	wire.bytes = 1;
	probe_give(&p, 3, &wire, 1);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_EARLY), 1);
	probe_close(&p, 0);
}

/* Found by fuzzing: a record stayed in use until the peer was lost. */
TEST(link_drops_a_message_that_covers_an_early_one)
{
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 2, 8, 0, 2);
	give_data(&p, 0, 1000, 0, 1);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 1);
	give_data(&p, 0, 8, 0, 0);
	give_data(&p, 1, 8, 0, 1);
	TOLD(&p, "www");
	probe_close(&p, 1);
}

TEST(link_shares_its_window_among_senders)
{
	const struct wire *ack;
	struct wire wire = probe_data(0, 8, 0);
	struct probe p;

	probe_open(&p);
	p.nic.ring = 64;
	probe_start(&p);
	give_data(&p, 0, 8, 0, 1);
	give_data(&p, 0, 8, 0, 1);
	ack = probe_next(&p);
	CHECK(ack && ack->window == 64);
	for (uint32_t node = 2; node < 8; node++)
		probe_give(&p, node, &wire, node);
	p.seen = p.n_sent;
	probe_give(&p, 7, &wire, 7);
	ack = probe_next(&p);
	CHECK(ack && ack->window == 64 / 7);
	/* a granted window is never withdrawn */
	give_data(&p, 0, 8, 0, 1);
	ack = probe_next(&p);
	CHECK(ack && ack->window == 64);
	probe_close(&p, 1);
}

/* ---- incarnations, row by row as in docs/wire.md ---- */

TEST(link_drops_ghosts_of_the_source)
{
	struct wire wire = probe_data(1, 8, 0);
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 0, 8, 0, 1);
	wire.source = PEER_LIFE - 1;
	probe_give(&p, 1, &wire, 1);
	TOLD(&p, "w");
	CHECK_IS(link_counter(p.link, LINK_GHOSTS), 1);
	CHECK_IS(link_counter(p.link, LINK_RESETS_OUT), 0);
	probe_close(&p, 1);
}

TEST(link_answers_what_is_meant_for_another_life)
{
	const struct wire *reset;
	struct wire wire = probe_data(0, 8, 0);
	struct probe p;

	probe_open_default(&p);
	wire.destination = PROBE_LIFE - 256;
	probe_give(&p, 1, &wire, 1);
	TOLD(&p, "");
	reset = probe_next(&p);
	CHECK(reset && reset->kind == WIRE_KIND_RESET && reset->source == PROBE_LIFE &&
	      reset->destination == PEER_LIFE && !reset->over);
	CHECK_IS(link_figures(p.link).peer_bytes, 0);
	probe_close(&p, 1);
}

TEST(link_that_may_have_lived_before_wants_to_be_known)
{
	struct wire wire = probe_data(0, 8, 0);
	struct probe p;

	probe_open(&p);
	p.config.strict = 1;
	probe_start(&p);
	wire.destination = 0;
	probe_give(&p, 1, &wire, 1);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_RESETS_OUT), 1);
	wire.destination = PROBE_LIFE;
	probe_give(&p, 1, &wire, 1);
	TOLD(&p, "w");
	probe_close(&p, 1);
}

TEST(link_loses_what_it_had_with_an_earlier_life)
{
	struct wire wire = probe_data(0, 8, 0);
	struct probe p;

	probe_open_default(&p);
	give_data(&p, 0, 400, 0, 1);
	probe_send(&p, 1, 1000, 5);
	TOLD(&p, "bd");
	wire.source = PEER_LIFE + 256;
	wire.destination = 0;
	probe_give(&p, 1, &wire, 2);
	TOLD(&p, "EFlw");
	probe_close(&p, 1);
}

TEST(link_is_told_of_a_new_life)
{
	struct wire ack = probe_ack(0, 0, 8), wire = probe_data(0, 8, 0);
	const struct wire *data;
	struct probe p;

	probe_open_default(&p);
	link_ended(p.link, p.now, 1, PEER_LIFE);      /* it was unknown here */
	CHECK_IS(link_counter(p.link, LINK_LOST), 0);
	probe_send(&p, 1, 1000, 5);
	link_ended(p.link, p.now, 1, PEER_LIFE);   /* an unknown life before it may have died */
	TOLD(&p, "Fl");
	give_data(&p, 0, 400, 0, 1);
	TOLD(&p, "bd");
	link_ended(p.link, p.now, 1, PEER_LIFE);      /* its first frame had arrived earlier */
	TOLD(&p, "");
	link_ended(p.link, p.now, 1, PEER_LIFE + 256);
	TOLD(&p, "El");
	ack.source = PEER_LIFE;                         /* a ghost */
	probe_give(&p, 1, &ack, 0);
	CHECK_IS(link_counter(p.link, LINK_GHOSTS), 1);
	p.seen = p.n_sent;
	probe_send(&p, 1, 8, 6);
	data = probe_next(&p);
	CHECK(data && data->sequence == 0 && data->destination == PEER_LIFE + 256);
	wire.source = PEER_LIFE + 256;
	wire.ack = 1;
	probe_give(&p, 1, &wire, 2);
	TOLD(&p, "sw");
	CHECK_IS(link_counter(p.link, LINK_LOST), 2);
	probe_close(&p, 1);
}

TEST(link_believes_only_resets_that_it_caused)
{
	struct wire wire = { .kind = WIRE_KIND_RESET, .source = PEER_LIFE + 256,
			     .destination = PROBE_LIFE - 1 };
	struct wire ack = probe_ack(0, 0, 8);
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 8, 5);
	probe_give(&p, 1, &ack, 0);
	probe_give(&p, 1, &wire, 0);                    /* for another life of this node */
	wire.destination = PROBE_LIFE;
	wire.source = PEER_LIFE;
	probe_give(&p, 1, &wire, 0);                    /* not newer than the known one */
	probe_give(&p, 3, &wire, 0);                    /* of a node to which nothing was sent */
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_GHOSTS), 3);
	wire.source = PEER_LIFE + 256;
	probe_give(&p, 1, &wire, 0);
	TOLD(&p, "Fl");
	probe_close(&p, 1);
}

TEST(link_sends_again_to_a_node_that_wants_to_be_known)
{
	struct wire wire = { .kind = WIRE_KIND_RESET, .source = PEER_LIFE,
			     .destination = PROBE_LIFE };
	const struct wire *data;
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 8, 5);
	data = probe_next(&p);
	CHECK(data && data->destination == 0 && data->sequence == 0);
	probe_give(&p, 1, &wire, 0);
	data = probe_next(&p);
	CHECK(data && data->destination == PEER_LIFE && data->sequence == 0);
	TOLD(&p, "");
	/* OVER: the peer had accepted frames, but no longer knows of them */
	wire.over = 1;
	probe_send(&p, 2, 8, 6);
	probe_give(&p, 2, &wire, 0);
	TOLD(&p, "Fl");
	probe_close(&p, 0);
}
