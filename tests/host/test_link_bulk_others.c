/*
 * Parts that landed in each other's buffers while another node or this node itself writes, perhaps to
 * the same memory: the link does not know where short messages go. Such parts are not moved; they
 * come again.
 */
#include <stddef.h>
#include "link_probe.h"

enum { PEER = 1, OTHER = 2, PART = 256, PARTS = 4, POSTS = 64 };

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

static struct wire part_of(uint32_t part)
{
	return (struct wire){ .kind = WIRE_KIND_BULK, .source = PEER_LIFE,
			      .destination = PROBE_LIFE, .part = part, .bytes = PART };
}

/* The card writes a part to the next buffer; the link does not know yet. Its payload is its number. */
static void arrive(uint32_t part)
{
	CHECK(filled != posted);
	memset((void *)ring[filled++ % POSTS].bytes, (int)part, PART);
}

static void land_sent(struct probe *p, uint32_t part, int again)
{
	static uint8_t frame[WIRE_HEADER + PART];
	struct wire wire = part_of(part);
	uint32_t bytes;

	wire.again = !!again;
	bytes = probe_frame(p, PEER, 1, &wire, 0, frame);
	link_landed(p->link, p->now, frame, bytes);
}

static void land(struct probe *p, uint32_t part)
{
	land_sent(p, part, 0);
}

/* A message of PARTS parts is announced, and the second one is lost. */
static struct probe *start(void)
{
	struct wire wire = probe_data(0, PARTS * PART, 0);

	probe_open(&probe);
	probe.config.announce = 4096;
	probe.place = memory;
	probe_start(&probe);
	bulk = (struct nic){ .ops = &ops, .mtu = 8192, .ring = 16 };
	wire_address(bulk.address, 0, 1);
	link_bulk(probe.link, &bulk);
	memset(memory, 0xff, sizeof(memory));
	posted = filled = 0;
	wire.announce = 1;
	wire.offset = PART;
	wire.bytes = 0;
	probe_give(&probe, PEER, &wire, 0);
	CHECK_IS(posted, PARTS);
	arrive(0);
	land(&probe, 0);
	arrive(2);
	return &probe;
}

/* A node sends a short message. */
static void give(struct probe *p, uint32_t node, uint32_t sequence)
{
	struct wire wire = probe_data(sequence, 8, 0);

	probe_give(p, node, &wire, 0);
}

static void check_end(struct probe *p, uint32_t moved, uint32_t withdrawn)
{
	CHECK_IS(link_counter(p->link, LINK_MOVED), moved);
	CHECK_IS(link_counter(p->link, LINK_WITHDRAWN), withdrawn);
	for (uint32_t part = 0; part < PARTS; part++)
		CHECK(memory[part * PART] == part && memory[(part + 1) * PART - 1] == part);
	probe_close(p, 1);
}

/* The missing parts are granted again, for new buffers, and come. */
static void repair(struct probe *p)
{
	const struct wire *last = &p->sent[p->n_sent - 1];

	CHECK_IS(posted - filled, PARTS - 1);
	CHECK_IS(last->kind, WIRE_KIND_GRANT);
	CHECK_IS(last->again, 1);
	CHECK_IS(last->part, 1);
	CHECK_IS(last->until, PARTS);
	for (uint32_t part = 1; part < PARTS; part++) {
		arrive(part);
		land_sent(p, part, 1);
	}
}

TEST(link_moves_parts_while_no_other_node_writes)
{
	struct probe *p = start();

	land(p, 2);
	give(p, PEER, 1);                         /* early */
	for (uint32_t part = 1; part < PARTS; part += 2) {
		arrive(part);
		land(p, part);
	}
	TOLD(p, "bddew");
	check_end(p, 2, 0);
}

/* Another node's message comes before or after the link learns what the card has written. */
TEST(link_does_not_move_parts_where_another_node_may_have_written)
{
	for (int late = 0; late < 2; late++) {
		struct probe *p = start();

		if (late)
			land(p, 2);
		give(p, OTHER, 0);
		if (late) {
			arrive(1);
			land(p, 1);
		} else {
			land(p, 2);
		}
		repair(p);
		TOLD(p, "bwe");
		check_end(p, 0, 1);
	}
}

/* A message to this node itself does not come through the link. */
TEST(link_does_not_move_parts_where_this_node_may_have_written)
{
	for (int late = 0; late < 2; late++) {
		struct probe *p = start();

		if (late)
			land(p, 2);
		link_note_writes(p->link);
		if (late) {
			arrive(1);
			land(p, 1);
		} else {
			land(p, 2);
		}
		repair(p);
		TOLD(p, "be");
		check_end(p, 0, 1);
	}
}

/* Nor when the timer expires. */
TEST(link_does_not_move_such_parts_later)
{
	struct probe *p = start();

	land(p, 2);
	give(p, OTHER, 0);
	for (uint32_t ms = 0; ms < 1000 && !link_counter(p->link, LINK_WITHDRAWN); ms++)
		probe_pass(p, MS);
	repair(p);
	TOLD(p, "bwe");
	check_end(p, 0, 1);
}
