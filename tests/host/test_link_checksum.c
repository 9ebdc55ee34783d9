/*
 * What the checksum of a frame's header is, and finds (net/link/wire.h).
 */
#include <string.h>
#include "../../net/link/wire.h"
#include "check.h"

#define BITS (WIRE_DATA * 8)

static uint8_t frame[WIRE_DATA];

static void fill(uint64_t *dice)
{
	for (uint32_t at = 0; at < sizeof(frame); at++)
		frame[at] = (uint8_t)check_random(dice);
	memset(frame + WIRE_CHECKSUM, 0, 4);
}

static void flip(uint32_t bit)
{
	frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

TEST(checksum_has_the_known_values)
{
	memset(frame, 0, sizeof(frame));
	CHECK_IS(wire_checksum(frame, WIRE_HEADER), 0);
	frame[WIRE_HEADER - 8] = 1;       /* the factor's halves; its upper product is 0 */
	CHECK_IS(wire_checksum(frame, WIRE_HEADER), 0x9e3779b9u ^ 0x7f4a7c15u);
	memset(frame + WIRE_CHECKSUM, 0xff, 4);         /* its own field counts as zero */
	CHECK_IS(wire_checksum(frame, WIRE_HEADER), 0x9e3779b9u ^ 0x7f4a7c15u);
	frame[WIRE_HEADER - 8] = 0;
	frame[WIRE_HEADER - 1] = 0x80;    /* 2^63: half the factor above, 2^63 below */
	CHECK_IS(wire_checksum(frame, WIRE_HEADER), 0x4f1bbcdcu ^ 0xbfa53e0au ^ 0x80000000u);
}

/* All pairs, in a header of zeros and in some of anything. */
TEST(checksum_finds_each_change_of_one_bit_or_two)
{
	uint64_t dice = 1;
	uint32_t hidden = 0;

	memset(frame, 0, sizeof(frame));
	for (int round = 0; round < 3; round++) {
		uint32_t sum = wire_checksum(frame, WIRE_DATA);

		for (uint32_t a = 0; a < BITS; a++) {
			if (a / 32 == WIRE_CHECKSUM / 4)
				continue;
			flip(a);
			hidden += wire_checksum(frame, WIRE_DATA) == sum;
			for (uint32_t b = 0; b < a; b++) {
				if (b / 32 == WIRE_CHECKSUM / 4)
					continue;
				flip(b);
				hidden += wire_checksum(frame, WIRE_DATA) == sum;
				flip(b);
			}
			flip(a);
		}
		fill(&dice);
	}
	CHECK_IS(hidden, 0);
}

/* Bursts, runs of zeros and ones, words that change places. */
TEST(checksum_finds_what_goes_wrong_at_once)
{
	uint64_t dice = 2, kept;
	uint8_t whole[WIRE_DATA];
	uint32_t sum;

	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t from = (uint32_t)check_random(&dice) % WIRE_DATA;
		uint32_t until = from + 1 + (uint32_t)check_random(&dice) % (WIRE_DATA - from);
		uint32_t one = from / 8 * 8, other = (until - 1) / 8 * 8;

		fill(&dice);
		memcpy(whole, frame, sizeof(whole));
		sum = wire_checksum(whole, WIRE_DATA);
		switch (round % 4) {
		case 0:
			memset(frame + from, 0, until - from);
			break;
		case 1:
			memset(frame + from, 0xff, until - from);
			break;
		case 2:
			for (uint32_t at = from; at < until; at++)
				frame[at] ^= (uint8_t)check_random(&dice);
			break;
		default:
			kept = wire_get(frame + one, 8);
			wire_put(frame + one, wire_get(frame + other, 8), 8);
			wire_put(frame + other, kept, 8);
		}
		memset(frame + WIRE_CHECKSUM, 0, 4);
		CHECK_IS(memcmp(frame, whole, sizeof(whole)) == 0 ||
			 wire_checksum(frame, WIRE_DATA) != sum, 1);
	}
}
