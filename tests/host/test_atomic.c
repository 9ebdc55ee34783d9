/*
 * The arithmetic of atomic operations against a plain calculation in wide
 * integers, and PtlAtomic and PtlFetchAtomic as messages. [M]
 */
#include <string.h>
#include "../../net/portals/atomic.h"
#include "world.h"

/* The new value of one element, calculated with 128 bits and truncated to the type. */
static uint64_t expected(int operation, int type, uint64_t old, uint64_t a, uint64_t b)
{
	int bits = 8 << type / 2;
	uint64_t mask = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
	__int128 x = old & mask, y = a & mask;

	if (type % 2 == 0 && x >> (bits - 1))
		x -= (__int128)1 << bits;
	if (type % 2 == 0 && y >> (bits - 1))
		y -= (__int128)1 << bits;
	switch (operation) {
	case ATOMIC_MIN:  return (uint64_t)(y < x ? y : x) & mask;
	case ATOMIC_MAX:  return (uint64_t)(y > x ? y : x) & mask;
	case ATOMIC_SUM:  return (uint64_t)(x + y) & mask;
	case ATOMIC_BOR:  return (old | a) & mask;
	case ATOMIC_BAND: return (old & a) & mask;
	case ATOMIC_BXOR: return (old ^ a) & mask;
	case ATOMIC_SWAP: return a & mask;
	case ATOMIC_PROD: return (uint64_t)((unsigned __int128)x * (unsigned __int128)y) & mask;
	case ATOMIC_LOR:  return x != 0 || y != 0;
	case ATOMIC_LAND: return x != 0 && y != 0;
	case ATOMIC_LXOR: return (x != 0) != (y != 0);
	case ATOMIC_NOOP: return old & mask;
	default:          return (x == y ? b : old) & mask;
	}
}

TEST(rule36_integers_of_all_types)
{
	static const uint64_t values[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fffffff,
					   0x80000000, 0xffffffff, 0x7fffffffffffffff,
					   0x8000000000000000, ~0ULL, 0x0123456789abcdef };
	enum { VALUES = sizeof(values) / sizeof(values[0]) };
	uint8_t memory[8], operands[16];
	uint64_t is;

	for (int operation = 0; operation < ATOMIC_OPERATIONS; operation++)
		for (int type = 0; type < ATOMIC_FLOAT; type++)
			for (int i = 0; i < VALUES * VALUES; i++) {
				uint64_t old = values[i / VALUES], a = values[i % VALUES];
				uint64_t b = ~old + 5, size = atomic_size((uint32_t)type);

				memcpy(memory, &old, 8);
				memcpy(operands, &a, 8);
				memcpy(operands + size, &b, size);
				atomic_apply((uint32_t)operation, (uint32_t)type, memory, size,
					     operands, size);
				is = 0;
				memcpy(&is, memory, size);
				CHECK_IS(is, expected(operation, type, old, a, b));
				if (size < 8)   /* and nothing after the element */
					CHECK_IS(memcmp(memory + size, (uint8_t *)&old + size, 8 - size), 0);
			}
}

TEST(atomic_arithmetic_of_many_elements)
{
	int16_t memory[5] = { 1, -2, 300, -400, 7 }, operands[4] = { 10, 10, -10, -10 };
	int32_t pairs[2] = { 5, 6 }, swap[4] = { 5, 7, 50, 60 };

	atomic_apply(ATOMIC_SUM, ATOMIC_INT16, (uint8_t *)memory, 8, (uint8_t *)operands, 8);
	CHECK(memory[0] == 11 && memory[1] == 8 && memory[2] == 290 && memory[3] == -410);
	CHECK_IS(memory[4], 7);
	atomic_apply(ATOMIC_MAX, ATOMIC_INT16, (uint8_t *)memory, 5, (uint8_t *)operands, 8);
	CHECK(memory[0] == 11 && memory[1] == 10 && memory[2] == 290);  /* whole elements only */
	atomic_apply(ATOMIC_CSWAP, ATOMIC_INT32, (uint8_t *)pairs, 8, (uint8_t *)swap, 8);
	CHECK(pairs[0] == 50 && pairs[1] == 6);
}

/* A floating-point operation on one element: old value, operand, new value. */
struct float_case {
	uint32_t operation;
	uint64_t old, operand, wanted;
};

static void float_cases(uint32_t datatype, const struct float_case *cases, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t is = cases[i].old, size = atomic_size(datatype);
		uint8_t memory[24];

		memset(memory, 0xaa, sizeof(memory));
		memcpy(memory + 3, &cases[i].old, size);        /* unaligned */
		atomic_apply(cases[i].operation, datatype, memory + 3, size,
			     (const uint8_t *)&cases[i].operand, size);
		memcpy(&is, memory + 3, size);
		CHECK_IS(is, cases[i].wanted);
		CHECK(memory[2] == 0xaa && memory[3 + size] == 0xaa);
	}
}

enum { ONE = 0x3f800000, TWO = 0x40000000, SIX = 0x40c00000, THREE = 0x40400000,
       INFINITE = 0x7f800000, QUIET = 0x7fc00001, SIGNALS = 0x7f800001, TINY = 1,
       LEAST_NORMAL = 0x00800000, MOST = 0x7f7fffff };
#define MINUS(x) ((x) | 0x80000000u)
#define DEFAULT_NAN 0xffc00000u

TEST(rule36_floats)
{
	static const struct float_case cases[] = {
		{ ATOMIC_SUM, ONE, TWO, THREE }, { ATOMIC_SUM, TWO, MINUS(TWO), 0 },
		{ ATOMIC_SUM, ONE, 0x33800000, ONE },            /* 2^-24: a tie, to even */
		{ ATOMIC_SUM, ONE, 0x33800001, 0x3f800001 },     /* just above the tie */
		{ ATOMIC_SUM, TINY, TINY, 2 }, { ATOMIC_SUM, MOST, MOST, INFINITE },
		{ ATOMIC_SUM, INFINITE, MINUS(INFINITE), DEFAULT_NAN },
		{ ATOMIC_SUM, SIGNALS, ONE, SIGNALS }, { ATOMIC_SUM, ONE, SIGNALS, QUIET },
		{ ATOMIC_SUM, QUIET, SIGNALS, QUIET },
		{ ATOMIC_PROD, TWO, THREE, SIX }, { ATOMIC_PROD, LEAST_NORMAL, 0x3f000000, 0x00400000 },
		{ ATOMIC_PROD, TINY, 0x3f000000, 0 }, { ATOMIC_PROD, 3, 0x3f000000, 2 },
		{ ATOMIC_PROD, MOST, TWO, INFINITE }, { ATOMIC_PROD, 0, INFINITE, DEFAULT_NAN },
		{ ATOMIC_PROD, MINUS(ONE), QUIET, QUIET },
		{ ATOMIC_MIN, ONE, TWO, ONE }, { ATOMIC_MIN, TWO, MINUS(INFINITE), MINUS(INFINITE) },
		{ ATOMIC_MIN, 0, MINUS(0), 0 }, { ATOMIC_MIN, ONE, QUIET, ONE },
		{ ATOMIC_MIN, QUIET, ONE, QUIET }, { ATOMIC_MIN, ONE, TINY, TINY },
		{ ATOMIC_MAX, ONE, TWO, TWO }, { ATOMIC_MAX, MINUS(0), 0, MINUS(0) },
		{ ATOMIC_MAX, MINUS(TWO), MINUS(ONE), MINUS(ONE) }, { ATOMIC_MAX, ONE, QUIET, ONE },
		{ ATOMIC_LOR, 0, MINUS(0), 0 }, { ATOMIC_LOR, 0, TINY, ONE }, { ATOMIC_LOR, QUIET, 0, ONE },
		{ ATOMIC_LAND, TWO, MINUS(0), 0 }, { ATOMIC_LAND, TWO, QUIET, ONE },
		{ ATOMIC_LXOR, TWO, THREE, 0 }, { ATOMIC_LXOR, MINUS(0), THREE, ONE },
		{ ATOMIC_SWAP, ONE, SIGNALS, SIGNALS }, { ATOMIC_NOOP, SIGNALS, ONE, SIGNALS },
	};

	float_cases(ATOMIC_FLOAT, cases, sizeof(cases) / sizeof(cases[0]));
}

TEST(rule36_doubles)
{
	static const struct float_case cases[] = {
		{ ATOMIC_SUM, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000 },
		{ ATOMIC_SUM, 0x3ff0000000000000, 0x3ca0000000000000, 0x3ff0000000000000 },
		{ ATOMIC_SUM, 0x3ff0000000000000, 0x3ca0000000000001, 0x3ff0000000000001 },
		{ ATOMIC_PROD, 0x0010000000000000, 0x3fe0000000000000, 0x0008000000000000 },
		{ ATOMIC_PROD, 0x7fefffffffffffff, 0x4000000000000000, 0x7ff0000000000000 },
		{ ATOMIC_PROD, 0, 0x7ff0000000000000, 0xfff8000000000000 },
		{ ATOMIC_MIN, 0x4000000000000000, 0xbff0000000000000, 0xbff0000000000000 },
		{ ATOMIC_MAX, 0x4000000000000000, 0x7ff8000000000000, 0x4000000000000000 },
		{ ATOMIC_LAND, 1, 0x7ff8000000000000, 0x3ff0000000000000 },
		{ ATOMIC_LXOR, 1, 0x8000000000000000, 0x3ff0000000000000 },
		{ ATOMIC_LOR, 0x8000000000000000, 0, 0 },
	};

	float_cases(ATOMIC_DOUBLE, cases, sizeof(cases) / sizeof(cases[0]));
}

/* Compares bits: 0 differs from -0, and a NaN equals itself. */
TEST(rule36_compare_and_swap_of_floats)
{
	uint32_t memory[3] = { 0, QUIET, ONE };
	uint32_t operands[6] = { MINUS(0), QUIET, ONE, TWO, THREE, SIX };

	atomic_apply(ATOMIC_CSWAP, ATOMIC_FLOAT, (uint8_t *)memory, 12, (uint8_t *)operands, 12);
	CHECK(memory[0] == 0 && memory[1] == THREE && memory[2] == SIX);
}

TEST(rule36_valid_arguments)
{
	for (uint32_t operation = 0; operation < ATOMIC_OPERATIONS; operation++)
		for (uint32_t type = 0; type < ATOMIC_TYPES; type++) {
			int bits = operation == ATOMIC_BOR || operation == ATOMIC_BAND ||
				   operation == ATOMIC_BXOR;
			int valid = !(bits && type >= ATOMIC_FLOAT);

			CHECK_IS(atomic_valid(MESSAGE_FETCH_ATOMIC, operation, type, 64), valid);
			CHECK_IS(atomic_valid(MESSAGE_ATOMIC, operation, type, 64),
				 valid && operation != ATOMIC_NOOP);
		}
	CHECK_IS(atomic_size(ATOMIC_FLOAT), 4);
	CHECK_IS(atomic_size(ATOMIC_DOUBLE), 8);
	CHECK_IS(atomic_size(ATOMIC_TYPES), 0);
	CHECK(!atomic_valid(MESSAGE_ATOMIC, ATOMIC_SUM, ATOMIC_FLOAT, 6));
	CHECK(!atomic_valid(MESSAGE_ATOMIC, ATOMIC_SUM, ATOMIC_DOUBLE, 12));
}

TEST(atomic_valid_arguments)
{
	CHECK(atomic_valid(MESSAGE_ATOMIC, ATOMIC_CSWAP, ATOMIC_UINT64, 64));
	CHECK(atomic_valid(MESSAGE_ATOMIC, ATOMIC_MIN, ATOMIC_INT8, 0));
	CHECK(atomic_valid(MESSAGE_ATOMIC, ATOMIC_MIN, ATOMIC_INT8, 63));
	CHECK(!atomic_valid(MESSAGE_ATOMIC, ATOMIC_OPERATIONS, ATOMIC_INT8, 8));
	CHECK(!atomic_valid(MESSAGE_ATOMIC, ATOMIC_SUM, ATOMIC_TYPES, 8));
	CHECK(!atomic_valid(MESSAGE_ATOMIC, ATOMIC_SUM, ATOMIC_INT16, 7));
	CHECK(!atomic_valid(MESSAGE_ATOMIC, ATOMIC_SUM, ATOMIC_UINT64, 60));
}

/* A sum of `value` from process 1 into 8 bytes at 1000 of process 0. */
static struct initiator_args sum(struct world *w, handle_t md, uint64_t value)
{
	struct initiator_args args = to(md, 0, 5);

	memcpy(w->views[1].memory + 2000, &value, 8);
	args.operation = MESSAGE_ATOMIC;
	args.atomic_operation = ATOMIC_SUM;
	args.datatype = ATOMIC_UINT64;
	args.length = 8;
	return args;
}

static uint64_t word_at(struct world *w, uint32_t p, uint64_t offset)
{
	uint64_t value;

	memcpy(&value, w->views[p].memory + offset, 8);
	return value;
}

TEST(atomic_put_with_all_events)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = sum(&w, pair.source, 40);
	uint64_t before = word_at(&w, 0, 1000);

	args.ack = ACK_YES;
	CHECK_IS(put(&w, 1, args), 0);
	CHECK_IS(word_at(&w, 0, 1000), before + 40);
	CHECK(shows(&w, 0, 1008, 0, 1008, 56));
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(w.event.mlength, 8);
	CHECK_IS(next(&w, 1, pair.events), EVENT_ACK);
	CHECK_IS(w.event.mlength, 8);
	CHECK_IS(w.event.ni_fail_type, NI_OK);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_START);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_PUT_END);
	CHECK_IS(w.event.hdr_data, 0xabcdef);
	CHECK_IS(w.event.rlength, 8);
	CHECK_IS(status(&w, 0, STAT_BYTES_IN), 8);
	CHECK_IS(status(&w, 0, STAT_BYTES_OUT), 0);
	CHECK_IS(status(&w, 1, STAT_BYTES_OUT), 8);
	pair_close(&w, &pair);
}

TEST(fetch_atomic_gets_the_old_value)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = sum(&w, pair.source, 7);
	uint64_t before = word_at(&w, 0, 1000);

	args.operation = MESSAGE_FETCH_ATOMIC;
	args.put_md = pair.source, args.local_offset = 24;
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK_IS(word_at(&w, 0, 1000), before + 7);
	CHECK_IS(word_at(&w, 1, 2024), before);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_GETPUT_START);
	CHECK_IS(next(&w, 0, pair.eq), EVENT_GETPUT_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_SEND_END);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_START);
	CHECK_IS(next(&w, 1, pair.events), EVENT_REPLY_END);
	CHECK_IS(w.event.mlength, 8);
	CHECK_IS(status(&w, 0, STAT_BYTES_IN), 8);
	CHECK_IS(status(&w, 0, STAT_BYTES_OUT), 8);
	/* compare-and-swap: the compared values, then the new ones */
	before = word_at(&w, 0, 1000);
	memcpy(w.views[1].memory + 2000, &before, 8);
	memset(w.views[1].memory + 2008, 0x11, 8);
	args.atomic_operation = ATOMIC_CSWAP;
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK_IS(word_at(&w, 0, 1000), 0x1111111111111111);
	CHECK_IS(word_at(&w, 1, 2024), before);
	CHECK_IS(getput(&w, 1, &args), 0);       /* no longer equal */
	CHECK_IS(word_at(&w, 0, 1000), 0x1111111111111111);
	CHECK_IS(word_at(&w, 1, 2024), 0x1111111111111111);
	for (int i = 0; i < 8; i++)
		next(&w, 1, pair.events);
	pair_close(&w, &pair);
}

/* A hostile peer sends an operation that the type does not have, which its kernel should have
 * refused. */
TEST_PATHS(rule36_arriving_nonsense_is_discarded)
{
	static const struct { uint8_t kind, operation, datatype; } bad[] = {
		{ MESSAGE_ATOMIC, ATOMIC_BOR, ATOMIC_FLOAT }, { MESSAGE_ATOMIC, ATOMIC_NOOP, ATOMIC_INT8 },
		{ MESSAGE_FETCH_ATOMIC, ATOMIC_BXOR, ATOMIC_DOUBLE },
		{ MESSAGE_FETCH_ATOMIC, ATOMIC_OPERATIONS, ATOMIC_INT8 },
		{ MESSAGE_ATOMIC, ATOMIC_SUM, ATOMIC_TYPES }, { MESSAGE_ATOMIC, ATOMIC_SUM, 255 },
	};
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct message m = request(bad[i].kind, 1, 0, 5, 8);

		m.atomic_operation = bad[i].operation, m.datatype = bad[i].datatype;
		CHECK_IS(arrives(&w, 0, m, 0, 0), DELIVER_DROPPED);
	}
	CHECK_IS(status(&w, 0, STAT_DROPPED), sizeof(bad) / sizeof(bad[0]));
	CHECK(shows(&w, 0, 1000, 0, 1000, 64));
	pair_close(&w, &pair);
}

TEST(rule36_a_no_operation_reads)
{
	struct world w;
	struct pair pair = pair_open(&w, 0, MD_THRESH_INF, UNLINK_NEVER);
	struct initiator_args args = sum(&w, pair.source, 7);
	uint64_t before = word_at(&w, 0, 1000);

	args.atomic_operation = ATOMIC_NOOP;
	CHECK_IS(put(&w, 1, args), PORTALS_ATOMIC_INVALID);
	args.operation = MESSAGE_FETCH_ATOMIC;
	args.put_md = pair.source, args.local_offset = 24;
	CHECK_IS(getput(&w, 1, &args), 0);
	CHECK_IS(word_at(&w, 0, 1000), before);
	CHECK_IS(word_at(&w, 1, 2024), before);
	for (int i = 0; i < 4; i++)
		next(&w, 1, pair.events);
	for (int i = 0; i < 2; i++)
		next(&w, 0, pair.eq);
	pair_close(&w, &pair);
}

/* Two and a half elements fit: two are changed, the half is not. */
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
