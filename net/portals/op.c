/*
 * Operation records: the pool. See op.h.
 */
#include "op.h"
#include "deliver.h"
#include "pool.h"

int op_alloc(struct process_view *view, struct operation **taken)
{
	struct pool *pool = &view->block->pools[POOL_OP];
	struct operation *op;
	uint32_t index;
	int fresh, result = pool_next(pool, view->limits.ops, &index, &fresh);

	if (result == PORTALS_NO_SPACE) {
		view->block->delivered.counters[STAT_BUSY]++;
		return DELIVER_BUSY;
	}
	if (result)
		return DELIVER_DAMAGED;
	op = &view->ops[index];
	if (fresh)
		op->handle = handle_fresh(view->block, op->handle, KIND_OP, index);
	else if (HANDLE_KIND(op->handle) != KIND_FREE)
		return DELIVER_DAMAGED;
	pool_taken(pool, fresh, op->next);
	op->handle = handle_in_use(op->handle, KIND_OP, index);
	*taken = op;
	return DELIVER_OK;
}

struct operation *op_lookup(const struct process_view *view, handle_t handle)
{
	uint32_t index = HANDLE_INDEX_OF(KIND_OP, handle);

	if (index >= view->limits.ops || view->ops[index].handle != handle)
		return 0;
	return &view->ops[index];
}

void op_free(struct process_view *view, struct operation *op)
{
	op->handle = handle_free(op->handle);
	op->phase = OP_FREE;
	op->next = view->block->pools[POOL_OP].free;
	pool_given(&view->block->pools[POOL_OP], (uint32_t)(op - view->ops));
}
