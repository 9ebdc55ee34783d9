/*
 * Descriptors of several pieces: rule 10, and the pool of pieces. The results of messages are
 * compared with those on one contiguous buffer.
 */
#include <stdio.h>
#include <string.h>
#include "../../net/portals/iovec.h"
#include "world.h"

#define ARRAY  0x7000u        /* where the tests put arrays of pieces */

/* Write an array of pieces, pairs of offset and length, at segment offset `at`; returns arguments
 * for its descriptor. */
static struct md_args pieces_at(struct world *w, uint32_t p, uint64_t at, const uint64_t *pairs,
				uint64_t count, uint32_t options, handle_t eq)
{
	struct iovec_args *array = (struct iovec_args *)(w->views[p].memory + at);

	for (uint64_t i = 0; i < count; i++)
		array[i] = (struct iovec_args){ BASE + pairs[2 * i], pairs[2 * i + 1] };
	return memory(at, count, options | MD_IOVEC, eq);
}

static struct md_args pieces(struct world *w, uint32_t p, const uint64_t *pairs, uint64_t count,
			     uint32_t options)
{
	return pieces_at(w, p, ARRAY, pairs, count, options, EQ_NONE);
}

static const uint64_t three[] = { 1000, 10, 3000, 5, 2000, 20 };      /* 35 bytes */

TEST(rule10_spans)
{
	struct world w;
	struct process_view *view;
	struct span span;
	const struct md *md;
	handle_t handle;

	world_open(&w, &test_limits);
	view = &w.views[0];
	handle = bind(&w, 0, pieces(&w, 0, three, 3, 0), UNLINK_NEVER);
	md = md_lookup(view, handle);
	CHECK_IS(md->room, 35);
	CHECK_IS(md->user.length, 3);
	CHECK_IS(md->user.start, BASE + ARRAY);
	for (uint64_t at = 0; at < 35; at++) {        /* byte by byte */
		uint64_t want = at < 10 ? 1000 + at : at < 15 ? 3000 + at - 10 : 2000 + at - 15;
		uint64_t left = at < 10 ? 10 - at : at < 15 ? 15 - at : 35 - at;

		CHECK_IS(md_span(view, md, at, 1, &span), 0);
		CHECK(span.offset == want && span.bytes == 1);
		CHECK_IS(md_span(view, md, at, 35 - at, &span), 0);
		CHECK(span.offset == want && span.bytes == left);
	}
	CHECK_IS(md_span(view, md, 35, 0, &span), 0);
	CHECK_IS(span.bytes, 0);
	CHECK_IS(md_span(view, md, 35, 1, &span), PORTALS_FAIL);
	CHECK_IS(md_span(view, md, ~0ULL, 1, &span), PORTALS_FAIL);
	remove_md(&w, 0, handle);

	handle = bind(&w, 0, memory(100, 50, 0, EQ_NONE), UNLINK_NEVER);
	md = md_lookup(view, handle);                 /* the same range of one piece */
	CHECK_IS(md->room, 50);
	CHECK_IS(md_span(view, md, 20, 30, &span), 0);
	CHECK(span.offset == 120 && span.bytes == 30);
	CHECK_IS(md_span(view, md, SEGMENT, 1, &span), PORTALS_FAIL);
	CHECK_IS(md_span(view, md, ~0ULL - 100, 1, &span), PORTALS_FAIL);
	remove_md(&w, 0, handle);
	world_close(&w);
}

TEST(rule10_empty_pieces_and_none)
{
	struct world w;
	const uint64_t holes[] = { 0, 0, 1000, 4, 0, 0, SEGMENT * 9, 0, 2000, 4, 0, 0 };
	struct process_view *view;
	struct span span;
	handle_t md, me;

	world_open(&w, &test_limits);
	view = &w.views[0];
	md = bind(&w, 0, pieces(&w, 0, holes, 6, 0), UNLINK_NEVER);
	CHECK_IS(md_lookup(view, md)->room, 8);
	CHECK_IS(md_span(view, md_lookup(view, md), 0, 8, &span), 0);
	CHECK(span.offset == 1000 && span.bytes == 4);
	CHECK_IS(md_span(view, md_lookup(view, md), 4, 4, &span), 0);
	CHECK(span.offset == 2000 && span.bytes == 4);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 6);
	remove_md(&w, 0, md);
	me = new_me(&w, 0, 5);                /* no pieces: accepts empty messages */
	md = attach(&w, 0, me, memory(0, 0, MD_OP_PUT | MD_IOVEC, EQ_NONE), UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 0), DELIVER_OK);
	CHECK_IS(put_arrives(&w, 5, 1), DELIVER_DROPPED);
	remove_me(&w, 0, me);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 0);
	CHECK_IS(status(&w, 0, STAT_PIECE_HIGH), 6);
	world_close(&w);
}

TEST(rule33_iovec_bad_arguments)
{
	struct world w;
	struct md_args good, args;
	handle_t out = 77;
	struct process_view *view;
	struct iovec_args *array;

	world_open(&w, &test_limits);
	view = &w.views[0];
	array = (struct iovec_args *)(view->memory + ARRAY);
	good = pieces(&w, 0, three, 3, MD_OP_PUT);
#define REJECTED(change, error) \
	args = good; \
	change; \
	CHECK_IS(md_bind(view, &args, UNLINK_NEVER, &out), error)
	REJECTED(args.start += 4, PORTALS_SEGV);
	REJECTED(args.start = BASE - 16, PORTALS_SEGV);
	REJECTED(args.start = BASE + SEGMENT - 40, PORTALS_SEGV);
	REJECTED(args.start = 0, PORTALS_SEGV);
	REJECTED(args.length = 257, PORTALS_MD_ILLEGAL);
	REJECTED(args.length = ~0ULL, PORTALS_MD_ILLEGAL);
	REJECTED(args.length = 1ULL << 60, PORTALS_MD_ILLEGAL);       /* times 16 overflows to 0 */
	REJECTED((args.length = 257, args.start = 0), PORTALS_MD_ILLEGAL);
	REJECTED((args.eq_handle = 5, args.start = 0), PORTALS_SEGV);
	REJECTED(args.eq_handle = 5, PORTALS_EQ_INVALID);
	view->block->granted.pieces = 2;
	REJECTED((void)0, PORTALS_MD_ILLEGAL);
	view->block->granted.pieces = 100000;                         /* damaged */
	REJECTED(args.length = 257, PORTALS_MD_ILLEGAL);
	view->block->granted.pieces = 256;
	array[2].start = BASE - 1;
	REJECTED((void)0, PORTALS_SEGV);
	array[2].start = BASE + SEGMENT - 19;
	REJECTED((void)0, PORTALS_SEGV);
	array[2].start = ~0ULL - 3;
	REJECTED(args.eq_handle = 5, PORTALS_SEGV);
	array[2].start = BASE, array[2].bytes = ~0ULL;
	REJECTED((void)0, PORTALS_SEGV);
	CHECK_IS(out, 77);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 0);
	CHECK_IS(status(&w, 0, STAT_MD_USED), 0);
	array[2] = (struct iovec_args){ BASE, SEGMENT };
	CHECK_IS(md_bind(view, &good, UNLINK_NEVER, &out), 0);
	remove_md(&w, 0, out);
	world_close(&w);
}

TEST(rule34_pieces_run_out_whole)
{
	struct world w;
	struct md_args args, other;
	handle_t a, b, out = 77;

	world_open(&w, &small_limits);        /* 16 pieces */
	args = pieces(&w, 0, three, 3, 0);
	args.length = 9;
	memset(w.views[0].memory + ARRAY, 0, 16 * 16);
	a = bind(&w, 0, args, UNLINK_NEVER);
	args.length = 8;
	CHECK_IS(md_bind(&w.views[0], &args, UNLINK_NEVER, &out), PORTALS_NO_SPACE);
	CHECK_IS(out, 77);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 9);
	CHECK_IS(status(&w, 0, STAT_MD_USED), 1);
	args.length = 7;
	b = bind(&w, 0, args, UNLINK_NEVER);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 16);
	/* an update takes its pieces before the old ones are freed */
	CHECK_IS(md_update(&w.views[0], b, &other, &args, EQ_NONE), PORTALS_NO_SPACE);
	CHECK_IS(other.length, 7);
	CHECK_IS(md_lookup(&w.views[0], b)->pieces, 7);
	remove_md(&w, 0, a);
	args.length = 9;
	CHECK_IS(md_update(&w.views[0], b, 0, &args, EQ_NONE), 0);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 9);
	other = memory(0, 8, 0, EQ_NONE);     /* no iovec any more */
	CHECK_IS(md_update(&w.views[0], b, 0, &other, EQ_NONE), 0);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 0);
	CHECK_IS(status(&w, 0, STAT_PIECE_HIGH), 16);
	for (int i = 0; i < 50; i++) {        /* freed pieces are used again */
		args.length = 1 + (uint64_t)i % 16;
		CHECK_IS(md_update(&w.views[0], b, 0, &args, EQ_NONE), 0);
		CHECK_IS(md_update(&w.views[0], b, 0, &other, EQ_NONE), 0);
	}
	remove_md(&w, 0, b);
	world_close(&w);
}

TEST(iovec_pieces_come_back_at_each_end_of_a_descriptor)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct md_args args;
	struct grant grant;
	handle_t me, md;

	world_open(&w, &test_limits);
	args = pieces(&w, 0, three, 3, MD_OP_PUT);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, args, UNLINK_NEVER);
	remove_me(&w, 0, me);                              /* with the entry */
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 0);
	me = new_me(&w, 0, 5);
	args.threshold = 1;
	md = attach(&w, 0, me, args, UNLINK_AUTO);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 3);
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_OK, &answer), DELIVER_OK);
	CHECK(!md_lookup(&w.views[0], md));           /* automatic unlinking */
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 0);
	attach(&w, 0, me, args, UNLINK_AUTO);
	block_close(&w.views[0]);                     /* at the end of a life */
	block_init(&w.views[0]);
	block_open(&w.views[0]);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 0);
	world_close(&w);
}

/* The array is read when the descriptor is made, and not later. */
TEST(iovec_array_is_copied)
{
	struct world w;
	struct span span;
	handle_t md;

	world_open(&w, &test_limits);
	md = bind(&w, 0, pieces(&w, 0, three, 3, 0), UNLINK_NEVER);
	memset(w.views[0].memory + ARRAY, 0xff, 48);
	CHECK_IS(md_span(&w.views[0], md_lookup(&w.views[0], md), 12, 9, &span), 0);
	CHECK(span.offset == 3002 && span.bytes == 3);
	remove_md(&w, 0, md);
	world_close(&w);
}

/* A remote put may change the array between its check and its copy: pieces taken until then are
 * freed, and no unchecked piece is used. */
TEST(iovec_array_that_changes_after_its_check)
{
	struct world w;
	struct md_args args;
	struct md md = { .pieces = 0 };
	uint64_t room;

	world_open(&w, &test_limits);
	args = pieces(&w, 0, three, 3, 0);
	CHECK_IS(iovec_check(&w.views[0], &args, &room), 0);
	CHECK_IS(room, 35);
	((struct iovec_args *)(w.views[0].memory + ARRAY))[2].start = BASE - 1;
	CHECK_IS(iovec_alloc(&w.views[0], &md, &args), PORTALS_SEGV);
	CHECK_IS(md.pieces, 0);
	CHECK_IS(md.first_piece, NO_INDEX);
	CHECK_IS(status(&w, 0, STAT_PIECE_USED), 0);
	((struct iovec_args *)(w.views[0].memory + ARRAY))[2] = (struct iovec_args){ BASE, 3 };
	CHECK_IS(iovec_alloc(&w.views[0], &md, &args), 0);
	CHECK_IS(md.room, 18);        /* of the array as it was read last */
	iovec_free(&w.views[0], &md);
	world_close(&w);
}

/* Logical byte i of a descriptor of these pieces. */
static uint8_t *byte_of(struct process_view *view, const uint64_t *pairs, uint64_t i)
{
	for (; i >= pairs[1]; pairs += 2)
		i -= pairs[1];
	return view->memory + pairs[0] + i;
}

/* Puts and gets of all lengths from pieces to pieces, in one step and in three. */
TEST(rule10_messages_between_pieces)
{
	const uint64_t there[] = { 300, 1, 900, 70, 100, 29, 4000, 50 };      /* 150 */
	const uint64_t here[] = { 5000, 40, 100, 3, 2000, 107 };              /* 150 */
	struct initiator_args args;
	struct world w;
	handle_t me, md, own;

	for (uint64_t length = 0; length <= 150; length += length < 70 ? 1 : 13) {
		world_open(&w, &test_limits);
		w.loop.split = length & 1;
		me = new_me(&w, 0, 5);
		md = attach(&w, 0, me, pieces(&w, 0, there, 4, MD_OP_PUT | MD_OP_GET |
					      MD_MANAGE_REMOTE), UNLINK_NEVER);
		own = bind(&w, 1, pieces(&w, 1, here, 3, 0), UNLINK_NEVER);
		args = to(own, 0, 5);
		args.local_offset = (150 - length) / 2;
		args.length = length;
		args.remote_offset = (150 - length) / 3;
		CHECK_IS(put(&w, 1, args), 0);
		for (uint64_t i = 0; i < 150; i++) {
			uint64_t from = i - args.remote_offset + args.local_offset;
			uint8_t *at = byte_of(&w.views[0], there, i);
			uint8_t want = i >= args.remote_offset && i < args.remote_offset + length ?
				*byte_of(&w.views[1], here, from) :
				pattern(0, (uint64_t)(at - w.views[0].memory));

			if (*at != want) {
				printf("put of %llu bytes\n", (unsigned long long)length);
				CHECK_IS(*at, want);
				break;
			}
		}
		fill(&w, 0), fill(&w, 1);
		CHECK_IS(get(&w, 1, args), 0);
		for (uint64_t i = 0; i < length; i++) {
			uint8_t *from = byte_of(&w.views[0], there, args.remote_offset + i);
			uint8_t want = pattern(0, (uint64_t)(from - w.views[0].memory));

			/* a get changes nothing at its target */
			CHECK_IS(*from, want);
			if (*byte_of(&w.views[1], here, args.local_offset + i) != want) {
				printf("get of %llu bytes\n", (unsigned long long)length);
				CHECK_IS(*byte_of(&w.views[1], here, args.local_offset + i), want);
				break;
			}
		}
		/* too long, and past the end */
		args.remote_offset = 151 - length;
		CHECK_IS(put(&w, 1, args), 0);
		CHECK_IS(status(&w, 0, STAT_DROPPED), length > 0);
		args.local_offset = 151 - length;
		CHECK_IS(put(&w, 1, args), PORTALS_MD_ILLEGAL);
		remove_md(&w, 0, md);
		remove_me(&w, 0, me);
		remove_md(&w, 1, own);
		world_close(&w);
	}
}

/* Rules 5 and 6 count bytes, not pieces. */
TEST(rule05_06_offset_and_max_size_of_pieces)
{
	struct world w;
	struct md_args args;
	handle_t me;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	args = pieces(&w, 0, three, 3, MD_OP_PUT | MD_MAX_SIZE);
	args.max_size = 10;
	attach(&w, 0, me, args, UNLINK_NEVER);
	CHECK_IS(put_arrives(&w, 5, 12), DELIVER_OK);         /* 23 remain */
	CHECK_IS(put_arrives(&w, 5, 24), DELIVER_DROPPED);
	CHECK_IS(put_arrives(&w, 5, 13), DELIVER_OK);         /* 10 remain: enough */
	CHECK_IS(put_arrives(&w, 5, 1), DELIVER_OK);          /* 9: inactive */
	CHECK_IS(put_arrives(&w, 5, 0), DELIVER_DROPPED);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* Chains that are circular, lead outside the pool, or name other memory. */
TEST(iovec_damaged_pieces)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 35), answer;
	struct process_view *view;
	uint8_t payload[64] = { 0 };
	struct md_args args;
	struct grant grant;
	struct span span;
	struct piece *piece;
	struct md *md;
	handle_t me, handle;

	world_open(&w, &test_limits);
	view = &w.views[0];
	me = new_me(&w, 0, 5);
	handle = attach(&w, 0, me, pieces(&w, 0, three, 3, MD_OP_PUT | MD_MANAGE_REMOTE),
			UNLINK_NEVER);
	md = md_lookup(view, handle);
	piece = &view->pieces[md->first_piece];
	for (int kind = 0; kind < 8; kind++) {
		struct piece saved = *piece;
		struct md saved_md = *md;

		switch (kind) {
		case 0: piece->next = md->first_piece, md->room = ~0ULL >> 1; break;
		case 1: piece->next = md->first_piece, piece->bytes = 0; break;
		case 2: piece->next = 512; break;
		case 3: piece->next = NO_INDEX; break;
		case 4: piece->offset = SEGMENT - 9; break;
		case 5: piece->offset = ~0ULL - 3; break;
		case 6: piece->bytes = ~0ULL; break;
		default: md->first_piece = 512; break;
		}
		m.length = kind ? 35 : 60000;
		CHECK_IS(deliver_begin(view, &m, 1, &grant, &answer), DELIVER_OK);
		if (kind)             /* 0 reaches the payload's end within ten bytes */
			CHECK_IS(deliver_data(view, &grant, 0, payload, 35), DELIVER_DAMAGED);
		else
			CHECK_IS(md_span(view, md, 2561, 1, &span), PORTALS_FAIL);
		CHECK_IS(deliver_end(view, &grant, NI_OK, &answer), DELIVER_OK);
		*piece = saved;
		saved_md.pending = md->pending;
		*md = saved_md;
	}
	md->last_piece = 512;                 /* not freed, but nothing is damaged */
	remove_me(&w, 0, me);
	view->block->pools[POOL_PIECE].free = 512;
	m = request(MESSAGE_PUT, 1, 0, 5, 8);
	args = pieces(&w, 0, three, 3, 0);
	CHECK_IS(md_bind(view, &args, UNLINK_NEVER, &handle), PORTALS_FAIL);
	world_drop(&w);
}

/* The same for a descriptor whose first piece overlaps the source. */
TEST(rule34_pieces_that_overlap_their_source)
{
	for (int shift = -8; shift <= 8; shift += 16) {
		const uint64_t first = (uint64_t)(1000 + shift), pairs[] = { first, 64, 3000, 8 };
		struct world w;
		handle_t me, source;

		world_open(&w, &test_limits);
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, pieces(&w, 0, pairs, 2, MD_OP_PUT), UNLINK_NEVER);
		source = bind(&w, 0, memory(1000, 64, 0, EQ_NONE), UNLINK_NEVER);
		CHECK_IS(put(&w, 0, to(source, 0, 5)), 0);
		CHECK(shows(&w, 0, first, 0, 1000, 64));
		remove_me(&w, 0, me);
		remove_md(&w, 0, source);
		world_close(&w);
	}
}
