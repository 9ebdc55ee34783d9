/*
 * The initiator's side: starting puts and gets, and the end of a send. See
 * initiator.h. Called by the initiator's own kernel only.
 */
#include "initiator.h"
#include "eq.h"
#include "md.h"
#include "op.h"

/* Rules 7 and 33: the descriptor that an operation uses, the region within it,
 * and where in the segment that is. */
static int region(const struct process_view *view, const struct initiator_args *args,
		  struct md **found, uint64_t *offset, struct grant *grant)
{
	struct md *md = md_lookup(view, args->md);
	uint64_t start, bytes;

	if (!md || md->user.threshold == 0 || (md->flags & (MD_LEAVING | MD_INACTIVE)))
		return PORTALS_MD_INVALID;
	if (args->length == LENGTH_WHOLE) {
		*offset = 0;
		bytes = md->user.length;
	} else {
		if (args->local_offset > md->user.length ||
		    args->length > md->user.length - args->local_offset)
			return PORTALS_MD_ILLEGAL;
		*offset = args->local_offset;
		bytes = args->length;
	}
	if (args->target_nid == ANY_ID || args->target_pid == ANY_ID)
		return PORTALS_PROCESS_INVALID;
	/* Read once: what was checked is what is sent. */
	start = __atomic_load_n(&md->user.start, __ATOMIC_RELAXED) + *offset;
	if (!view_holds(view, start, bytes))
		return PORTALS_FAIL;
	grant->op = HANDLE_NONE;
	grant->offset = bytes ? start - view->base : 0;
	grant->bytes = bytes;
	grant->events = 0;
	grant->answers = grant->ack = grant->begun = grant->zero = 0;
	*found = md;
	return PORTALS_OK;
}

/* A record that waits for the answer to a request; its runner is who answers. */
static int await(struct process_view *view, const struct initiator_args *args, uint8_t kind,
		 uint64_t bytes, uint32_t md, struct operation **taken)
{
	struct operation *op;
	int result = op_take(view, &op);

	if (result)
		return result == DELIVER_BUSY ? PORTALS_NO_SPACE : PORTALS_FAIL;
	op->head.nid = args->target_nid;
	op->head.pid = args->target_pid;
	op->head.uid = view->uid;
	op->head.jid = view->jid;
	op->head.pt_index = args->pt_index;
	op->head.match_bits = args->match_bits;
	op->head.rlength = bytes;
	op->head.mlength = 0;
	op->head.offset = args->remote_offset;
	op->head.md_handle = args->md;
	op->runner = args->target_nid;
	op->md = md;
	op->link = (uint32_t)block_link_started(view->block);
	op->reserved = 0;
	op->phase = OP_WAITING;
	op->kind = kind;
	op->fail = NI_OK;
	op->begun = 0;
	*taken = op;
	return PORTALS_OK;
}

/* Field by field: clearing the header as a whole first would cost as much again. */
static void request(const struct process_view *view, const struct initiator_args *args,
		    uint8_t operation, uint64_t bytes, struct message *message)
{
	message->operation = operation;
	message->ack_request = ACK_NO;
	message->fail = NI_OK;
	message->atomic_operation = 0;
	message->datatype = 0;
	message->zero[0] = message->zero[1] = message->zero[2] = 0;
	message->source_nid = view->nid;
	message->source_pid = view->pid;
	message->target_nid = args->target_nid;
	message->target_pid = args->target_pid;
	message->uid = view->uid;
	message->jid = view->jid;
	message->pt_index = args->pt_index;
	message->cookie = args->cookie;
	message->match_bits = args->match_bits;
	message->offset = args->remote_offset;
	message->length = bytes;
	message->mlength = 0;
	message->md_handle = args->md;
	message->eq_handle = EQ_NONE;
	message->op_handle = HANDLE_NONE;
	message->hdr_data = 0;
	message->sequence = block_link_started(view->block);
	message->counter_handle = HANDLE_NONE;
	message->list_selector = 0;
	message->link = 0;
}

/* SEND_START or SEND_END of a put. */
static uint32_t record_send(const struct process_view *view, struct eq *eq,
			    const struct message *message, const struct md *md,
			    enum event_kind type, enum fail_type fail)
{
	struct event_head head = {
		.nid = message->source_nid, .pid = message->source_pid,
		.uid = message->uid, .jid = message->jid, .pt_index = message->pt_index,
		.match_bits = message->match_bits, .rlength = message->length,
		.mlength = message->length, .offset = message->offset,
		.md_handle = message->md_handle,
	};

	return eq_record(view, eq, &head, type, &md->user, message->hdr_data,
			 (uint32_t)message->sequence, fail);
}

int initiator_put(struct process_view *view, const struct initiator_args *args,
		  struct message *message, struct grant *grant)
{
	struct block *block = view->block;
	struct operation *op;
	uint64_t offset;
	struct md *md;
	struct eq *eq;
	int error = region(view, args, &md, &offset, grant);

	if (error)
		return error;
	eq = eq_lookup(view, md->user.eq_handle);
	request(view, args, MESSAGE_PUT, grant->bytes, message);
	message->hdr_data = args->hdr_data;
	if (eq && args->ack == ACK_YES) {
		error = await(view, args, MESSAGE_ACK, grant->bytes, NO_INDEX, &op);
		if (error)
			return error;
		op->hdr_data = args->hdr_data;
		op->eq_handle = eq->handle;
		message->ack_request = ACK_YES;
		message->eq_handle = eq->handle;
		message->op_handle = op->handle;
	}
	if (md_spend(view, md))
		return PORTALS_FAIL;
	md->pending++;
	block->started.sends++;
	block->started.operations++;
	block->started.counters[STAT_MESSAGES_OUT]++;
	if (eq) {
		if (!(md->user.options & MD_EVENT_END_DISABLE)) {
			eq->begun++;
			grant->begun = 1;
		}
		if (!(md->user.options & MD_EVENT_START_DISABLE))
			grant->events = record_send(view, eq, message, md, EVENT_SEND_START, NI_OK);
	}
	return PORTALS_OK;
}

int initiator_sent(struct process_view *view, const struct message *message,
		   struct grant *grant, enum fail_type fail)
{
	struct block *block = view->block;
	struct md *md = md_lookup(view, message->md_handle);
	struct eq *eq;

	grant->events = 0;
	if (block->started.sends > 0)
		block->started.sends--;
	if (!md)
		return DELIVER_DAMAGED;
	if (fail == NI_FAIL)
		block->started.counters[STAT_FAILED]++;
	else
		block->started.counters[STAT_BYTES_OUT] += grant->bytes;
	eq = eq_lookup(view, md->user.eq_handle);
	if (eq) {
		eq->begun -= grant->begun;
		if (!(md->user.options & MD_EVENT_END_DISABLE))
			grant->events = record_send(view, eq, message, md, EVENT_SEND_END, fail);
	}
	grant->events += md_unpin(view, md);
	return DELIVER_OK;
}

void initiator_unanswered(struct process_view *view, const struct message *message)
{
	struct operation *op = op_lookup(view, message->op_handle);

	if (op && op->phase == OP_WAITING && op->kind == MESSAGE_ACK)
		op_give(view, op);
}

int initiator_get(struct process_view *view, const struct initiator_args *args,
		  struct message *message)
{
	struct operation *op;
	struct grant grant;
	uint64_t offset;
	struct md *md;
	int error = region(view, args, &md, &offset, &grant);

	if (error)
		return error;
	error = await(view, args, MESSAGE_REPLY, grant.bytes, (uint32_t)(md - view->mds), &op);
	if (error)
		return error;
	op->hdr_data = 0;
	op->local_offset = offset;
	request(view, args, MESSAGE_GET, grant.bytes, message);
	message->eq_handle = md->user.eq_handle;
	message->op_handle = op->handle;
	md->pending++;
	view->block->started.operations++;
	view->block->started.counters[STAT_MESSAGES_OUT]++;
	return PORTALS_OK;
}
