/*
 * Acknowledgements of both lanes: a frame of one lane carries the other lane's cumulative
 * acknowledgement, unless that lane has more to report.
 */
#include <string.h>
#include "bulk_probe.h"

static void give(struct probe *p, uint32_t lane, uint32_t sequence, uint64_t length, uint64_t at)
{
	struct wire wire = probe_data(sequence, length, at);

	wire.lane = (uint8_t)lane;
	probe_give(p, 1, &wire, 7);
}

/* Check that the next sent frame is a message on the lane of answers with this acknowledgement of
 * requests, or (~0) without one. */
static void check_answer(struct probe *p, uint32_t ack)
{
	const struct wire *sent = probe_next(p);

	CHECK(sent && probe_is_data(sent) && sent->lane == LINK_ANSWERS);
	CHECK(sent && (ack == ~0u ? sent->other_window == 0 :
		       sent->other_window >= 2 && sent->other_ack == ack));
}

TEST(lanes_acknowledge_each_other)
{
	struct probe p;

	probe_open_default(&p);
	give(&p, LINK_REQUESTS, 0, 8, 0);
	probe_send_by(&p, 1, LINK_ANSWERS, 8, 1);
	check_answer(&p, 1);
	probe_pass(&p, 1 * MS);                         /* no acknowledgement is pending */
	CHECK(!probe_next(&p));
	CHECK_IS(link_counter(p.link, LINK_ACKS_OUT), 0);
	probe_close(&p, 0);
}

/* The user answers while the link delivers the request. Both the fast path and the other one. */
TEST(lanes_acknowledge_what_they_answer)
{
	struct probe p;

	probe_open_default(&p);
	p.answers = 1;
	give(&p, LINK_REQUESTS, 0, 8, 0);
	check_answer(&p, 1);
	give(&p, LINK_REQUESTS, 1, 200, 0);             /* too long for the fast path */
	check_answer(&p, 2);
	give(&p, LINK_REQUESTS, 2, 400, 0);
	give(&p, LINK_REQUESTS, 3, 400, 256);
	check_answer(&p, 4);
	probe_pass(&p, 1 * MS);
	CHECK(!probe_next(&p));
	CHECK_IS(link_counter(p.link, LINK_ACKS_OUT), 0);
	probe_close(&p, 0);
}

/* One frame fills a gap, and several messages are delivered. All answers acknowledge all of them. */
TEST(lanes_acknowledge_what_was_early)
{
	struct probe p;

	probe_open_default(&p);
	give(&p, LINK_REQUESTS, 1, 8, 0);
	give(&p, LINK_REQUESTS, 2, 8, 0);
	CHECK(probe_is_bare(probe_next(&p)) && probe_is_bare(probe_next(&p)));
	p.answers = 1;
	give(&p, LINK_REQUESTS, 0, 8, 0);
	for (int i = 0; i < 3; i++)
		check_answer(&p, 3);
	CHECK(!probe_next(&p));
	probe_close(&p, 0);
}

/* The last part of a long message lands, and a short one is delivered that came after it. */
TEST(lanes_acknowledge_what_has_landed)
{
	struct wire announcement = bulk_announcement(0, 2 * PART), part;
	struct bulk_card card;
	struct probe p;

	bulk_start(&p, &card);
	p.answers = 1;
	probe_give(&p, PEER, &announcement, 0);
	give(&p, LINK_REQUESTS, 1, 8, 0);
	while (probe_next(&p))
		continue;
	for (uint32_t i = 0; i < 2; i++) {
		part = bulk_part(0, i, PART);
		bulk_fill(&card, i, PART);
		bulk_tell(&p, PEER, &part);
	}
	check_answer(&p, 2);
	check_answer(&p, 2);
	probe_close(&p, 0);
}

TEST(lanes_with_a_gap_speak_for_themselves)
{
	const struct wire *sent;
	struct probe p;

	probe_open_default(&p);
	give(&p, LINK_REQUESTS, 1, 8, 0);
	sent = probe_next(&p);                          /* at once */
	CHECK(sent && probe_is_bare(sent) && sent->lane == LINK_REQUESTS);
	CHECK(sent && sent->ack == 0 && sent->selective == 2);
	probe_send_by(&p, 1, LINK_ANSWERS, 8, 1);
	check_answer(&p, ~0u);
	give(&p, LINK_REQUESTS, 0, 8, 0);
	probe_send_by(&p, 1, LINK_ANSWERS, 8, 2);
	check_answer(&p, 2);
	probe_close(&p, 0);
}

/* A refused message is requested again by an acknowledgement on its own lane. */
TEST(lanes_that_refused_speak_for_themselves)
{
	const struct wire *sent;
	struct probe p;

	probe_open_default(&p);
	p.busy = 1;
	give(&p, LINK_REQUESTS, 0, 8, 0);
	probe_send_by(&p, 1, LINK_ANSWERS, 8, 1);
	check_answer(&p, ~0u);
	probe_pass(&p, 1 * MS);
	sent = probe_next(&p);
	CHECK(sent && probe_is_bare(sent) && sent->again && sent->refused == 1);
	CHECK(sent && sent->lane == LINK_REQUESTS);
	probe_close(&p, 0);
}

TEST(lanes_hear_of_both)
{
	struct wire answer = probe_data(0, 8, 0);
	struct probe p;

	probe_open_default(&p);
	for (uint32_t i = 0; i < 3; i++)
		probe_send(&p, 1, 8, i);
	answer.lane = LINK_ANSWERS;
	answer.other_ack = 2;
	probe_give(&p, 1, &answer, 7);                  /* its window is 0: no acknowledgement */
	TOLD(&p, "w");
	answer.sequence = 1;
	answer.other_window = 8;
	probe_give(&p, 1, &answer, 7);                  /* the first acknowledgement */
	TOLD(&p, "ssw");
	answer.sequence = 2;
	answer.other_ack = 1;
	probe_give(&p, 1, &answer, 7);                  /* an old one */
	TOLD(&p, "w");
	answer.sequence = 3;
	answer.other_ack = 4;   /* of unsent frames: ignored */
	probe_give(&p, 1, &answer, 7);                  /* the message itself is accepted */
	TOLD(&p, "w");
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 1);
	probe_close(&p, 0);
}

/* The same on the fast path (link_fast_room). */
TEST(lanes_acknowledge_with_fast_path_requests)
{
	const struct wire *sent;
	struct link_room room;
	struct probe p;

	probe_open_default(&p);
	give(&p, LINK_ANSWERS, 0, 8, 0);
	room = link_fast_room(p.link, 1);
	CHECK(room.header != 0);
	memset(room.header, 0, LINK_PUT_BYTES);
	link_fast_send(p.link, room, p.now, 0);
	sent = probe_next(&p);
	CHECK(sent && sent->lane == LINK_REQUESTS && sent->other_window && sent->other_ack == 1);
	probe_pass(&p, 1 * MS);
	CHECK(!probe_next(&p));
	give(&p, LINK_ANSWERS, 2, 8, 0);                /* a gap */
	CHECK(probe_is_bare(probe_next(&p)));
	room = link_fast_room(p.link, 1);
	memset(room.header, 0, LINK_PUT_BYTES);
	link_fast_send(p.link, room, p.now, 0);
	link_flush(p.link, p.now);
	sent = probe_next(&p);
	CHECK(sent && sent->lane == LINK_REQUESTS && !sent->other_window);
	probe_close(&p, 0);
}
