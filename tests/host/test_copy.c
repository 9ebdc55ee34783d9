/*
 * The kernel's copy routines, compiled for the host, compared with memmove. Copies: all lengths
 * around their steps. Moves: these too, but only every 31st of the longer ones, at all distances at
 * which two ranges overlap.
 */
#define port_copy kernel_copy
#define port_move kernel_move
#include "../../kernel/base/copy.c"

#include <string.h>

#include "check.h"

enum { LONGEST = (TURNS + 3) * BLOCK + 1, APART = LONGEST + 8, ROOM = 2 * APART + LONGEST };

static uint8_t got[ROOM], wanted[ROOM];

static void fill(void)
{
	for (unsigned int i = 0; i < ROOM; i++)
		got[i] = wanted[i] = (uint8_t)(i * 167 + i / 256);
}

/* Copies from the middle to `distance` bytes behind it. */
static void try_one(void (*copy)(void *, const void *, uint64_t), int distance, uint64_t bytes)
{
	fill();
	copy(got + APART + distance, got + APART, bytes);
	memmove(wanted + APART + distance, wanted + APART, bytes);
	CHECK(memcmp(got, wanted, ROOM) == 0);
}

TEST(copies_of_every_length)
{
	for (uint64_t bytes = 0; bytes <= LONGEST; bytes++)
		for (int beside = 0; beside < 8; beside++) {
			try_one(kernel_copy, LONGEST + beside, bytes);
			try_one(kernel_copy, -LONGEST - beside, bytes);
		}
}

TEST(moves_of_every_length_and_overlap)
{
	for (uint64_t bytes = 0; bytes <= LONGEST; bytes += bytes < 3 * BLOCK ? 1 : 31)
		for (int distance = -APART; distance <= APART; distance++)
			try_one(kernel_move, distance, bytes);
}
