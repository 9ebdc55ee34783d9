/*
 * Atomic operations on more than 64 bytes: their results on both paths and from and to memory of
 * several pieces, their order over a network that loses frames, and what is refused (rule 36).
 */
#include <string.h>
#include "../../net/portals/atomic.h"
#include "world.h"

#define ARRAY   0x7000u       /* pieces' descriptors */
#define AT      0x4000u       /* of the target's range */
#define LONG_NS 60000000000ull

static struct initiator_args apply(handle_t md, uint64_t from, uint64_t length, uint32_t operation,
				   uint32_t datatype)
{
	struct initiator_args args = to(md, 0, 5);

	args.operation = MESSAGE_ATOMIC;
	args.atomic_operation = (uint8_t)operation;
	args.datatype = (uint8_t)datatype;
	args.local_offset = from;
	args.length = length;
	args.ack = ACK_YES;
	return args;
}

/* The target's bytes after the operation, calculated at once. */
static void expect(const struct world *w, uint8_t *wanted, uint64_t from,
		   const struct initiator_args *args, uint64_t bytes)
{
	memcpy(wanted, w->views[0].memory + AT, ATOMIC_LONGEST);
	atomic_apply(args->atomic_operation, args->datatype, wanted, bytes,
		     w->views[1].memory + from, args->length);
}

static void check_events(struct world *w, handle_t eq, handle_t events, uint64_t rlength,
			 uint64_t mlength)
{
	CHECK_IS(next(w, 0, eq), EVENT_PUT_START);
	CHECK_IS(next(w, 0, eq), EVENT_PUT_END);
	CHECK_IS(w->event.ni_fail_type, NI_OK);
	CHECK_IS(w->event.rlength, rlength);
	CHECK_IS(w->event.mlength, mlength);
	CHECK_IS(next(w, 0, eq), -1);
	CHECK_IS(next(w, 1, events), EVENT_SEND_START);
	CHECK_IS(next(w, 1, events), EVENT_SEND_END);
	CHECK_IS(next(w, 1, events), EVENT_ACK);
	CHECK_IS(w->event.ni_fail_type, NI_OK);
	CHECK_IS(w->event.mlength, mlength);
	CHECK_IS(next(w, 1, events), -1);
}

/* Remove the objects of the target and of the initiator, and end the world. */
static void close_pair(struct world *w, handle_t me, handle_t eq, handle_t source, handle_t events)
{
	remove_md(w, 1, source);
	remove_me(w, 0, me);
	remove_eq(w, 0, eq);
	remove_eq(w, 1, events);
	world_close(w);
}

TEST_PATHS(rule36_long_operations)
{
	static const uint64_t lengths[] = { 72, 128, 136, 1000, 4096, ATOMIC_LONGEST };
	static uint8_t wanted[ATOMIC_LONGEST];
	handle_t eq, events, me, source;
	struct world w;
	uint32_t n = 0;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	events = new_eq(&w, 1, 16);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(AT, WORDS - AT, MD_OP_PUT | MD_MANAGE_REMOTE, eq), UNLINK_NEVER);
	source = bind(&w, 1, memory(0, WORDS, 0, events), UNLINK_NEVER);
	for (uint32_t operation = 0; operation < ATOMIC_OPERATIONS; operation++)
		for (uint32_t type = 0; type < ATOMIC_TYPES; type++) {
			uint64_t length = lengths[n++ % (sizeof(lengths) / sizeof(lengths[0]))];
			struct initiator_args args = apply(source, 100, length, operation, type);

			if (operation == ATOMIC_CSWAP ||
			    !atomic_valid(MESSAGE_ATOMIC, operation, type, length)) {
				CHECK_IS(put(&w, 1, args), PORTALS_ATOMIC_INVALID);
				continue;
			}
			fill(&w, 0);
			expect(&w, wanted, 100, &args, length);
			CHECK_IS(put(&w, 1, args), 0);
			CHECK_IS(memcmp(wanted, w.views[0].memory + AT, ATOMIC_LONGEST), 0);
			check_events(&w, eq, events, length, length);
		}
	close_pair(&w, me, eq, source, events);
}

TEST_PATHS(rule36_long_operations_are_truncated_to_whole_elements)
{
	static uint8_t wanted[ATOMIC_LONGEST];
	struct initiator_args args;
	handle_t eq, events, me;
	struct world w;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	events = new_eq(&w, 1, 16);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(AT, 1003, MD_OP_PUT | MD_MANAGE_REMOTE | MD_TRUNCATE, eq),
	       UNLINK_NEVER);
	args = apply(bind(&w, 1, memory(0, WORDS, 0, events), UNLINK_NEVER), 0, 2000, ATOMIC_SUM,
		     ATOMIC_UINT64);
	expect(&w, wanted, 0, &args, 1000);
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(memcmp(wanted, w.views[0].memory + AT, ATOMIC_LONGEST), 0);
	check_events(&w, eq, events, 2000, 1000);
	close_pair(&w, me, eq, args.md, events);
}

/* Pieces of 1 to 13 bytes on both sides: elements and steps begin and end anywhere in them. */
TEST_PATHS(rule36_long_operations_in_pieces)
{
	enum { PIECES = 100, BYTES = 696 };
	static uint8_t operands[BYTES], wanted[BYTES], found[BYTES];
	struct initiator_args args;
	handle_t eq, events, me;
	uint64_t bytes = 0;
	struct world w;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	events = new_eq(&w, 1, 16);
	for (uint32_t p = 0; p < 2; p++) {
		struct iovec_args *array = (struct iovec_args *)(w.views[p].memory + ARRAY);

		bytes = 0;
		for (uint32_t i = 0; i < PIECES; i++) {
			uint32_t length = 1 + (i * (p + 5)) % 13;
			const uint8_t *from = w.views[p].memory + 20 * i;

			array[i] = (struct iovec_args){ BASE + 20 * i, length };
			for (uint32_t j = 0; j < length && bytes < BYTES; j++)
				(p ? operands : wanted)[bytes++] = from[j];
		}
	}
	CHECK_IS(bytes, BYTES);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(ARRAY, PIECES, MD_OP_PUT | MD_MANAGE_REMOTE | MD_IOVEC, eq),
	       UNLINK_NEVER);
	args = apply(bind(&w, 1, memory(ARRAY, PIECES, MD_IOVEC, events), UNLINK_NEVER), 0, BYTES,
		     ATOMIC_SUM, ATOMIC_UINT64);
	atomic_apply(ATOMIC_SUM, ATOMIC_UINT64, wanted, BYTES, operands, BYTES);
	CHECK_IS(put(&w, 1, args), 0);
	bytes = 0;
	for (uint32_t i = 0; i < PIECES; i++)
		for (uint32_t j = 0; j < 1 + (i * 5) % 13 && bytes < BYTES; j++)
			found[bytes++] = w.views[0].memory[20 * i + j];
	CHECK_IS(memcmp(wanted, found, BYTES), 0);
	check_events(&w, eq, events, BYTES, BYTES);
	close_pair(&w, me, eq, args.md, events);
}

/* Without an ack, up to 128 bytes of operands are read before the message is delivered: the
 * descriptor may be gone by then. */
TEST_PATHS(rule36_operands_of_a_descriptor_that_unlinks_itself)
{
	static const uint64_t lengths[] = { 64, 72, 128, 136 };
	static uint8_t wanted[ATOMIC_LONGEST];
	handle_t eq, me;
	struct world w;

	world_open(&w, &test_limits);
	eq = new_eq(&w, 0, 16);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(AT, WORDS - AT, MD_OP_PUT | MD_MANAGE_REMOTE, eq), UNLINK_NEVER);
	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct iovec_args *array = (struct iovec_args *)(w.views[1].memory + ARRAY);
		struct md_args once = memory(ARRAY, 2, MD_IOVEC, EQ_NONE);
		struct initiator_args args;

		array[0] = (struct iovec_args){ BASE + 100, 12 };
		array[1] = (struct iovec_args){ BASE + 112, 300 };
		once.threshold = 1;
		args = apply(bind(&w, 1, once, UNLINK_AUTO), 0, lengths[i], ATOMIC_SUM,
			     ATOMIC_UINT64);
		args.ack = ACK_NO;
		expect(&w, wanted, 100, &args, lengths[i]);
		CHECK_IS(put(&w, 1, args), 0);
		CHECK_IS(md_lookup(&w.views[1], args.md) == 0, 1);
		CHECK_IS(memcmp(wanted, w.views[0].memory + AT, ATOMIC_LONGEST), 0);
		CHECK_IS(next(&w, 0, eq), EVENT_PUT_START);
		CHECK_IS(next(&w, 0, eq), EVENT_PUT_END);
		CHECK_IS(w.event.ni_fail_type, NI_OK);
	}
	remove_me(&w, 0, me);
	remove_eq(&w, 0, eq);
	world_close(&w);
}

TEST(rule36_long_operations_that_are_refused)
{
	struct initiator_args args;
	handle_t events;
	struct world w;

	world_open(&w, &test_limits);
	events = new_eq(&w, 1, 16);
	args = apply(bind(&w, 1, memory(0, SEGMENT, 0, events), UNLINK_NEVER), 0,
		     ATOMIC_LONGEST + 8, ATOMIC_SUM, ATOMIC_UINT64);
	CHECK_IS(put(&w, 1, args), PORTALS_ATOMIC_INVALID);
	args.length = 100;                        /* no multiple of 8 */
	CHECK_IS(put(&w, 1, args), PORTALS_ATOMIC_INVALID);
	args.length = 72;
	args.atomic_operation = ATOMIC_CSWAP;
	CHECK_IS(put(&w, 1, args), PORTALS_ATOMIC_INVALID);
	args.operation = MESSAGE_FETCH_ATOMIC;
	args.atomic_operation = ATOMIC_SUM;
	args.put_md = args.md;
	CHECK_IS(getput(&w, 1, &args), PORTALS_ATOMIC_INVALID);
	CHECK_IS(next(&w, 1, events), -1);
	remove_md(&w, 1, args.md);
	remove_eq(&w, 1, events);
	world_close(&w);
}

/* A step that divides an element, or is too long, changes nothing. */
TEST(rule36_steps_that_divide_elements)
{
	static const struct { uint64_t at, bytes; } bad[] = { { 4, 8 }, { 8, 12 }, { 0, 520 } };
	uint8_t operands[1024] = { 1 };
	struct message m = request(MESSAGE_ATOMIC, 1, 0, 5, 1024), answer;
	struct grant grant;
	handle_t me;
	struct world w;

	world_open(&w, &test_limits);
	fill(&w, 0);
	me = new_me(&w, 0, 5);
	attach(&w, 0, me, memory(0, 1024, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE), UNLINK_NEVER);
	m.atomic_operation = ATOMIC_SUM;
	m.datatype = ATOMIC_UINT64;
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_OK);
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_IS(deliver_apply(&w.views[0], &grant, ATOMIC_SUM, ATOMIC_UINT64, bad[i].at,
				       operands, bad[i].bytes), DELIVER_DAMAGED);
	CHECK_IS(deliver_apply(&w.views[0], &grant, ATOMIC_SUM, ATOMIC_UINT64, 1024, operands, 8),
		 DELIVER_OK);                     /* beyond the range */
	CHECK(shows(&w, 0, 0, 0, 0, WORDS));
	CHECK_IS(deliver_end(&w.views[0], &grant, NI_FAIL, &answer), DELIVER_OK);
	m.length = 64;                            /* deliver_atomic is for these */
	CHECK_IS(deliver_begin(&w.views[0], &m, 1, &grant, &answer), DELIVER_DROPPED);
	remove_me(&w, 0, me);
	world_close(&w);
}

/* Pieces of 1 byte: the few that a frame may have are not many bytes, but whole elements. */
TEST(frames_divide_no_element_in_pieces)
{
	enum { PIECES = 100, SHORT = 90, BYTES = SHORT + 198 };
	struct netsim_config network = netsim_defaults(PROCESSES, 5);
	struct link_config config = link_defaults(0, PROCESSES, 1000);
	struct initiator_args args;
	struct iovec_args *array;
	uint8_t wanted[WORDS];
	struct fabric fabric;
	struct world w;

	world_open(&w, &test_limits);
	fabric_open(&fabric, w.views, PROCESSES, &network, &config);
	attach(&w, 0, new_me(&w, 0, 5), memory(0, WORDS, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE),
	       UNLINK_NEVER);
	array = (struct iovec_args *)(w.views[1].memory + 0x8100);
	for (uint32_t i = 0; i < PIECES; i++)
		array[i] = (struct iovec_args){ BASE + (i < SHORT ? i : SHORT + 20 * (i - SHORT)),
						i < SHORT ? 1 : 20 };
	args = apply(bind(&w, 1, memory(0x8100, PIECES, MD_IOVEC, EQ_NONE), UNLINK_NEVER), 0, BYTES,
		     ATOMIC_SUM, ATOMIC_UINT64);
	memcpy(wanted, w.views[0].memory, WORDS);
	atomic_apply(ATOMIC_SUM, ATOMIC_UINT64, wanted, BYTES, w.views[1].memory, BYTES);
	CHECK_IS(fabric_start(&fabric, 1, &args), 0);
	CHECK_IS(fabric_settle(&fabric, LONG_NS), 1);
	CHECK_IS(memcmp(w.views[0].memory, wanted, WORDS), 0);
	CHECK_IS(fabric_close(&fabric), 0);
	world_drop(&w);
}

/* Two nodes add to one place: each operation counts once. Each also swaps values into a place of its
 * own, where the last swap must win. */
TEST(frames_apply_long_operations_once_and_in_order)
{
	for (uint32_t rate = 0; rate <= 100000; rate += 50000) {
		struct netsim_config network = netsim_defaults(PROCESSES, rate + 3);
		struct link_config config = link_defaults(0, PROCESSES, 1000);
		struct fabric fabric;
		handle_t source[PROCESSES], me;
		struct world w;

		network.loss = network.duplicate = network.reorder = network.damage =
			network.delay = rate;
		config.check_payload = 1;
		world_open(&w, &test_limits);
		fabric_open(&fabric, w.views, PROCESSES, &network, &config);
		me = new_me(&w, 0, 5);
		attach(&w, 0, me, memory(0, WORDS, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE),
		       UNLINK_NEVER);
		memset(w.views[0].memory, 0, WORDS);
		for (uint32_t p = 1; p < PROCESSES; p++) {
			uint64_t *words = (uint64_t *)w.views[p].memory;

			for (uint32_t i = 0; i < WORDS / 8; i++)
				words[i] = p << 16 | i;
			source[p] = bind(&w, p, memory(0, WORDS, 0, EQ_NONE), UNLINK_NEVER);
		}
		for (uint32_t i = 0; i < 20; i++)
			for (uint32_t p = 1; p < PROCESSES; p++) {
				struct initiator_args args = apply(source[p], 0, 4000, ATOMIC_SUM,
								   ATOMIC_UINT64);

				args.ack = ACK_NO;
				CHECK_IS(fabric_start(&fabric, p, &args), 0);
				args.atomic_operation = ATOMIC_SWAP;
				args.remote_offset = 4000 * p;
				args.local_offset = 8 * i;
				args.length = 4000 - 200 * i;
				CHECK_IS(fabric_start(&fabric, p, &args), 0);
			}
		CHECK_IS(fabric_settle(&fabric, LONG_NS), 1);
		for (uint32_t i = 0; i < 500; i++) {
			const uint64_t *words = (const uint64_t *)w.views[0].memory;

			CHECK_IS(words[i], 20 * ((1u << 16 | i) + (2u << 16 | i)));
			for (uint32_t p = 1; p < PROCESSES; p++) {
				/* The last one that wrote here: 500 - 25 * last > i. */
				uint32_t last = (499 - i) / 25 < 19 ? (499 - i) / 25 : 19;

				CHECK_IS(words[500 * p + i], p << 16 | (i + last));
			}
		}
		CHECK_IS(fabric_close(&fabric), 0);
		world_drop(&w);
	}
}
