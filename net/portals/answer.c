/*
 * Acks and replies: making them from a request, and handling them when they arrive at the
 * initiator (rules 11 to 17). They skip access control and matching. Called by deliver_begin and
 * deliver_inline, and by transports for requests that failed.
 */
#include "answer.h"
#include "eq.h"
#include "md.h"
#include "op.h"
#include "range.h"

void answer_make(const struct message *request, enum fail_type fail, uint64_t mlength,
		 struct message *answer)
{
	/* Field by field: clearing the whole structure first would double the cost. */
	answer->operation = message_fetches(request->operation) ? MESSAGE_REPLY : MESSAGE_ACK;
	answer->ack_request = ACK_NO;
	answer->fail = (uint8_t)fail;
	answer->atomic_operation = 0;
	answer->datatype = 0;
	answer->zero[0] = answer->zero[1] = answer->link = 0;
	answer->source_nid = request->target_nid;
	answer->source_pid = request->target_pid;
	answer->target_nid = request->source_nid;
	answer->target_pid = request->source_pid;
	answer->uid = request->uid;
	answer->jid = request->jid;
	answer->pt_index = request->pt_index;
	answer->cookie = 0;
	answer->match_bits = request->match_bits;
	answer->offset = request->offset;
	answer->length = request->length;
	answer->mlength = mlength;
	answer->md_handle = request->md_handle;
	answer->eq_handle = request->eq_handle;
	answer->op_handle = request->op_handle;
	answer->hdr_data = request->hdr_data;
	answer->sequence = request->sequence;
}

int message_refuse(const struct message *request, enum fail_type fail, struct message *answer)
{
	if (!message_is_answered(request))
		return 0;
	answer_make(request, fail, 0, answer);
	return 1;
}

static int dropped(struct process_view *view)
{
	view->block->delivered.counters[STAT_DROPPED]++;
	return DELIVER_DROPPED;
}

/*
 * Rule 17: the record that awaits this answer, or null. An answer is accepted only if this process
 * still awaits it, and if it comes from the process to which the request went. Requests to a node
 * that has died since have ended (block_peer_died), so its next life cannot answer them.
 */
static struct operation *awaiting(const struct process_view *view, const struct message *answer)
{
	struct operation *op = op_lookup(view, answer->op_handle);

	if (!op || op->phase != OP_WAITING || op->kind != answer->operation ||
	    answer->target_pid != view->pid ||
	    op->head.nid != answer->source_nid || op->head.pid != answer->source_pid ||
	    op->head.md_handle != answer->md_handle ||
	    (op->kind == MESSAGE_ACK && op->eq_handle != answer->eq_handle))
		return 0;
	return op;
}

int answer_is_awaited(const struct process_view *view, const struct message *answer)
{
	return awaiting(view, answer) != 0;
}

int answer_none(struct process_view *view, const struct message *ack)
{
	struct operation *op = awaiting(view, ack);

	if (!op || op->kind != MESSAGE_ACK)
		return dropped(view);
	op_free(view, op);
	return DELIVER_OK;
}

/* Rule 15: complete the contents of the answer's events. They are those of the request, apart from
 * the identity of the answering process and the manipulated length. */
static void answered_head(struct event_head *head, const struct message *answer, uint64_t mlength)
{
	head->uid = answer->uid;
	head->jid = answer->jid;
	head->mlength = mlength;
}

/* As md_reap; also sets grant->upcall. */
static uint32_t reap(struct process_view *view, struct md *md, struct grant *grant)
{
	const struct eq *eq;
	uint32_t events;

	if (!(md->flags & MD_LEAVING))
		return 0;
	eq = eq_lookup(view, md->user.eq_handle);
	events = md_reap(view, md);
	if (events && eq && eq->handler)
		grant->upcall |= (uint8_t)eq_calls(view, eq, events);
	return events;
}

/* Rule 16: whether an ack ends its operation without an event, and without using the descriptor.
 * That is so for discarded puts, as in Portals 3.0 and 3.3, unless the descriptor has
 * MD_EVENT_DROPPED. */
static int ends_silently(const struct message *ack, int reports_dropped)
{
	return ack->fail == NI_DROPPED && !reports_dropped;
}

/* Rules 15 and 16: end the operation that an ack answers. `head`, `hdr_data` and `link` are those of
 * the put or atomic operation. */
static int end_acked(struct process_view *view, const struct message *ack, struct event_head *head,
		     uint64_t hdr_data, uint32_t link, int reports_dropped, struct grant *grant)
{
	struct eq *eq;
	struct md *md;

	block_count_end(view->block, ack->fail);
	if (ends_silently(ack, reports_dropped))
		return DELIVER_OK;
	md = md_lookup(view, ack->md_handle);
	eq = eq_lookup(view, ack->eq_handle);
	if (!eq)
		return dropped(view);
	view->block->delivered.counters[STAT_MESSAGES_IN]++;
	if (md && md_spend(view, md))
		return DELIVER_DAMAGED;
	answered_head(head, ack, ack->mlength < head->rlength ? ack->mlength : head->rlength);
	grant->events = eq_record(view, eq, head, EVENT_ACK, md ? &md->user : 0, hdr_data, link,
				  ack->fail);
	grant_rings(view, grant, eq);
	if (md)
		grant->events += reap(view, md, grant);
	return DELIVER_OK;
}

__attribute__((flatten)) /* as initiator_put (initiator.c) */
int answer_ack(struct process_view *view, const struct message *ack, struct grant *grant)
{
	struct operation *op;

	if (view->block->state != BLOCK_OPEN) {
		dropped(view);
		return DELIVER_CLOSED;
	}
	op = awaiting(view, ack);
	if (!op)
		return dropped(view);
	op_free(view, op); /* its fields stay valid while the lock is held */
	return end_acked(view, ack, &op->head, op->hdr_data, op->link, op->reports_dropped, grant);
}

__attribute__((flatten))
void answer_ack_at_once(struct process_view *view, const struct message *put,
			const struct message *ack, struct grant *grant)
{
	const struct md *md = md_lookup(view, put->md_handle);
	struct event_head head = {
		.nid = put->target_nid, .pid = put->target_pid, .pt_index = put->pt_index,
		.match_bits = put->match_bits, .rlength = put->length, .offset = put->offset,
		.md_handle = put->md_handle,
	};

	end_acked(view, ack, &head, put->hdr_data, (uint32_t)put->sequence,
		  md && (md->user.options & MD_EVENT_DROPPED), grant);
}

/* Discard a reply; its operation ends nevertheless. */
static int discard_reply(struct process_view *view, struct operation *op, struct md *md,
			 struct grant *grant)
{
	op_free(view, op);
	if (md->pending > 0)
		md->pending--;
	grant->events = reap(view, md, grant);
	return dropped(view);
}

/* The objects that a reply uses. */
struct reception {
	struct operation *op;  /* the record that awaits it */
	struct md *md;
	struct eq *eq;         /* the descriptor's queue, or null */
};

/* Rules 11, 14, 17 and 9: whether a reply is accepted, and the memory that it goes to, in *grant.
 * After OK a slot is reserved for the UNLINK of a descriptor that will leave; nothing else has
 * changed. */
static int receive(struct process_view *view, const struct message *reply,
		   struct reception *found, struct grant *grant)
{
	const struct operation *op;
	uint32_t options;
	uint32_t needed;
	struct md *md;
	int leaves;

	if (view->block->state != BLOCK_OPEN) {
		dropped(view);
		return DELIVER_CLOSED;
	}
	op = found->op = awaiting(view, reply);
	if (!op)
		return dropped(view);
	md = md_lookup(view, reply->md_handle);
	if (!md) { /* a fetch pins its descriptor */
		op_free(view, found->op);
		return DELIVER_DAMAGED;
	}

	/* Rule 14: the queue must have room for all events; begin reserves it (rule 22). */
	found->md = md;
	found->eq = eq_lookup(view, md->user.eq_handle);
	options = md->user.options;
	leaves = !(options & MD_EVENT_UNLINK_DISABLE) && !(md->flags & MD_UNLINK_RESERVED) &&
		 ((md->flags & MD_LEAVING) ||
		  ((md->flags & MD_UNLINK) && md->user.threshold == 1));
	needed = !(options & MD_EVENT_START_DISABLE) +
			!(options & MD_EVENT_END_DISABLE) + leaves;
	if (found->eq && !eq_has_room(view, found->eq, needed ? needed : 1))
		return discard_reply(view, found->op, md, grant);

	if (grant_range(view, md, options, op->local_offset,
			reply->mlength < op->room ? reply->mlength : op->room, 1, grant))
		return DELIVER_DAMAGED;
	/* The reply that records UNLINK is the last one to end, which can be an earlier one. */
	if (found->eq && leaves) {
		md->flags |= MD_UNLINK_RESERVED;
		found->eq->reserved++;
	}
	return DELIVER_OK;
}

int answer_reply(struct process_view *view, const struct message *reply, uint32_t runner,
		 struct grant *grant)
{
	struct reception found;
	struct operation *op;
	uint32_t options;
	struct md *md;
	struct eq *eq;
	int result = receive(view, reply, &found, grant);

	if (result)
		return result;
	op = found.op, md = found.md, eq = found.eq;
	options = md->user.options;
	if (md_spend(view, md))
		return DELIVER_DAMAGED;

	answered_head(&op->head, reply, grant->bytes);
	op->runner = runner;
	op->phase = OP_OPEN;
	op->fail = reply->fail;
	view->block->delivered.counters[STAT_MESSAGES_IN]++;

	grant->op = op->handle;
	if (eq) {
		if (!(options & MD_EVENT_END_DISABLE)) {
			eq->reserved++;
			eq->begun++;
			op->reserved = 1;
			op->begun = 1;
		}
		if (!(options & MD_EVENT_START_DISABLE)) {
			grant->events = eq_record(view, eq, &op->head, EVENT_REPLY_START,
						  &md->user, op->hdr_data, op->link, NI_OK);
			grant_rings(view, grant, eq);
		}
	}
	return DELIVER_OK;
}

int answer_reply_inline(struct process_view *view, const struct message *reply,
			const void *payload, struct grant *grant)
{
	struct block *block = view->block;
	enum fail_type fail = reply->fail;
	struct reception found;
	struct operation *op;
	uint32_t options;
	struct md *md;
	struct eq *eq;
	int result;

	result = receive(view, reply, &found, grant);
	if (result)
		return result;
	if (grant->bytes > DELIVER_INLINE_BYTES)
		grant->bytes = DELIVER_INLINE_BYTES;
	op = found.op, md = found.md, eq = found.eq;
	options = md->user.options;
	if (md_spend(view, md))
		return DELIVER_DAMAGED;
	block->delivered.counters[STAT_MESSAGES_IN]++;
	answered_head(&op->head, reply, grant->bytes);
	if (eq && !(options & MD_EVENT_START_DISABLE))
		grant->events = eq_record(view, eq, &op->head, EVENT_REPLY_START, &md->user,
					  op->hdr_data, op->link, NI_OK);
	if (range_write(view, grant, payload))
		fail = NI_FAIL;
	block_count_end(block, fail);
	if (fail != NI_FAIL)
		block->delivered.counters[STAT_BYTES_IN] += grant->bytes;
	if (eq && !(options & MD_EVENT_END_DISABLE))
		grant->events += eq_record(view, eq, &op->head, EVENT_REPLY_END, &md->user,
					   op->hdr_data, op->link, fail);
	op_free(view, op);
	if (md->pending > 0)
		md->pending--;
	if (md->flags & MD_LEAVING)
		grant->events += md_reap(view, md);
	grant_rings(view, grant, eq);
	return DELIVER_OK;
}
