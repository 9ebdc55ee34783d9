/*
 * Grants, step by step, at the sender: one link announces, and the test plays its peer. The link
 * sends only granted parts, and sends a part again only if it is granted again.
 */
#include "link_probe.h"

#define PEER  1u

static struct probe probe;
static struct nic bulk;
static int bulk_says;                  /* what the bulk card's send returns */
static int bulk_room;                  /* so many frames it takes nevertheless */

static int bulk_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	(void)nic;
	if (bulk_says != NIC_OK && bulk_room-- <= 0)
		return bulk_says;
	probe_note_frame(&probe, pieces, n);
	link_transmitted(probe.link, probe.now, cookie);
	return NIC_OK;
}

static const struct nic_ops ops = { .name = "bulk", .send = bulk_send };

/* A message of 5 parts is announced, by a link with so many frame records (0: the usual number); the
 * receiver's grant. */
static struct probe *announced_with(uint16_t records)
{
	struct probe *p;

	probe_open(&probe);
	if (records)
		probe.config.transmits = records;
	probe.config.announce = 4096;
	probe.nic.mtu = 8192;
	p = &probe;
	bulk = (struct nic){ .ops = &ops, .mtu = WIRE_HEADER + 4096, .ring = 16 };
	wire_address(bulk.address, 0, 1);
	bulk_says = NIC_OK;
	bulk_room = 0;
	probe.bulk = &bulk;
	probe_start(&probe);
	CHECK_IS(probe_send(p, PEER, 5 * 4096, 9), LINK_OK);
	CHECK_IS(p->n_sent, 1);
	CHECK_IS(p->sent[0].announce, 1);
	CHECK_IS(p->sent[0].offset, 4096);
	return p;
}

static struct probe *announced(void)
{
	return announced_with(0);
}

static struct wire grant(int again, uint32_t part, uint32_t until)
{
	return (struct wire){ .kind = WIRE_KIND_GRANT, .source = PEER_LIFE,
			      .destination = PROBE_LIFE, .window = 8, .selective = 1,
			      .again = !!again, .part = part,
			      .parts = (uint16_t)(until - part) };
}

static uint32_t sent_of(const struct probe *p, uint32_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_sent; i++)
		n += p->sent[i].kind == kind;
	return n;
}

/* The numbers of parts are where a MSG with AGAIN has the refused frames. */
TEST(link_takes_no_part_for_a_refused_frame)
{
	struct probe *p = announced();
	struct wire wire = grant(1, 1, 4);

	wire.selective = 0;
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 4);
	CHECK_IS(sent_of(p, WIRE_KIND_MSG), 1);
	link_ended(p->link, p->now, PEER, 0);
	probe_close(p, 1);
}

TEST(link_sends_what_is_granted)
{
	struct probe *p = announced();
	struct wire wire = grant(0, 0, 2);

	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 2);
	wire = grant(0, 1, 4);
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 4);
	wire = grant(0, 0, 3);                           /* for an earlier message */
	probe_give(p, PEER, &wire, 0);
	wire = grant(0, 2, 6);                           /* there is no sixth part */
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 4);
	CHECK_IS(link_counter(p->link, LINK_NONSENSE), 1);
	link_ended(p->link, p->now, PEER, 0);
	probe_close(p, 1);
}

/* Parts that were sent are sent again, before new parts; new parts as after a first grant. */
TEST(link_sends_again_what_is_granted_again)
{
	static const uint32_t parts[] = { 0, 1, 2, 1, 2, 3 };
	struct probe *p = announced();
	struct wire wire = grant(0, 0, 3);

	probe_give(p, PEER, &wire, 0);
	wire = grant(1, 1, 4);
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 6);
	for (uint32_t i = 0; i < 6; i++) {
		CHECK_IS(p->sent[1 + i].part, parts[i]);
		CHECK_IS(p->sent[1 + i].again, i == 3 || i == 4);
	}
	link_ended(p->link, p->now, PEER, 0);
	probe_close(p, 1);
}

/* Of two messages, the one with a part to send again is sent first. */
TEST(link_sends_again_before_others)
{
	struct probe *p = announced();
	struct wire wire = grant(0, 0, 5);

	CHECK_IS(probe_send(p, PEER, 5 * 4096, 10), LINK_OK);
	link_flush(p->link, p->now);
	probe_give(p, PEER, &wire, 0);
	bulk_says = NIC_FULL;
	wire = grant(0, 0, 5);
	wire.sequence = 1;
	probe_give(p, PEER, &wire, 0);
	wire = grant(1, 4, 5);
	probe_give(p, PEER, &wire, 0);
	wire = grant(1, 1, 2);                           /* both parts and those between them */
	probe_give(p, PEER, &wire, 0);
	bulk_says = NIC_OK;
	probe_pass(p, 5000000);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 5 + 4 + 5);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK_IS(p->sent[7 + i].sequence, 0);
		CHECK_IS(p->sent[7 + i].part, 1 + i);
	}
	link_ended(p->link, p->now, PEER, 0);
	probe_close(p, 1);
}

/* One grant of parts of two messages, which were sent before: they are sent in that order. */
TEST(link_sends_again_in_the_order_of_messages)
{
	struct probe *p = announced();
	struct wire wire = grant(0, 0, 5);

	CHECK_IS(probe_send(p, PEER, 5 * 4096, 10), LINK_OK);
	link_flush(p->link, p->now);
	wire.reach = 1;
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 10);
	bulk_says = NIC_FULL;
	wire = grant(1, 3, 5);
	wire.reach = 1;
	wire.parts = 2;                                  /* of message 1 */
	probe_give(p, PEER, &wire, 0);
	bulk_says = NIC_OK;
	probe_pass(p, 5000000);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 14);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK_IS(p->sent[12 + i].sequence, i / 2);
		CHECK_IS(p->sent[12 + i].part, i < 2 ? 3 + i : i - 2);
	}
	link_ended(p->link, p->now, PEER, 0);
	probe_close(p, 1);
}

/* Nodes 2 and 3 have granted parts while the card was full, and node 1 grants AGAIN each time that a
 * part has left. The parts leave in turns. */
TEST(link_sends_parts_to_all_receivers_in_turns)
{
	struct probe *p = announced();
	struct wire wire = grant(0, 0, 5);
	uint32_t parts[4] = { 0 };

	probe_give(p, PEER, &wire, 0);
	for (uint32_t node = 2; node < 4; node++)
		CHECK_IS(probe_send(p, node, 5 * 4096, node), LINK_OK);
	bulk_says = NIC_FULL;
	for (uint32_t node = 2; node < 4; node++)
		probe_give(p, node, &wire, 0);
	wire.again = 1;
	p->seen = p->n_sent;
	for (uint32_t i = 0; i < 12; i++) {
		bulk_room = 1;
		probe_give(p, PEER, &wire, 0);
		link_tick(p->link, p->now);
	}
	for (uint32_t i = p->seen; i < p->n_sent; i++)
		parts[p->to[i]] += p->sent[i].kind == WIRE_KIND_BULK;
	for (uint32_t node = 1; node < 4; node++) {
		CHECK_IS(parts[node], 4);
		link_ended(p->link, p->now, node, 0);
	}
	probe_close(p, 1);
}

/* Bytes that would be a short last part are sent with the announcement. */
TEST(link_sends_the_end_with_the_announcement)
{
	static const uint32_t rest[] = { 1, WIRE_TAIL_BYTES, WIRE_TAIL_BYTES + 1 };

	for (uint32_t i = 0; i < 3; i++) {
		struct probe *p = announced();
		struct wire wire = grant(0, 0, 5);
		const struct wire *sent = &p->sent[1];

		wire.sequence = 1;
		CHECK_IS(probe_send(p, PEER, 5 * 4096 + rest[i], 10), LINK_OK);
		link_flush(p->link, p->now);
		CHECK_IS(p->n_sent, 2);
		CHECK_IS(sent->bytes, i < 2 ? rest[i] : 1);
		CHECK_IS(sent->offset, i < 2 ? 4096 : 3584);
		CHECK_IS(sent->length, 5 * 4096 + rest[i]);
		probe_give(p, PEER, &wire, 0);
		CHECK_IS(sent_of(p, WIRE_KIND_BULK), 5);
		CHECK_IS(p->sent[6].bytes, i < 2 ? 4096 : 3584);
		wire.parts = 6;                          /* a long end is a sixth part */
		probe_give(p, PEER, &wire, 0);
		CHECK_IS(sent_of(p, WIRE_KIND_BULK), i < 2 ? 5 : 6);
		CHECK_IS(link_counter(p->link, LINK_NONSENSE), i < 2);
		link_ended(p->link, p->now, PEER, 0);
		probe_close(p, 1);
	}
}

/* The ordinary card has all frame records. When it returns one, parts are sent. */
TEST(link_sends_parts_as_soon_as_a_record_is_free)
{
	struct probe *p = announced_with(1);
	struct wire old = probe_data(0, 8, 0), wire = grant(0, 0, 5);

	probe_give(p, PEER, &old, 7);
	p->keeps = 1;
	probe_give(p, PEER, &old, 7);                    /* it came before: an acknowledgement */
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 0);
	probe_complete(p);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 1);
	link_ended(p->link, p->now, PEER, 0);
	probe_close(p, 1);
}
