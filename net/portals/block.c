/*
 * The process block as a whole: layout, initialisation, opening and closing, status. This file
 * owns the header; each pool belongs to its object's file. Called by the owner's kernel at start,
 * PtlNIInit, PtlNIFini and PtlNIStatus.
 */
#include "block.h"
#include "ac.h"
#include "eq.h"
#include "index.h"
#include "iovec.h"
#include "md.h"
#include "me.h"
#include "op.h"
#include "pool.h"

#define MAX_SLOTS         (1u << 20)
#define POOL_ALIGN        64u
#define EVENT_BASE_MASK   (~0ULL >> 2)   /* keeps numbers of a damaged block below EVENT_WRITING */

/* Reserve space for `count` entries at *at; returns its aligned start. */
static uint64_t place(uint64_t *at, uint64_t count, uint64_t bytes, uint64_t align)
{
	uint64_t start = (*at + align - 1) & ~(align - 1);

	*at = start + count * bytes;
	return start;
}

static int pool_limit_valid(uint32_t limit)
{
	return limit > 0 && limit < NO_INDEX;
}

int block_layout(const struct block_limits *limits, struct block_layout *layout)
{
	uint64_t at = sizeof(struct block);

	*layout = (struct block_layout){ 0 };
	if (!pool_limit_valid(limits->portals) || !pool_limit_valid(limits->acs) ||
	    limits->acs < 2 || !pool_limit_valid(limits->mes) ||
	    !pool_limit_valid(limits->mds) || !pool_limit_valid(limits->eqs) ||
	    !pool_limit_valid(limits->ops) || !pool_limit_valid(limits->pieces) ||
	    limits->slots == 0 || limits->slots > MAX_SLOTS)
		return PORTALS_FAIL;
	layout->portals = place(&at, limits->portals, sizeof(struct portal), POOL_ALIGN);
	layout->acs = place(&at, limits->acs, sizeof(struct ac), POOL_ALIGN);
	layout->mes = place(&at, limits->mes, sizeof(struct me), POOL_ALIGN);
	layout->mds = place(&at, limits->mds, sizeof(struct md), POOL_ALIGN);
	layout->eqs = place(&at, limits->eqs, sizeof(struct eq), POOL_ALIGN);
	layout->ops = place(&at, limits->ops, sizeof(struct operation), POOL_ALIGN);
	layout->pieces = place(&at, limits->pieces, sizeof(struct piece), POOL_ALIGN);
	layout->masks = place(&at, (uint64_t)limits->portals * PORTAL_MASKS,
			      sizeof(struct mask), POOL_ALIGN);
	layout->chains = place(&at, index_chains(limits->mes), sizeof(struct chain), POOL_ALIGN);
	layout->slots = place(&at, limits->slots, EVENT_SLOT_BYTES, BLOCK_PAGE);
	layout->bytes = place(&at, 0, 0, BLOCK_PAGE);
	return 0;
}

uint64_t block_bytes(const struct block_limits *limits)
{
	struct block_layout layout;

	block_layout(limits, &layout);
	return layout.bytes;
}

int view_init(struct process_view *view, void *block, uint64_t mapped,
	      const struct block_limits *limits)
{
	struct block_layout layout;
	uint8_t *base = block;

	if (block_layout(limits, &layout) || layout.bytes > mapped)
		return PORTALS_FAIL;
	view->block = block;
	view->limits = *limits;
	view->portals = (struct portal *)(base + layout.portals);
	view->acs = (struct ac *)(base + layout.acs);
	view->mes = (struct me *)(base + layout.mes);
	view->mds = (struct md *)(base + layout.mds);
	view->eqs = (struct eq *)(base + layout.eqs);
	view->ops = (struct operation *)(base + layout.ops);
	view->pieces = (struct piece *)(base + layout.pieces);
	view->masks = (struct mask *)(base + layout.masks);
	view->chains = (struct chain *)(base + layout.chains);
	view->chain_shift = index_shift(limits->mes);
	view->slots = base + layout.slots;
	view->sources = view->memory;
	return 0;
}

int view_check(const struct process_view *view)
{
	const struct block *block = view->block;
	const struct block_limits *a = &block->limits, *b = &view->limits;

	return block->magic == BLOCK_MAGIC && block->version == BLOCK_VERSION &&
	       block->nid == view->nid && block->pid == view->pid &&
	       a->portals == b->portals && a->acs == b->acs && a->mes == b->mes &&
	       a->mds == b->mds && a->eqs == b->eqs && a->ops == b->ops &&
	       a->slots == b->slots && a->pieces == b->pieces;
}

/* The number of a pool's entries that may have been used before: all of them, if the block does
 * not look as block_init leaves it; none in memory that was never a block. */
static uint32_t touched(const struct block *block, enum block_pool pool, uint32_t count)
{
	uint32_t fresh = block->pools[pool].fresh;

	if (block->magic == BLOCK_MAGIC || block->incarnation == 0)
		return fresh < count ? fresh : count;
	return count;
}

/* Free all objects of a pool. Generations continue from their present values. */
#define FORMAT(entries, pool, count) \
	for (uint32_t i = 0; i < touched(block, pool, count); i++) \
		(entries)[i].handle = handle_free((entries)[i].handle);

static void format_pools(struct process_view *view)
{
	const struct block_limits *limits = &view->limits;
	const uint32_t counts[POOL_COUNT] = { limits->mes, limits->mds, limits->eqs, limits->ops,
					      limits->pieces };
	struct block *block = view->block;

	for (uint32_t i = 0; i < touched(block, POOL_OP, limits->ops); i++)
		view->ops[i].phase = OP_FREE;
	FORMAT(view->mes, POOL_ME, limits->mes)
	FORMAT(view->mds, POOL_MD, limits->mds)
	FORMAT(view->eqs, POOL_EQ, limits->eqs)
	FORMAT(view->ops, POOL_OP, limits->ops)
	for (uint32_t i = 0; i < POOL_COUNT; i++)
		block->pools[i] = (struct pool){ .free = NO_INDEX, .limit = counts[i] };
}

void block_init(struct process_view *view)
{
	const struct block_limits *limits = &view->limits;
	struct block *block = view->block;
	uint64_t event_base = block->event_base;

	block->state = BLOCK_CLOSED;
	for (uint32_t i = 0; i < touched(block, POOL_EQ, limits->eqs); i++)
		if (HANDLE_KIND(view->eqs[i].handle) == KIND_EQ && view->eqs[i].next > event_base)
			event_base = view->eqs[i].next;
	block->event_base = (event_base & EVENT_BASE_MASK) + 1;
	if (block->incarnation != 0)
		index_init(view);
	format_pools(view);
	for (uint32_t i = 0; i < limits->portals; i++)
		view->portals[i] = (struct portal){ .first = NO_INDEX, .last = NO_INDEX,
						    .recent = MASK_NONE };
	ac_init(view);
	block_grant(view, 0, 0, 0);

	for (uint32_t i = 0; i < STAT_COUNTERS; i++)
		block->started.counters[i] = block->delivered.counters[i] = 0;
	block->started.before = block->started.operations;
	block->delivered.before = block->delivered.operations;
	block->started.sends = 0;
	block->limits = *limits;
	block->nid = view->nid;
	block->pid = view->pid;
	block->uid = view->uid;
	block->jid = view->jid;
	block->seed = view->seed;
	block->incarnation++;
	block->version = BLOCK_VERSION;
	/* Last: from now on view_check of another kernel accepts the header. */
	__atomic_store_n(&block->magic, BLOCK_MAGIC, __ATOMIC_RELEASE);
}

/* How many of `there` are granted if `wanted` are requested. */
static uint32_t grant_of(uint32_t wanted, uint32_t there)
{
	return wanted >= 1 && wanted <= there ? wanted : there;
}

void block_grant(struct process_view *view, const struct block_limits *wanted,
		 uint32_t max_me_list, uint32_t max_pieces)
{
	const struct block_limits *there = &view->limits;
	struct block *block = view->block;

	if (!wanted)
		wanted = there;
	block->pools[POOL_ME].limit = grant_of(wanted->mes, there->mes);
	block->pools[POOL_MD].limit = grant_of(wanted->mds, there->mds);
	block->pools[POOL_EQ].limit = grant_of(wanted->eqs, there->eqs);
	block->granted = (struct block_granted){
		.portals = grant_of(wanted->portals, there->portals),
		.acs = wanted->acs >= 2 ? grant_of(wanted->acs, there->acs) : there->acs,
		.me_list = grant_of(max_me_list, there->mes),
		.pieces = grant_of(max_pieces, BLOCK_MAX_PIECES),
		.getput = BLOCK_MAX_GETPUT,
	};
}

static handle_t ni_handle(const struct block *block)
{
	return handle_in_use(block->incarnation * HANDLE_NEXT, KIND_NI, 0);
}

handle_t block_open(struct process_view *view)
{
	view->block->state = BLOCK_OPEN;
	return ni_handle(view->block);
}

void block_close(struct process_view *view)
{
	view->block->state = BLOCK_CLOSED;
}

uint32_t block_pending(const struct process_view *view)
{
	const struct block *block = view->block;
	uint32_t pending = (uint32_t)block->started.sends;

	for (uint32_t i = 0; i < touched(block, POOL_OP, view->limits.ops); i++) {
		uint8_t phase = view->ops[i].phase;

		if (phase == OP_OPEN || (phase == OP_WAITING && block->state == BLOCK_OPEN))
			pending++;
	}
	return pending;
}

int block_is_ni(const struct process_view *view, handle_t ni)
{
	return view->block->state == BLOCK_OPEN && ni == ni_handle(view->block);
}

int block_is_alive(const struct process_view *view, handle_t handle)
{
	switch (HANDLE_KIND(handle)) {
	case KIND_NI:
		return block_is_ni(view, handle);
	case KIND_ME:
		return me_lookup(view, handle) != 0;
	case KIND_MD:
		return md_lookup(view, handle) != 0;
	case KIND_EQ:
		return eq_lookup(view, handle) != 0;
	default:
		return 0;
	}
}

/* A counter: the sum of both sides, with the operations begun, which have a counter of their
 * own. */
static uint64_t sum(const struct block *block, uint64_t index)
{
	uint64_t value = block->started.counters[index] + block->delivered.counters[index];

	if (index == STAT_MESSAGES_OUT)
		value += block->started.operations - block->started.before;
	if (index == STAT_MESSAGES_IN)
		value += block->delivered.operations - block->delivered.before;
	return value;
}

int block_status(const struct process_view *view, uint64_t index, uint64_t *value)
{
	const struct pool *pools = view->block->pools;

	if (index >= STAT_COUNT)
		return PORTALS_SR_INDEX_INVALID;
	if (index < STAT_COUNTERS) {
		*value = sum(view->block, index);
	} else if (index < STAT_NID) {
		pools += (index - STAT_COUNTERS) / 2;
		*value = (index - STAT_COUNTERS) % 2 ? pools->fresh : pools->used;
	} else if (index >= STAT_EVENT_SLOTS) {
		*value = index == STAT_INLINE ? view->inline_bytes : view->limits.slots;
	} else if (index >= STAT_PIECE_USED) {
		pools += POOL_PIECE;
		*value = index == STAT_PIECE_USED ? pools->used : pools->fresh;
	} else {
		const uint32_t identity[] = { view->nid, view->pid, view->uid, view->jid };

		*value = identity[index - STAT_NID];
	}
	return PORTALS_OK;
}
