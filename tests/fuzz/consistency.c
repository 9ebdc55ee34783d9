/*
 * An independent check that a block is consistent: every pool's free list and counts, every list in
 * both directions, pinned objects, expected events of queues. Calls no engine function, but reads
 * the fields directly.
 */
#include <string.h>
#include "../../net/portals/index.h"
#include "fuzz.h"

#define FREE(handle)  (HANDLE_KIND(handle) == KIND_FREE)
#define MOST_ENTRIES  32u         /* of any pool */

/* Facts about the block being checked. */
struct look {
	const struct process *process;
	const struct process_view *view;
	uint8_t in_use[POOL_COUNT][MOST_ENTRIES];
	uint32_t used[POOL_COUNT];
	uint8_t me_linked[MES];       /* on its portal's list */
	uint8_t chained[MES];         /* in a chain of the index */
	uint8_t md_linked[MDS];       /* on its entry's list */
	uint32_t pins[MDS];           /* operations that pin it */
	uint32_t begun[EQS];          /* events still expected */
	uint32_t reserved[EQS];
};

/* Entry i of a pool: its handle, and the next free one. Pieces have no handle. */
static handle_t handle_of(const struct process_view *view, enum block_pool pool, uint32_t i)
{
	switch (pool) {
	case POOL_ME:
		return view->mes[i].handle;
	case POOL_MD:
		return view->mds[i].handle;
	case POOL_EQ:
		return view->eqs[i].handle;
	case POOL_OP:
		return view->ops[i].handle;
	default:
		return HANDLE_NONE;
	}
}

static uint32_t next_of(const struct process_view *view, enum block_pool pool, uint32_t i)
{
	switch (pool) {
	case POOL_ME:
		return view->mes[i].next;
	case POOL_MD:
		return view->mds[i].next;
	case POOL_EQ:
		return view->eqs[i].first_slot;
	case POOL_OP:
		return view->ops[i].next;
	default:
		return view->pieces[i].next;
	}
}

static void check_pool(struct look *look, enum block_pool which, uint32_t count,
		       enum handle_kind kind)
{
	const struct process_view *view = look->view;
	const struct pool *pool = &view->block->pools[which];
	uint8_t *in_use = look->in_use[which];

	MUST(count <= MOST_ENTRIES && pool->fresh <= count && pool->limit <= count);
	memset(in_use, 1, pool->fresh);
	for (uint32_t i = pool->free; i != NO_INDEX; i = next_of(view, which, i)) {
		MUST(i < pool->fresh);
		MUST(in_use[i]);
		MUST(which == POOL_PIECE || FREE(handle_of(view, which, i)));
		in_use[i] = 0;
	}
	look->used[which] = 0;
	for (uint32_t i = 0; i < count; i++) {
		handle_t handle = handle_of(view, which, i);

		look->used[which] += in_use[i];
		MUST(!in_use[i] || which == POOL_PIECE ||
		     (HANDLE_KIND(handle) == kind && HANDLE_INDEX(handle) == i));
	}
	MUST(pool->used == look->used[which]);
	MUST(pool->used <= pool->fresh && pool->fresh <= pool->limit);
}

static void check_pools(struct look *look)
{
	check_pool(look, POOL_ME, MES, KIND_ME);
	check_pool(look, POOL_MD, MDS, KIND_MD);
	check_pool(look, POOL_EQ, EQS, KIND_EQ);
	check_pool(look, POOL_OP, OPS, KIND_OP);
	check_pool(look, POOL_PIECE, PIECES, KIND_FREE);
}

/* The queue that a descriptor names, or -1. */
static int queue_of(const struct look *look, const struct md *md)
{
	uint32_t index = HANDLE_INDEX(md->user.eq_handle);

	if (HANDLE_KIND(md->user.eq_handle) != KIND_EQ || index >= EQS ||
	    look->view->eqs[index].handle != md->user.eq_handle)
		return -1;
	return (int)index;
}

/* ---- lists ---- */

static void check_entry(struct look *look, uint32_t entry)
{
	const struct me *me = &look->view->mes[entry];
	uint32_t prev = NO_INDEX;

	for (uint32_t i = me->first; i != NO_INDEX; prev = i, i = look->view->mds[i].next) {
		const struct md *md;

		MUST(i < MDS);
		MUST(!look->md_linked[i]);
		look->md_linked[i] = 1;
		md = &look->view->mds[i];
		MUST(look->in_use[POOL_MD][i]);
		MUST(md->me == entry && md->prev == prev);
		MUST(!(md->flags & MD_LEAVING));
	}
	MUST(me->last == prev);
}

static void check_lists(struct look *look)
{
	const struct process_view *view = look->view;

	for (uint32_t pt = 0; pt < PORTALS; pt++) {
		uint32_t prev = NO_INDEX, count = 0;

		for (uint32_t i = view->portals[pt].first; i != NO_INDEX;
		     prev = i, i = view->mes[i].next) {
			MUST(i < MES);
			MUST(!look->me_linked[i]);
			look->me_linked[i] = 1;
			MUST(look->in_use[POOL_ME][i]);
			count++;
			MUST(view->mes[i].prev == prev && view->mes[i].pt_index == pt);
			check_entry(look, i);
		}
		MUST(view->portals[pt].last == prev && view->portals[pt].count == count);
		MUST(count <= view->block->granted.me_list);
	}
	MUST(!memcmp(look->me_linked, look->in_use[POOL_ME], MES));
}

/* ---- the index ---- */

static void check_chain(struct look *look, const struct chain *chain, uint32_t number)
{
	uint64_t order[PORTALS * PORTAL_MASKS] = { 0 };
	uint32_t before = 0;

	for (uint32_t i = chain->first; i; before = i, i = look->view->mes[i - 1].later) {
		const struct me *me;

		MUST(i <= MES && look->in_use[POOL_ME][i - 1] && !look->chained[i - 1]);
		look->chained[i - 1] = 1;
		me = &look->view->mes[i - 1];
		MUST(me->earlier == before && me->chain == number);
		MUST(look->view->portals[me->pt_index].indexed);
		MUST(me->mask / PORTAL_MASKS == me->pt_index);
		MUST(me->order > order[me->mask]);
		order[me->mask] = me->order;
	}
	MUST(chain->last == before);
}

/* Every entry of an indexed portal has its mask, or the shared last one, and is in its key's
 * chain, and the numbers grow along the list. */
static void check_index(struct look *look)
{
	const struct process_view *view = look->view;

	for (uint32_t i = 0; i < index_chains(MES); i++)
		check_chain(look, &view->chains[i], i);
	for (uint32_t pt = 0; pt < PORTALS; pt++) {
		const struct portal *portal = &view->portals[pt];
		uint32_t of_mask[PORTAL_MASKS] = { 0 };
		uint64_t order = 0;

		MUST(portal->recent == MASK_NONE || (portal->recent < PORTAL_MASKS &&
						     portal->indexed >> portal->recent & 1));
		if (!portal->indexed)
			continue;
		MUST(portal->first != NO_INDEX);
		for (uint32_t i = portal->first; i != NO_INDEX; i = view->mes[i].next) {
			const struct me *me = &view->mes[i];
			const struct mask *mask = &view->masks[me->mask];
			int rest = me->mask % PORTAL_MASKS == MASK_REST;

			MUST(me->order > order);
			order = me->order;
			MUST(mask->bits == (rest ? 0 : ~me->ignore_bits));
			MUST(mask->source == (rest ? 0 : (me->nid == ANY_ID ? 0 : SOURCE_NID) |
							 (me->pid == ANY_ID ? 0 : SOURCE_PID)));
			MUST(me->order >= mask->least);
			MUST(me->chain == index_chain(view, me->mask, me->match_bits,
						      index_source(me->nid, me->pid)));
			of_mask[me->mask % PORTAL_MASKS]++;
		}
		for (uint32_t i = 0; i < PORTAL_MASKS; i++) {
			MUST((portal->indexed >> i & 1) == (of_mask[i] > 0));
			MUST(!of_mask[i] || portal->entries[i] == of_mask[i]);
		}
	}
	for (uint32_t i = 0; i < MES; i++)
		MUST(look->chained[i] == (look->in_use[POOL_ME][i] &&
					  view->portals[view->mes[i].pt_index].indexed));
}

/* ---- operations, and what waits for them ---- */

static void check_operations(struct look *look)
{
	const struct process_view *view = look->view;
	uint32_t p = (uint32_t)(look->process - fuzz.processes), sends = 0;

	for (uint32_t i = 0; i < OPS; i++) {
		const struct operation *op = &view->ops[i];
		const struct md *md;
		int eq;

		MUST(i >= view->block->pools[POOL_OP].fresh ||
		     (op->phase == OP_FREE) == !look->in_use[POOL_OP][i]);
		if (!look->in_use[POOL_OP][i])
			continue;
		MUST(op->phase == OP_WAITING || op->phase == OP_OPEN);
		if (op->phase == OP_WAITING && op->kind == MESSAGE_ACK) {
			MUST(op->md == NO_INDEX);
			continue;
		}
		MUST(op->md < MDS);
		md = &view->mds[op->md];
		MUST(md->handle == op->head.md_handle);
		look->pins[op->md]++;
		eq = queue_of(look, md);
		if (eq >= 0) {
			look->begun[eq] += op->begun;
			look->reserved[eq] += op->reserved;
		}
	}
	for (uint32_t i = 0; i < MDS; i++) {
		int eq = look->in_use[POOL_MD][i] ? queue_of(look, &view->mds[i]) : -1;

		if (eq >= 0 && (view->mds[i].flags & MD_UNLINK_RESERVED))
			look->reserved[eq]++;
	}
	for (uint32_t i = 0; i < SENDS; i++) {
		const struct send *send = &fuzz.sends[i];
		uint32_t md = HANDLE_INDEX(send->grant.md);
		int eq;

		if (!send->used || send->p != p)
			continue;
		sends++;
		MUST(md < MDS && view->mds[md].handle == send->grant.md);
		look->pins[md]++;
		eq = queue_of(look, &view->mds[md]);
		if (eq >= 0)
			look->begun[eq] += send->grant.begun;
	}
	MUST(view->block->started.sends == sends);
}

/* ---- descriptors and queues ---- */

/* The memory of a descriptor lies in the segment; its pieces are its own. */
static void check_memory(struct look *look, const struct md *md, uint8_t *piece_taken)
{
	uint64_t offset = md->user.start - BASE, sum = 0;
	uint32_t pieces = 0, last = NO_INDEX;

	if (!(md->user.options & MD_IOVEC)) {
		MUST(md->room == md->user.length);
		MUST(md->room == 0 || (md->user.options & MD_SPAN) ||
		     (offset <= SEGMENT && md->room <= SEGMENT - offset));
		return;
	}
	for (uint32_t i = md->first_piece; i != NO_INDEX; last = i, i = look->view->pieces[i].next) {
		const struct piece *piece = &look->view->pieces[i];

		MUST(i < PIECES && look->in_use[POOL_PIECE][i] && !piece_taken[i]);
		MUST(piece->offset <= SEGMENT && piece->bytes <= SEGMENT - piece->offset);
		piece_taken[i] = 1;
		sum += piece->bytes;
		pieces++;
	}
	MUST(md->last_piece == last && md->pieces == pieces && md->user.length == pieces);
	MUST(md->room == sum);
}

static void check_descriptors(struct look *look)
{
	uint8_t piece_taken[MOST_ENTRIES] = { 0 };
	uint32_t known = 0;

	for (uint32_t i = 0; i < MDS; i++) {
		const struct md *md = &look->view->mds[i];
		handle_t handle = look->process->mds[i].handle;
		int eq;

		known += HANDLE_KIND(handle) == KIND_MD &&
			 look->view->mds[HANDLE_INDEX(handle)].handle == handle;
		if (!look->in_use[POOL_MD][i])
			continue;
		MUST(look->md_linked[i] == (md->me != NO_INDEX));
		MUST(md->pending == look->pins[i]);
		MUST(md->user.threshold >= MD_THRESH_INF);
		MUST(md->local_offset <= md->room);
		check_memory(look, md, piece_taken);
		if (!(md->flags & MD_LEAVING))
			continue;
		MUST((md->flags & MD_UNLINK) && md->pending > 0 && md->me == NO_INDEX);
		eq = queue_of(look, md);
		if (eq >= 0 && !(md->user.options & MD_EVENT_UNLINK_DISABLE))
			look->begun[eq]++;
	}
	MUST(known == look->used[POOL_MD]);
	MUST(!memcmp(piece_taken, look->in_use[POOL_PIECE], MOST_ENTRIES));
}

static void check_queues(const struct look *look)
{
	uint8_t taken[SLOTS] = { 0 };

	for (uint32_t i = 0; i < EQS; i++) {
		const struct eq *eq = &look->view->eqs[i];

		if (!look->in_use[POOL_EQ][i])
			continue;
		MUST(eq->count && !(eq->count & (eq->count - 1)) && eq->count <= SLOTS);
		MUST(eq->first_slot <= SLOTS - eq->count);
		for (uint32_t slot = 0; slot < eq->count; slot++)
			MUST(!taken[eq->first_slot + slot]++);
		MUST(eq->read_index % 8 == 0 && eq->read_index <= SEGMENT - 8);
		MUST(eq->begun == look->begun[i]);
		MUST(eq->reserved == look->reserved[i]);
		MUST(eq->reserved <= eq->count);
	}
}

void check_consistency(const struct process *process)
{
	const struct block *block = process->view.block;
	struct look look = { .process = process, .view = &process->view };

	MUST(block->magic == BLOCK_MAGIC && block->version == BLOCK_VERSION);
	MUST(block->state == (process->open ? BLOCK_OPEN : BLOCK_CLOSED));
	check_pools(&look);
	check_lists(&look);
	check_index(&look);
	check_operations(&look);
	check_descriptors(&look);
	check_queues(&look);
}
