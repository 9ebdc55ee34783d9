/*
 * Parts that landed in each other's buffers while another node or this node itself writes, perhaps to
 * the same memory: the link does not know where short messages go. Such parts are not moved; they
 * come again.
 */
#include "bulk_probe.h"

enum { PARTS = 4 };

static struct probe probe;
static struct bulk_card card;

/* The card writes a part to the next buffer; the link does not know yet. Its payload is its number. */
static void arrive(uint32_t part)
{
	bulk_fill(&card, part, PART);
}

static void land_sent(struct probe *p, uint32_t part, int again)
{
	struct wire wire = bulk_part(0, part, PART);

	wire.again = !!again;
	bulk_tell(p, PEER, &wire);
}

static void land(struct probe *p, uint32_t part)
{
	land_sent(p, part, 0);
}

/* A message of PARTS parts is announced, and the second one is lost. */
static struct probe *start(void)
{
	struct wire wire = bulk_announcement(0, PARTS * PART);

	bulk_start(&probe, &card);
	memset(card.memory, 0xff, sizeof(card.memory));
	probe_give(&probe, PEER, &wire, 0);
	CHECK_IS(bulk_buffers(&card), PARTS);
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
		CHECK(card.memory[part * PART] == part &&
		      card.memory[(part + 1) * PART - 1] == part);
	probe_close(p, 1);
}

/* The missing parts are granted again, for new buffers, and come. */
static void repair(struct probe *p)
{
	const struct wire *last = &p->sent[p->n_sent - 1];

	CHECK_IS(bulk_buffers(&card), PARTS - 1);
	CHECK_IS(last->kind, WIRE_KIND_GRANT);
	CHECK_IS(last->again, 1);
	CHECK_IS(last->part, 1);
	CHECK_IS(probe_until(last), PARTS);
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

/* Another node's message, or a write of this node to itself, which does not come through the link. */
static void write_by(struct probe *p, uint32_t node)
{
	if (node == OTHER)
		give(p, OTHER, 0);
	else
		link_note_writes(p->link);
}

/* It comes before the link learns of the misplaced part or, `late`, after that. */
static void check_write(uint32_t node, int late)
{
	struct probe *p = start();

	if (late)
		land(p, 2);
	write_by(p, node);
	if (late)
		arrive(1);
	land(p, late ? 1 : 2);
	repair(p);
	TOLD(p, node == OTHER ? "bwe" : "be");
	check_end(p, 0, 1);
}

TEST(link_does_not_move_parts_where_another_node_may_have_written)
{
	check_write(OTHER, 0);
	check_write(OTHER, 1);
}

TEST(link_does_not_move_parts_where_this_node_may_have_written)
{
	check_write(0, 0);
	check_write(0, 1);
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
