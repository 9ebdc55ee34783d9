/*
 * The order in which the payload of several messages is written: an earlier message never overwrites a
 * later one, whatever is lost. The probe has no bulk card, so parts of announced messages are
 * copied.
 */
#include "link_probe.h"

#define PART  PROBE_FRAGMENT
#define APART 2048u

static uint8_t memory[4 * APART];
static struct probe probe;

/* Message `id` is written to memory + id * apart. */
static struct probe *start(uint64_t apart)
{
	probe_open(&probe);
	probe.place = memory;
	probe.apart = apart;
	probe_start(&probe);
	return &probe;
}

static void give(struct probe *p, uint32_t sequence, uint64_t length, uint64_t at, uint64_t id)
{
	struct wire wire = probe_data(sequence, length, at);

	probe_give(p, 1, &wire, id);
}

/* A message of two parts, and so many bytes behind them that come with the announcement. */
static void announce(struct probe *p, uint32_t sequence, uint32_t tail, uint64_t id)
{
	struct wire wire = probe_data(sequence, 2 * PART + tail, 0);

	wire.announce = 1;
	wire.offset = PART;
	wire.bytes = tail;
	probe_give(p, 1, &wire, id);
}

static void give_part(struct probe *p, uint32_t sequence, uint32_t part)
{
	struct wire wire = { .kind = WIRE_KIND_BULK, .source = PEER_LIFE, .destination = PROBE_LIFE,
			     .part = part, .bytes = PART, .sequence = sequence };

	probe_give(p, 1, &wire, 0);
}

/* Whether the last frame that was sent asks for this one, which was refused. */
static int asks_for(const struct probe *p, uint32_t sequence)
{
	const struct wire *last = &p->sent[p->n_sent - 1];

	return p->n_sent && last->ack == sequence && !(last->selective & 1);
}

TEST(link_writes_what_shares_no_memory_at_once)
{
	struct probe *p = start(APART);

	give(p, 0, 400, 0, 0);
	give(p, 2, 400, 0, 1);
	give(p, 3, 400, 256, 1);
	TOLD(p, "bdbdd");
	give(p, 1, 400, 256, 0);
	TOLD(p, "dee");
	probe_close(p, 1);
}

TEST(link_writes_in_order_what_shares_memory)
{
	struct probe *p = start(0);

	give(p, 0, 400, 0, 0);
	give(p, 2, 400, 0, 1);                    /* to the same place, while frame 1 is missing */
	give(p, 3, 400, 256, 1);
	TOLD(p, "bdb");
	CHECK_IS(link_counter(p->link, LINK_EARLY), 2);
	give(p, 1, 400, 256, 0);
	TOLD(p, "de");
	CHECK(asks_for(p, 2));
	give(p, 3, 400, 256, 1);                  /* in any order */
	give(p, 2, 400, 0, 1);
	TOLD(p, "dde");
	CHECK_IS(link_counter(p->link, LINK_NONSENSE), 0);
	probe_close(p, 1);
}

/* Parts of a message overlap the next one: the second begins where the first has its end. */
TEST(link_writes_in_order_what_overlaps)
{
	struct probe *p = start(300);

	give(p, 0, 400, 0, 0);
	give(p, 2, 400, 0, 1);                    /* from 300 on; the first ends at 400 */
	TOLD(p, "bdb");
	give(p, 3, 400, 256, 1);                  /* but this begins at 556 */
	TOLD(p, "d");
	give(p, 1, 400, 256, 0);
	TOLD(p, "de");
	give(p, 2, 400, 0, 1);
	TOLD(p, "de");
	probe_close(p, 1);
}

TEST(link_lets_messages_in_frames_wait_for_announced_ones)
{
	struct probe *p = start(0);

	announce(p, 0, 0, 0);
	give(p, 1, 200, 0, 1);                    /* one frame, and several */
	give(p, 2, 400, 0, 2);
	TOLD(p, "bbb");
	give_part(p, 0, 0);
	give_part(p, 0, 1);
	TOLD(p, "dde");
	CHECK(asks_for(p, 1));
	give(p, 1, 200, 0, 1);
	give(p, 2, 400, 0, 2);
	give(p, 3, 400, 256, 2);
	TOLD(p, "dedde");
	probe_close(p, 1);
	p = start(APART);
	announce(p, 0, 0, 0);
	give(p, 1, 200, 0, 1);                    /* elsewhere */
	TOLD(p, "bbd");
	give_part(p, 0, 0);
	give_part(p, 0, 1);
	TOLD(p, "ddee");
	probe_close(p, 1);
}

TEST(link_lets_announced_messages_wait_for_a_missing_frame)
{
	struct probe *p = start(0);

	give(p, 0, 400, 0, 0);
	announce(p, 2, 0, 1);
	give_part(p, 2, 0);                       /* not granted yet */
	TOLD(p, "bdb");
	give(p, 1, 400, 256, 0);
	TOLD(p, "de");
	announce(p, 2, 0, 1);
	give_part(p, 2, 0);
	give_part(p, 2, 1);
	TOLD(p, "dde");
	probe_close(p, 1);
	p = start(APART);
	give(p, 0, 400, 0, 0);
	announce(p, 2, 0, 1);                     /* elsewhere */
	give_part(p, 2, 0);
	TOLD(p, "bdbd");
	probe_close(p, 0);
}

/* Messages of one length to one place: the end of the second is where only the end of the first was
 * written. */
TEST(link_announces_messages_to_one_place_behind_each_other)
{
	struct probe *p = start(0);

	announce(p, 0, 100, 0);
	announce(p, 1, 100, 1);
	TOLD(p, "bdbd");
	for (uint32_t sequence = 0; sequence < 2; sequence++) {
		give_part(p, sequence, 0);
		give_part(p, sequence, 1);
	}
	TOLD(p, "ddedde");
	probe_close(p, 1);
}

/* The end of the second message is where a part of the first one will be written. */
TEST(link_does_not_overwrite_the_end_of_an_announced_message)
{
	struct wire wrong = probe_data(1, 2 * PART + 100, 0);
	struct probe *p = start(PART);

	announce(p, 0, 0, 1);
	announce(p, 1, 100, 0);                   /* begins one part before the first */
	announce(p, 2, 100, 0);                   /* its end must wait for the one before it, too */
	TOLD(p, "bbb");
	CHECK_IS(link_counter(p->link, LINK_EARLY), 2);
	wrong.announce = 1;
	wrong.offset = PART + 1;                  /* another message in its place */
	wrong.bytes = 100;
	probe_give(p, 1, &wrong, 0);
	CHECK_IS(link_counter(p->link, LINK_NONSENSE), 1);
	give_part(p, 0, 0);
	give_part(p, 0, 1);
	TOLD(p, "dde");
	CHECK(asks_for(p, 1));
	announce(p, 1, 100, 0);
	announce(p, 1, 100, 0);                   /* once */
	announce(p, 2, 100, 0);
	TOLD(p, "dd");
	for (uint32_t sequence = 1; sequence < 3; sequence++) {
		give_part(p, sequence, 0);
		give_part(p, sequence, 1);
	}
	TOLD(p, "ddedde");
	probe_close(p, 1);
}
