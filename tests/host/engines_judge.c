/*
 * Checks what engines do: see engines.h.
 */
#include "engines_state.h"
#include <stdio.h>
#include <string.h>

void engines_wrong(struct engines *e, const char *what, uint32_t node, uint64_t number)
{
	if (e->result.errors++ < 5)
		printf("node %u, operation %llu: %s (seed %llu)\n", node,
		       (unsigned long long)number, what, (unsigned long long)e->config.seed);
}

#define PUT_EVENTS  BOTH(PTL_EVENT_SEND_START) | BIT(PTL_EVENT_ACK), BOTH(PTL_EVENT_PUT_START)

const struct engines_events engines_events[KINDS] = {
	[PUT]       = { PUT_EVENTS },
	[PIECES]    = { PUT_EVENTS },
	[SHORT_PUT] = { 0, BOTH(PTL_EVENT_PUT_START) },
	[GET]       = { BOTH(PTL_EVENT_REPLY_START), BOTH(PTL_EVENT_GET_START) },
	[EXCHANGE]  = { BOTH(PTL_EVENT_SEND_START) | BOTH(PTL_EVENT_REPLY_START),
			BOTH(PTL_EVENT_GETPUT_START) },
	[ADD]       = { PUT_EVENTS },
	[FETCH_ADD] = { BOTH(PTL_EVENT_SEND_START) | BOTH(PTL_EVENT_REPLY_START),
			BOTH(PTL_EVENT_GETPUT_START) }
};

static int is_over_at_initiator(const struct op *op)
{
	return op->mute || op->seen_from == engines_events[op->kind].from;
}

/*
 * Once both sides have had all their events, the record and the slots are free again. An operation
 * that failed, or that an earlier life of the target left unanswered, can still arrive until a
 * later one of its pair has begun; one of a dead initiator can arrive at any time.
 */
void engines_end(struct engines *e, struct op *op)
{
	int answered = !op->failed && op->seen_from & BIT(PTL_EVENT_REPLY_END);
	int none = op->seen_to == 0 && !op->mute && (op->excused || op->failed) &&
		   (answered || op->number < e->engines[op->to].last[op->from]);

	if (!op->number || !is_over_at_initiator(op) ||
	    (op->seen_to != engines_events[op->kind].to && !none))
		return;
	engines_give(e, op->to, &op->slot, op->length);
	engines_give(e, op->from, &op->reply, op->length);
	op->number = 0;
	op->next = e->free;
	e->free = (uint32_t)(op - e->ops);
}

/* An operation of this pair has begun: earlier ones that have not begun will not begin any more. */
static void pass_over(struct engines *e, const struct op *begun)
{
	for (uint32_t i = 0; i < e->n_ops; i++) {
		struct op *op = &e->ops[i];

		if (op != begun && op->from == begun->from && op->to == begun->to)
			engines_end(e, op);
	}
}

/* At the target: operations begin in the order of their pair, and their bytes are right when they
 * have ended. */
static void judge_target(struct engines *e, uint32_t node, struct op *op, const ptl_event_t *event)
{
	struct engine *engine = &e->engines[node];
	const uint8_t *bytes = op->slot != NO_SLOT ? engines_slot(e, node, op->slot) : 0;

	if (event->type == PTL_EVENT_PUT_START || event->type == PTL_EVENT_GET_START ||
	    event->type == PTL_EVENT_GETPUT_START) {
		if (op->number <= engine->last[op->from])
			engines_wrong(e, "is out of order", node, op->number);
		engine->last[op->from] = op->number;
		pass_over(e, op);
		return;
	}
	if (event->ni_fail_type != PTL_NI_OK)
		return;
	if (bytes && !engines_is_pattern(e, bytes, op->from, op->at, op->length))
		engines_wrong(e, "has wrong bytes at its target", node, op->number);
	if (op->kind == ADD || op->kind == FETCH_ADD) {
		op->old = engine->sums[op->at];
		engine->sums[op->at] += op->add;
	}
}

static void judge_reply(struct engines *e, uint32_t node, const struct op *op)
{
	const uint8_t *bytes = engines_slot(e, node, op->reply);
	int good = op->kind == GET ? engines_is_pattern(e, bytes, op->to, op->at, op->length) :
		op->kind == EXCHANGE ? engines_is_empty(bytes, op->length) :
		!memcmp(bytes, &op->old, 8) || op->excused;

	if (!good)
		engines_wrong(e, "has wrong bytes in its reply", node, op->number);
}

static void judge(struct engines *e, uint32_t node, const ptl_event_t *event, int at_target)
{
	uint32_t index = event->match_bits & 0xffff, bit = BIT(event->type);
	struct op *op = &e->ops[index < e->n_ops ? index : 0];
	uint32_t wants = at_target ? engines_events[op->kind].to : engines_events[op->kind].from;
	uint32_t *seen = at_target ? &op->seen_to : &op->seen_from;
	int fail = event->ni_fail_type != PTL_NI_OK, was_over = is_over_at_initiator(op);

	if (op->number != event->match_bits >> 16 || (at_target ? op->to : op->from) != node) {
		engines_wrong(e, "has an event, but is over", node, event->match_bits >> 16);
		return;
	}
	if ((*seen & bit) || !(wants & bit))
		engines_wrong(e, "has an event twice, or of a wrong kind", node, op->number);
	*seen |= bit;
	if (fail && e->engines[op->from].lives == 1 && e->engines[op->to].lives == 1)
		engines_wrong(e, "fails for no reason", node, op->number);
	/* a reply that fails has a START event too, of 0 bytes */
	if (!fail && ((event->mlength != op->length && event->type != PTL_EVENT_REPLY_START) ||
		      (op->kind != GET && event->hdr_data != op->number)))
		engines_wrong(e, "has an event with a wrong length or header", node, op->number);
	if (at_target) {
		judge_target(e, node, op, event);
	} else if (fail) {
		e->result.failed += !op->failed;
		op->failed = 1;
	} else if (event->type == PTL_EVENT_REPLY_END) {
		judge_reply(e, node, op);
	}
	if (!at_target && !was_over && is_over_at_initiator(op))
		e->engines[node].under_way--;
	engines_end(e, op);
}

void engines_drain(struct engines *e, uint32_t node)
{
	struct engine *engine = &e->engines[node];
	struct eq_reader *readers[] = { &engine->in, &engine->out };

	for (uint32_t i = 0; i < 2; i++) {
		uint64_t *word = (uint64_t *)(e->views[node].memory + engines_words(e) + 8 * !i);
		ptl_event_t event;
		int result;

		while ((result = eq_read(readers[i], &event)) == PTL_OK)
			judge(e, node, &event, i == 0);
		if (result == PTL_EQ_DROPPED)
			engines_wrong(e, "has lost events", node, 0);
		*word = readers[i]->next;
	}
}

void engines_judge_end(struct engines *e)
{
	uint64_t value, out = 0;

	for (uint32_t i = 0; i < e->n_ops; i++) {
		struct op *op = &e->ops[i];

		/* Operations to or from a node that died may have vanished without an event. */
		if (!op->number ||
		    (is_over_at_initiator(op) && !op->seen_to &&
		     (op->mute || op->failed || op->excused || op->unheard) &&
		     e->engines[op->from].lives + e->engines[op->to].lives > 2))
			continue;
		engines_wrong(e, "never ends", op->from, op->number);
	}
	for (uint32_t node = 0; node < e->config.nodes; node++) {
		struct process_view *view = &e->views[node];
		struct frames *frames = e->fabric.nodes[node].frames;
		struct frames_figures figures = frames_figures(frames);

		if (e->engines[node].left)
			engines_wrong(e, "has not started all", node, 0);
		if (memcmp(view->memory + PATTERN, e->engines[node].sums, COUNTERS * 8))
			engines_wrong(e, "has wrong sums", node, 0);
		for (uint32_t i = 0; i < PATTERN; i++)
			if (view->memory[i] != engines_pattern(node, i)) {
				engines_wrong(e, "has other bytes in its pattern", node, 0);
				break;
			}
		if (!engines_is_empty(engines_slot(e, node, 0),
				      engines_slot_offset(e, SLOTS) - engines_slot_offset(e, 0)))
			engines_wrong(e, "has bytes in free slots", node, 0);
		if (block_status(view, STAT_OP_USED, &value) || value || block_pending(view))
			engines_wrong(e, "has operation records left", node, 0);
		if (block_status(view, STAT_DROPPED, &value) || value)
			engines_wrong(e, "has dropped messages", node, 0);
		if (!e->config.restarts && (block_status(view, STAT_FAILED, &value) || value))
			engines_wrong(e, "counts operations that failed", node, 0);
		if (!block_status(view, STAT_MESSAGES_OUT, &value))
			out += value;
		block_status(view, STAT_BUSY, &value);
		e->result.busy += value;
		if (frames_pending(frames) || figures.link.records)
			engines_wrong(e, "has records of messages left", node, 0);
		e->result.frames += figures.link.counters[LINK_FRAMES_OUT];
		e->result.resent += figures.link.counters[LINK_RESENT];
		e->result.placed += figures.link.counters[LINK_PLACED];
		e->result.ghosts += figures.link.counters[LINK_GHOSTS];
	}
	if (!e->config.restarts && out != e->result.started)
		engines_wrong(e, "and others: started operations are not counted", 0, out);
	e->result.time = netsim_now(e->fabric.sim);
	e->result.most_events = netsim_most_events(e->fabric.sim);
}
