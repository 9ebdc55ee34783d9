/*
 * The sending half of the link, frame by frame: windows, gaps, timers, the card, records, turns.
 */
#include <string.h>
#include "link_probe.h"

/* The sequence numbers of the frames sent since the last call, as digits. */
static const char *left(struct probe *p)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	static char text[PROBE_NOTES + 1];
	const struct wire *wire;
	uint32_t n = 0;

	while ((wire = probe_next(p)))
		text[n++] = digits[wire->sequence % 36];
	text[n] = 0;
	return text;
}

#define LEFT(p, want) CHECK_TEXT(left(p), want)

TEST(link_sends_what_the_window_allows)
{
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 20 * PROBE_FRAGMENT, 1);
	LEFT(&p, "01234567");
	probe_give_ack(&p, 2, 0, 7);
	LEFT(&p, "8");
	probe_give_ack(&p, 2, 0, 3);            /* the window that was granted stays */
	LEFT(&p, "");
	probe_give_ack(&p, 9, 0, 64);
	LEFT(&p, "9abcdefghij");
	TOLD(&p, "");
	probe_give_ack(&p, 20, 0, 64);
	TOLD(&p, "s");
	probe_pass(&p, 100 * MS);
	LEFT(&p, "");
	CHECK(link_deadline(p.link) == LINK_NEVER);
	probe_close(&p, 1);
}

/* Otherwise frames that one flow may have in flight would be refused and sent again. */
TEST(link_has_records_for_the_answers_to_a_flow)
{
	for (uint32_t nodes = 2; nodes < 4000; nodes += nodes / 2) {
		struct link_config config = link_defaults(0, nodes, 1);

		CHECK(config.answers >= config.sends - config.answers);
	}
}

TEST(link_limits_the_bytes_under_way_of_long_messages_only)
{
	struct probe p;

	probe_open(&p);
	p.config.window_bytes = 9 * PROBE_FRAGMENT;
	probe_start(&p);
	for (uint64_t i = 0; i < 20; i++)
		probe_send(&p, 1, 8, i);
	LEFT(&p, "01234567");
	probe_give_ack(&p, 8, 0, 40);
	LEFT(&p, "89abcdefghij");
	probe_give_ack(&p, 20, 0, 40);
	probe_send(&p, 1, 20 * PROBE_FRAGMENT, 20);
	LEFT(&p, "klmnopqrs");
	probe_give_ack(&p, 21, 0, 40);
	LEFT(&p, "t");
	probe_close(&p, 0);
}

TEST(link_sends_a_hole_again_when_three_later_frames_arrived)
{
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 8 * PROBE_FRAGMENT, 1);
	LEFT(&p, "01234567");
	probe_give_ack(&p, 1, 2, 8);            /* 1 is missing, 2 is there */
	probe_give_ack(&p, 1, 6, 8);
	LEFT(&p, "");
	probe_give_ack(&p, 1, 14, 8);
	LEFT(&p, "1");
	probe_give_ack(&p, 1, 30, 8);
	LEFT(&p, "");
	CHECK_IS(link_counter(p.link, LINK_FAST), 1);
	probe_give_ack(&p, 8, 0, 8);
	TOLD(&p, "s");
	probe_close(&p, 1);
}

/* The number of frames sent since the last call, which must be consecutive from `first` on. */
static uint32_t left_from(struct probe *p, uint32_t first)
{
	const struct wire *wire;
	uint32_t n = 0;

	for (; (wire = probe_next(p)); n++)
		CHECK_IS(wire->sequence, first + n);
	return n;
}

TEST(link_has_more_under_way_than_its_maps_show)
{
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 400 * PROBE_FRAGMENT, 1);
	CHECK_IS(left_from(&p, 0), 8);
	probe_give_ack(&p, 2, 0, 255);          /* more than a sender may use */
	probe_pass(&p, 3000);
	CHECK_IS(left_from(&p, 8), LINK_MOST_WINDOW + 2 - 8);
	probe_give_ack(&p, 80, 0, 114);         /* more than the maps can show */
	CHECK_IS(left_from(&p, 194), 0);
	CHECK_IS(link_counter(p.link, LINK_RESENT), 0);
	probe_close(&p, 0);
}

TEST(link_sends_again_what_was_dropped_behind_the_maps)
{
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 400 * PROBE_FRAGMENT, 1);
	probe_give_ack(&p, 2, 0, 98);
	CHECK_IS(left_from(&p, 0), 100);
	probe_give_ack(&p, 2, 14, 150);         /* 2 is missing, 3 to 5 are there */
	CHECK_IS(left_from(&p, 2), 1);                  /* and nothing new: it would be dropped */
	probe_give_ack(&p, 2, ~1ull, 150);
	CHECK_IS(left_from(&p, 0), 0);
	probe_give_ack(&p, 66, 0, 150);         /* all that the map showed */
	CHECK_IS(left_from(&p, 66), 64);   /* 66 to 99 again, and new ones within the map */
	CHECK_IS(link_counter(p.link, LINK_RESENT), 1 + 34);
	probe_give_ack(&p, 130, 0, 150);
	CHECK_IS(left_from(&p, 130), 64);               /* no more for a while */
	probe_close(&p, 0);
}

TEST(link_asks_for_one_behind_a_gap_when_its_time_is_over)
{
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 400 * PROBE_FRAGMENT, 1);
	probe_give_ack(&p, 0, 0, 100);
	probe_give_ack(&p, 0, ~1ull, 100);
	CHECK_IS(p.n_sent, 101);
	p.seen = p.n_sent;
	for (int i = 0; i < 3; i++) {
		probe_pass(&p, 200 * MS);
		CHECK(p.n_sent > p.seen && p.sent[p.seen].sequence == 0);
		p.seen = p.n_sent;
	}
	probe_close(&p, 0);
}

TEST(link_waits_longer_for_many_frames_than_for_a_few)
{
	struct probe few, many;

	probe_open_default(&few);
	probe_send(&few, 1, 3 * PROBE_FRAGMENT, 1);
	LEFT(&few, "012");
	probe_give_ack(&few, 2, 0, 64);
	probe_pass(&few, LINK_LEAST_TIMEOUT + 3000);
	LEFT(&few, "2");
	probe_close(&few, 0);
	probe_open_default(&many);   /* acknowledgements of the others would show a gap */
	probe_send(&many, 1, 8 * PROBE_FRAGMENT, 1);
	LEFT(&many, "01234567");
	probe_give_ack(&many, 1, 0, 64);
	probe_pass(&many, 3 * LINK_LEAST_TIMEOUT);
	LEFT(&many, "");
	probe_pass(&many, LINK_LEAST_TIMEOUT + 12000);
	LEFT(&many, "1");
	probe_close(&many, 0);
}

TEST(link_notices_that_what_it_sent_again_is_lost_too)
{
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 20 * PROBE_FRAGMENT, 1);
	probe_give_ack(&p, 0, 14, 12);
	LEFT(&p, "012345670" "89ab");
	/* 8, 9 and a left after the second 0 */
	probe_give_ack(&p, 0, 14 | 14 << 7, 12);
	LEFT(&p, "04567");
	probe_close(&p, 0);
}

TEST(link_waits_longer_each_time)
{
	uint64_t last, first;
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 3 * PROBE_FRAGMENT, 1);
	LEFT(&p, "012");
	first = p.now;
	probe_pass(&p, LINK_FIRST_TIMEOUT + 3000);
	LEFT(&p, "0");                                  /* only one, as a probe of the peer */
	last = LINK_FIRST_TIMEOUT;
	CHECK(p.now - first >= last);
	probe_pass(&p, last);
	LEFT(&p, "");
	probe_pass(&p, last + 3000);
	LEFT(&p, "0");
	probe_give_ack(&p, 1, 0, 8);
	LEFT(&p, "12");
	probe_give_ack(&p, 3, 0, 8);
	TOLD(&p, "s");
	probe_close(&p, 1);
}

/* A node that is switched on much later. */
TEST(link_waits_for_a_peer_that_is_switched_on_later)
{
	struct probe p;

	probe_open(&p);
	p.config.tries = 3;
	p.config.boot_deadline = LINK_NEVER;
	probe_start(&p);
	probe_send(&p, 1, 100, 7);
	for (int i = 0; i < 20; i++) {
		probe_pass(&p, 1000 * MS);
		CHECK(strlen(left(&p)) >= 5);           /* repeatedly, with the longest backoff */
	}
	TOLD(&p, "");
	probe_give_ack(&p, 1, 0, 8);
	TOLD(&p, "s");
	probe_send(&p, 1, 100, 8);                      /* from now on like any other */
	probe_pass(&p, 10000 * MS);
	TOLD(&p, "Fl");
	probe_close(&p, 1);
}

/* A node that is never switched on. */
TEST(link_waits_a_limited_time_for_a_peer_that_is_off)
{
	struct probe p;

	probe_open(&p);
	p.config.tries = 3;
	p.config.boot_deadline = p.now + 20000 * MS;
	probe_start(&p);
	probe_send(&p, 1, 100, 7);
	probe_pass(&p, 19900 * MS);
	TOLD(&p, "");
	probe_pass(&p, 500 * MS);
	TOLD(&p, "Fl");
	probe_send(&p, 1, 100, 8);                      /* from now on like any other */
	probe_pass(&p, 1000 * MS);
	TOLD(&p, "Fl");
	CHECK_IS(link_deadline(p.link), LINK_NEVER);
	probe_close(&p, 1);
}

TEST(link_gives_up_a_peer_known_to_be_dead_at_once)
{
	struct probe p;

	probe_open(&p);
	p.config.boot_deadline = LINK_NEVER;
	probe_start(&p);
	probe_send(&p, 1, 100, 7);
	link_ended(p.link, p.now, 1, 0);
	probe_pass(&p, 1 * MS);
	TOLD(&p, "Fl");
	probe_close(&p, 1);
}

TEST(link_gives_up_after_its_tries)
{
	const struct wire *wire;
	struct probe p;

	probe_open(&p);
	p.config.tries = 3;
	probe_start(&p);
	probe_send(&p, 1, 8, 1);
	probe_send(&p, 1, 8, 2);
	probe_send(&p, 2, 8, 3);
	{
		struct wire ack = probe_ack(1, 0, 8);

		probe_give(&p, 2, &ack, 0);
	}
	TOLD(&p, "s");
	probe_pass(&p, 10000 * MS);
	TOLD(&p, "FFl");
	CHECK_IS(link_counter(p.link, LINK_TIMEOUTS), 3);
	left(&p);
	/* To the peer this is a new incarnation. */
	probe_send(&p, 1, 8, 4);
	wire = probe_next(&p);
	CHECK(wire && wire->source == PROBE_LIFE + 1 && wire->sequence == 0);
	probe_close(&p, 0);
}

TEST(link_times_out_by_the_round_trip)
{
	struct probe p;

	probe_open_default(&p);
	for (uint32_t i = 0; i < 20; i++) {
		probe_send(&p, 1, 8, i);
		p.now += 4 * MS;
		probe_give_ack(&p, i + 1, 0, 8);
	}
	left(&p);
	probe_send(&p, 1, 8, 99);
	LEFT(&p, "k");
	probe_pass(&p, 4 * MS);
	LEFT(&p, "");
	probe_pass(&p, 2 * MS);
	LEFT(&p, "k");
	probe_close(&p, 0);
}

TEST(link_ignores_acknowledgements_that_cannot_be)
{
	struct probe p;

	probe_open_default(&p);
	probe_send(&p, 1, 8, 1);
	probe_give_ack(&p, 2, 0, 64);
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 1);
	probe_give_ack(&p, 0, ~1ull, 0xffff);   /* of frames never sent */
	TOLD(&p, "");
	probe_give_ack(&p, 1, 0, 8);
	TOLD(&p, "s");
	probe_give_ack(&p, 0, 0, 8);            /* an old one */
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 1);
	probe_close(&p, 1);
}

/* A closed window would never be opened again. */
TEST(link_does_not_believe_that_it_may_send_nothing)
{
	uint8_t frame[WIRE_DATA + PROBE_FRAGMENT];
	struct wire data = probe_data(0, 8, 0);
	struct probe p;

	probe_open_default(&p);
	for (uint32_t i = 0; i < 8; i++)
		probe_send(&p, 1, 8, i);
	LEFT(&p, "01234567");
	probe_give_ack(&p, 8, 0, 0);
	data.ack = 8;
	data.window = 0;
	probe_give(&p, 1, &data, 1);
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 2);
	TOLD(&p, "");
	/* nor if its payload, which follows the window, is wrong too */
	data = probe_data(0, 8, 0);
	probe_give(&p, 1, &data, 1);
	CHECK(*probe_story(&p));
	data = probe_data(1, 8, 0);
	data.ack = 8;
	data.window = 0;
	probe_frame(&p, 1, 0, &data, 2, frame);
	wire_put(frame + WIRE_BEHIND, WIRE_DATA - WIRE_HEADER + 9, 2);
	wire_put(frame + WIRE_CHECKSUM, wire_checksum(frame, WIRE_DATA), 4);
	link_receive(p.link, p.now, frame, WIRE_DATA + 8);
	TOLD(&p, "");
	probe_give_ack(&p, 8, 0, 1);
	TOLD(&p, "ssssssss");
	probe_send(&p, 1, 8, 9);
	LEFT(&p, "8");
	probe_close(&p, 0);
}

/*
 * The user sends the next message on a completion: within the window of the same acknowledgement.
 */
TEST(link_keeps_to_the_window_when_it_says_sent)
{
	struct probe p;

	probe_open_default(&p);
	p.again = 8;
	for (uint32_t i = 0; i < 8; i++)
		probe_send(&p, 1, 8, i);
	LEFT(&p, "01234567");
	probe_give_ack(&p, 8, 0, 2);
	TOLD(&p, "ssssssss");
	LEFT(&p, "89");
	probe_give_ack(&p, 10, 0, 64);
	LEFT(&p, "abcdef");
	probe_close(&p, 0);
}

TEST(link_waits_for_a_full_card_and_bears_one_that_is_down)
{
	struct probe p;

	probe_open_default(&p);
	p.card = NIC_FULL;
	probe_send(&p, 1, 8, 1);
	LEFT(&p, "");
	p.card = NIC_OK;
	probe_pass(&p, 2 * MS);
	LEFT(&p, "0");
	p.card = NIC_DOWN;
	probe_send(&p, 1, 8, 2);
	LEFT(&p, "");
	p.card = NIC_OK;
	probe_give_ack(&p, 1, 0, 8);
	probe_pass(&p, LINK_FIRST_TIMEOUT);
	CHECK(left(&p)[0] == '1');
	probe_close(&p, 0);
}

/* Fast path, single frame, aggregate: DATA_OUT counts only frames that the card has accepted. */
TEST(link_counts_no_frame_that_the_card_did_not_accept)
{
	struct wire first = probe_data(0, 8, 0);
	struct link_room room;
	struct probe p;

	probe_open_default(&p);
	probe_give(&p, 1, &first, 1);                   /* the peer is known */
	p.card = NIC_DOWN;
	room = link_fast_room(p.link, 1);
	CHECK(room.header != 0);
	memset(room.header, 0, LINK_PUT_BYTES);
	link_fast_send(p.link, room, p.now, 0);
	probe_send(&p, 1, 8, 2);
	p.card = NIC_FULL;
	for (uint32_t i = 0; i < 3; i++)
		probe_send_by(&p, 1, LINK_ANSWERS, 0, i);
	p.card = NIC_DOWN;
	link_tick(p.link, p.now);
	CHECK_IS(link_counter(p.link, LINK_DATA_OUT), 0);
	p.card = NIC_OK;
	probe_pass(&p, 2 * LINK_FIRST_TIMEOUT);
	CHECK(link_counter(p.link, LINK_DATA_OUT) >= 2);
	CHECK_IS(link_counter(p.link, LINK_DATA_OUT), link_counter(p.link, LINK_RESENT));
	probe_close(&p, 0);
}

TEST(link_remembers_the_most_records_in_use)
{
	struct wire early = probe_data(1, 8, 0);
	struct probe p;

	probe_open_default(&p);
	for (uint32_t i = 0; i < 3; i++)
		probe_send(&p, 1, 8, i);
	probe_give(&p, 1, &early, 1);
	probe_give_ack(&p, 3, 0, 8);
	CHECK_IS(link_figures(p.link).sends, 0);
	probe_send(&p, 1, 8, 3);
	CHECK_IS(link_figures(p.link).sends_high, 3);
	CHECK_IS(link_figures(p.link).early_high, 1);
	CHECK_IS(link_figures(p.link).parts_high, 0);
	probe_close(&p, 0);
}

/* An acknowledged frame was read, even if the card has not yet reported it. */
TEST(link_says_sent_before_the_card_says_that_it_has_read)
{
	struct probe p;

	probe_open_default(&p);
	p.keeps = 1;
	probe_send(&p, 1, 8, 1);
	probe_give_ack(&p, 1, 0, 8);
	TOLD(&p, "s");
	CHECK(link_figures(p.link).records > 0);
	CHECK(link_deadline(p.link) <= p.now + MS);     /* the node must poll the card */
	probe_complete(&p);
	TOLD(&p, "");
	CHECK_IS(link_figures(p.link).records, 0);
	probe_pass(&p, 2 * LINK_FIRST_TIMEOUT);
	CHECK_IS(link_deadline(p.link), LINK_NEVER);
	probe_send(&p, 1, 8, 2);
	link_ended(p.link, p.now, 1, 0);
	TOLD(&p, "l");
	CHECK(link_deadline(p.link) <= p.now + MS);
	probe_complete(&p);
	TOLD(&p, "F");
	probe_pass(&p, 2 * LINK_FIRST_TIMEOUT);
	CHECK_IS(link_deadline(p.link), LINK_NEVER);
	probe_close(&p, 1);
}

TEST(link_takes_turns_among_nodes)
{
	struct probe p;

	probe_open_default(&p);
	p.card = NIC_FULL;
	probe_send(&p, 1, 100 * PROBE_FRAGMENT, 1);
	probe_send(&p, 2, 8, 2);
	probe_send(&p, 3, 2 * PROBE_FRAGMENT, 3);
	p.card = NIC_OK;
	probe_pass(&p, 2 * MS);
	CHECK(p.n_sent >= 5);
	CHECK(p.to[0] == 1 && p.to[1] == 2 && p.to[2] == 3 && p.to[3] == 1 && p.to[4] == 3);
	probe_close(&p, 0);
}

TEST(link_leaves_records_for_others)
{
	uint32_t n = 0, m = 0;
	struct probe p;

	probe_open(&p);
	p.config.sends = 24;
	p.config.answers = 8;
	probe_start(&p);
	while (probe_send(&p, 1, 8, n) == LINK_OK)
		n++;
	CHECK_IS(n, 9);
	while (probe_send(&p, 2, 8, m) == LINK_OK)
		m++;
	CHECK_IS(m, 4);
	CHECK(link_has_room(p.link, 3, LINK_REQUESTS));
	/* answers have their own records, and deferred messages keep theirs */
	CHECK_IS(link_reserve(p.link, 1), 1);
	CHECK_IS(link_reserve(p.link, 2), 1);
	link_unreserve(p.link);
	link_unreserve(p.link);
	CHECK_IS(probe_send(&p, 0, 8, 1), LINK_WRONG);
	CHECK_IS(probe_send(&p, 8, 8, 1), LINK_WRONG);
	CHECK_IS(probe_send(&p, 3, 1ull << 48, 1), LINK_WRONG);
	probe_close(&p, 0);
}

TEST(link_refuses_configurations_that_cannot_be)
{
	struct link_config config = link_defaults(0, 4, 1);

	CHECK(link_bytes(&config) > 0);
	config.incarnation = 0;
	CHECK_IS(link_bytes(&config), 0);
	config = link_defaults(4, 4, 1);
	CHECK_IS(link_bytes(&config), 0);
	config = link_defaults(0, 4, 1);
	config.answers = config.sends;
	CHECK_IS(link_bytes(&config), 0);
	config = link_defaults(0, 65535, 1);
	CHECK(link_bytes(&config) > 0);
}
