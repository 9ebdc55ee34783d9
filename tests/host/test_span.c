/*
 * Descriptors with MD_SPAN (rule 35): each operation checks their memory. The segments here have
 * read-only data and a hole, as an application's do.
 */
#include <string.h>
#include "../../net/portals/iovec.h"
#include "../../net/portals/post.h"
#include "world.h"

enum { DATA = 512, GUARD = 0x6000, STACK = 0x6100 };
enum { REMOTE = MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE | MD_SPAN };

/* A world in which process 0 has a descriptor of every address, and process 1 too. */
struct span_pair {
	handle_t me, md, source, eq, events;
};

static struct md_args everything(uint32_t options, handle_t eq)
{
	return (struct md_args){ .start = 0, .length = ~0ULL, .threshold = MD_THRESH_INF,
				 .options = options, .eq_handle = eq };
}

static struct span_pair span_open(struct world *w, uint32_t options)
{
	struct span_pair pair;

	world_open(w, &test_limits);
	for (uint32_t p = 0; p < PROCESSES; p++)
		w->views[p].usable = (struct usable){ DATA, GUARD, STACK };
	pair.eq = new_eq(w, 0, 32);
	pair.events = new_eq(w, 1, 32);
	pair.me = new_me(w, 0, 5);
	pair.md = attach(w, 0, pair.me, everything(REMOTE | MD_EVENT_START_DISABLE | options,
						   pair.eq), UNLINK_NEVER);
	pair.source = bind(w, 1, everything(MD_SPAN | MD_EVENT_START_DISABLE | MD_EVENT_DROPPED,
					    pair.events), UNLINK_NEVER);
	return pair;
}

static void span_close(struct world *w, struct span_pair *pair)
{
	remove_me(w, 0, pair->me);
	remove_eq(w, 0, pair->eq);
	remove_md(w, 1, pair->source);
	remove_eq(w, 1, pair->events);
	world_close(w);
}

/* `bytes` bytes between offset `at` of process 1's segment and `there` of process 0's. */
static struct initiator_args between(const struct span_pair *pair, uint64_t at, uint64_t bytes,
				     uint64_t there)
{
	struct initiator_args args = to(pair->source, 0, 5);

	args.local_offset = BASE + at;
	args.length = bytes;
	args.remote_offset = BASE + there;
	args.ack = ACK_YES;
	return args;
}

TEST(rule35_offsets_are_addresses)
{
	struct world w;
	struct span_pair pair = span_open(&w, 0);

	CHECK_IS(put(&w, 1, between(&pair, 0, 300, 1000)), 0);      /* read-only data is sent */
	CHECK(shows(&w, 0, 1000, 1, 0, 300));
	CHECK(shows(&w, 0, 1300, 0, 1300, 100));
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.mlength, 300);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_END);
	CHECK_IS(w.event.offset, BASE + 1000);
	CHECK_IS(get(&w, 1, between(&pair, DATA, 40, 8)), 0);       /* and a get may read it */
	CHECK(shows(&w, 1, DATA, 0, 8, 40));
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.mlength, 40);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_GET_END);
	span_close(&w, &pair);
}

/* Bytes that a call may not read, or not write a reply to, and their neighbours. */
TEST(rule35_calls_check_their_bytes)
{
	static const struct { uint64_t at, bytes; int put, get; } cases[] = {
		{ 0, 8, 0, PORTALS_SEGV }, { DATA - 1, 2, 0, PORTALS_SEGV }, { DATA, 8, 0, 0 },
		{ GUARD - 8, 8, 0, 0 }, { GUARD - 8, 9, PORTALS_SEGV, PORTALS_SEGV },
		{ GUARD, 1, PORTALS_SEGV, PORTALS_SEGV }, { STACK - 1, 1, PORTALS_SEGV, PORTALS_SEGV },
		{ STACK - 1, 9, PORTALS_SEGV, PORTALS_SEGV }, { STACK, 8, 0, 0 },
		{ GUARD - 8, STACK - GUARD + 16, PORTALS_SEGV, PORTALS_SEGV },
		{ SEGMENT - 8, 8, 0, 0 }, { SEGMENT - 8, 9, PORTALS_SEGV, PORTALS_SEGV },
		{ SEGMENT, 1, PORTALS_SEGV, PORTALS_SEGV }, { -BASE, 1, PORTALS_SEGV, PORTALS_SEGV },
		{ -1ULL, 2, PORTALS_SEGV, PORTALS_SEGV }, { -BASE, 0, 0, 0 }, { GUARD, 0, 0, 0 },
		{ -BASE, ~0ULL - 1, PORTALS_SEGV, PORTALS_SEGV },
	};
	struct world w;
	struct span_pair pair = span_open(&w, 0);
	struct initiator_args whole = to(pair.source, 0, 5);
	uint64_t before = status(&w, 1, STAT_MESSAGES_OUT);
	int started = 0;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct initiator_args args = between(&pair, cases[i].at, cases[i].bytes, 2000);

		CHECK_IS(put(&w, 1, args), cases[i].put);
		CHECK_IS(get(&w, 1, args), cases[i].get);
		started += !cases[i].put + !cases[i].get;
		while (next(&w, 1, pair.events) >= 0)
			;
	}
	CHECK_IS(put(&w, 1, whole), PORTALS_SEGV);
	CHECK_IS(get(&w, 1, whole), PORTALS_SEGV);
	CHECK_IS(status(&w, 1, STAT_MESSAGES_OUT), before + (uint64_t)started);
	CHECK_IS(status(&w, 1, STAT_OP_USED), 0);
	span_close(&w, &pair);
}

/* A request for bytes that the application may not access is discarded, and its initiator learns
 * so. */
TEST_PATHS(rule35_requests_for_other_bytes_are_discarded)
{
	static const struct { uint64_t at, bytes; int put, get; } cases[] = {
		{ 0, 8, 0, 1 }, { DATA - 1, 2, 0, 1 }, { DATA - 60, 70, 0, 1 }, { DATA, 8, 1, 1 },
		{ GUARD - 8, 8, 1, 1 }, { GUARD - 8, 9, 0, 0 }, { GUARD + 3, 1, 0, 0 },
		{ STACK - 1, 1, 0, 0 }, { STACK - 1, 90, 0, 0 }, { STACK, 90, 1, 1 },
		{ SEGMENT - 8, 8, 1, 1 }, { SEGMENT - 8, 9, 0, 0 }, { SEGMENT, 1, 0, 0 },
		{ -BASE, 1, 0, 0 }, { -BASE, 100, 0, 0 }, { -1ULL, 2, 0, 0 }, { GUARD, 0, 1, 1 },
		{ -BASE - 2, 1, 0, 0 },
	};
	struct world w;
	struct span_pair pair = span_open(&w, MD_TRUNCATE);
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct message m = request(MESSAGE_PUT, 1, 0, 5, cases[i].bytes);

		m.offset = BASE + cases[i].at;
		CHECK_IS(arrives(&w, 0, m, 0, 0), cases[i].put ? DELIVER_OK : DELIVER_DROPPED);
		m.operation = MESSAGE_GET;
		CHECK_IS(arrives(&w, 0, m, 0, 0), cases[i].get ? DELIVER_OK : DELIVER_DROPPED);
		dropped += !cases[i].put + !cases[i].get;
		CHECK_IS(status(&w, 0, STAT_DROPPED), dropped);
		while (next(&w, 0, pair.eq) >= 0)
			;
	}
	CHECK_IS(status(&w, 0, STAT_OP_USED), 0);
	fill(&w, 0);
	span_close(&w, &pair);
}

/* Reported like any other discarded request; the descriptor does not change. */
TEST(rule35_a_discarded_request_changes_nothing)
{
	struct world w;
	struct span_pair pair = span_open(&w, 0);
	struct md_args args = everything(MD_SPAN | MD_OP_PUT | MD_OP_GET, pair.eq), old;
	handle_t me = new_me(&w, 0, 6), md;
	struct initiator_args send;

	args.start = BASE + GUARD - 8, args.length = 100, args.threshold = 2;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	send = between(&pair, 1000, 9, 0);
	send.match_bits = 6;
	CHECK_IS(put(&w, 1, send), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.ni_fail_type, NI_DROPPED);
	CHECK_IS(get(&w, 1, send), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.ni_fail_type, NI_DROPPED);
	CHECK_IS(w.event.mlength, 0);
	CHECK_IS(next(&w, 0, pair.eq), -1);
	CHECK_IS(status(&w, 0, STAT_DROPPED), 2);
	CHECK(shows(&w, 0, GUARD - 8, 0, GUARD - 8, 100));
	CHECK_IS(md_update(&w.views[0], md, &old, 0, EQ_NONE), 0);
	CHECK_IS(old.threshold, 2);
	send.length = 8;                                    /* at local offset 0 again */
	CHECK_IS(put(&w, 1, send), 0);
	CHECK(shows(&w, 0, GUARD - 8, 1, 1000, 8));
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_END);
	CHECK_IS(w.event.offset, 0);
	fill(&w, 0);
	remove_me(&w, 0, me);
	span_close(&w, &pair);
}

TEST(rule35_atomic_operations_write)
{
	struct world w;
	struct span_pair pair = span_open(&w, 0);
	struct initiator_args args = between(&pair, 1000, 8, DATA - 4);

	args.operation = MESSAGE_ATOMIC;
	args.atomic_operation = ATOMIC_SWAP, args.datatype = ATOMIC_UINT64;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.ni_fail_type, NI_DROPPED);
	args.operation = MESSAGE_FETCH_ATOMIC;
	args.put_md = pair.source, args.put_offset = BASE + 1000, args.local_offset = BASE + 2000;
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.ni_fail_type, NI_DROPPED);
	CHECK(shows(&w, 0, 0, 0, 0, 2000));
	args.local_offset = BASE + DATA - 1;
	CHECK_IS(getput(&w, 1, &args), PORTALS_SEGV);
	args.local_offset = BASE + 2000, args.remote_offset = BASE + DATA;
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK(shows(&w, 0, DATA, 1, 1000, 8));
	CHECK(shows(&w, 1, 2000, 0, DATA, 8));
	for (int i = 0; i < 2; i++)
		next(&w, 1, pair.events);
	span_close(&w, &pair);
}

/* The reply to an exchange has as many bytes as were sent, so only those must be writable. */
TEST(rule35_getput_into_a_span)
{
	struct world w;
	struct span_pair pair = span_open(&w, 0);
	struct initiator_args args = between(&pair, GUARD - 16, LENGTH_WHOLE, 3000);
	handle_t small = bind(&w, 1, memory(1000, 16, 0, EQ_NONE), UNLINK_NEVER);

	args.operation = MESSAGE_GETPUT;
	args.put_md = small;
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK(shows(&w, 0, 3000, 1, 1000, 16));
	CHECK(shows(&w, 1, GUARD - 16, 0, 3000, 16));
	args.local_offset++;
	CHECK_IS(getput(&w, 1, &args), PORTALS_SEGV);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(next(&w, 1, pair.events), -1);
	remove_md(&w, 1, small);
	fill(&w, 1);
	span_close(&w, &pair);
}

TEST(rule35_arguments)
{
	struct world w;
	struct span_pair pair = span_open(&w, 0);
	struct md_args args = everything(MD_SPAN | MD_IOVEC, EQ_NONE);
	handle_t me = new_me(&w, 0, 6), md = HANDLE_NONE;

	args.length = 0;
	CHECK_IS(md_attach(&w.views[0], me, &args, 0, &md), PORTALS_MD_ILLEGAL);
	args = everything(MD_SPAN, EQ_NONE);
	args.start = 2;                                    /* past the last address */
	CHECK_IS(md_attach(&w.views[0], me, &args, 0, &md), PORTALS_SEGV);
	args.start = 1;
	CHECK_IS(md_attach(&w.views[0], me, &args, 0, &md), 0);
	CHECK_IS(md_update(&w.views[0], md, 0, &(struct md_args){ .start = BASE + GUARD, .length = 1 },
			   EQ_NONE), PORTALS_SEGV);        /* unchanged without the option */
	args.start = 2;
	CHECK_IS(md_update(&w.views[0], md, 0, &args, EQ_NONE), PORTALS_SEGV);
	args.start = ~0ULL, args.length = 1;
	CHECK_IS(md_update(&w.views[0], md, 0, &args, EQ_NONE), 0);
	remove_me(&w, 0, me);
	span_close(&w, &pair);
}
