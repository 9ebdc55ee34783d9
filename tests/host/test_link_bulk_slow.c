/*
 * A peer that sends few parts, late, does not keep its turn for long while another one waits. But a
 * long turn in which no other waited does not end at the first timeout. On a slow link little is
 * sent twice, and few parts are under way at once.
 */
#include "bulk_probe.h"

enum { PARTS = 100, PACE = 50 };

static struct probe probe;
static struct bulk_card card;

static void announce(uint32_t node, uint32_t parts)
{
	struct wire wire = bulk_announcement(0, parts * PART);

	probe_give(&probe, node, &wire, node);
}

static void land(uint32_t node, uint32_t part, int again)
{
	struct wire wire = bulk_part(0, part, PART);

	wire.again = !!again;
	bulk_fill(&card, part, PART);
	bulk_tell(&probe, node, &wire);
}

static struct probe *start(void)
{
	bulk_start(&probe, &card);
	announce(PEER, PARTS);
	land(PEER, 0, 0);
	return &probe;
}

/* So many more parts of PEER land, PACE ms after each other. Returns how many did before another
 * node had the turn. */
static uint32_t land_slowly(struct probe *p, uint32_t first, uint32_t parts)
{
	for (uint32_t i = 0; i < parts; i++) {
		p->n_sent = p->seen = 0;
		probe_pass(p, PACE * MS);
		for (uint32_t n = 0; n < p->n_sent; n++)
			if (p->sent[n].kind == WIRE_KIND_GRANT && p->to[n] != PEER)
				return i;
		land(PEER, first + i, 1);
	}
	return parts;
}

TEST(link_ends_the_turn_of_a_slow_peer_while_another_waits)
{
	struct probe *p = start();
	const struct wire *last;
	uint32_t n;

	announce(OTHER, 1);
	n = land_slowly(p, 1, 20);
	CHECK(n >= 3 && n <= 5);
	CHECK_IS(link_counter(p->link, LINK_PASSED), 1);
	land(OTHER, 0, 0);
	/* Then the slow one gets another turn, from its first missing part on. */
	announce(PEER, PARTS);
	last = &p->sent[p->n_sent - 1];
	CHECK_IS(last->kind, WIRE_KIND_GRANT);
	CHECK_IS(last->part, 1 + n);
	CHECK_IS(last->again, 1);
	for (uint32_t part = 1 + n; part < PARTS; part++)
		land(PEER, part, 0);
	for (uint32_t part = 0; part < PARTS; part++)
		CHECK(card.memory[part * PART] == part &&
		      card.memory[(part + 1) * PART - 1] == part);
	probe_close(p, 1);
}

TEST(link_does_not_end_a_long_turn_at_the_first_timeout)
{
	struct probe *p = start();
	uint64_t grants;

	CHECK_IS(land_slowly(p, 1, 20), 20);
	announce(OTHER, 1);
	grants = link_counter(p->link, LINK_GRANTS_OUT);
	probe_pass(p, PACE * MS);
	CHECK(link_counter(p->link, LINK_GRANTS_OUT) > grants);
	CHECK_IS(link_counter(p->link, LINK_PASSED), 0);
	land(PEER, 21, 1);
	CHECK_IS(land_slowly(p, 22, 2), 2);
	link_ended(p->link, p->now, PEER, 0);
	land(OTHER, 0, 0);
	probe_close(p, 1);
}

/* The number of grants so far, and the last one. */
static uint64_t grants(const struct probe *p, const struct wire **last)
{
	for (uint32_t i = 0; i < p->n_sent; i++)
		if (p->sent[i].kind == WIRE_KIND_GRANT)
			*last = &p->sent[i];
	return link_counter(p->link, LINK_GRANTS_OUT);
}

TEST(link_waits_longer_for_the_first_part_of_all)
{
	const struct wire *last;
	struct probe *p = &probe;

	bulk_start(p, &card);
	announce(PEER, 4);
	probe_pass(p, 19 * MS);
	CHECK_IS(grants(p, &last), 1);
	probe_pass(p, 2 * MS);
	CHECK_IS(grants(p, &last), 2);
	CHECK_IS(last->again, 0);
	/* From the second timeout on one part is to be sent again. */
	probe_pass(p, 300 * MS);
	CHECK_IS(grants(p, &last), 5);
	CHECK_IS(last->again, 1);
	CHECK_IS(last->part, 0);
	CHECK_IS(probe_until(last), 1);
	CHECK_IS(link_counter(p->link, LINK_PASSED), 0);
	CHECK_IS(bulk_buffers(&card), 4);
	/* When it arrives again, the other three are lost. */
	land(PEER, 0, 1);
	(void)grants(p, &last);
	CHECK_IS(last->again, 1);
	CHECK_IS(last->part, 1);
	CHECK_IS(probe_until(last), 4);
	for (uint32_t part = 1; part < 4; part++)
		land(PEER, part, 1);
	probe_close(p, 1);
}

/* A part that was sent once shows how long it took, even if that was longer than timeouts. */
TEST(link_learns_how_slow_a_link_is)
{
	struct probe *p = &probe;
	const struct wire *last;
	uint64_t before;

	bulk_start(p, &card);
	announce(PEER, PARTS);
	CHECK(bulk_buffers(&card) > 4);
	probe_pass(p, 70 * MS);
	land(PEER, 0, 0);
	before = grants(p, &last);
	probe_pass(p, 140 * MS);
	CHECK_IS(grants(p, &last), before);
	for (uint32_t part = 1; part < PARTS; part++) {
		land(PEER, part, 0);
		probe_pass(p, 70 * MS);
		if (part > 70)
			CHECK(bulk_buffers(&card) <= 4);
	}
	CHECK_IS(link_counter(p->link, LINK_MESSAGES_IN), 1);
	probe_close(p, 1);
}

/* ms until OTHER has the turn, while PEER sends nothing. */
static uint32_t patience(struct probe *p)
{
	uint32_t ms = 0;

	for (p->n_sent = 0; ms < 5000; ms++) {
		for (uint32_t n = 0; n < p->n_sent; n++)
			if (p->sent[n].kind == WIRE_KIND_GRANT && p->to[n] == OTHER)
				return ms;
		p->n_sent = p->seen = 0;
		probe_pass(p, MS);
	}
	CHECK(0);
	return ms;
}

TEST(link_waits_longer_in_each_turn_of_a_slow_peer)
{
	struct probe *p = start();
	uint32_t last = 0, now;

	for (uint32_t turn = 0; turn < 4; turn++) {
		struct wire wire = bulk_announcement(turn, PART), part = bulk_part(turn, 0, PART);

		probe_give(p, OTHER, &wire, OTHER);
		now = patience(p);
		CHECK(now > last + last / 2);
		last = now;
		bulk_fill(&card, 0, PART);
		bulk_tell(p, OTHER, &part);
		probe_pass(p, 600 * MS);
		announce(PEER, PARTS);
	}
	CHECK_IS(link_counter(p->link, LINK_PASSED), 4);
	link_ended(p->link, p->now, PEER, 0);
	probe_close(p, 1);
}
