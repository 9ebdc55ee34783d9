/*
 * Batches: which short messages are sent together and when, how they end when the peer is lost, and
 * how they are received: early and repeated.
 */
#include <string.h>
#include "link_probe.h"

#define ROOM 2048u                    /* payload bytes of a frame in these tests */

static uint8_t payload[ROOM];

static void open_wide(struct probe *p)
{
	probe_open(p);
	p->nic.mtu = WIRE_DATA + ROOM;
	probe_start(p);
}

/* The peer has sent a frame, so it is known and has granted a window. */
static void learn_peer(struct probe *p, uint32_t window)
{
	struct wire wire = probe_data(0, 8, 0);

	wire.window = window;
	probe_give(p, 1, &wire, 99);
	TOLD(p, "w");
}

/* Send a message on the fast path with this id and payload; returns 0 if there is no room. */
static int send_short(struct probe *p, uint64_t id, uint32_t bytes)
{
	struct link_room room = link_fast_room(p->link, 1);

	if (!room.header)
		return 0;
	memset(room.header, (int)id, LINK_PUT_BYTES);
	memset(room.header + LINK_PUT_BYTES, (int)(id + bytes), bytes);
	link_fast_send(p->link, room, p->now, bytes);
	return 1;
}

/* Check that the next sent frame has messages with ids from `first` on, each of so many bytes.
 * Returns their number; 0: no frame was sent. */
static uint32_t next_batch(struct probe *p, uint32_t first, uint32_t bytes)
{
	const uint8_t *frame = p->frames[p->seen];
	const struct wire *sent = probe_next(p);
	struct wire wire;
	struct wire_walk walk = { .wire = &wire };
	uint32_t n = 0;

	if (!sent)
		return 0;
	wire = *sent;
	wire.message = frame + LINK_FRAME_BYTES;
	wire.payload = frame + WIRE_PUT_DATA;
	wire.bytes = wire_padded(wire.bytes);           /* a single one is not padded */
	while (wire_walk(&walk)) {
		CHECK_IS(walk.header[0], first + n);
		CHECK_IS(walk.header[LINK_PUT_BYTES - 1], first + n);
		CHECK_IS(walk.bytes, bytes);
		for (uint32_t i = 0; i < walk.bytes; i++)
			CHECK_IS(walk.payload[i], (uint8_t)(first + n + bytes));
		n++;
	}
	CHECK_IS(walk.at, wire.bytes);
	CHECK_IS(wire.kind, WIRE_KIND_MSG);
	CHECK_IS(wire.messages, n);
	return n;
}

TEST(batch_is_what_comes_while_frames_are_under_way)
{
	struct probe p;

	open_wide(&p);
	learn_peer(&p, 64);
	CHECK(send_short(&p, 1, 8));
	CHECK_IS(next_batch(&p, 1, 8), 1);             /* nothing is in flight: at once */
	for (uint64_t i = 2; i < 7; i++)
		CHECK(send_short(&p, i, 8));
	CHECK_IS(next_batch(&p, 2, 8), 0);
	CHECK_IS(link_has_delayed(p.link), 1);
	probe_give_ack(&p, 1, 0, 64);           /* nothing is in flight again */
	CHECK_IS(next_batch(&p, 2, 8), 5);
	CHECK_IS(link_has_delayed(p.link), 0);
	CHECK(send_short(&p, 7, 8));
	probe_give_ack(&p, 2, 0, 64);
	CHECK_IS(next_batch(&p, 7, 8), 1);             /* alone */
	probe_give_ack(&p, 3, 0, 64);
	CHECK_IS(link_counter(p.link, LINK_MESSAGES_OUT), 7);
	CHECK_IS(link_counter(p.link, LINK_BATCHES), 1);
	CHECK_IS(link_counter(p.link, LINK_BATCHED), 4);
	TOLD(&p, "");            /* no completions */
	probe_close(&p, 1);
}

TEST(batch_leaves_when_full)
{
	for (uint32_t bytes = 0; bytes <= LINK_FAST_BYTES; bytes += 13) {
		uint32_t each = WIRE_ENTRY + LINK_PUT_BYTES + wire_padded(bytes), fit = 1, id = 1;
		uint32_t most = ROOM < WIRE_BATCH_BYTES ? ROOM : WIRE_BATCH_BYTES;
		struct probe p;

		open_wide(&p);
		learn_peer(&p, 64);
		while (wire_padded(bytes) + (fit - 1) * each + WIRE_ENTRY + LINK_PUT_BYTES +
		       LINK_FAST_BYTES <= most)
			fit++;
		CHECK(send_short(&p, id, bytes));
		CHECK_IS(next_batch(&p, id++, bytes), 1);
		for (uint32_t i = 0; i < 3 * fit; i++)
			CHECK(send_short(&p, id + i, bytes));
		for (uint32_t i = 0; i < 3; i++, id += fit)
			CHECK_IS(next_batch(&p, id, bytes), fit);
		CHECK_IS(next_batch(&p, id, bytes), 0);
		CHECK_IS(link_has_delayed(p.link), 0);
		probe_give_ack(&p, 4, 0, 64);
		probe_close(&p, 1);
	}
}

TEST(batch_leaves_when_time_is_up_or_the_user_waits)
{
	uint64_t held;
	struct probe p;

	open_wide(&p);
	learn_peer(&p, 64);
	send_short(&p, 1, 8);
	CHECK_IS(next_batch(&p, 1, 8), 1);
	held = p.now;
	send_short(&p, 2, 8);
	p.now += LINK_BATCH_DELAY / 2;
	send_short(&p, 3, 8);
	CHECK(link_deadline(p.link) <= held + LINK_BATCH_DELAY);
	link_tick(p.link, p.now);
	CHECK_IS(next_batch(&p, 2, 8), 0);
	p.now = held + LINK_BATCH_DELAY;
	link_tick(p.link, p.now);
	CHECK_IS(next_batch(&p, 2, 8), 2);
	send_short(&p, 4, 8);
	link_flush(p.link, p.now);
	CHECK_IS(next_batch(&p, 4, 8), 1);
	link_flush(p.link, p.now);
	CHECK_IS(next_batch(&p, 5, 8), 0);
	probe_give_ack(&p, 3, 0, 64);
	probe_close(&p, 1);
}

TEST(batch_leaves_before_what_is_sent_behind_it)
{
	struct probe p;

	open_wide(&p);
	learn_peer(&p, 64);
	send_short(&p, 1, 8);
	send_short(&p, 2, 8);
	send_short(&p, 3, 8);
	CHECK_IS(probe_send(&p, 1, 100, 50), LINK_OK);
	send_short(&p, 4, 8);                                /* not in the batch before it */
	CHECK_IS(next_batch(&p, 1, 8), 1);
	CHECK_IS(next_batch(&p, 2, 8), 2);
	CHECK_IS(probe_next(&p)->length, 100);
	CHECK_IS(next_batch(&p, 4, 8), 0);
	CHECK_IS(link_has_delayed(p.link), 1);
	probe_give_ack(&p, 3, 0, 64);
	CHECK_IS(next_batch(&p, 4, 8), 1);
	probe_give_ack(&p, 4, 0, 64);
	TOLD(&p, "s");
	probe_close(&p, 1);
}

TEST(batch_grows_while_the_window_is_closed)
{
	struct probe p;

	open_wide(&p);
	learn_peer(&p, 2);
	probe_give_ack(&p, 0, 0, 8);
	for (uint64_t i = 0; i < 8; i++) {
		send_short(&p, i, 8);
		link_flush(p.link, p.now);
		CHECK_IS(next_batch(&p, (uint32_t)i, 8), 1);
	}
	for (uint64_t i = 8; i < 14; i++) {
		CHECK(send_short(&p, i, 8));
		link_flush(p.link, p.now);
	}
	CHECK_IS(next_batch(&p, 8, 8), 0);
	probe_give_ack(&p, 1, 0, 8);
	CHECK_IS(next_batch(&p, 8, 8), 6);
	probe_give_ack(&p, 9, 0, 8);
	probe_close(&p, 1);
}

TEST(batch_is_sent_again_as_it_was)
{
	struct wire first, again;
	struct probe p;

	open_wide(&p);
	learn_peer(&p, 64);
	p.keeps = 1;                                    /* the card still reads the first copy */
	send_short(&p, 1, 8);
	send_short(&p, 2, 9);
	send_short(&p, 3, 9);
	link_flush(p.link, p.now);
	probe_give_ack(&p, 1, 0, 64);
	CHECK_IS(next_batch(&p, 1, 8), 1);
	first = *probe_next(&p);
	send_short(&p, 4, 9);                                /* not in a batch that was sent */
	probe_pass(&p, 30 * MS);
	memcpy(payload, p.frames[1] + WIRE_HEADER, 600);
	CHECK_IS(next_batch(&p, 4, 9), 1);
	again = *probe_next(&p);
	CHECK(again.messages > 1);
	CHECK_IS(again.sequence, first.sequence);
	CHECK_IS(again.bytes, first.bytes);
	CHECK(!memcmp(payload, p.frames[p.seen - 1] + WIRE_HEADER,
		      WIRE_ENTRY + WIRE_PUT + again.bytes));
	probe_give_ack(&p, 3, 0, 64);
	probe_complete(&p);
	CHECK_IS(link_counter(p.link, LINK_MESSAGES_OUT), 4);
	probe_close(&p, 1);
}

TEST(batch_fails_message_by_message)
{
	static const uint64_t bytes[] = { 8, 0, 64, 5, 63 };
	struct probe p;

	open_wide(&p);
	learn_peer(&p, 64);
	for (uint64_t i = 0; i < 5; i++)
		CHECK(send_short(&p, i + 1, (uint32_t)bytes[i]));
	CHECK_IS(link_has_delayed(p.link), 1);
	link_ended(p.link, p.now, 1, 0);
	CHECK_IS(link_has_delayed(p.link), 0);
	TOLD(&p, "BBBBBl");
	for (uint32_t i = 0; i < 5; i++)
		CHECK_IS(p.notes[p.noted - 6 + i].bytes, bytes[i]);
	CHECK_IS(link_counter(p.link, LINK_FAILED_OUT), 5);
	probe_close(&p, 1);
}

TEST(batch_needs_records_and_room)
{
	struct probe p;

	probe_open(&p);                                 /* no batches at all */
	p.config.batches = 0;
	probe_start(&p);
	learn_peer(&p, 64);
	for (uint64_t i = 0; i < 5; i++) {
		CHECK(send_short(&p, i, 8));
		CHECK_IS(next_batch(&p, (uint32_t)i, 8), 1);
	}
	probe_give_ack(&p, 5, 0, 64);
	probe_close(&p, 1);

	probe_open(&p);                                 /* one */
	p.nic.mtu = WIRE_DATA + ROOM;
	p.config.batches = 1;
	probe_start(&p);
	learn_peer(&p, 64);
	for (uint64_t i = 0; i < 5; i++)
		CHECK(send_short(&p, i, 8));
	link_flush(p.link, p.now);
	for (uint64_t i = 5; i < 8; i++)
		CHECK(send_short(&p, i, 8));
	link_flush(p.link, p.now);
	CHECK_IS(next_batch(&p, 0, 8), 1);
	CHECK_IS(next_batch(&p, 1, 8), 4);
	for (uint32_t i = 5; i < 8; i++)
		CHECK_IS(next_batch(&p, i, 8), 1);
	probe_give_ack(&p, 5, 0, 64);
	probe_close(&p, 1);

	probe_open(&p);                                 /* frames with room for one message only */
	p.nic.mtu = WIRE_DATA + 128;
	probe_start(&p);
	learn_peer(&p, 64);
	for (uint64_t i = 0; i < 5; i++)
		CHECK(send_short(&p, i, 64));
	CHECK_IS(next_batch(&p, 0, 64), 1);
	for (uint32_t i = 1; i < 5; i++)
		CHECK_IS(next_batch(&p, i, 64), i < 4);
	link_flush(p.link, p.now);
	probe_give_ack(&p, 5, 0, 64);
	probe_close(&p, 1);
}

TEST(batches_of_many_flows_leave_together)
{
	struct wire wire = probe_data(0, 8, 0);
	uint32_t singles = 0, batches = 0;
	const struct wire *sent;
	struct probe p;

	probe_open(&p);
	p.config = link_defaults(0, 40, PROBE_LIFE);
	p.nic.mtu = WIRE_DATA + ROOM;
	probe_start(&p);
	wire.window = 64;
	for (uint32_t node = 1; node < 30; node++)
		probe_give(&p, node, &wire, 1);
	for (uint32_t turn = 0; turn < 3; turn++)
		for (uint32_t node = 1; node < 30; node++) {
			struct link_room room = link_fast_room(p.link, node);

			CHECK(room.header != 0);
			memset(room.header, 0, LINK_PUT_BYTES);
			link_fast_send(p.link, room, p.now, 0);
		}
	link_flush(p.link, p.now);
	while ((sent = probe_next(&p))) {
		batches += sent->messages > 1;
		singles += sent->messages == 1;
	}
	CHECK_IS(singles + 2 * batches, 3 * 29);
	CHECK(batches > 0);
	probe_close(&p, 0);
}

/* ---- receiving ---- */

/* A batch of `n` messages with ids from `first` on, each with `bytes` bytes. */
static void give_batch(struct probe *p, uint32_t sequence, uint32_t first, uint32_t n,
			uint32_t bytes)
{
	struct wire wire = probe_data(sequence, bytes, 0);
	uint64_t id;
	uint32_t at = wire_padded(bytes);

	memset(payload, 0, sizeof(payload));
	for (uint32_t i = 1; i < n; i++) {
		id = first + i;
		wire_put(payload + at, bytes, 8);
		memcpy(payload + at + WIRE_ENTRY, &id, sizeof(id));
		at += WIRE_ENTRY + LINK_PUT_BYTES + wire_padded(bytes);
	}
	wire.messages = n;
	wire.puts = 1;
	wire.bytes = at;
	wire.payload = payload;
	probe_give(p, 1, &wire, first);
}

static void check_ids(struct probe *p, uint32_t first, uint32_t n)
{
	CHECK(p->noted >= n);
	for (uint32_t i = 0; i < n; i++)
		CHECK_IS(p->notes[p->noted - n + i].id, first + i);
}

TEST(batch_is_taken_in_order_and_acknowledged_once)
{
	struct probe p;

	open_wide(&p);
	give_batch(&p, 0, 10, 7, 8);
	TOLD(&p, "ppppppp");
	check_ids(&p, 10, 7);
	probe_pass(&p, 1 * MS);
	CHECK_IS(probe_next(&p)->ack, 1);
	CHECK(!probe_next(&p));
	give_batch(&p, 0, 10, 7, 8);                   /* again */
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_DUPLICATES), 1);
	CHECK_IS(link_counter(p.link, LINK_MESSAGES_IN), 7);
	probe_close(&p, 1);
}

TEST(batch_that_comes_early_is_kept)
{
	struct wire wire = probe_data(0, 8, 0);
	struct probe p;

	open_wide(&p);
	give_batch(&p, 2, 20, 5, 3);
	give_batch(&p, 1, 10, 4, 64);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_STASHED), 2);
	probe_give(&p, 1, &wire, 9);
	TOLD(&p, "wppppppppp");
	check_ids(&p, 20, 5);
	probe_close(&p, 1);

	open_wide(&p);                                  /* dropped when its sender is lost */
	give_batch(&p, 2, 20, 5, 3);
	link_ended(p.link, p.now, 1, 0);
	probe_close(&p, 1);

	probe_open(&p);                                 /* if there is a record */
	p.nic.mtu = WIRE_DATA + ROOM;
	p.config.batches = 1;
	probe_start(&p);
	give_batch(&p, 2, 20, 5, 3);
	give_batch(&p, 1, 10, 4, 64);
	CHECK_IS(link_counter(p.link, LINK_STASHED), 1);
	CHECK_IS(link_counter(p.link, LINK_EARLY), 1);
	probe_give(&p, 1, &wire, 9);
	TOLD(&p, "w");
	give_batch(&p, 1, 10, 4, 64);
	TOLD(&p, "ppppppppp");
	probe_close(&p, 1);
}

TEST(batch_never_pretends_to_be_part_of_a_message)
{
	struct wire wire = probe_data(0, 3 * PROBE_FRAGMENT, 0);
	struct probe p;

	open_wide(&p);
	probe_give(&p, 1, &wire, 9);
	TOLD(&p, "bd");
	give_batch(&p, 1, 10, 6, 8);
	TOLD(&p, "");
	CHECK_IS(link_counter(p.link, LINK_NONSENSE), 1);
	link_ended(p.link, p.now, 1, 0);
	probe_close(&p, 1);
}
