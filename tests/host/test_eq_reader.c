/*
 * The application's reader (lib/portals/eq_reader.h) against the engine's writer
 * (net/portals/eq.c), from two threads: rules 20 and 21. The reader never sees half an event,
 * misses none without an error, and gets them in order.
 */
#include <pthread.h>
#include <string.h>
#include "world.h"

#define EVENTS  200000u

struct writer {
	struct process_view *view;
	struct eq *eq;
	uint32_t pause_every;         /* events after which the reader may catch up */
	_Atomic uint64_t *taken;      /* events that the reader has taken */
	uint64_t start;
};

/* Event number i has i in every field. */
static void *write_events(void *arg)
{
	struct writer *writer = arg;

	for (uint64_t i = 0; i < EVENTS; i++) {
		uint32_t small = (uint32_t)i;
		struct event_head head = {
			.nid = small, .pid = small, .uid = small, .jid = small, .pt_index = small,
			.match_bits = i, .rlength = i, .mlength = i, .offset = i, .md_handle = i,
		};
		struct md_args md = { .start = i, .length = i, .threshold = (int32_t)small,
				      .max_size = i, .options = small, .user_ptr = i,
				      .eq_handle = i };

		eq_record(writer->view, writer->eq, &head, EVENT_PUT_END, &md, i, small, small);
		while (writer->pause_every && i % writer->pause_every == 0 &&
		       *writer->taken < writer->start + i)
			continue;
	}
	return 0;
}

static int whole(const ptl_event_t *event, uint64_t i)
{
	uint32_t small = (uint32_t)i;

	return event->type == PTL_EVENT_PUT_END && event->initiator.nid == small &&
	       event->initiator.pid == small && event->uid == small && event->jid == small &&
	       event->pt_index == small && event->match_bits == i && event->rlength == i &&
	       event->mlength == i && event->offset == i && event->md_handle == i &&
	       (uintptr_t)event->md.start == i && event->md.length == i &&
	       event->md.threshold == (int)small && event->md.max_size == i &&
	       event->md.options == small && (uintptr_t)event->md.user_ptr == i &&
	       event->md.eq_handle == i && event->hdr_data == i && event->link == small &&
	       event->ni_fail_type == small;
}

static void stress(uint32_t slots, uint32_t pause_every, int may_lose)
{
	_Atomic uint64_t taken = 0;
	uint64_t expected, first, lost = 0, dropped = 0, torn = 0, disorder = 0;
	struct eq_reader *reader;
	struct writer writer;
	struct world w;
	pthread_t thread;
	handle_t eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, slots);
	reader = &w.readers[0][0];
	first = expected = reader->next;
	writer = (struct writer){ &w.views[0], eq_lookup(&w.views[0], eq), pause_every, &taken,
				  first };
	CHECK_IS(pthread_create(&thread, 0, write_events, &writer), 0);
	while (expected < first + EVENTS) {
		int result = eq_read(reader, &w.event);

		if (result == PTL_EQ_EMPTY)
			continue;
		torn += !whole(&w.event, w.event.sequence - first);
		disorder += w.event.sequence < expected;
		if (result == PTL_EQ_DROPPED)
			dropped++;
		else
			disorder += w.event.sequence != expected;
		if (result == PTL_EQ_DROPPED && w.event.sequence <= expected)
			disorder++;           /* a loss was reported where there was none */
		lost += w.event.sequence - expected;
		expected = w.event.sequence + 1;
		taken = expected;
	}
	pthread_join(thread, 0);
	CHECK_IS(torn, 0);
	CHECK_IS(disorder, 0);
	CHECK(may_lose || (lost == 0 && dropped == 0));
	CHECK(lost >= dropped);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule20_concurrent_reader_is_overtaken)
{
	stress(4, 0, 1);
	stress(1, 0, 1);
	stress(64, 0, 1);
}

TEST(rule20_concurrent_reader_keeps_up)
{
	stress(256, 100, 0);
}

TEST(rule20_slot_that_is_being_written)
{
	struct world w;
	struct event_head head = { 0 };
	struct event *slots;
	struct eq *queue;
	uint64_t first;
	handle_t eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	queue = eq_lookup(&w.views[0], eq);
	first = w.readers[0][0].next;
	slots = (struct event *)(w.views[0].slots + queue->first_slot * EVENT_SLOT_BYTES);
#define SLOT(n) (*(struct event *)((uint8_t *)slots + ((n) & 3) * EVENT_SLOT_BYTES))
	/* the next event is being written: empty, not lost */
	SLOT(first).sequence = first | EVENT_WRITING;
	CHECK_IS(next(&w, 0, eq), -1);
	eq_record(&w.views[0], queue, &head, EVENT_ACK, 0, 0, 0, 0);
	CHECK_IS(next(&w, 0, eq), EVENT_ACK);
	/* the oldest is being overwritten: it is lost, the next one is not */
	for (int i = 0; i < 4; i++)
		eq_record(&w.views[0], queue, &head, EVENT_ACK, 0, 0, 0, 0);
	SLOT(first + 5).sequence = (first + 5) | EVENT_WRITING;
	CHECK_IS(next(&w, 0, eq), -2);
	CHECK_IS(w.event.sequence, first + 2);
	CHECK_IS(next(&w, 0, eq), EVENT_ACK);
	CHECK_IS(next(&w, 0, eq), EVENT_ACK);
	CHECK_IS(next(&w, 0, eq), -1);
	/* a damaged number loses events, but the reader recovers */
	for (uint64_t n = 0; n < 4; n++)
		SLOT(n).sequence = ~EVENT_WRITING - n * 1000;
	CHECK(next(&w, 0, eq) < 0);
	CHECK(next(&w, 0, eq) < 0);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule21_empty_queue_at_once)
{
	struct world w;
	handle_t eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	for (int i = 0; i < 3; i++)
		CHECK_IS(next(&w, 0, eq), -1);
	CHECK_IS(eq_unread(&w.views[0], eq), 0);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

/* The writer overwrites a slot while the reader copies it. */
TEST(rule20_copy_of_a_slot_that_changes)
{
	struct event_head head = { 0 };
	const event_word *slot;
	ptl_event_t event;
	struct world w;
	uint64_t first;
	handle_t eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 2);
	first = w.readers[0][0].next;
	slot = w.readers[0][0].slots + (first & 1) * EVENT_SLOT_WORDS;
	eq_record(&w.views[0], eq_lookup(&w.views[0], eq), &head, EVENT_ACK, 0, 0, 0, NI_OK);
	CHECK_IS(eq_copy(slot, first, &event), 1);
	CHECK_IS(eq_copy(slot, first - 2, &event), 0);       /* overwritten since */
	*(event_word *)&slot[EVENT_SEQUENCE_WORD] |= EVENT_WRITING_FLAG;
	CHECK_IS(eq_copy(slot, first, &event), 0);           /* being overwritten */
	remove_eq(&w, 0, eq);
	world_close(&w);
}
