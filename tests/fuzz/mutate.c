/*
 * How libFuzzer changes inputs: whole steps are inserted, removed, moved and repeated, and fields
 * within a step change, so that steps stay aligned. Short sequences of related steps start the
 * search.
 */
#include <string.h>
#include "fuzz.h"

#define BYTES  sizeof(struct step)

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *out, size_t max_size,
				 unsigned int seed);

static uint32_t roll(uint64_t *state, uint32_t sides)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33) % sides;
}

static struct step random_step(uint64_t *state, uint32_t kind)
{
	struct step step;
	uint8_t *bytes = (uint8_t *)&step;

	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(roll(state, 3) ? roll(state, 256) : roll(state, 8));
	step.kind = (uint8_t)kind;
	step.p = (uint8_t)roll(state, 2);
	/* mostly short lengths that fit */
	if (roll(state, 4)) {
		step.x &= 0x0fff;
		step.y &= 0x7f;
		step.z &= 0x3f;
	}
	return step;
}

/* Sequences of related steps. */
static const uint8_t phrases[][8] = {
	{ STEP_EQ_ALLOC, STEP_ME_ATTACH, STEP_MD_ATTACH, STEP_DELIVER, STEP_DATA, STEP_END, 0xff },
	{ STEP_ME_ATTACH, STEP_MD_ATTACH, STEP_DELIVER, STEP_DELIVER, STEP_END, STEP_END, 0xff },
	{ STEP_MD_BIND, STEP_PUT, STEP_DELIVER, STEP_SENT, STEP_DATA, STEP_END, STEP_DELIVER, 0xff },
	{ STEP_MD_BIND, STEP_GET, STEP_DELIVER, STEP_DELIVER, STEP_DATA, STEP_END, STEP_END, 0xff },
	{ STEP_EQ_ALLOC, STEP_MD_BIND, STEP_PUT, STEP_SENT, STEP_READ, 0xff },
	{ STEP_ME_ATTACH, STEP_ME_INSERT, STEP_ME_UNLINK, 0xff },
	{ STEP_LIFE, STEP_LIFE, STEP_LIFE, STEP_EQ_ALLOC, 0xff },
	{ STEP_EQ_ALLOC, STEP_ME_ATTACH_ANY, STEP_MD_ATTACH, STEP_MD_INSERT, STEP_MD_UPDATE, 0xff },
	{ STEP_ME_ATTACH, STEP_MD_ATTACH, STEP_INLINE, STEP_INLINE, 0xff },
	{ STEP_MD_BIND, STEP_EXCHANGE, STEP_SENT, STEP_INLINE, STEP_INLINE, 0xff },
	{ STEP_DAMAGE, STEP_INLINE, STEP_ASK, 0xff },
	{ STEP_ME_ATTACH, STEP_MD_ATTACH, STEP_DAMAGE, STEP_INLINE, STEP_DELIVER, STEP_DELIVER, 0xff },
	{ STEP_DAMAGE, STEP_LIFE, STEP_LIFE, STEP_ME_ATTACH, 0xff },
	{ STEP_DAMAGE, STEP_DELIVER, STEP_END, STEP_ASK, 0xff },
};

#define PHRASES (sizeof(phrases) / sizeof(phrases[0]))

/* Make room for `count` steps at `at`; returns the new number of steps. */
static size_t insert(struct step *steps, size_t have, size_t at, size_t count)
{
	memmove(steps + at + count, steps + at, (have - at) * BYTES);
	return have + count;
}

static size_t add_phrase(struct step *steps, size_t have, size_t most, uint64_t *state)
{
	const uint8_t *phrase = phrases[roll(state, PHRASES)];
	uint8_t p = (uint8_t)roll(state, 2);
	size_t at = roll(state, 2) ? have : roll(state, (uint32_t)have + 1);

	for (size_t i = 0; phrase[i] != 0xff && have < most; i++, at++) {
		have = insert(steps, have, at, 1);
		steps[at] = random_step(state, phrase[i]);
		steps[at].p = p;
		if ((phrase[i] == STEP_DELIVER || phrase[i] == STEP_INLINE) && roll(state, 3))
			steps[at].a &= 15;
	}
	return have;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t have = size / BYTES, most = max_size / BYTES;
	struct step steps[MOST_STEPS + 8];
	uint64_t state = seed;
	size_t a, b;

	if (most > MOST_STEPS)
		most = MOST_STEPS;
	if (have > most)
		have = most;
	if (most == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(steps, data, have * BYTES);
	for (uint32_t times = 1 + roll(&state, 3); times > 0; times--) {
		a = have ? roll(&state, (uint32_t)have) : 0;
		b = have ? roll(&state, (uint32_t)have) : 0;
		switch (have ? roll(&state, 12) : 0) {
		case 0: case 1:
			have = add_phrase(steps, have, most, &state);
			break;
		case 2:
			if (have < most) {
				have = insert(steps, have, a, 1);
				steps[a] = random_step(&state, roll(&state, STEP_KINDS));
			}
			break;
		case 3:
			if (have < most) {
				struct step copy = steps[b];

				have = insert(steps, have, a, 1);
				steps[a] = copy;
			}
			break;
		case 4:
			memmove(steps + a, steps + a + 1, (have - a - 1) * BYTES);
			have--;
			break;
		case 5: {
			struct step other = steps[a];

			steps[a] = steps[b];
			steps[b] = other;
			break;
		}
		case 6:
			steps[a].kind = (uint8_t)roll(&state, STEP_KINDS);
			break;
		case 7: case 8: case 9:
			((uint8_t *)&steps[a])[roll(&state, BYTES)] = (uint8_t)roll(&state, 256);
			break;
		default:
			LLVMFuzzerMutate((uint8_t *)&steps[a], BYTES, BYTES);
			break;
		}
	}
	memcpy(data, steps, have * BYTES);
	return have * BYTES;
}

/* The beginning of one input and the end of another. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *out, size_t max_size,
				 unsigned int seed)
{
	uint64_t state = seed;
	size_t first = roll(&state, (uint32_t)(a_size / BYTES) + 1);
	size_t from = roll(&state, (uint32_t)(b_size / BYTES) + 1);
	size_t rest = b_size / BYTES - from, most = max_size / BYTES;

	if (first > most)
		first = most;
	if (rest > most - first)
		rest = most - first;
	memcpy(out, a, first * BYTES);
	memcpy(out + first * BYTES, b + from * BYTES, rest * BYTES);
	return (first + rest) * BYTES;
}
