/*
 * The initiator's side: starting puts and gets, and the end of a send. See
 * initiator.h. Called by the initiator's own kernel only.
 */
#include "initiator.h"
#include "eq.h"
#include "md.h"
#include "op.h"

/* Rules 7 and 33: the descriptor and the region [*offset, *offset + *bytes)
 * within it that an operation uses. */
static int region(const struct process_view *view, const struct initiator_args *args,
		  struct md **found, uint64_t *offset, uint64_t *bytes)
{
	struct md *md = md_lookup(view, args->md);

	if (!md || md->user.threshold == 0 || (md->flags & (MD_LEAVING | MD_INACTIVE)))
		return PORTALS_MD_INVALID;
	if (args->length == LENGTH_WHOLE) {
		*offset = 0;
		*bytes = md->user.length;
	} else {
		if (args->local_offset > md->user.length ||
		    args->length > md->user.length - args->local_offset)
			return PORTALS_MD_ILLEGAL;
		*offset = args->local_offset;
		*bytes = args->length;
	}
	if (args->target_nid == ANY_ID || args->target_pid == ANY_ID)
		return PORTALS_PROCESS_INVALID;
	if (!view_holds(view, md->user.start + *offset, *bytes))
		return PORTALS_FAIL;
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
	op->link = (uint32_t)view->block->operations;
	op->reserved = 0;
	op->phase = OP_WAITING;
	op->kind = kind;
	op->fail = NI_OK;
	op->begun = 0;
	*taken = op;
	return PORTALS_OK;
}

static void request(const struct process_view *view, const struct initiator_args *args,
		    uint8_t operation, uint64_t bytes, struct message *message)
{
	*message = (struct message){
		.operation = operation,
		.source_nid = view->nid, .source_pid = view->pid,
		.target_nid = args->target_nid, .target_pid = args->target_pid,
		.uid = view->uid, .jid = view->jid,
		.pt_index = args->pt_index, .cookie = args->cookie,
		.match_bits = args->match_bits, .offset = args->remote_offset,
		.length = bytes, .md_handle = args->md,
		.sequence = view->block->operations,
	};
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
	uint64_t offset = 0, bytes = 0;
	struct operation *op;
	struct md *md;
	struct eq *eq;
	int error = region(view, args, &md, &offset, &bytes);

	if (error)
		return error;
	eq = eq_lookup(view, md->user.eq_handle);
	request(view, args, MESSAGE_PUT, bytes, message);
	message->hdr_data = args->hdr_data;
	if (eq && args->ack == ACK_YES) {
		error = await(view, args, MESSAGE_ACK, bytes, NO_INDEX, &op);
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
	block->sends++;
	block->operations++;
	block->counters[STAT_MESSAGES_OUT]++;
	*grant = (struct grant){
		.offset = bytes ? md->user.start + offset - view->base : 0, .bytes = bytes,
	};
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
	if (block->sends > 0)
		block->sends--;
	if (!md)
		return DELIVER_DAMAGED;
	if (fail == NI_FAIL)
		block->counters[STAT_FAILED]++;
	else
		block->counters[STAT_BYTES_OUT] += grant->bytes;
	eq = eq_lookup(view, md->user.eq_handle);
	if (eq) {
		eq->begun -= grant->begun;
		if (!(md->user.options & MD_EVENT_END_DISABLE))
			grant->events = record_send(view, eq, message, md, EVENT_SEND_END, fail);
	}
	grant->events += md_unpin(view, md);
	return DELIVER_OK;
}

int initiator_get(struct process_view *view, const struct initiator_args *args,
		  struct message *message)
{
	uint64_t offset = 0, bytes = 0;
	struct operation *op;
	struct md *md;
	int error = region(view, args, &md, &offset, &bytes);

	if (error)
		return error;
	error = await(view, args, MESSAGE_REPLY, bytes, (uint32_t)(md - view->mds), &op);
	if (error)
		return error;
	op->hdr_data = 0;
	op->local_offset = offset;
	request(view, args, MESSAGE_GET, bytes, message);
	message->eq_handle = md->user.eq_handle;
	message->op_handle = op->handle;
	md->pending++;
	view->block->operations++;
	view->block->counters[STAT_MESSAGES_OUT]++;
	return PORTALS_OK;
}
