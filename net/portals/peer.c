/*
 * The death of a peer: ends the operations that it would have ended (rule 22).
 * Called by the owner's kernel, once per death, with the block's lock held. See
 * block.h.
 */
#include "block.h"
#include "deliver.h"
#include "op.h"

/* Make the answer that will not come; delivering it ends the operation. */
static void lost_answer(const struct process_view *view, const struct operation *op,
			struct message *answer)
{
	*answer = (struct message){
		.operation = op->kind, .fail = NI_FAIL,
		.source_nid = op->head.nid, .source_pid = op->head.pid,
		.target_nid = view->nid, .target_pid = view->pid,
		.uid = op->head.uid, .jid = op->head.jid, .md_handle = op->head.md_handle,
		.eq_handle = op->eq_handle, .op_handle = op->handle,
	};
}

uint32_t block_peer_died(struct process_view *view, uint32_t nid, uint32_t *events)
{
	uint32_t ended = 0, recorded = 0;

	for (uint32_t i = 0; i < view->limits.ops; i++) {
		struct operation *op = &view->ops[i];
		struct message answer, none;
		struct grant grant = { .op = op->handle };

		if (op->phase == OP_FREE || op->runner != nid)
			continue;
		if (op->phase == OP_WAITING) {
			lost_answer(view, op, &answer);
			deliver_begin(view, &answer, view->nid, &grant, &none);
			recorded += grant.events;
		}
		deliver_end(view, &grant, NI_FAIL, &none);
		recorded += grant.events;
		ended++;
	}
	if (events)
		*events += recorded;
	return ended;
}
