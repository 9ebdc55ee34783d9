/*
 * The fuzzers' input: from a step's bytes to lengths, addresses and handles. Most choices name
 * existing objects, so that most calls get past the checks.
 */
#include "fuzz.h"

uint64_t amount(uint16_t x)
{
	static const uint64_t borders[] = {
		0, 1, 63, 64, 65, SEGMENT - 1, SEGMENT, SEGMENT + 1, 1ULL << 32, 1ULL << 63,
		~0ULL >> 1, ~0ULL - BASE, ~0ULL - 63, ~0ULL - 1, ~0ULL, 1ULL << 31
	};

	switch (x >> 14) {
	case 0:
		return x & 63;
	case 1:
		return x & 511;
	case 2:
		return x & (2 * SEGMENT - 1);
	default:
		return borders[x & 15];
	}
}

uint64_t address(uint16_t x)
{
	if ((x & 0xf000) == 0xf000)
		return BASE + SEGMENT - (x & 63);
	if ((x & 0xf800) == 0xe800)
		return amount(x | 0xc000) + (x & 16 ? BASE : 0);
	return BASE + (x & (SEGMENT - 1));
}

uint32_t identity(uint8_t x, uint32_t own)
{
	if (x < 128)
		return ANY_ID;
	return x < 240 ? own : x & 3;
}

/* Almost a handle of this kind. */
handle_t damaged_handle(handle_t handle, uint8_t how)
{
	switch (how & 7) {
	case 0:
		return HANDLE_NONE;
	case 1:
		return handle + HANDLE_NEXT;
	case 2:
		return handle - HANDLE_NEXT;
	case 3:
		return handle | HANDLE_INDEX_MASK;
	case 4:
		return handle + MDS;
	case 5:
		return handle + (1ULL << HANDLE_KIND_SHIFT);
	case 6:
		return handle & HANDLE_INDEX_MASK;
	default:
		return ~0ULL;
	}
}

/* Choices: bit 7 a wrong handle, bit 6 possibly a stale one, otherwise a live one. */
#define SOME(count, at, lives) \
	uint32_t first = (choice & 63) % (count); \
	if (!(choice & 64)) \
		for (uint32_t i = 0; i < (count); i++, first = (first + 1) % (count)) \
			if (lives(&process->view, at)) \
				break; \
	return (choice & 0xe0) == 0xe0 ? damaged_handle(at, choice) : at;

handle_t some_me(const struct process *process, uint8_t choice)
{
	SOME(MES, process->mes[first], me_lookup)
}

handle_t some_md(const struct process *process, uint8_t choice)
{
	SOME(MDS, process->mds[first].handle, md_lookup)
}

handle_t some_eq(const struct process *process, uint8_t choice)
{
	if ((choice & 0xc0) == 0x80)
		return EQ_NONE;
	SOME(EQS, process->eqs[first], eq_lookup)
}

struct known *known_md(struct process *process, handle_t handle)
{
	for (uint32_t i = 0; i < MDS; i++)
		if (process->mds[i].handle == handle)
			return &process->mds[i];
	return 0;
}
