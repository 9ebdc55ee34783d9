/*
 * The arithmetic of atomic operations against a plain calculation in wide
 * integers, and PtlAtomic and PtlFetchAtomic as messages. [M]
 */
#include <string.h>
#include "../../net/portals/atomic.h"
#include "world.h"

/* What one element becomes, calculated with 128 bits and cut to the type. */
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
	default:          return (x == y ? b : old) & mask;
	}
}

TEST(atomic_arithmetic_of_all_types)
{
	static const uint64_t values[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fffffff,
					   0x80000000, 0xffffffff, 0x7fffffffffffffff,
					   0x8000000000000000, ~0ULL, 0x0123456789abcdef };
	enum { VALUES = sizeof(values) / sizeof(values[0]) };
	uint8_t memory[8], operands[16];
	uint64_t is;

	for (int operation = 0; operation < ATOMIC_OPERATIONS; operation++)
		for (int type = 0; type < ATOMIC_TYPES; type++)
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
				if (size < 8)   /* and nothing behind the element */
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

TEST(atomic_valid_arguments)
{
	CHECK(atomic_valid(ATOMIC_CSWAP, ATOMIC_UINT64, 64));
	CHECK(atomic_valid(ATOMIC_MIN, ATOMIC_INT8, 0));
	CHECK(atomic_valid(ATOMIC_MIN, ATOMIC_INT8, 63));
	CHECK(!atomic_valid(ATOMIC_OPERATIONS, ATOMIC_INT8, 8));
	CHECK(!atomic_valid(ATOMIC_SUM, ATOMIC_TYPES, 8));
	CHECK(!atomic_valid(ATOMIC_SUM, ATOMIC_INT16, 7));
	CHECK(!atomic_valid(ATOMIC_SUM, ATOMIC_UINT64, 60));
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
	/* compare-and-swap: compared values, then new ones */
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
