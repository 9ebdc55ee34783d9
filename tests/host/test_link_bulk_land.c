/*
 * Grants, step by step: the test plays the peers of one link. It announces messages and lands
 * parts, correctly or with one wrong field. Wrong parts are not accepted; lost or misplaced parts
 * reach their place in the end.
 */
#include "bulk_probe.h"

static struct probe probe;
static struct bulk_card card;

static struct probe *start(void)
{
	bulk_start(&probe, &card);
	return &probe;
}

static uint32_t buffers(void)
{
	return bulk_buffers(&card);
}

/* The last GRANT to any peer. */
static const struct wire *last_grant(const struct probe *p)
{
	for (uint32_t i = p->n_sent; i-- > 0;)
		if (p->sent[i].kind == WIRE_KIND_GRANT)
			return &p->sent[i];
	CHECK(0);
	return &p->sent[0];
}

/* A part that the last grant asks for. */
static struct wire answer(const struct probe *p, uint32_t part, uint32_t bytes)
{
	return bulk_part(last_grant(p)->sequence, part, bytes);
}

/* The payload of every part is its number. */
static void land(struct probe *p, uint32_t node, const struct wire *wire)
{
	bulk_fill(&card, 100 * wire->sequence + wire->part, wire->bytes);
	bulk_tell(p, node, wire);
}

static void land_part(struct probe *p, uint32_t sequence, uint32_t part, int again)
{
	struct wire wire = bulk_part(sequence, part, PART);

	wire.again = !!again;
	land(p, PEER, &wire);
}

/* A frame that is no part of any message. */
static void land_stray(struct probe *p)
{
	land_part(p, 1000, 0, 0);
}

/* Every part of message 0 is in its place. */
static void check_parts(uint32_t parts)
{
	for (uint32_t i = 0; i < parts * PART; i++)
		CHECK_IS(card.memory[i], i / PART);
}

/* Message 0, of so many parts, is announced. */
static struct probe *start_message(uint32_t parts)
{
	struct wire wire = bulk_announcement(0, parts * PART);
	struct probe *p = start();

	probe_give(p, PEER, &wire, 0);
	return p;
}

/* Time passes until it grants again. */
static void wait_for_timer(struct probe *p)
{
	uint64_t grants = link_counter(p->link, LINK_GRANTS_OUT);

	for (uint32_t ms = 0; ms < 1000 && link_counter(p->link, LINK_GRANTS_OUT) == grants; ms++)
		probe_pass(p, 1000000);
}

/* Check that the last grant is of these parts of a message. */
static void granted(const struct probe *p, int again, uint32_t sequence, uint32_t part,
		    uint32_t until)
{
	CHECK_IS(last_grant(p)->again, again);
	CHECK_IS(last_grant(p)->sequence, sequence);
	CHECK_IS(last_grant(p)->part, part);
	CHECK_IS(probe_until(last_grant(p)), until);
}

TEST(link_grants_what_was_announced)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 600);

	CHECK(link_bulk_is_idle(p->link));
	probe_give(p, PEER, &wire, 7);
	CHECK_IS(buffers(), 3);
	CHECK(!link_bulk_is_idle(p->link));
	CHECK_IS(last_grant(p)->part, 0);
	CHECK_IS(probe_until(last_grant(p)), 3);
	for (uint32_t part = 0; part < 3; part++) {
		wire = answer(p, part, part < 2 ? PART : 600 - 2 * PART);
		land(p, PEER, &wire);
	}
	TOLD(p, "be");
	CHECK_IS(link_counter(p->link, LINK_PLACED), 3);
	CHECK_IS(link_counter(p->link, LINK_MISPLACED), 0);
	probe_close(p, 1);
}

/* The sender of a long message may wait until it may use its memory again. */
TEST(link_acknowledges_a_long_message_before_a_rest)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 600);

	probe_give(p, PEER, &wire, 7);
	for (uint32_t part = 0; part < 3; part++) {
		link_before_halt(p->link, p->now);
		CHECK_IS(link_counter(p->link, LINK_ACKS_OUT), 0);
		wire = answer(p, part, part < 2 ? PART : 600 - 2 * PART);
		land(p, PEER, &wire);
	}
	CHECK_IS(link_counter(p->link, LINK_ACKS_OUT), 0);
	link_before_halt(p->link, p->now);
	CHECK_IS(link_counter(p->link, LINK_ACKS_OUT), 1);
	link_before_halt(p->link, p->now);
	CHECK_IS(link_counter(p->link, LINK_ACKS_OUT), 1);
	probe_close(p, 1);
}

/* The announcement carries the last bytes: no buffer is posted for them. */
TEST(link_takes_the_end_with_the_announcement)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 600);

	wire.bytes = 600 - 2 * PART;
	probe_give(p, PEER, &wire, 7);
	CHECK_IS(buffers(), 2);
	CHECK_IS(probe_until(last_grant(p)), 2);
	TOLD(p, "bd");
	CHECK_IS(p->notes[p->n_notes - 1].at, 2 * PART);
	CHECK_IS(p->notes[p->n_notes - 1].bytes, 600 - 2 * PART);
	probe_give(p, PEER, &wire, 7);                   /* once */
	for (uint32_t part = 0; part < 2; part++) {
		wire = answer(p, part, PART);
		land(p, PEER, &wire);
	}
	TOLD(p, "e");
	CHECK_IS(link_counter(p->link, LINK_DUPLICATES), 1);
	CHECK_IS(link_counter(p->link, LINK_MISPLACED), 0);
	probe_close(p, 1);
}

/*
 * While others wait, every fourth message causes an interrupt, so that the next turn begins soon.
 */
TEST(link_is_told_more_often_while_others_wait)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, PART);

	probe_give(p, PEER, &wire, 7);                   /* has the turn */
	for (uint32_t i = 0; i < 8; i++) {
		wire = bulk_announcement(i, PART);
		probe_give(p, PEER + 1, &wire, 20 + i);
	}
	wire = bulk_announcement(0, PART);
	probe_give(p, PEER + 2, &wire, 40);              /* waits for its turn */
	card.told = 0;
	wire = answer(p, 0, PART);
	land(p, PEER, &wire);
	CHECK_IS(buffers(), 8);
	CHECK_IS(card.told, 2);
	for (uint32_t node = PEER; node < PEER + 3; node++)
		link_ended(p->link, p->now, node, 0);
	probe_close(p, 1);
}

/* A part with one wrong field costs only its buffer, which is posted again. If buffers share memory
 * all are withdrawn, and the parts are granted anew. */
TEST(link_lets_nothing_land_that_is_wrong)
{
	for (uint32_t i = 0; i < 18; i++) {
		uint32_t wrong = i / 2, shared = i % 2;
		struct wire wire = bulk_announcement(0, 600), next = bulk_announcement(1, 600);
		struct probe *p = start();

		probe_give(p, PEER, &wire, 7);
		if (shared)
			probe_give(p, PEER, &next, 8);   /* to the same place */
		wire = answer(p, 0, PART);
		wire.part += wrong == 1 ? 5 : 0;
		wire.sequence += 2 * (wrong == 2);
		wire.source += wrong == 3;
		wire.destination += wrong == 4;
		wire.bytes += wrong == 5;
		wire.lane = wrong == 6;
		wire.bytes -= wrong == 7;
		land(p, wrong == 8 ? OTHER : PEER, &wire);
		CHECK_IS(link_counter(p->link, LINK_PLACED), wrong == 0);
		CHECK_IS(link_counter(p->link, LINK_MISPLACED), wrong != 0);
		CHECK_IS(link_counter(p->link, LINK_WITHDRAWN), wrong && shared);
		CHECK_IS(buffers(), wrong ? 3 : 2 + 3 * shared);
		granted(p, 0, 0, 0, 3);
		link_ended(p->link, p->now, PEER, 0);
		CHECK_IS(buffers(), 0);
		probe_close(p, 1);
	}
}

/* Two messages share memory, so the second landing of a part withdraws the buffers. The parts that
 * landed before are requested again, although the frame that caused it was none of them. */
TEST(link_asks_again_for_what_it_withdraws)
{
	struct probe *p = start();

	for (uint32_t i = 0; i < 2; i++) {
		struct wire wire = bulk_announcement(i, 2 * PART);

		probe_give(p, PEER, &wire, i);
	}
	land_part(p, 0, 0, 0);
	land_part(p, 0, 0, 0);
	CHECK_IS(last_grant(p)->again, 1);
	land_part(p, 0, 1, 1);
	for (uint32_t part = 0; part < 2; part++)
		land_part(p, 1, part, 1);
	TOLD(p, "bbee");
	probe_close(p, 1);
}

/* After a lost part each later part lands in the buffer of the one before it. Only the lost one is
 * granted again. When it has arrived, the others are moved. */
TEST(link_moves_what_is_misplaced)
{
	struct probe *p = start_message(5);

	land_part(p, 0, 0, 0);
	land_part(p, 0, 2, 0);
	granted(p, 1, 0, 1, 2);
	land_part(p, 0, 3, 0);
	CHECK_IS(link_counter(p->link, LINK_GRANTS_OUT), 2);
	CHECK_IS(link_counter(p->link, LINK_MOVED), 0);
	land_part(p, 0, 1, 1);
	CHECK_IS(link_counter(p->link, LINK_MOVED), 3);
	CHECK_IS(buffers(), 1);
	land_part(p, 0, 4, 0);
	TOLD(p, "bddde");
	check_parts(5);
	CHECK_IS(link_counter(p->link, LINK_WITHDRAWN), 0);
	CHECK_IS(link_counter(p->link, LINK_MISPLACED), 3);
	probe_close(p, 1);
}

/* The lost part is lost again: the arrival of a part that was granted later shows it. */
TEST(link_grants_again_what_is_lost_again)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 16 * PART), next = bulk_announcement(1, 2 * PART);

	p->apart = 20 * PART;
	probe_give(p, PEER, &wire, 0);
	for (uint32_t part = 1; part < 12; part++)
		land_part(p, 0, part, 0);
	granted(p, 1, 0, 0, 1);
	CHECK_IS(buffers(), 5);
	probe_give(p, PEER, &next, 1);                   /* is granted after the lost part */
	granted(p, 0, 0, 0, 2);
	for (uint32_t part = 12; part < 16; part++)
		land_part(p, 0, part, 0);
	CHECK_IS(link_counter(p->link, LINK_GRANTS_OUT), 3);
	land_part(p, 1, 0, 0);
	granted(p, 1, 0, 0, 1);
	CHECK_IS(link_counter(p->link, LINK_GRANTS_OUT), 4);
	land_part(p, 0, 0, 1);
	land_part(p, 1, 1, 0);
	check_parts(16);
	CHECK_IS(card.memory[p->apart], 100);
	CHECK_IS(card.memory[p->apart + PART], 101);
	CHECK_IS(link_counter(p->link, LINK_MESSAGES_IN), 2);
	probe_close(p, 1);
}

/* The first frame to land shows that a part is lost: all buffers are withdrawn, and what was sent
 * for them is granted with AGAIN, also later, when there is a buffer for it. */
TEST(link_grants_again_what_was_sent_for_withdrawn_buffers)
{
	struct probe *p = start();
	struct wire wire;

	for (uint32_t i = 0; i < 2; i++) {
		wire = bulk_announcement(i, 2 * PART);        /* to the same place */
		probe_give(p, PEER, &wire, i);
	}
	land_part(p, 0, 1, 0);
	CHECK_IS(link_counter(p->link, LINK_WITHDRAWN), 1);
	CHECK_IS(buffers(), 2);
	granted(p, 1, 0, 0, 2);
	land_part(p, 0, 0, 1);
	granted(p, 1, 1, 0, 1);
	land_part(p, 0, 1, 1);
	granted(p, 1, 1, 1, 2);
	land_part(p, 1, 0, 1);
	land_part(p, 1, 1, 1);
	wire = bulk_announcement(2, 2 * PART);
	probe_give(p, PEER, &wire, 2);
	granted(p, 0, 2, 0, 2);                          /* it was never sent */
	land_part(p, 2, 0, 0);
	land_part(p, 2, 1, 0);
	CHECK_IS(link_counter(p->link, LINK_MESSAGES_IN), 3);
	CHECK_IS(card.memory[PART], 201);
	probe_close(p, 1);
}

/* Nothing later shows the loss of the only part that waits: the first timeout grants it again. */
TEST(link_grants_the_last_part_again_at_once)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 2 * PART);

	probe_give(p, PEER, &wire, 0);
	land_part(p, 0, 0, 0);
	wait_for_timer(p);
	granted(p, 1, 0, 1, 2);
	land_part(p, 0, 1, 1);
	check_parts(2);
	probe_close(p, 1);
}

/* A part that arrives twice leaves its buffer to the part that belongs there. */
TEST(link_bears_parts_that_come_twice)
{
	struct probe *p = start_message(4);

	land_part(p, 0, 0, 0);
	land_part(p, 0, 0, 0);                           /* in the place of 1, which is posted again */
	CHECK_IS(buffers(), 3);
	land_part(p, 0, 1, 0);
	land_part(p, 0, 2, 0);
	land_part(p, 0, 2, 1);                           /* in that of 1; it is moved to its own */
	land_part(p, 0, 3, 0);
	CHECK_IS(link_counter(p->link, LINK_MESSAGES_IN), 1);
	check_parts(4);
	CHECK_IS(buffers(), 0);
	probe_close(p, 1);
}

/*
 * A part that is too long for the buffer in which it lands is not taken. Sent again, it would land in
 * that buffer again, so all parts come again in order.
 */
TEST(link_takes_no_part_that_was_cut)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, PART + 100), next = bulk_announcement(1, 2 * PART), end;

	p->apart = 4 * PART;
	probe_give(p, PEER, &wire, 0);
	probe_give(p, PEER, &next, 1);
	land_part(p, 0, 0, 0);
	land_part(p, 1, 0, 0);                           /* in 100 bytes */
	CHECK_IS(link_counter(p->link, LINK_MISPLACED), 1);
	end = answer(p, 1, 100);
	end.sequence = 0;
	end.again = 1;
	land(p, PEER, &end);                             /* where it belongs */
	land_part(p, 1, 1, 0);
	CHECK_IS(link_counter(p->link, LINK_WITHDRAWN), 1);
	granted(p, 1, 0, 1, 2);
	CHECK_IS(last_grant(p)->reach, 1);
	TOLD(p, "bb");
	land(p, PEER, &end);
	TOLD(p, "e");
	land_part(p, 1, 0, 1);
	land_part(p, 1, 1, 1);
	TOLD(p, "e");
	CHECK_IS(card.memory[PART], 1);
	CHECK_IS(card.memory[p->apart], 100);
	CHECK_IS(card.memory[p->apart + PART - 1], 100);
	CHECK_IS(card.memory[p->apart + PART], 101);
	probe_close(p, 1);
}

/* After a loss no buffer is posted in memory that an out-of-order part occupies. */
TEST(link_shares_no_memory_after_a_loss)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 2 * PART), next = bulk_announcement(1, 2 * PART);

	probe_give(p, PEER, &wire, 0);
	probe_give(p, PEER, &next, 1);                   /* to the same place */
	CHECK_IS(buffers(), 4);
	land_stray(p);
	CHECK_IS(buffers(), 2);
	granted(p, 0, 0, 0, 2);
	land_part(p, 0, 1, 0);
	CHECK_IS(buffers(), 1);
	land_part(p, 0, 0, 1);
	CHECK_IS(buffers(), 2);
	granted(p, 0, 1, 0, 2);
	land_part(p, 1, 0, 0);
	land_part(p, 1, 1, 0);
	CHECK_IS(card.memory[0], 100);
	CHECK_IS(card.memory[PART], 101);
	TOLD(p, "bbddee");
	probe_close(p, 1);
}

/* After a loss fewer buffers are posted, as the parts of all of them may have to be moved. */
TEST(link_posts_fewer_buffers_after_a_loss)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 64 * PART);

	probe_close(p, 1);
	card.nic.ring = 32;
	probe_start(p);
	probe_give(p, PEER, &wire, 0);
	CHECK_IS(buffers(), 32);
	land_part(p, 0, 1, 0);
	land_part(p, 0, 0, 1);                           /* as 0 and 1 were exchanged */
	for (uint32_t part = 2; part < 64; part++) {
		land_part(p, 0, part, 0);
		if (part >= 32)
			CHECK(buffers() <= 16);
	}
	CHECK_IS(link_counter(p->link, LINK_WITHDRAWN), 0);
	CHECK_IS(link_counter(p->link, LINK_MESSAGES_IN), 1);
	check_parts(64);
	probe_close(p, 1);
}

/* Nothing more arrives: the grant is sent again, then the first missing part is granted again; in
 * the end another peer has its turn. The silent one gets another turn when its announcement arrives
 * again. */
TEST(link_passes_a_peer_that_sends_nothing)
{
	struct wire wire = bulk_announcement(0, 4 * PART), other = bulk_announcement(0, PART);
	struct probe *p = start_message(4);

	probe_pass(p, 1000);
	land_part(p, 0, 0, 0);
	probe_give(p, OTHER, &other, 1);
	granted(p, 0, 0, 0, 4);
	for (uint32_t tries = 1; tries < 5; tries++) {
		wait_for_timer(p);
		granted(p, tries > 1, 0, 1, tries > 1 ? 2 : 4);
		CHECK_IS(link_counter(p->link, LINK_GRANTS_OUT), tries + 1);
		CHECK_IS(buffers(), 3);
	}
	wait_for_timer(p);
	CHECK_IS(link_counter(p->link, LINK_PASSED), 1);
	CHECK_IS(buffers(), 1);
	CHECK_IS(p->to[p->n_sent - 1], OTHER);
	link_ended(p->link, p->now, OTHER, 0);
	probe_pass(p, 100000000);
	probe_give(p, PEER, &wire, 0);                   /* its announcement again: another turn */
	CHECK_IS(buffers(), 3);
	link_ended(p->link, p->now, PEER, 0);
	CHECK_IS(buffers(), 0);
	probe_close(p, 1);
}

/* The card refuses a buffer that is to be posted again: all are withdrawn and granted anew. */
TEST(link_withdraws_buffers_if_one_cannot_be_posted_again)
{
	struct probe *p = start_message(2);

	card.fails = 1;
	land_stray(p);
	CHECK_IS(link_counter(p->link, LINK_WITHDRAWN), 1);
	CHECK_IS(buffers(), 2);
	granted(p, 1, 0, 0, 2);
	land_part(p, 0, 0, 1);
	land_part(p, 0, 1, 1);
	CHECK_IS(link_counter(p->link, LINK_MESSAGES_IN), 1);
	CHECK_IS(card.memory[0], 0);
	CHECK_IS(card.memory[PART], 1);
	probe_close(p, 1);
}

/* It accepts none at all: the parts come to the ordinary card. */
TEST(link_copies_parts_if_no_buffer_can_be_posted_again)
{
	struct probe *p = start_message(2);
	struct wire wire;

	card.fails = 2;
	land_stray(p);
	CHECK_IS(buffers(), 0);
	CHECK_IS(last_grant(p)->ordinary, 1);
	CHECK_IS(last_grant(p)->again, 1);
	for (uint32_t part = 0; part < 2; part++) {
		wire = answer(p, part, PART);
		wire.again = 1;
		probe_give(p, PEER, &wire, part);
	}
	CHECK_IS(link_counter(p->link, LINK_COPIED), 2);
	CHECK_IS(link_counter(p->link, LINK_MESSAGES_IN), 1);
	probe_close(p, 1);
}

/*
 * A part that arrives by the ordinary card is accepted once, in any order, if its length is right.
 */
TEST(link_takes_parts_by_the_ordinary_card)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 600);

	p->place = 0;                                    /* no card can write there */
	probe_give(p, PEER, &wire, 7);
	CHECK_IS(last_grant(p)->ordinary, 1);
	granted(p, 0, 0, 0, 3);
	wire = answer(p, 1, PART);
	probe_give(p, PEER, &wire, 0);
	granted(p, 1, 0, 0, 1);
	wire.sequence = 0;
	probe_give(p, PEER, &wire, 0);
	wire = answer(p, 0, PART - 1);
	probe_give(p, PEER, &wire, 0);
	TOLD(p, "bd");
	CHECK_IS(link_counter(p->link, LINK_DUPLICATES), 2);
	wire = answer(p, 0, PART);
	probe_give(p, PEER, &wire, 0);
	wire = answer(p, 2, 600 - 2 * PART);
	probe_give(p, PEER, &wire, 0);
	TOLD(p, "dde");
	probe_close(p, 1);
}

TEST(link_gives_others_a_turn)
{
	struct probe *p = start();
	struct wire wire = bulk_announcement(0, 200 * PART);
	uint32_t part;

	probe_give(p, PEER, &wire, 7);
	wire = bulk_announcement(0, PART);
	probe_give(p, OTHER, &wire, 8);
	for (part = 0; part < 200 && buffers(); part++) {
		if (p->to[p->n_sent - 1] == OTHER && p->sent[p->n_sent - 1].kind == WIRE_KIND_GRANT)
			break;
		wire = answer(p, part, PART);
		land(p, PEER, &wire);
		p->n_sent = p->n_sent > 200 ? 200 : p->n_sent;
	}
	CHECK(part > 8 && part < 150);
	link_ended(p->link, p->now, PEER, 0);
	link_ended(p->link, p->now, OTHER, 0);
	probe_close(p, 1);
}

/* No buffer is posted: parts that land are counted. */
TEST(link_counts_what_lands_in_no_buffer)
{
	struct probe *p = start();
	struct wire stray = probe_data(0, 8, 0);
	uint8_t frame[WIRE_DATA + 8] = { 0 };
	uint32_t bytes = probe_frame(p, PEER, 1, &stray, 0, frame);

	link_landed(p->link, p->now, frame, bytes);
	CHECK_IS(link_counter(p->link, LINK_MISPLACED), 1);
	CHECK_IS(link_counter(p->link, LINK_WITHDRAWN), 0);
	probe_close(p, 1);
}
