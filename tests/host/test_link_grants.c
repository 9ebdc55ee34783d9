/*
 * Grants by hand: one link whose peers are the test, which announces, lands and asks, rightly
 * or with one field wrong. What must not land is astray, what must not leave does not.
 */
#include <stddef.h>
#include <string.h>
#include "link_probe.h"

#define PEER   1u
#define OTHER  2u
#define PART   256u
#define PLACE  (1u << 16)

static struct probe probe;
static struct nic bulk;
static uint32_t rooms, junk;
static uint32_t told;           /* rooms that interrupt when they are filled */
static int bulk_says;                  /* what its send returns */
static uint8_t memory[PLACE];

static int post(struct nic *nic, const struct nic_piece *pieces, uint32_t n, int tell)
{
	(void)nic, (void)pieces;
	told += n > 0 && tell;
	rooms += n > 0;
	junk += n == 0;
	return NIC_OK;
}

static void take_back(struct nic *nic)
{
	(void)nic;
	rooms = junk = 0;
}

static int bulk_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	(void)nic;
	if (bulk_says != NIC_OK)
		return bulk_says;
	probe_note_frame(&probe, pieces, n);
	link_transmitted(probe.link, probe.now, cookie);
	return NIC_OK;
}

static const struct nic_ops ops = { .name = "bulk", .send = bulk_send, .post = post,
				    .take_back = take_back };

static struct probe *start(int has_card)
{
	probe_open(&probe);
	probe.config.announce = 4096;
	probe.place = has_card ? memory : 0;
	probe_start(&probe);
	bulk = (struct nic){ .ops = &ops, .mtu = 8192, .ring = 16 };
	wire_address(bulk.address, 0, 1);
	rooms = junk = 0;
	bulk_says = NIC_OK;
	if (has_card)
		link_bulk(probe.link, &bulk);
	return &probe;
}

static struct wire announcement(uint32_t sequence, uint64_t length)
{
	struct wire wire = probe_data(sequence, length, 0);

	wire.announce = 1;
	wire.offset = length < PART ? length : PART;
	wire.bytes = 0;
	return wire;
}

/* The last GRANT to anybody. */
static const struct wire *last_grant(const struct probe *p)
{
	for (uint32_t i = p->n_sent; i-- > 0;)
		if (p->sent[i].kind == WIRE_KIND_GRANT)
			return &p->sent[i];
	CHECK(0);
	return &p->sent[0];
}

/* What the last grant wants to have. */
static struct wire answer(const struct probe *p, uint32_t part, uint32_t bytes)
{
	return (struct wire){ .kind = WIRE_KIND_BULK, .source = PEER_LIFE,
			      .destination = PROBE_LIFE, .turn = last_grant(p)->turn,
			      .part = part, .bytes = bytes, .sequence = last_grant(p)->sequence };
}

/* What it wants to hear if it takes back. */
static struct wire mark(const struct probe *p)
{
	return (struct wire){ .kind = WIRE_KIND_BULK, .over = 1, .source = PEER_LIFE,
			      .destination = PROBE_LIFE, .turn = last_grant(p)->turn };
}

static void land(struct probe *p, uint32_t node, const struct wire *wire)
{
	uint8_t frame[WIRE_HEADER + PLACE] = { 0 };
	uint32_t bytes = probe_frame(p, node, 1, wire, 0, frame);

	CHECK(rooms + junk > 0);
	rooms -= rooms > 0;
	link_landed(p->link, p->now, frame, bytes);
}

TEST(link_grants_what_was_announced)
{
	struct probe *p = start(1);
	struct wire wire = announcement(0, 600);

	CHECK(link_bulk_is_idle(p->link));
	probe_give(p, PEER, &wire, 7);
	CHECK_IS(rooms, 3);
	CHECK(!link_bulk_is_idle(p->link));
	CHECK_IS(last_grant(p)->part, 0);
	CHECK_IS(last_grant(p)->until, 3);
	for (uint32_t part = 0; part < 3; part++) {
		wire = answer(p, part, part < 2 ? PART : 600 - 2 * PART);
		land(p, PEER, &wire);
	}
	CHECK(!strcmp(probe_story(p), "be"));
	CHECK_IS(link_counter(p->link, LINK_PLACED), 3);
	CHECK_IS(link_counter(p->link, LINK_ASTRAY), 0);
	probe_close(p, 1);
}

/* The announcement brings the last bytes: they have no room. */
TEST(link_takes_the_end_with_the_announcement)
{
	struct probe *p = start(1);
	struct wire wire = announcement(0, 600);

	wire.bytes = 600 - 2 * PART;
	probe_give(p, PEER, &wire, 7);
	CHECK_IS(rooms, 2);
	CHECK_IS(last_grant(p)->until, 2);
	CHECK(!strcmp(probe_story(p), "bd"));
	CHECK_IS(p->notes[p->n_notes - 1].at, 2 * PART);
	CHECK_IS(p->notes[p->n_notes - 1].bytes, 600 - 2 * PART);
	probe_give(p, PEER, &wire, 7);                   /* once */
	for (uint32_t part = 0; part < 2; part++) {
		wire = answer(p, part, PART);
		land(p, PEER, &wire);
	}
	CHECK(!strcmp(probe_story(p), "e"));
	CHECK_IS(link_counter(p->link, LINK_DUPLICATES), 1);
	CHECK_IS(link_counter(p->link, LINK_ASTRAY), 0);
	probe_close(p, 1);
}

/* While others wait the card tells of each fourth message, so that the next turn begins soon. */
TEST(link_is_told_more_often_while_others_wait)
{
	struct probe *p = start(1);
	struct wire wire = announcement(0, PART);

	probe_give(p, PEER, &wire, 7);                   /* has the turn */
	for (uint32_t i = 0; i < 8; i++) {
		wire = announcement(i, PART);
		probe_give(p, PEER + 1, &wire, 20 + i);
	}
	wire = announcement(0, PART);
	probe_give(p, PEER + 2, &wire, 40);              /* waits behind that */
	told = 0;
	wire = answer(p, 0, PART);
	land(p, PEER, &wire);
	CHECK_IS(rooms, 8);
	CHECK_IS(told, 2);
	for (uint32_t node = PEER; node < PEER + 3; node++)
		link_give_up(p->link, p->now, node);
	probe_close(p, 1);
}

/* The room's part, but for one field. */
TEST(link_lets_nothing_land_that_is_wrong)
{
	for (uint32_t wrong = 0; wrong < 9; wrong++) {
		struct probe *p = start(1);
		struct wire wire = announcement(0, 600), next = announcement(1, 600);

		probe_give(p, PEER, &wire, 7);
		probe_give(p, PEER, &next, 8);
		wire = answer(p, 0, PART);
		wire.part += wrong == 1;
		wire.sequence += wrong == 2;
		wire.source += wrong == 3;
		wire.destination += wrong == 4;
		wire.turn += wrong == 5;
		wire.lane = wrong == 6;
		wire.bytes -= wrong == 7;
		land(p, wrong == 8 ? OTHER : PEER, &wire);
		CHECK_IS(link_counter(p->link, LINK_PLACED), wrong == 0);
		CHECK_IS(link_counter(p->link, LINK_ASTRAY), wrong != 0);
		CHECK_IS(link_counter(p->link, LINK_TAKEN_BACK), wrong != 0);
		CHECK_IS(last_grant(p)->over, wrong != 0);
		CHECK(wrong == 0 || (rooms == 0 && junk > 0));
		link_give_up(p->link, p->now, PEER);
		CHECK_IS(rooms + junk, 0);
		probe_close(p, 1);
	}
}

/* Another part than the one that was granted, and the mark behind it. */
static void go_astray(struct probe *p)
{
	struct wire wire = answer(p, 1, PART);

	land(p, PEER, &wire);
	CHECK_IS(last_grant(p)->over, 1);
	wire = mark(p);
	land(p, PEER, &wire);
}

/* Rooms are granted again for what is missing, of all messages. */
TEST(link_grants_again_what_went_astray)
{
	struct probe *p = start(1);
	struct wire wire = announcement(0, 2 * PART), next = announcement(1, PART);

	probe_give(p, PEER, &wire, 7);
	probe_give(p, PEER, &next, 8);
	wire = answer(p, 0, PART);
	wire.sequence = 0;
	land(p, PEER, &wire);
	CHECK_IS(rooms, 2);
	wire.part = 5;
	land(p, PEER, &wire);
	CHECK_IS(last_grant(p)->over, 1);
	wire = mark(p);
	land(p, PEER, &wire);
	CHECK_IS(rooms, 2);
	CHECK_IS(last_grant(p)->sequence, 0);
	CHECK_IS(last_grant(p)->part, 1);
	CHECK_IS(last_grant(p)->reach, 1);
	wire = answer(p, 1, PART);
	land(p, PEER, &wire);
	wire = answer(p, 0, PART);
	wire.sequence = 1;
	land(p, PEER, &wire);
	CHECK(!strcmp(probe_story(p), "bbee"));
	probe_close(p, 1);
}

/* After many turns that went astray nothing has rooms, for a while. */
TEST(link_gives_up_rooms_for_a_while)
{
	struct probe *p = start(1);
	uint32_t turns = 0;

	for (uint32_t i = 0; i < 20; i++) {
		struct wire wire = announcement(i, PART);

		probe_give(p, PEER, &wire, i);
		while (!last_grant(p)->again) {
			go_astray(p);
			turns++;
		}
		wire = answer(p, 0, PART);
		probe_give(p, PEER, &wire, 0);
	}
	CHECK(turns > 3 && turns < 20);
	CHECK_IS(link_counter(p->link, LINK_MESSAGES_IN), 20);
	probe_close(p, 1);
}

/* What was asked for one by one counts once, in any order, if it has the right length. */
TEST(link_takes_parts_one_by_one)
{
	struct probe *p = start(0);
	struct wire wire = announcement(0, 600);

	probe_give(p, PEER, &wire, 7);
	CHECK_IS(last_grant(p)->again, 1);
	CHECK_IS(last_grant(p)->until, 7);
	wire = answer(p, 1, PART);
	probe_give(p, PEER, &wire, 0);
	probe_give(p, PEER, &wire, 0);
	wire = answer(p, 0, PART - 1);
	probe_give(p, PEER, &wire, 0);
	wire = mark(p);
	probe_give(p, PEER, &wire, 0);
	CHECK(!strcmp(probe_story(p), "bd"));
	CHECK_IS(link_counter(p->link, LINK_DUPLICATES), 1);
	CHECK_IS(link_counter(p->link, LINK_NONSENSE), 2);
	wire = answer(p, 0, PART);
	probe_give(p, PEER, &wire, 0);
	wire = answer(p, 2, 600 - 2 * PART);
	probe_give(p, PEER, &wire, 0);
	CHECK(!strcmp(probe_story(p), "dde"));
	probe_close(p, 1);
}

TEST(link_gives_others_a_turn)
{
	struct probe *p = start(1);
	struct wire wire = announcement(0, 200 * PART);
	uint32_t part;

	probe_give(p, PEER, &wire, 7);
	wire = announcement(0, PART);
	probe_give(p, OTHER, &wire, 8);
	for (part = 0; part < 200 && rooms; part++) {
		if (p->to[p->n_sent - 1] == OTHER && p->sent[p->n_sent - 1].kind == WIRE_KIND_GRANT)
			break;
		wire = answer(p, part, PART);
		land(p, PEER, &wire);
		p->n_sent = p->n_sent > 200 ? 200 : p->n_sent;
	}
	CHECK(part > 8 && part < 150);
	link_give_up(p->link, p->now, PEER);
	link_give_up(p->link, p->now, OTHER);
	probe_close(p, 1);
}

/* Nobody posted a room, or only such as take what is under way: what lands is counted. */
TEST(link_counts_what_lands_in_no_room)
{
	struct probe *p = start(1);
	struct wire wire = announcement(0, 600), stray = probe_data(0, 8, 0);
	uint8_t frame[WIRE_DATA + 8] = { 0 };
	uint32_t bytes = probe_frame(p, PEER, 1, &stray, 0, frame);

	link_landed(p->link, p->now, frame, bytes);
	CHECK_IS(link_counter(p->link, LINK_ASTRAY), 1);
	probe_give(p, PEER, &wire, 7);
	for (uint32_t i = 2; i < 6; i++) {              /* the first takes a room, and so ends the turn */
		link_landed(p->link, p->now, frame, bytes);
		CHECK_IS(link_counter(p->link, LINK_ASTRAY), i);
	}
	link_give_up(p->link, p->now, PEER);
	probe_close(p, 1);
}

/* ---- the sender ---- */

/* A message of 5 parts is announced, and this is what its receiver says. */
static struct probe *announced(void)
{
	struct probe *p;

	probe_open(&probe);
	probe.config.announce = 4096;
	probe.nic.mtu = 8192;
	probe_start(&probe);
	p = &probe;
	bulk = (struct nic){ .ops = &ops, .mtu = WIRE_HEADER + 4096, .ring = 16 };
	wire_address(bulk.address, 0, 1);
	bulk_says = NIC_OK;
	link_bulk(p->link, &bulk);
	CHECK_IS(probe_send(p, PEER, 5 * 4096, 9), LINK_OK);
	CHECK_IS(p->n_sent, 1);
	CHECK_IS(p->sent[0].announce, 1);
	CHECK_IS(p->sent[0].offset, 4096);
	return p;
}

static struct wire grant(uint32_t turn, uint32_t part, uint32_t until)
{
	return (struct wire){ .kind = WIRE_KIND_GRANT, .source = PEER_LIFE,
			      .destination = PROBE_LIFE, .window = 8, .waits = 1, .turn = turn,
			      .part = part, .until = until };
}

static uint32_t sent_of(const struct probe *p, uint32_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_sent; i++)
		n += p->sent[i].kind == kind;
	return n;
}

TEST(link_sends_what_is_granted)
{
	struct probe *p = announced();
	struct wire wire = grant(3, 0, 2);

	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 2);
	wire = grant(3, 1, 4);
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 4);
	wire = grant(2, 0, 5);                           /* an earlier turn's */
	probe_give(p, PEER, &wire, 0);
	wire = grant(3, 2, 6);                           /* there is no sixth part */
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 4);
	CHECK_IS(link_counter(p->link, LINK_NONSENSE), 1);
	link_give_up(p->link, p->now, PEER);
	probe_close(p, 1);
}

/* What would be a short part of its own leaves with the announcement. */
TEST(link_sends_the_end_with_the_announcement)
{
	static const uint32_t rest[] = { 1, WIRE_TAIL_BYTES, WIRE_TAIL_BYTES + 1 };

	for (uint32_t i = 0; i < 3; i++) {
		struct probe *p = announced();
		struct wire wire = grant(3, 0, 5);
		const struct wire *sent = &p->sent[1];

		wire.sequence = 1;
		CHECK_IS(probe_send(p, PEER, 5 * 4096 + rest[i], 10), LINK_OK);
		link_flush(p->link, p->now);
		CHECK_IS(p->n_sent, 2);
		CHECK_IS(sent->bytes, i < 2 ? rest[i] : 0);
		CHECK_IS(sent->offset, i < 2 ? 4096 : 3648);
		CHECK_IS(sent->length, 5 * 4096 + rest[i]);
		probe_give(p, PEER, &wire, 0);
		CHECK_IS(sent_of(p, WIRE_KIND_BULK), 5);
		CHECK_IS(p->sent[6].bytes, i < 2 ? 4096 : 3648);
		wire.until = 6;                          /* there is a sixth if it is long */
		probe_give(p, PEER, &wire, 0);
		CHECK_IS(sent_of(p, WIRE_KIND_BULK), i < 2 ? 5 : 6);
		CHECK_IS(link_counter(p->link, LINK_NONSENSE), i < 2);
		link_give_up(p->link, p->now, PEER);
		probe_close(p, 1);
	}
}

/* A turn is over: its parts leave no more, and a mark says so. */
TEST(link_marks_the_end_of_a_turn)
{
	struct probe *p = announced();
	struct wire wire = grant(3, 0, 5);

	bulk_says = NIC_FULL;
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 0);
	bulk_says = NIC_OK;
	wire = grant(4, 0, 0);
	wire.over = 1;
	probe_give(p, PEER, &wire, 0);
	probe_pass(p, 5000000);
	CHECK_IS(sent_of(p, WIRE_KIND_BULK), 1);
	CHECK(p->sent[1].over && p->sent[1].bytes == 0);
	CHECK_IS(p->sent[1].turn, 4);
	link_give_up(p->link, p->now, PEER);
	probe_close(p, 1);
}
