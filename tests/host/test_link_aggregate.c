/*
 * Aggregates: which frames are sent together and when, that each is acknowledged by itself, and how
 * invalid aggregates are received. The probe records the frames of an aggregate one by one.
 */
#include <stdlib.h>
#include <string.h>
#include "link_probe.h"

#define PART  4096u
#define PEER  1u

static struct probe probe;

static int bulk_send(struct nic *nic, const struct nic_piece *pieces, uint32_t n, uint64_t cookie)
{
	(void)nic;
	probe_note_frame(&probe, pieces, n);
	link_transmitted(probe.link, probe.now, cookie);
	return NIC_OK;
}

static const struct nic_ops ops = { .name = "bulk", .send = bulk_send };

/* A link that announces messages longer than a part; its peer has granted it 24 frames. */
static struct probe *start(int keyed)
{
	static struct nic bulk = { .ops = &ops, .mtu = WIRE_HEADER + PART, .ring = 16 };
	struct wire wire = probe_data(0, 8, 0);

	probe_open(&probe);
	probe.config.announce = PART;
	probe.config.keyed = (uint8_t)keyed;
	probe.nic.mtu = 8192;
	probe.bulk = &bulk;
	probe_start(&probe);
	wire.window = 24;
	probe_give(&probe, PEER, &wire, 99);
	TOLD(&probe, "w");
	return &probe;
}

static uint64_t counted(const struct probe *p, enum link_counter counter)
{
	return link_counter(p->link, counter);
}

static void announce(struct probe *p, uint32_t n, uint64_t length)
{
	while (n--)
		CHECK_IS(probe_send(p, PEER, length, n), LINK_OK);
}

static void close_all(struct probe *p)
{
	link_ended(p->link, p->now, PEER, 0);
	probe_close(p, 1);
}

/* Frames that found the transmit ring full are sent together when there is room. */
TEST(aggregate_of_announcements)
{
	for (int keyed = 0; keyed < 2; keyed++) {
		struct probe *p = start(keyed);

		p->card = NIC_FULL;
		announce(p, 14, 5 * PART);
		CHECK_IS(p->n_sent, 0);
		p->card = NIC_OK;
		link_tick(p->link, p->now += 100000);
		CHECK_IS(p->n_sent, 14);
		for (uint32_t i = 0; i < 14; i++)
			CHECK(p->sent[i].announce && p->sent[i].sequence == i);
		CHECK_IS(counted(p, LINK_AGGREGATES), 2);    /* of 12 and of 2 */
		CHECK_IS(counted(p, LINK_AGGREGATED), 12);
		close_all(p);
	}
}

/* The payload at the end of each announcement is in the aggregate too, whatever its length. */
TEST(aggregate_takes_the_ends_along)
{
	static const uint32_t ends[] = { 8, 1000, 3, 16, 1024 };
	struct probe *p = start(0);

	p->card = NIC_FULL;
	for (uint32_t i = 0; i < 5; i++)
		announce(p, 1, 5 * PART + ends[i]);
	p->card = NIC_OK;
	link_tick(p->link, p->now += 100000);
	CHECK_IS(p->n_sent, 5);
	for (uint32_t i = 0; i < 5; i++) {
		CHECK_IS(p->sent[i].bytes, ends[i]);
		CHECK_IS(p->sent[i].length, 5 * PART + ends[i]);
	}
	CHECK_IS(counted(p, LINK_FRAMES_OUT), 2);        /* no frame fits after those 3 bytes */
	close_all(p);
}

static void answer(struct probe *p, uint64_t id)
{
	CHECK_IS(probe_send_by(p, PEER, LINK_ANSWERS, 0, id), LINK_OK);
}

/* While the card is full nothing is sent; once there is room, everything is. */
TEST(aggregate_waits_for_a_card_that_is_full)
{
	struct probe *p = start(0);

	p->card = NIC_FULL;
	for (uint32_t i = 0; i < 3; i++)
		answer(p, i);
	CHECK(!probe_next(p));
	p->card = NIC_OK;
	link_tick(p->link, p->now += 100000);
	CHECK_IS(counted(p, LINK_AGGREGATED), 2);
	for (uint32_t i = 0; i < 3; i++) {
		const struct wire *sent = probe_next(p);

		CHECK(sent && probe_is_data(sent) && sent->lane == LINK_ANSWERS);
		CHECK(sent && sent->sequence == i && sent->other_ack == 1);
	}
	CHECK(!probe_next(p));
	close_all(p);
}

/* A flow that found the card full keeps its turn, and its frame carries the acknowledgement. */
TEST(aggregate_keeps_its_turn)
{
	struct wire again = probe_data(0, 8, 0);
	struct probe *p = start(0);
	uint32_t before;

	probe_pass(p, 1000000);                          /* no acknowledgement is pending */
	before = p->n_sent;
	p->card = NIC_FULL;
	answer(p, 0);
	CHECK_IS(probe_send(p, PEER + 1, 8, 1), LINK_OK);
	probe_give(p, PEER, &again, 99);                 /* must be acknowledged at once */
	link_tick(p->link, p->now += 100000);
	link_tick(p->link, p->now += 100000);
	p->card = NIC_OK;
	link_tick(p->link, p->now += 100000);
	CHECK_IS(p->n_sent, before + 2);
	CHECK(p->to[before] == PEER && probe_is_data(&p->sent[before]));
	CHECK_IS(p->sent[before].other_ack, 1);
	CHECK(p->to[before + 1] == PEER + 1 && probe_is_data(&p->sent[before + 1]));
	link_ended(p->link, p->now, PEER + 1, 0);
	close_all(p);
}

/*
 * Records are in use until the card has read the aggregate; its frames are acknowledged one by one.
 */
TEST(aggregate_is_of_frames_that_count_by_themselves)
{
	struct probe *p = start(0);
	struct wire wire;

	p->card = NIC_FULL;
	for (uint32_t i = 0; i < 3; i++)
		answer(p, i);
	p->card = NIC_OK;
	p->keeps = 1;
	link_tick(p->link, p->now += 2000000);
	wire = probe_ack(2, 0, 8);
	wire.lane = LINK_ANSWERS;
	probe_give(p, PEER, &wire, 0);
	TOLD(p, "ss");
	CHECK_IS(link_figures(p->link).sends, 3);
	probe_complete(p);
	TOLD(p, "");
	CHECK_IS(link_figures(p->link).sends, 1);
	probe_pass(p, 100000000);                        /* the third is sent again, alone */
	CHECK_IS(p->sent[p->n_sent - 1].sequence, 2);
	CHECK_IS(counted(p, LINK_AGGREGATES), 1);
	wire.ack = 3;
	probe_give(p, PEER, &wire, 0);
	probe_complete(p);
	TOLD(p, "s");
	probe_close(p, 1);
}

/* ---- receiving ---- */

static uint8_t aggregate[4096];

/* Make an aggregate of short messages with these sequence numbers; returns its length. */
static uint32_t make(struct probe *p, uint32_t first, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct wire wire = probe_data(first + i, 8, 0);

		at += probe_frame(p, PEER, 0, &wire, first + i, aggregate + at);
	}
	return at;
}

static void receive(struct probe *p, uint32_t bytes)
{
	uint8_t *exact = malloc(bytes);   /* so that ASan detects reads past the end */

	memcpy(exact, aggregate, bytes);
	link_receive(p->link, p->now, exact, bytes);
	free(exact);
}

TEST(aggregate_is_received_frame_by_frame)
{
	for (int keyed = 0; keyed < 2; keyed++) {
		struct probe *p = start(keyed);
		uint32_t bytes = make(p, 1, 3);

		aggregate[200 + LINK_FRAME_BYTES]++;          /* the second's message header */
		receive(p, bytes);
		TOLD(p, "w");
		CHECK_IS(counted(p, keyed ? LINK_FORGED : LINK_DAMAGED), 1);
		CHECK_IS(counted(p, LINK_STASHED), 0);   /* nor are the frames after it accepted */
		CHECK_IS(counted(p, LINK_FRAMES_IN), 2);
		receive(p, make(p, 1, 3));
		TOLD(p, "ww");
		CHECK_IS(counted(p, LINK_DUPLICATES), 1);
		probe_close(p, 1);
	}
}

/* The switch has checked the source of the first frame only: the others must have the same. */
TEST(aggregate_has_frames_of_one_node)
{
	for (int keyed = 0; keyed < 2; keyed++) {
		struct probe *p = start(keyed);
		uint32_t bytes = make(p, 1, 2);
		struct wire other = probe_data(0, 8, 0);

		probe_frame(p, PEER + 1, 0, &other, 7, aggregate + 200);
		receive(p, bytes);
		TOLD(p, "w");
		CHECK_IS(counted(p, keyed ? LINK_FORGED : LINK_NONSENSE), 1);
		CHECK_IS(link_figures(p->link).peer_bytes, 242);
		probe_close(p, 1);
	}
}

/* A frame that is cut, longer than the rest, or misaligned is dropped with all frames after it. */
TEST(aggregate_that_cannot_be_is_dropped)
{
	struct probe *p = start(0);
	uint32_t bytes = make(p, 1, 2), wrong = 0;

	for (uint32_t cut = 1; cut < 200; cut++) {
		receive(p, cut);
		TOLD(p, "");
	}
	aggregate[WIRE_BEHIND + 1] = 0xff;                   /* longer than the rest */
	receive(p, bytes);
	make(p, 1, 2);
	aggregate[WIRE_BEHIND] = 7;                          /* the next one is misaligned */
	receive(p, bytes);
	make(p, 1, 2);
	aggregate[WIRE_TYPE] = 8;   /* another protocol's, followed by ours */
	receive(p, bytes);
	TOLD(p, "");
	for (enum link_counter c = LINK_SHORT; c <= LINK_NONSENSE; c++)
		wrong += (uint32_t)counted(p, c);
	CHECK_IS(wrong, 199 + 3);
	for (uint32_t cut = 201; cut < bytes; cut++) {
		make(p, cut - 200, 2);
		receive(p, cut);                         /* the first is whole */
		TOLD(p, "w");
	}
	for (enum link_counter c = LINK_SHORT; c <= LINK_NONSENSE; c++)
		wrong -= (uint32_t)counted(p, c);
	CHECK_IS(-wrong, bytes - 201);
	receive(p, make(p, bytes - 200, 2));
	TOLD(p, "ww");
	probe_close(p, 1);
}
