/*
 * When the link gives up, and when it must not: frames that never arrive at a peer that is alive,
 * payload that cannot be read, new lives after many failures.
 */
#include <string.h>
#include "../../net/shm/region.h"
#include "link_probe.h"

#define PEER 1u

static void open_with(struct probe *p, uint16_t tries)
{
	probe_open(p);
	p->config.tries = tries;
	probe_start(p);
}

/* The peer is alive and sends on the other lane; about frame 0 it sends `ack`. Ends when the link
 * has called its user, or after `rounds` ms. */
static uint32_t listen(struct probe *p, const struct wire *ack, uint32_t rounds)
{
	uint32_t round;

	for (round = 0; round < rounds && p->noted == p->n_notes; round++) {
		struct wire alive = probe_ack(0, 0, 8);

		alive.lane = LINK_ANSWERS;
		probe_give(p, PEER, &alive, 0);
		if (ack)
			probe_give(p, PEER, ack, 0);
		probe_pass(p, MS);
		p->n_sent = p->seen = 0;
	}
	return round;
}

TEST(link_gives_up_a_frame_that_never_gets_through)
{
	struct probe p;

	open_with(&p, 3);
	probe_send(&p, PEER, 100, 7);
	CHECK(listen(&p, 0, 2000) > 100);
	TOLD(&p, "Fl");
	CHECK_IS(link_counter(p.link, LINK_TIMEOUTS), 3);
	probe_close(&p, 1);
}

/* Two frames: the second always arrives, the first one never. */
TEST(link_gives_up_a_frame_that_others_overtake)
{
	struct wire ack = probe_ack(0, 2, 8);
	struct probe p;

	open_with(&p, 3);
	probe_send(&p, PEER, 2 * PROBE_FRAGMENT, 7);
	CHECK(listen(&p, &ack, 5000) < 5000);
	TOLD(&p, "Fl");
	probe_close(&p, 1);
}

TEST(link_bears_refusals_for_any_time)
{
	struct wire ack = probe_ack(0, 0, 8);
	struct probe p;

	open_with(&p, 3);
	ack.again = 1;
	ack.refused = 1;
	probe_send(&p, PEER, 100, 7);
	for (uint32_t i = 0; i < 200; i++)             /* rarely enough to cause timeouts */
		CHECK_IS(listen(&p, i % 2 ? &ack : 0, 30), 30);
	TOLD(&p, "");
	CHECK(link_counter(p.link, LINK_TIMEOUTS) > 9);
	ack = probe_ack(1, 0, 8);
	probe_give(&p, PEER, &ack, 0);
	TOLD(&p, "s");
	probe_close(&p, 1);
}

TEST(link_bears_that_payload_waits_for_any_time)
{
	struct wire ack = probe_ack(0, 0, 8);
	struct probe p;

	open_with(&p, 3);
	ack.selective = 1;
	probe_send(&p, PEER, 100, 7);
	for (uint32_t i = 0; i < 200; i++)
		CHECK_IS(listen(&p, i % 2 ? &ack : 0, 60), 60);
	TOLD(&p, "");
	ack = probe_ack(1, 0, 8);
	probe_give(&p, PEER, &ack, 0);
	TOLD(&p, "s");
	probe_close(&p, 1);
}

/* Many timeouts, but each frame arrives in the end. */
TEST(link_counts_timeouts_of_each_frame_anew)
{
	struct probe p;

	open_with(&p, 3);
	for (uint32_t i = 0; i < 30; i++) {
		struct wire ack = probe_ack(i + 1, 0, 8);

		probe_send(&p, PEER, 100, i);
		CHECK_IS(listen(&p, 0, 50), 50);
		probe_give(&p, PEER, &ack, 0);
		TOLD(&p, "s");
	}
	CHECK(link_counter(p.link, LINK_TIMEOUTS) > 9);
	probe_close(&p, 1);
}

/* Retransmissions before the peer is known do not count. */
TEST(link_begins_to_count_when_a_peer_is_known)
{
	struct wire data = probe_data(0, 8, 0), ack = probe_ack(1, 0, 8);
	struct probe p;

	probe_open(&p);
	p.config.tries = 3;
	p.config.boot_deadline = LINK_NEVER;
	probe_start(&p);
	probe_send(&p, PEER, 100, 7);
	probe_pass(&p, 20000 * MS);
	p.n_sent = p.seen = 0;
	probe_give(&p, PEER, &data, 9);
	TOLD(&p, "w");
	probe_pass(&p, 250 * MS);
	TOLD(&p, "");
	probe_give(&p, PEER, &ack, 0);
	TOLD(&p, "s");
	probe_close(&p, 1);
}

/* Frames of the peer meanwhile do not prevent that. */
TEST(link_gives_up_when_payload_cannot_be_shown)
{
	for (uint32_t lane = 0; lane < LINK_LANES; lane++) {
		struct wire data = probe_data(0, 8, 0), ack = probe_ack(1, 0, 8);
		struct probe p;

		open_with(&p, 3);
		probe_send(&p, PEER, 100, 6);
		p.cannot = 1;
		probe_send(&p, PEER, 100, 7);
		data.lane = (uint8_t)lane;
		probe_give(&p, PEER, &ack, 0);
		probe_give(&p, PEER, &data, 9);
		TOLD(&p, "sw");
		CHECK(link_deadline(p.link) <= p.now);
		link_before_halt(p.link, p.now);
		CHECK(link_deadline(p.link) <= p.now);
		link_tick(p.link, p.now);
		TOLD(&p, "Fl");
		CHECK_IS(link_deadline(p.link), LINK_NEVER);
		p.cannot = 0;
		p.n_sent = p.seen = 0;
		probe_send(&p, PEER, 100, 8);           /* a new incarnation */
		CHECK(p.n_sent == 1 && p.sent[0].source == PROBE_LIFE + 1);
		link_ended(p.link, p.now, PEER, 0);
		probe_close(&p, 1);
	}
}

/* A node's incarnation toward a peer grows each time it gives that peer up. Its next life must be
 * newer nevertheless. */
TEST(link_believes_the_life_after_many_failures)
{
	struct probe p;

	probe_open(&p);
	probe_start(&p);
	for (uint32_t i = 0; i < 2; i++) {
		struct wire data = probe_data(0, 8, 0);

		data.source = i ? PEER_LIFE + REGION_LIFE : PEER_LIFE + 1000;
		probe_give(&p, PEER, &data, i);
		TOLD(&p, i ? "lw" : "w");
	}
	CHECK_IS(link_counter(p.link, LINK_GHOSTS), 0);
	probe_close(&p, 1);
}
