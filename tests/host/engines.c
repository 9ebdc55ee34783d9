/*
 * Engines that talk to each other: random operations and restarts. See engines.h.
 */
#include "engines_state.h"
#include "../../net/frames/state.h"
#include <stdlib.h>
#include <string.h>

static uint64_t roll(struct engines *e, uint64_t sides)
{
	return (netsim_random(&e->dice) >> 16) % sides;
}

/*
 * Whether the initiator has never heard from the target. An operation without an ack or a reply is
 * over for the judge when its target has it. If the target dies before the initiator has heard from
 * it, its next life gets the message again, as the link does not know which life it spoke to. So in
 * runs with restarts everything that goes to a stranger is answered.
 */
static int is_stranger(const struct engines *e, const struct op *op)
{
	return e->config.restarts && !e->engines[op->from].last[op->to];
}

/* Choose a node's next operation at random. Returns 0 if no slot is free for it. */
static int choose(struct engines *e, uint32_t from, struct op *op, struct initiator_args *args)
{
	struct engine *engine = &e->engines[from];
	uint32_t nodes = e->config.nodes, longest = e->config.longest;
	int ack = roll(e, 2);

	op->from = from;
	op->to = (uint32_t)((from + 1 + roll(e, nodes - 1)) % nodes);
	op->kind = (uint8_t)roll(e, KINDS);
	if (op->kind == SHORT_PUT && is_stranger(e, op))
		op->kind = PUT;
	op->length = (uint32_t)(roll(e, 4) ? roll(e, SHORT + 1) :
				SHORT + 1 + roll(e, (longest - SHORT) >> roll(e, 6)));
	op->at = (uint32_t)roll(e, PATTERN - longest);
	op->slot = op->reply = NO_SLOT;
	*args = (struct initiator_args){ .md = engine->source, .local_offset = op->at,
					 .target_nid = op->to, .target_pid = 1,
					 .pt_index = PORTAL };
	args->ack = op->kind != SHORT_PUT && (ack || is_stranger(e, op)) ? ACK_YES : ACK_NO;
	if (op->kind == PIECES) {
		args->md = engine->pieces;
		op->at = (op->at + ROTATED) % PATTERN;
	} else if (op->kind == SHORT_PUT) {
		uint32_t which = (uint32_t)roll(e, SHORT_SOURCES);

		args->md = engine->short_sources[which];
		args->local_offset = 0;
		op->at = 100 * which;
		op->length = 16 * (which + 1);
	} else if (op->kind == EXCHANGE) {
		op->length %= SHORT + 1;
		args->operation = MESSAGE_GETPUT;
	} else if (op->kind == ADD || op->kind == FETCH_ADD) {
		op->length = 8;
		op->at = (uint32_t)roll(e, PATTERN / 8) * 8;
		memcpy(&op->add, e->views[from].memory + op->at, 8);
		args->local_offset = op->at;
		op->at = (uint32_t)roll(e, COUNTERS);
		args->remote_offset = PATTERN + op->at * 8;
		args->operation = op->kind == ADD ? MESSAGE_ATOMIC : MESSAGE_FETCH_ATOMIC;
		args->atomic_operation = ATOMIC_SUM;
		args->datatype = ATOMIC_UINT64;
	}
	args->length = op->kind == SHORT_PUT ? LENGTH_WHOLE : op->length;
	if (op->kind <= SHORT_PUT || op->kind == EXCHANGE) {
		op->slot = engines_take(e, op->to, op->length);
		args->remote_offset = engines_slot_offset(e, op->slot);
		if (op->slot == NO_SLOT)
			return 0;
	}
	if (op->kind == GET) {
		args->operation = MESSAGE_GET;
		args->remote_offset = op->at;
	}
	if (op->kind == GET || op->kind == EXCHANGE || op->kind == FETCH_ADD) {
		op->reply = engines_take(e, from, op->length);
		args->put_md = engine->source;
		args->put_offset = args->local_offset;
		args->local_offset = engines_slot_offset(e, op->reply);
		if (op->reply == NO_SLOT)
			return 0;
	}
	return 1;
}

/* Start one more operation of a node. Returns 0 if that is impossible now. */
static int start(struct engines *e, uint32_t from)
{
	struct frames *frames = e->fabric.nodes[from].frames;
	struct op *op = &e->ops[e->free];
	struct initiator_args args;
	uint32_t next = op->next;
	int result = FRAMES_AGAIN;
	uint64_t due;

	if (e->free == e->n_ops)
		return 0;
	*op = (struct op){ .next = next };
	op->number = e->result.started + 1;
	if (choose(e, from, op, &args)) {
		args.match_bits = op->number << 16 | e->free;
		args.hdr_data = op->number;
		/* Without an ack, the ACK bit is set at once, and a short message's SEND_END does
		 * not prove that it has arrived. */
		if (args.ack != ACK_YES) {
			op->seen_from = engines_events[op->kind].from & BIT(PTL_EVENT_ACK);
			op->unheard = (op->kind <= SHORT_PUT || op->kind == ADD) &&
				      op->length <= DELIVER_INLINE_BYTES;
		}
		e->free = next;
		if (op->kind == SHORT_PUT)
			result = frames_fast_put(frames, &args, &due) == FRAMES_OTHER;
		else
			result = frames_start(frames, &args);
		if (result)
			e->free = (uint32_t)(op - e->ops);
	}
	if (result) {
		engines_give(e, op->to, &op->slot, op->length);
		engines_give(e, from, &op->reply, op->length);
		op->number = 0;
		if (result != FRAMES_AGAIN && result != PORTALS_NO_SPACE)
			engines_wrong(e, "cannot be started", from, e->result.started);
		return 0;
	}
	e->result.started++;
	e->engines[from].left--;
	e->engines[from].under_way += op->kind != SHORT_PUT;
	return 1;
}

/* ---- the run ---- */

/* Restart a node, and mark the operations that this cuts short. */
static void restart(struct engines *e, uint32_t node)
{
	fabric_kill(&e->fabric, node);
	for (uint32_t i = 0; i < e->n_ops; i++) {
		struct op *op = &e->ops[i];

		if (op->number && op->from == node) {
			op->mute = 1;
			if (op->reply != NO_SLOT)
				e->engines[node].taken[op->reply] = 0;
			op->reply = NO_SLOT;
		}
		if (op->number && op->to == node) {
			op->excused = 1;
			op->seen_to = 0;
		}
		engines_end(e, op);
	}
	engines_begin_life(e, node);
	fabric_revive(&e->fabric, node);
}

static void feed(struct engines *e, uint32_t node)
{
	struct engine *engine = &e->engines[node];
	uint32_t records = link_figures(e->fabric.nodes[node].frames->link).records;

	engines_drain(e, node);
	while (engine->left && engine->under_way < WINDOW && start(e, node))
		engines_drain(e, node);
	netsim_deadline_changed(e->fabric.sim, node);
	if (e->result.most_records < records)
		e->result.most_records = records;
}

/* Tell all others that the node has restarted, as the shared region tells a kernel. */
static void announce(struct engines *e, uint32_t node)
{
	uint32_t incarnation = e->fabric.config.incarnation + 256 * (e->engines[node].lives - 1);

	for (uint32_t i = 0; i < e->config.nodes; i++) {
		if (i == node)
			continue;
		frames_ended(e->fabric.nodes[i].frames, node, incarnation);
		feed(e, i);
	}
}

/* Run until nothing happens any more, or until `until` operations have been started. Returns 0 if
 * it takes too long. */
static int run(struct engines *e, uint32_t until)
{
	while (e->result.started < until) {
		int node = netsim_step(e->fabric.sim);

		if (node < 0)
			return 1;
		if (netsim_now(e->fabric.sim) > e->config.most_time)
			return 0;
		feed(e, (uint32_t)node);
	}
	return 1;
}

static void open_all(struct engines *e, const struct netsim_config *network)
{
	uint32_t n = e->config.nodes;
	struct link_config links = link_defaults(0, n, 1000);

	links.check_payload = 1;
	links.announce = e->config.announce;
	e->views = calloc(n, sizeof(*e->views));
	e->engines = calloc(n, sizeof(*e->engines));
	e->n_ops = n * 32 + 256;
	e->ops = calloc(e->n_ops + 1, sizeof(*e->ops));
	for (uint32_t i = 0; i < e->n_ops; i++)
		e->ops[i].next = i + 1;
	for (uint32_t node = 0; node < n; node++) {
		struct process_view *view = &e->views[node];
		uint64_t bytes = block_bytes(&engines_limits);

		*view = (struct process_view){ .base = BASE, .nid = node, .pid = 1, .uid = 1000,
					       .jid = 7, .bytes = engines_words(e) + 1024 };
		view->memory = malloc(view->bytes);
		view_init(view, aligned_alloc(BLOCK_PAGE, bytes), bytes, &engines_limits);
		e->engines[node].last = calloc(n, sizeof(uint64_t));
		e->engines[node].left = e->config.operations / n;
		engines_begin_life(e, node);
	}
	fabric_open(&e->fabric, e->views, n, network, &links);
}

static void close_all(struct engines *e)
{
	if (fabric_close(&e->fabric) && !e->result.errors)
		engines_wrong(e, "records are left", 0, 0);
	for (uint32_t node = 0; node < e->config.nodes; node++) {
		free(e->views[node].memory);
		free(e->views[node].block);
		free(e->engines[node].last);
	}
	free(e->views);
	free(e->engines);
	free(e->ops);
}

struct engines_result engines_run(const struct engines_config *config,
				  const struct netsim_config *network)
{
	struct engines e = { .config = *config, .dice = config->seed };
	uint32_t parts = config->restarts + 1;

	if (!e.config.longest)
		e.config.longest = 6000;
	open_all(&e, network);
	for (uint32_t node = 0; node < config->nodes; node++)
		feed(&e, node);
	for (uint32_t i = 1; i < parts; i++) {
		uint32_t node = (uint32_t)roll(&e, config->nodes);

		if (!run(&e, (uint32_t)((uint64_t)config->operations * i / parts)))
			break;
		restart(&e, node);
		if (roll(&e, 2))
			announce(&e, node);
		feed(&e, node);
	}
	if (!run(&e, UINT32_MAX))
		engines_wrong(&e, "takes too long", 0, 0);
	/* A node that has not talked to the restarted nodes since does not know of all restarts. */
	for (uint32_t node = 0; node < config->nodes; node++)
		if (e.engines[node].lives > 1)
			announce(&e, node);
	if (!run(&e, UINT32_MAX))
		engines_wrong(&e, "takes too long", 0, 0);
	engines_judge_end(&e);
	close_all(&e);
	return e.result;
}
