/*
 * The value of the checksum of a frame's header, and the damage that it detects (net/link/wire.h).
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

/* The values that tests/frames.py computes. */
TEST(checksum_has_the_known_values)
{
	memset(frame, 0, sizeof(frame));
	CHECK_IS(wire_checksum(frame, WIRE_HEADER), 0x695ce601u);
	CHECK_IS(wire_checksum(frame, WIRE_DATA), 0x20a51aa1u);
	memset(frame + WIRE_CHECKSUM, 0xff, 4);         /* its own field counts as zero */
	CHECK_IS(wire_checksum(frame, WIRE_HEADER), 0x695ce601u);
	frame[WIRE_HEADER - 8] = 1;
	CHECK_IS(wire_checksum(frame, WIRE_HEADER), 0x0c0f4ac4u);
	frame[WIRE_HEADER - 8] = 0;
	frame[WIRE_HEADER - 1] = 0x80;
	CHECK_IS(wire_checksum(frame, WIRE_HEADER), 0x589ccaa3u);
}

/*
 * Zeros after a batch's header do not make the checksum lose a difference, not even 2 KiB of them.
 */
TEST(checksum_remembers_what_is_before_many_zeros)
{
	uint8_t zeros[WIRE_BATCH_BYTES] = { 0 };
	struct nic_piece pieces[] = { { frame, WIRE_DATA }, { zeros, sizeof(zeros) } };
	uint64_t dice = 3;

	for (int round = 0; round < 1000; round++) {
		uint32_t sum, bit = (uint32_t)check_random(&dice) % BITS;

		fill(&dice);
		if (bit / 32 == WIRE_CHECKSUM / 4 || bit / 32 == WIRE_PAYLOAD_CRC / 4 ||
		    bit / 8 == WIRE_KIND)
			continue;
		frame[WIRE_KIND] = WIRE_KIND_MSG | WIRE_PUTS;
		wire_seal(0, 0, pieces, 2);
		sum = (uint32_t)wire_get(frame + WIRE_CHECKSUM, 4);
		CHECK_IS(sum != 0, 1);
		flip(bit);
		wire_seal(0, 0, pieces, 2);
		CHECK_IS(wire_get(frame + WIRE_CHECKSUM, 4) != sum, 1);
	}
}

/* All pairs of bits, in a header of zeros, in random ones and in one of small numbers. */
TEST(checksum_finds_each_change_of_one_bit_or_two)
{
	uint64_t dice = 1;
	uint32_t hidden = 0;

	memset(frame, 0, sizeof(frame));
	for (int round = 0; round < 4; round++) {
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
		for (uint32_t at = 0; round == 2 && at < sizeof(frame); at++)
			frame[at] = at % 8 ? 0 : frame[at] % 4;
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

/* Each word zeroed and each pair of words swapped, in typical headers: mostly small numbers and
 * zeros. */
TEST(checksum_finds_words_that_go_or_change_places)
{
	enum { WORDS = WIRE_DATA / 8, OWN = WIRE_CHECKSUM / 8 };
	uint64_t dice = 4;

	for (uint32_t round = 0; round < 1000; round++) {
		uint64_t words[WORDS] = { 0 };
		uint32_t sum;

		for (uint32_t i = 0; i < WORDS; i++)
			if (i != OWN && check_random(&dice) % 2)
				words[i] = check_random(&dice) % 16 << check_random(&dice) % 61;
		memcpy(frame, words, sizeof(frame));
		sum = wire_checksum(frame, WIRE_DATA);
		for (uint32_t i = 0; i < WORDS; i++) {
			memset(frame + 8 * i, 0, 8);
			CHECK_IS(words[i] == 0 || wire_checksum(frame, WIRE_DATA) != sum, 1);
			memcpy(frame + 8 * i, &words[i], 8);
			for (uint32_t j = 0; j < i; j++) {
				if (i == OWN || j == OWN)
					continue;
				memcpy(frame + 8 * i, &words[j], 8);
				memcpy(frame + 8 * j, &words[i], 8);
				CHECK_IS(words[i] == words[j] ||
					 wire_checksum(frame, WIRE_DATA) != sum, 1);
				memcpy(frame, words, sizeof(frame));
			}
		}
	}
}
