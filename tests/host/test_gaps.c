/*
 * What the mutation check (tests/mutants) found that no other test noticed.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include "world.h"

TEST(rule06_max_size_counts_with_its_option_only)
{
	struct md_args args;
	struct world w;
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	args = memory(1000, 64, MD_OP_PUT, EQ_NONE);
	args.max_size = 60;
	attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_OK);
	CHECK_IS(put_arrives(&w, 5, 56), DELIVER_OK);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* Two and a half elements fit: two are added to, the half is left alone. */
TEST(atomic_is_cut_to_whole_elements)
{
	struct message m = request(MESSAGE_ATOMIC, 1, 0, 5, 32), answer;
	const uint64_t ones[4] = { 1, 1, 1, 1 };
	uint64_t before[3], after[3];
	struct grant grant;
	struct world w;
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(1000, 20, MD_OP_PUT | MD_TRUNCATE, EQ_NONE), UNLINK_NEVER);
	memcpy(before, w.views[0].memory + 1000, sizeof(before));
	m.atomic_operation = ATOMIC_SUM;
	m.datatype = ATOMIC_UINT64;
	m.ack_request = ACK_YES;
	CHECK_IS(deliver_inline(&w.views[0], &m, ones, &grant, &answer, 0), DELIVER_OK);
	CHECK_IS(grant.bytes, 16);
	CHECK_IS(answer.mlength, 16);
	memcpy(after, w.views[0].memory + 1000, sizeof(after));
	CHECK_IS(after[0], before[0] + 1);
	CHECK_IS(after[1], before[1] + 1);
	CHECK_IS(after[2], before[2]);
	remove_me(&w, 0, me);
	world_close(&w);
}

TEST(rule17_answer_that_mixes_two_operations)
{
	struct message m[2], answer, none;
	struct initiator_args args;
	struct grant grant;
	handle_t md[2];
	struct world w;

	world_open(&w, &test_limits);
	for (int i = 0; i < 2; i++) {
		md[i] = bind(&w, 0, memory(1000 + 100 * (uint64_t)i, 64, 0, EQ_NONE), UNLINK_NEVER);
		args = to(md[i], 1, 5);
		CHECK_IS(initiator_get(&w.views[0], &args, &m[i]), 0);
	}
	CHECK(message_refuse(&m[0], NI_DROPPED, &answer));
	answer.md_handle = md[1];
	CHECK_IS(deliver_begin(&w.views[0], &answer, 1, &grant, &none), DELIVER_DROPPED);
	CHECK_IS(deliver_inline(&w.views[0], &answer, 0, &grant, &none, 0), DELIVER_DROPPED);
	for (int i = 0; i < 2; i++) {
		CHECK(message_refuse(&m[i], NI_DROPPED, &answer));
		CHECK_IS(deliver_inline(&w.views[0], &answer, 0, &grant, &none, 0), DELIVER_OK);
		remove_md(&w, 0, md[i]);
	}
	world_close(&w);
}

/* Both ways of delivering leave the same events out. */
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

/* The writer comes back to a slot while the reader copies it. */
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
	CHECK_IS(eq_copy(slot, first - 2, &event), 0);       /* replaced since */
	*(event_word *)&slot[EVENT_SEQUENCE_WORD] |= EVENT_WRITING_FLAG;
	CHECK_IS(eq_copy(slot, first, &event), 0);           /* being replaced */
	remove_eq(&w, 0, eq);
	world_close(&w);
}

/* A payload that is longer than what was granted, in parts as a link brings it. */
TEST(rule09_what_was_not_granted_is_not_written)
{
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 64), answer;
	uint8_t payload[64];
	struct grant grant;
	struct world w;
	handle_t me;

	world_open(&w, &test_limits);
	memset(payload, 0xee, sizeof(payload));
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(1000, 24, MD_OP_PUT | MD_TRUNCATE, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(grant.bytes, 24);
	for (uint64_t at = 0; at < 64; at += 16)
		deliver_data(&w.views[0], &grant, at, payload + at, 16);
	deliver_data(&w.views[0], &grant, 0, payload, 64);
	deliver_data(&w.views[0], &grant, 1ULL << 40, payload, 64);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK_IS(w.views[0].memory[1000], 0xee);
	CHECK_IS(w.views[0].memory[1023], 0xee);
	CHECK(shows(&w, 0, 1024, 0, 1024, 200));
	CHECK(shows(&w, 0, 900, 0, 900, 100));
	remove_me(&w, 0, me);
	world_close(&w);
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

/* Who delivers is told whether the target's handler waits for the events. */
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

/* Source and destination overlap in both directions, short and long. */
TEST(rule34_put_to_oneself_that_overlaps)
{
	static const struct { uint64_t from, to, bytes; } moves[] = {
		{ 1000, 1008, 64 }, { 1008, 1000, 64 }, { 1000, 1001, 500 }, { 1001, 1000, 500 },
		{ 1000, 1000, 500 }, { 1000, 1300, 500 },
	};
	struct world w;

	for (unsigned int i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		uint8_t *memory_of = 0;
		handle_t me, source;
		int wrong = 0;

		world_open(&w, &test_limits);
		memory_of = w.views[0].memory;
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, memory(moves[i].to, moves[i].bytes, MD_OP_PUT, EQ_NONE),
		       UNLINK_NEVER);
		source = bind(&w, 0, memory(moves[i].from, moves[i].bytes, 0, EQ_NONE),
			      UNLINK_NEVER);
		CHECK_IS(put(&w, 0, to(source, 0, 5)), 0);
		for (uint64_t at = 0; at < moves[i].bytes; at++)
			wrong += memory_of[moves[i].to + at] != pattern(0, moves[i].from + at);
		CHECK_IS(wrong, 0);
		remove_me(&w, 0, me);
		remove_md(&w, 0, source);
		world_close(&w);
	}
}

/* The writer reads what it writes from a page that is not there yet: the fault
 * shows the slot as it is in the middle of the writing. */
static struct {
	void *page;
	const struct event *slot;
	uint64_t sequence;        /* of the slot in that moment */
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

/* The short way of starting a put leaves to initiator_put whatever is not plain,
 * and changes nothing then. */
TEST(rule07_plainest_puts_only_of_active_descriptors)
{
	static const struct { int32_t threshold; int unlink, queue; uint32_t options; int brief; }
	cases[] = {
		{ MD_THRESH_INF, UNLINK_NEVER, 0, 0, 1 }, { 2, UNLINK_NEVER, 0, 0, 1 },
		{ 0, UNLINK_NEVER, 0, 0, 0 }, { 1, UNLINK_AUTO, 0, 0, 0 },
		{ 2, UNLINK_NEVER, 1, 0, 0 }, { 2, UNLINK_NEVER, 0, MD_IOVEC, 0 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct initiator_args put_args;
		struct md_args args;
		struct message m;
		struct grant grant;
		struct world w;
		handle_t eq, md;

		world_open(&w, &test_limits);
		eq = new_eq(&w, 0, 8);
		args = memory(1000, 16, cases[i].options, cases[i].queue ? eq : EQ_NONE);
		args.threshold = cases[i].threshold;
		if (cases[i].options & MD_IOVEC)
			args.length = 0;
		md = bind(&w, 0, args, cases[i].unlink);
		put_args = to(md, 1, 5);
		CHECK_IS(initiator_brief(&w.views[0], &put_args, &m, &grant), cases[i].brief);
		CHECK_IS(status(&w, 0, STAT_MESSAGES_OUT), cases[i].brief);
		CHECK_IS(md_lookup(&w.views[0], md)->user.threshold,
			 cases[i].threshold > 0 ? cases[i].threshold - cases[i].brief
						: cases[i].threshold);
		if (cases[i].brief) {
			CHECK_IS(m.length, 16);
			CHECK_IS(grant.offset, 1000);
			CHECK_IS(grant.bytes, 16);
		}
		put_args.length = 17;         /* more than it has */
		CHECK_IS(initiator_brief(&w.views[0], &put_args, &m, &grant), 0);
		put_args = to(md + HANDLE_NEXT, 1, 5);
		CHECK_IS(initiator_brief(&w.views[0], &put_args, &m, &grant), 0);
		put_args = to(md, 1, 5);
		put_args.target_pid = ANY_ID;
		CHECK_IS(initiator_brief(&w.views[0], &put_args, &m, &grant), 0);
		CHECK_IS(block_pending(&w.views[0]), 0);
		remove_md(&w, 0, md);
		remove_eq(&w, 0, eq);
		world_close(&w);
	}
}
