/*
 * Event queues: recorded events, the upcalls that they cause, arguments and limits:
 * net/portals/eq.c. Rules 18, 19, 20, 23, 33, 34.
 */
#include <signal.h>
#include <sys/mman.h>
#include "world.h"

/* A descriptor of process 0 that records nothing, in a queue with a handler. */
static handle_t silent(struct world *w, struct eq_info *queue)
{
	CHECK_IS(eq_alloc(&w->views[0], 8, BASE + WORDS, 1, queue), 0);
	return bind(w, 0, memory(1000, 100, MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE,
				 queue->handle), UNLINK_NEVER);
}

/* grant.upcall rings the application's doorbell only if an event was recorded. */
TEST(rule23_no_upcall_without_an_event)
{
	struct message m, answer, none;
	struct initiator_args args;
	struct eq_info queue;
	struct grant grant;
	struct world w;
	handle_t md;

	world_open(&w, &test_limits);
	md = silent(&w, &queue);
	args = to(md, 1, 5);
	args.length = 16;
	CHECK_IS(initiator_put(&w.views[0], &args, &m, &grant), 0);
	CHECK_IS(grant.upcall, 0);
	CHECK_IS(initiator_sent(&w.views[0], &m, &grant, NI_OK), DELIVER_OK);
	CHECK_IS(grant.events, 0);
	CHECK_IS(grant.upcall, 0);
	for (int in_one_step = 0; in_one_step < 2; in_one_step++) {
		CHECK_IS(initiator_get(&w.views[0], &args, &m), 0);
		CHECK(message_refuse(&m, NI_DROPPED, &answer));
		if (in_one_step) {
			CHECK_IS(deliver_inline(&w.views[0], &answer, 0, &grant, &none, 0),
				 DELIVER_OK);
		} else {
			CHECK_IS(deliver_begin(&w.views[0], &answer, 1, &grant, &none),
				 DELIVER_OK);
			CHECK_IS(grant.upcall, 0);
			CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &none), DELIVER_OK);
		}
		CHECK_IS(grant.events, 0);
		CHECK_IS(grant.upcall, 0);
	}
	remove_md(&w, 0, md);
	CHECK_IS(eq_free(&w.views[0], queue.handle), 0);
	world_close(&w);
}

/* Both ways of delivering omit the same events. */
TEST(rule19_event_options_of_short_messages)
{
	const uint32_t options[] = { 0, MD_EVENT_START_DISABLE, MD_EVENT_END_DISABLE,
				     MD_EVENT_START_DISABLE | MD_EVENT_END_DISABLE };
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), none;
	const uint64_t payload = 1;
	struct grant grant;
	struct world w;

	for (int i = 0; i < 8; i++) {
		uint32_t option = options[i % 4];
		handle_t eq, me;

		world_open(&w, &test_limits);
		eq = new_eq(&w, 0, 8);
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, memory(1000, 64, MD_OP_PUT | option, eq), UNLINK_NEVER);
		if (i < 4)
			CHECK_IS(deliver_inline(&w.views[0], &m, &payload, &grant, &none, 0),
				 DELIVER_OK);
		else
			CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
		if (!(option & MD_EVENT_START_DISABLE))
			CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
		if (!(option & MD_EVENT_END_DISABLE))
			CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
		CHECK_IS(next(&w, 0, eq), -1);
		remove_me(&w, 0, me);
		remove_eq(&w, 0, eq);
		world_close(&w);
	}
}

TEST(rule18_unlink_comes_last_after_a_short_message)
{
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), none;
	const uint64_t payload = 1;
	struct md_args args;
	struct grant grant;
	struct world w;
	handle_t eq, me;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 8);
	me = new_me(&w, 0, 5);
	args = memory(1000, 64, MD_OP_PUT, eq);
	args.threshold = 1;
	attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(deliver_inline(&w.views[0], &m, &payload, &grant, &none, 0), DELIVER_OK);
	CHECK_IS(grant.events, 3);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
	CHECK_IS(next(&w, 0, eq), EVENT_UNLINK);
	CHECK_IS(next(&w, 0, eq), -1);
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

/* The delivering kernel learns whether the target has a handler for the events. */
TEST(rule23_runner_is_told_of_handlers)
{
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	const uint64_t payload = 1;
	struct eq_info info;
	struct grant grant;
	struct world w;

	for (int handler = 0; handler < 2; handler++) {
		handle_t me;

		world_open(&w, &test_limits);
		CHECK_IS(eq_alloc(&w.views[0], 16, BASE + WORDS, handler, &info), 0);
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, memory(1000, 64, MD_OP_PUT, info.handle), UNLINK_NEVER);
		CHECK_IS(deliver_inline(&w.views[0], &m, &payload, &grant, &answer, 0), DELIVER_OK);
		CHECK_IS(grant.upcall, handler);
		CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
		CHECK_IS(grant.upcall, handler);
		CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
		CHECK_IS(grant.upcall, handler);
		remove_me(&w, 0, me);
		CHECK_IS(eq_free(&w.views[0], info.handle), 0);
		world_close(&w);
	}
}

/* The writer copies from a page that is not mapped yet, so the fault handler sees the slot in the
 * middle of the write. */
static struct {
	void *page;
	const struct event *slot;
	uint64_t sequence;        /* of the slot at the fault */
} glimpse;

static void look_at_slot(int signal)
{
	(void)signal;
	glimpse.sequence = __atomic_load_n(&glimpse.slot->sequence, __ATOMIC_RELAXED);
	mprotect(glimpse.page, BLOCK_PAGE, PROT_READ);
}

TEST(rule20_slot_is_marked_while_it_is_written)
{
	struct sigaction handler = { .sa_handler = look_at_slot }, former;
	struct event_head head = { 0 };
	struct world w;
	uint64_t first;
	handle_t eq;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 2);
	first = w.readers[0][0].next;
	glimpse.slot = (const struct event *)(w.readers[0][0].slots +
					      (first & 1) * EVENT_SLOT_WORDS);
	glimpse.sequence = 0;
	glimpse.page = mmap(0, BLOCK_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(glimpse.page != MAP_FAILED);
	sigaction(SIGSEGV, &handler, &former);
	eq_record(&w.views[0], eq_lookup(&w.views[0], eq), &head, EVENT_ACK, glimpse.page, 0, 0,
		  NI_OK);
	sigaction(SIGSEGV, &former, 0);
	CHECK_IS(glimpse.sequence, first | EVENT_WRITING);
	CHECK_IS(glimpse.slot->sequence, first);
	munmap(glimpse.page, BLOCK_PAGE);
	CHECK_IS(next(&w, 0, eq), EVENT_ACK);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule33_eq_bad_arguments)
{
	struct world w;
	struct process_view *view = &w.views[0];
	struct eq_info info;
	handle_t eq;

	world_open(&w, &small_limits);
	CHECK_IS(eq_alloc(view, 0, BASE + WORDS, 0, &info), PORTALS_NO_SPACE);
	CHECK_IS(eq_alloc(view, 65, BASE + WORDS, 0, &info), PORTALS_NO_SPACE);
	CHECK_IS(eq_alloc(view, 1ULL << 63, BASE + WORDS, 0, &info), PORTALS_NO_SPACE);
	CHECK_IS(eq_alloc(view, ~0ULL, BASE + WORDS, 0, &info), PORTALS_NO_SPACE);
	CHECK_IS(eq_alloc(view, 4, BASE + WORDS + 4, 0, &info), PORTALS_SEGV);
	CHECK_IS(eq_alloc(view, 4, BASE + SEGMENT - 7, 0, &info), PORTALS_SEGV);
	CHECK_IS(eq_alloc(view, 4, BASE - 8, 0, &info), PORTALS_SEGV);
	CHECK_IS(eq_alloc(view, 4, ~7ULL, 0, &info), PORTALS_SEGV);
	CHECK_IS(eq_free(view, 0), PORTALS_EQ_INVALID);
	eq = new_eq(&w, 0, 1);
	CHECK_IS(eq_free(view, eq ^ 1ULL << 30), PORTALS_EQ_INVALID);
	CHECK_IS(eq_unread(view, eq), 0);
	remove_eq(&w, 0, eq);
	CHECK_IS(eq_free(view, eq), PORTALS_EQ_INVALID);
	CHECK_IS(eq_unread(view, eq), PORTALS_EQ_INVALID);
	world_close(&w);
}

TEST(rule34_eq_slots_run_out_and_come_back)
{
	struct world w;
	struct eq_info info;
	handle_t a, b, c, d;

	world_open(&w, &small_limits);        /* 64 slots, 4 queues */
	a = new_eq(&w, 0, 15);                /* 16 */
	b = new_eq(&w, 0, 32);
	c = new_eq(&w, 0, 9);                 /* 16 */
	CHECK_IS(eq_lookup(&w.views[0], a)->count, 16);
	CHECK_IS(eq_alloc(&w.views[0], 1, BASE + WORDS + 64, 0, &info), PORTALS_NO_SPACE);
	remove_eq(&w, 0, b);
	CHECK_IS(eq_alloc(&w.views[0], 33, BASE + WORDS + 64, 0, &info), PORTALS_NO_SPACE);
	b = new_eq(&w, 0, 16);
	d = new_eq(&w, 0, 16);
	for (int i = 0; i < 4; i++)           /* no two overlap */
		for (int j = 0; j < i; j++)
			CHECK(w.views[0].eqs[i].first_slot + w.views[0].eqs[i].count <=
			      w.views[0].eqs[j].first_slot ||
			      w.views[0].eqs[j].first_slot + w.views[0].eqs[j].count <=
			      w.views[0].eqs[i].first_slot);
	CHECK_IS(eq_alloc(&w.views[0], 1, BASE + WORDS + 64, 0, &info), PORTALS_NO_SPACE);
	remove_eq(&w, 0, a);
	remove_eq(&w, 0, b);
	remove_eq(&w, 0, c);
	remove_eq(&w, 0, d);
	world_close(&w);
}

/* Two words: PtlEQGet's and the handler's; the latter limits the space for replies. */
TEST(rule23_eq_with_a_handler)
{
	struct world w;
	struct process_view *view = &w.views[0];
	uint64_t *words;
	struct eq_info info;
	struct event_head head = { 0 };
	struct eq *eq;
	handle_t plain;

	world_open(&w, &test_limits);
	CHECK_IS(eq_alloc(view, 4, BASE + SEGMENT - 8, 1, &info), PORTALS_SEGV);
	CHECK_IS(eq_alloc(view, 4, BASE + SEGMENT - 16, 1, &info), 0);
	words = (uint64_t *)(view->memory + SEGMENT - 16);
	eq = eq_lookup(view, info.handle);
	CHECK_IS(words[0], eq->next);
	CHECK_IS(words[1], eq->next);
	for (int i = 0; i < 3; i++)
		eq_record(view, eq, &head, EVENT_ACK, 0, 0, 0, 0);
	CHECK_IS(eq_unhandled(view, info.handle), 3);
	CHECK_IS(eq_unread(view, info.handle), 3);
	CHECK(!eq_has_room(view, eq, 2));
	words[1] += 3;
	CHECK_IS(eq_unhandled(view, info.handle), 0);
	CHECK_IS(eq_unread(view, info.handle), 3);
	CHECK(eq_has_room(view, eq, 4));
	words[1] = ~0ULL / 2;                 /* invalid: counts as full */
	CHECK_IS(eq_unhandled(view, info.handle), 4);
	CHECK(!eq_has_room(view, eq, 1));
	CHECK_IS(eq_free(view, info.handle), 0);
	CHECK_IS(eq_unhandled(view, info.handle), 0);

	plain = new_eq(&w, 0, 4);
	eq_record(view, eq_lookup(view, plain), &head, EVENT_ACK, 0, 0, 0, 0);
	CHECK_IS(eq_unhandled(view, plain), 0);
	CHECK_IS(next(&w, 0, plain), EVENT_ACK);
	remove_eq(&w, 0, plain);
	world_close(&w);
}

TEST(rule20_overrun_keeps_the_latest)
{
	struct world w;
	handle_t eq, old;
	struct event_head head = { 0 };

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	CHECK_IS(next(&w, 0, eq), -1);
	for (uint64_t i = 0; i < 11; i++) {
		head.match_bits = i;
		eq_record(&w.views[0], eq_lookup(&w.views[0], eq), &head, EVENT_ACK, 0, 0, 0, 0);
	}
	CHECK_IS(eq_unread(&w.views[0], eq), 4);
	CHECK_IS(next(&w, 0, eq), -2);        /* reported once, with the oldest remaining event */
	CHECK_IS(w.event.match_bits, 7);
	for (uint64_t i = 8; i < 11; i++) {
		CHECK_IS(next(&w, 0, eq), EVENT_ACK);
		CHECK_IS(w.event.match_bits, i);
	}
	CHECK_IS(next(&w, 0, eq), -1);
	CHECK_IS(eq_unread(&w.views[0], eq), 0);
	old = eq;
	remove_eq(&w, 0, eq);
	eq = new_eq(&w, 0, 4);                /* the same slots: no old event is visible */
	CHECK(eq != old);
	CHECK_IS(next(&w, 0, eq), -1);
	eq_record(&w.views[0], eq_lookup(&w.views[0], eq), &head, EVENT_ACK, 0, 0, 0, 0);
	CHECK_IS(next(&w, 0, eq), EVENT_ACK);
	CHECK_IS(next(&w, 0, eq), -1);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule20_senseless_read_index_means_full)
{
	struct world w;
	handle_t eq;
	uint64_t *word;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 4);
	word = (uint64_t *)(w.views[0].memory + WORDS);
	CHECK(eq_has_room(&w.views[0], eq_lookup(&w.views[0], eq), 4));
	*word += 1000;
	CHECK(!eq_has_room(&w.views[0], eq_lookup(&w.views[0], eq), 1));
	*word = 0x8000000000000000ULL;
	CHECK(!eq_has_room(&w.views[0], eq_lookup(&w.views[0], eq), 1));
	CHECK_IS(eq_unread(&w.views[0], eq), 4);
	remove_eq(&w, 0, eq);
	world_close(&w);
}
