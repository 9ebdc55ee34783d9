/*
 * Steps of a faulty neighbour, which writes into a block what no engine would: a field gets an
 * index, an address, a length, a handle or a flipped bit, or a whole area becomes noise.
 */
#include <string.h>
#include "../../net/portals/index.h"
#include "fuzz.h"

/* Entries of a pool that were ever used: damage elsewhere rarely has an effect. */
static uint32_t used(const struct process *process, enum block_pool pool, uint32_t count)
{
	uint32_t fresh = process->view.block->pools[pool].fresh;

	return fresh > 0 && fresh < count ? fresh : count;
}

/* The parts of a block: offset, bytes. Part 0 is all of it. */
static struct range part(const struct process *process, uint32_t which)
{
	const struct process_view *view = &process->view;
	const uint8_t *base = (const uint8_t *)view->block;

#define PART(first, bytes) \
	return (struct range){ (uint64_t)((const uint8_t *)(first) - base), bytes }
#define POOL(entries, pool, count) \
	PART(entries, used(process, pool, count) * sizeof((entries)[0]))
	switch (which) {
	case 1:
		PART(&view->block->pools, sizeof(view->block->pools));
	case 2:
		PART(view->portals, PORTALS * sizeof(struct portal));
	case 3:
		POOL(view->mes, POOL_ME, MES);
	case 4: case 12:
		POOL(view->mds, POOL_MD, MDS);
	case 5:
		POOL(view->eqs, POOL_EQ, EQS);
	case 6:
		POOL(view->ops, POOL_OP, OPS);
	case 7:
		PART(view->acs, 4 * sizeof(struct ac));
	case 8:
		PART(&view->block->magic, offsetof(struct block, spare) - 64);
	case 9:
		PART(view->slots, SLOTS * EVENT_SLOT_BYTES);
	case 10:
		POOL(view->pieces, POOL_PIECE, PIECES);
	case 11:
		PART(view->chains, (1u << (64 - view->chain_shift)) * sizeof(struct chain));
	case 13:
		PART(&view->block->magic, 8);
	case 14:
		PART(view->masks, PORTALS * PORTAL_MASKS * sizeof(struct mask));
	default:
		return (struct range){ 64, fuzz_block_bytes - 64 };
	}
#undef PART
#undef POOL
}

#define PARTS 15u

/* A replacement for `old`. */
static uint64_t value_of(const struct process *process, const struct step *step, uint64_t old)
{
	switch (step->d % 12) {
	case 0: case 1:
		return step->y & 15;
	case 2:
		return NO_INDEX;
	case 3:
		return address(step->y);
	case 4:
		return amount(step->y);
	case 5:
		return old ^ 1ULL << (step->y & 63);
	case 6:
		return old + (step->y & 3) - 1;
	case 7:
		return some_md(process, step->e);
	case 8:
		return some_eq(process, step->e);
	case 9:
		return some_me(process, step->e);
	case 10:
		return process->view.ops[step->y % OPS].handle;
	default:
		return (uint64_t)step->y << 48 | (uint64_t)step->z << 32 | (uint32_t)step->w << 16 |
		       step->z;
	}
}

/* Noise: mostly small numbers, so that walks of lists continue. */
static void noise(uint8_t *at, uint64_t bytes, uint64_t state, uint8_t how)
{
	for (uint64_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t value;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		value = state >> 33;
		if (how & 1)
			value = (value & 0xf) | (value & 0xf00) << 24;
		else if (value & 1)
			value &= 0xff;
		if (!(how & 2) || value & 2)
			memcpy(at + i, &value, 8);
	}
}

void step_damage(struct process *process, const struct step *step)
{
	struct range range = part(process, step->a % PARTS);
	uint8_t *block = (uint8_t *)process->view.block;
	uint32_t bytes = 1u << (step->c & 3);
	uint64_t at, old, value;

	if (step->b == 0xff) {
		noise(block + range.offset, range.bytes, (uint64_t)step->x << 16 | step->y, step->c);
		return;
	}
	at = range.offset + ((uint64_t)step->b << 16 | step->x) % (range.bytes / 4) * 4;
	if (bytes < 4)
		at += step->f & 3 & ~(bytes - 1);
	else if (at + bytes > range.offset + range.bytes)
		bytes = 4;
	memcpy(&old, block + (at & ~7ULL), 8);
	value = value_of(process, step, old);
	if (step->kind % STEP_KINDS == STEP_DAMAGE_WITHIN)
		fuzz_damage_at(1 + step->w % 256, block + at, value, bytes);
	else
		memcpy(block + at, &value, bytes);
}
