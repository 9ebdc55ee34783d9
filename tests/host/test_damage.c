/*
 * Damaged blocks: whatever a block contains, an engine that runs on it touches nothing outside the
 * block and the segment, and terminates. ASan guards the block's heap allocation, canaries guard
 * the segment, and the harness has a time limit. Seeds are printed when something fails.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../net/portals/index.h"
#include "../../net/portals/iovec.h"
#include "world.h"

#define ROUNDS  3000
#define PIECES  0x7000u   /* offset of an array of them */

/* A block with objects of every kind and pending operations. */
static void populate(struct world *w, handle_t *handles, struct grant *grants)
{
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct initiator_args args;
	handle_t eq = new_eq(w, 0, 8), me = HANDLE_NONE, md;

	handles[0] = eq;
	for (int i = 0; i < 6; i++) {
		me = new_me(w, 0, i < 3 ? 4 : 5);
		handles[1 + i] = me;
	}
	md = attach(w, 0, handles[4], memory(1000, 200, MD_OP_PUT | MD_OP_GET, eq), UNLINK_AUTO);
	attach(w, 0, handles[5], memory(2000, 200, MD_OP_PUT | MD_TRUNCATE, EQ_NONE),
	       UNLINK_NEVER);
	handles[7] = md;
	for (uint64_t i = 0; i < 3; i++)
		((struct iovec_args *)(w->views[0].memory + PIECES))[i] =
			(struct iovec_args){ BASE + 4000 + 100 * i, 20 };
	CHECK_IS(md_insert(&w->views[0], md, &(struct md_args){ .start = BASE + PIECES, .length = 3,
			   .threshold = 5, .options = MD_OP_PUT | MD_OP_GET | MD_IOVEC,
			   .eq_handle = eq }, UNLINK_AUTO, INSERT_BEFORE, &handles[9]), 0);
	handles[8] = bind(w, 0, memory(3000, 100, 0, eq), UNLINK_AUTO);
	CHECK_IS(deliver_begin(&w->views[0], &m, 1, &grants[0], &answer), DELIVER_OK);
	args = to(handles[8], 1, 5);
	args.ack = ACK_YES;
	CHECK_IS(initiator_get(&w->views[0], &args, &m), 0);
}

/*
 * Whether every piece of a granted range lies in the segment, or the range is reported as damaged.
 */
static int lies_inside(const struct process_view *view, const struct grant *grant)
{
	struct span span;
	uint32_t steps = 0;

	for (uint64_t at = 0; at < grant->bytes; at += span.bytes) {
		if (steps++ > SEGMENT || deliver_span(view, grant, at, &span))
			return grant->pieces;
		if (span.bytes == 0 || span.bytes > view->bytes ||
		    span.offset > view->bytes - span.bytes)
			return 0;
	}
	return 1;
}

/* Make every call on a block. */
static void exercise(struct world *w, const handle_t *handles, struct grant *grants,
		     uint64_t *state)
{
	struct process_view *view = &w->views[0];
	struct me_args me_args = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID };
	struct md_args md_args = memory(500, 50, MD_OP_PUT, handles[0]), old;
	const struct ac_args ac_args = { ANY_ID, ANY_ID, ANY_ID, ANY_ID, ANY_ID };
	struct initiator_args args = to(handles[8], 1, 5);
	struct message m, answer;
	struct grant grant;
	struct eq_info info;
	uint8_t payload[256] = { 0 }, fetched[DELIVER_INLINE_BYTES];
	uint64_t value;
	uint32_t portal;
	handle_t out;

	for (int step = 0; step < 24; step++) {
		uint64_t random = check_random(state);

		args.ack = random >> 8 & 1;
		m = request(1 + (random >> 9) % 4, (random >> 12) % 3, 0, 4 + (random >> 14 & 1),
			    random >> 16 & 255);
		m.offset = random >> 24 & 127;
		m.mlength = m.length;
		m.md_handle = handles[7 + (random >> 31) % 3];
		m.eq_handle = handles[0];
		m.op_handle = view->ops[random >> 33 & 7].handle;
		m.source_nid = view->ops[random >> 33 & 7].head.nid;
		m.ack_request = random >> 36 & 1;
		args.md = handles[7 + (random >> 41) % 3];
		md_args = memory(500, 50, MD_OP_PUT, handles[0]);
		if (random >> 44 & 1)
			md_args = memory(PIECES, (random >> 45) % 8, MD_IOVEC, EQ_NONE);
		switch (random % 18) {
		case 4: case 5:
			m.operation = (uint8_t)(random >> 44 & 15);
			m.atomic_operation = random >> 48 & 15;
			m.datatype = random >> 52 & 15;
			m.pt_index = random >> 54 & 15;
			m.length = random >> 16 & 127;
			m.mlength = random >> 16 & 255;
			deliver_inline(view, &m, payload, &grant, &answer, fetched);
			initiator_fast_put(view, &args, UINT64_MAX, &m, &grant);
			args.put_md = handles[8];
			args.operation = random >> 58 & 1 ? MESSAGE_GETPUT : MESSAGE_FETCH_ATOMIC;
			if (!initiator_exchange(view, &args, &m, &grant))
				initiator_sent(view, &m, &grant, NI_OK);
			args.operation = 0;
			break;
		case 0: case 1: case 2: case 3:
			if (deliver_begin(view, &m, 1, &grant, &answer) == DELIVER_OK) {
				deliver_data(view, &grant, 0, payload, sizeof(payload));
				deliver_end(view, &grant, random >> 40 & 1, &answer);
			}
			break;
		case 6:
			deliver_end(view, &grants[0], NI_OK, &answer);
			break;
		case 7:
			if (!initiator_put(view, &args, &m, &grant)) {
				CHECK(lies_inside(view, &grant));
				initiator_sent(view, &m, &grant, NI_OK);
			}
			break;
		case 8:
			initiator_get(view, &args, &m);
			break;
		case 9:
			me_attach(view, PT, &me_args, &out);
			me_insert(view, handles[1 + (random >> 20) % 6], &me_args, &out);
			me_attach_any(view, &portal, &me_args, &out);
			break;
		case 10:
			me_unlink(view, handles[1 + (random >> 20) % 6]);
			break;
		case 11:
			md_attach(view, handles[1 + (random >> 20) % 6], &md_args, UNLINK_AUTO, &out);
			md_bind(view, &md_args, UNLINK_NEVER, &out);
			md_insert(view, handles[7 + (random >> 20) % 3], &md_args, UNLINK_AUTO,
				  random >> 50 & 1, &out);
			break;
		case 12:
			md_unlink(view, handles[7 + (random >> 20) % 3]);
			break;
		case 16:
			md_update(view, handles[7 + (random >> 20) % 3], &old, &md_args,
				  random >> 50 & 1 ? handles[0] : EQ_NONE);
			break;
		case 17:
			ac_set(view, (random >> 20) % 5, &ac_args);
			block_is_alive(view, handles[(random >> 20) % 10]);
			break;
		case 13:
			eq_alloc(view, 1 + (random >> 20) % 16, BASE + WORDS + 64, 0, &info);
			eq_unread(view, handles[0]);
			eq_free(view, handles[0]);
			break;
		case 14:
			block_peer_died(view, (random >> 20) % 3, 0);
			break;
		default:
			block_pending(view);
			view_check(view);
			block_status(view, (random >> 20) % STAT_COUNT, &value);
			break;
		}
	}
}

/* Damage one word: write an index, an address or a random value, or flip a bit. */
static void damage(struct process_view *view, uint64_t bytes, uint64_t *state)
{
	uint8_t *block = (uint8_t *)view->block;
	uint64_t random = check_random(state);
	uint64_t at = check_random(state) % (bytes - 8);
	uint64_t value = check_random(state);

	/* mostly in the parts in use: the header, and the first entries of pools */
	switch (random % 11) {
	case 0: at = 64 + at % (sizeof(struct block) - 72); break;
	case 1: at = (uint64_t)((uint8_t *)view->mes - block) + at % (8 * sizeof(struct me)); break;
	case 2: at = (uint64_t)((uint8_t *)view->mds - block) + at % (4 * sizeof(struct md)); break;
	case 3: at = (uint64_t)((uint8_t *)view->eqs - block) + at % (2 * sizeof(struct eq)); break;
	case 4: at = (uint64_t)((uint8_t *)view->ops - block) +
		     at % (3 * sizeof(struct operation)); break;
	case 5: at = (uint64_t)((uint8_t *)&view->portals[PT] - block) +
		     at % sizeof(struct portal); break;
	case 6: at = (uint64_t)((uint8_t *)view->chains - block) + at % (8 * sizeof(struct chain));
		break;
	case 8: at = (uint64_t)((uint8_t *)&view->masks[PT * PORTAL_MASKS] - block) +
		     at % (PORTAL_MASKS * sizeof(struct mask)); break;
	case 7: at = (uint64_t)((uint8_t *)view->pieces - block) + at % (4 * sizeof(struct piece));
		break;
	default: break;
	}
	at &= ~3ULL;
	switch (random >> 8 & 3) {
	case 0: value %= 16; break;
	case 1: value = BASE + value % (2 * SEGMENT); break;
	case 2:
		memcpy(&value, block + at, 8);
		value ^= 1ULL << (random >> 16 & 63);
		break;
	default: break;
	}
	memcpy(block + at, &value, random >> 24 & 1 ? 8 : 4);
}

TEST(damaged_blocks_are_contained)
{
	uint64_t bytes = block_bytes(&small_limits);
	struct world w;

	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		uint64_t state = seed;
		struct grant grants[1];
		handle_t handles[10];
		int times;

		world_open(&w, &small_limits);
		populate(&w, handles, grants);
		times = 1 + (int)(check_random(&state) % 6);
		for (int i = 0; i < times; i++)
			damage(&w.views[0], bytes, &state);
		exercise(&w, handles, grants, &state);
		world_drop(&w);
	}
}

TEST(random_blocks_are_contained)
{
	uint64_t bytes = block_bytes(&small_limits);
	struct world w;

	for (uint64_t seed = 0; seed < ROUNDS / 10; seed++) {
		uint64_t state = seed + 1000000;
		struct grant grants[1];
		handle_t handles[10];

		world_open(&w, &small_limits);
		populate(&w, handles, grants);
		for (uint64_t i = 64; i + 8 <= bytes; i += 8) {
			uint64_t value = check_random(&state) % 100 < 50 ? check_random(&state) % 9
									  : check_random(&state);
			memcpy((uint8_t *)w.views[0].block + i, &value, 8);
		}
		w.views[0].block->state = BLOCK_OPEN;
		exercise(&w, handles, grants, &state);
		/* after any damage the owner can start again */
		block_init(&w.views[0]);
		block_open(&w.views[0]);
		CHECK_IS(me_unlink(&w.views[0], new_me(&w, 0, 5)), 0);
		world_drop(&w);
	}
}

TEST(list_that_bites_its_tail_ends)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), answer;
	struct grant grant;
	handle_t a, b, md;

	world_open(&w, &test_limits);
	a = new_me(&w, 0, 6);
	b = new_me(&w, 0, 7);
	w.views[0].mes[HANDLE_INDEX(b)].next = HANDLE_INDEX(a);
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_DAMAGED);
	CHECK_IS(grant.answers, 0);
	w.views[0].mes[HANDLE_INDEX(b)].next = 256;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_DAMAGED);
	w.views[0].mes[HANDLE_INDEX(b)].next = NO_INDEX;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_DROPPED);
	md = attach(&w, 0, a, memory(0, 8, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
	w.views[0].mds[HANDLE_INDEX(md)].next = HANDLE_INDEX(md);
	CHECK_IS(me_unlink(&w.views[0], a), PORTALS_FAIL);
	world_drop(&w);
}

TEST(descriptor_moved_out_of_the_segment)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8), fetch, reply, answer;
	struct initiator_args args;
	struct grant grant;
	const uint64_t starts[] = { BASE - 8, BASE + SEGMENT - 7, 0, ~0ULL - 3, BASE + SEGMENT };
	handle_t me, md, own;

	world_open(&w, &test_limits);
	me = new_me(&w, 0, 5);
	md = attach(&w, 0, me, memory(0, 8, MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE, EQ_NONE),
		    UNLINK_NEVER);
	own = bind(&w, 0, memory(0, 8, 0, EQ_NONE), UNLINK_NEVER);
	args = to(own, 1, 5);
	CHECK_IS(initiator_get(&w.views[0], &args, &fetch), 0);
	CHECK(message_refuse(&fetch, NI_OK, &reply));
	reply.mlength = 8;
	for (unsigned int i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		w.views[0].mds[HANDLE_INDEX(md)].user.start = starts[i];
		w.views[0].mds[HANDLE_INDEX(own)].user.start = starts[i];
		m.operation = MESSAGE_PUT;
		CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_DAMAGED);
		m.operation = MESSAGE_GET;
		CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_DAMAGED);
		CHECK_IS(initiator_put(&w.views[0], &args, &m, &grant), PORTALS_FAIL);
		CHECK_IS(initiator_get(&w.views[0], &args, &m), PORTALS_FAIL);
		CHECK_IS(deliver_begin(&w.views[0], &reply, 1, &grant, &answer), DELIVER_DAMAGED);
		m = request(MESSAGE_PUT, 1, 0, 5, 8);
	}
	world_drop(&w);
}

/* The fast path reads the memory of its grant without a look at pieces. */
TEST(damage_makes_no_fast_descriptor_of_pieces)
{
	struct initiator_args args;
	struct message message;
	struct grant grant;
	struct world w;
	struct md *md;

	world_open(&w, &test_limits);
	args = to(bind(&w, 1, memory(1000, 32, MD_EVENT_START_DISABLE, EQ_NONE), UNLINK_NEVER), 0, 5);
	md = md_lookup(&w.views[1], args.md);
	CHECK_IS(initiator_fast_put(&w.views[1], &args, DELIVER_INLINE_BYTES, &message, &grant), 1);
	md->user.options |= MD_IOVEC;
	if (initiator_fast_put(&w.views[1], &args, DELIVER_INLINE_BYTES, &message, &grant)) {
		CHECK_IS(grant.pieces, 0);
		CHECK(grant.offset <= SEGMENT && grant.bytes <= SEGMENT - grant.offset);
	}
	md->user.start = 1;                       /* outside the segment */
	CHECK_IS(initiator_fast_put(&w.views[1], &args, DELIVER_INLINE_BYTES, &message, &grant), 0);
	world_drop(&w);
}

static _Atomic int unlinking;

/* A faulty node: writes indices to the links of descriptors, good ones and bad ones. */
static void *write_links(void *view_)
{
	struct process_view *view = view_;

	while (unlinking)
		for (uint32_t i = 0; i < 8; i++)
			__atomic_store_n(&view->mds[i / 2].next, i % 2 ? NO_INDEX : 0xffffff,
					 __ATOMIC_RELAXED);
	return 0;
}

/* A list may be damaged after PtlMEUnlink has found it whole, and before it frees it. */
TEST(damage_of_a_list_that_is_being_freed)
{
	struct md_args args = memory(0, 64, 0, EQ_NONE);
	struct process_view *view;
	pthread_t thread;
	struct world w;

	world_open(&w, &small_limits);
	view = &w.views[0];
	unlinking = 1;
	CHECK_IS(pthread_create(&thread, 0, write_links, view), 0);
	for (uint32_t i = 0; i < 2000000; i++) {
		handle_t me = new_me(&w, 0, 5), md;

		if (md_attach(view, me, &args, UNLINK_NEVER, &md) || me_unlink(view, me)) {
			block_init(view);
			block_open(view);
		}
	}
	unlinking = 0;
	pthread_join(thread, 0);
	world_drop(&w);
}
