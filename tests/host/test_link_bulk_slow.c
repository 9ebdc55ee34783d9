/*
 * A peer that sends few parts, late, does not keep its turn for long while another one waits. But a
 * long turn in which no other waited does not end at the first timeout.
 */
#include "link_probe.h"

enum { PEER = 1, OTHER = 2, PART = 256, PARTS = 100, POSTS = 64, PACE = 50 };

static struct probe probe;
static struct nic bulk;
static struct nic_piece ring[POSTS];
static uint32_t posted, filled;
static uint8_t memory[PARTS * PART];

static int post(struct nic *nic, const struct nic_piece *pieces, uint32_t n, int interrupt)
{
	(void)nic, (void)interrupt;
	CHECK_IS(n, 1);
	ring[posted++ % POSTS] = pieces[0];
	return NIC_OK;
}

static void withdraw(struct nic *nic)
{
	(void)nic;
	filled = posted;
}

static const struct nic_ops ops = { .name = "bulk", .post = post, .withdraw = withdraw };

static void announce(uint32_t node, uint32_t parts)
{
	struct wire wire = probe_data(0, parts * PART, 0);

	wire.announce = 1;
	wire.offset = PART;
	wire.bytes = 0;
	probe_give(&probe, node, &wire, node);
}

/* A node's part arrives, and the card writes it to the next buffer. */
static void land(uint32_t node, uint32_t part, int again)
{
	struct wire wire = { .kind = WIRE_KIND_BULK, .source = PEER_LIFE,
			     .destination = PROBE_LIFE, .part = part, .bytes = PART,
			     .again = !!again };
	static uint8_t frame[WIRE_HEADER + PART];
	uint32_t bytes = probe_frame(&probe, node, 1, &wire, 0, frame);

	CHECK(filled != posted);
	memset((void *)ring[filled++ % POSTS].bytes, (int)part, PART);
	link_landed(probe.link, probe.now, frame, bytes);
}

static struct probe *start(void)
{
	probe_open(&probe);
	probe.config.announce = 4096;
	probe.place = memory;
	probe_start(&probe);
	bulk = (struct nic){ .ops = &ops, .mtu = 8192, .ring = 16 };
	wire_address(bulk.address, 0, 1);
	link_bulk(probe.link, &bulk);
	posted = filled = 0;
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
		CHECK(memory[part * PART] == part && memory[(part + 1) * PART - 1] == part);
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
	link_give_up(p->link, p->now, PEER);
	land(OTHER, 0, 0);
	probe_close(p, 1);
}
