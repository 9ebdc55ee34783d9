/*
 * The host tests' world: see world.h. Owns all memory of the processes.
 */
#include "world.h"
#include <stdlib.h>
#include <string.h>

#define CANARY        0xa5
#define CANARY_BYTES  4096u

const struct block_limits small_limits = {
	.portals = 8, .acs = 4, .mes = 8, .mds = 8, .eqs = 4, .ops = 8, .slots = 64,
	.pieces = 16
};
const struct block_limits test_limits = {
	.portals = 64, .acs = 64, .mes = 256, .mds = 256, .eqs = 8, .ops = 64,
	.slots = 1024, .pieces = 512
};

static void open_frames(struct world *w)
{
	static uint64_t seed;
	const char *faults = getenv("CHECK_FRAMES");
	struct netsim_config network = netsim_defaults(PROCESSES, ++seed);
	struct link_config config = link_defaults(0, PROCESSES, 1000);

	if (!faults)
		return;
	network.loss = network.duplicate = network.reorder = network.damage = network.delay =
		(uint32_t)strtoul(faults, 0, 0);
	config.check_payload = 1;
	w->fabric = malloc(sizeof(*w->fabric));
	fabric_open(w->fabric, w->views, PROCESSES, &network, &config);
}

void world_open(struct world *w, const struct block_limits *limits)
{
	memset(w, 0, sizeof(*w));
	w->loop.views = w->views;
	w->loop.nodes = PROCESSES;
	w->loop.split = (uint32_t)check_split;
	for (uint32_t p = 0; p < PROCESSES; p++) {
		struct process_view *view = &w->views[p];
		uint64_t bytes = block_bytes(limits);

		w->maps[p] = malloc(SEGMENT + 2 * CANARY_BYTES);
		memset(w->maps[p], CANARY, SEGMENT + 2 * CANARY_BYTES);
		view->memory = w->maps[p] + CANARY_BYTES;
		view->bytes = SEGMENT;
		view->base = BASE;
		view->nid = p;
		view->pid = 1;
		view->uid = 1000;
		view->jid = JOB;
		CHECK_IS(view_init(view, aligned_alloc(BLOCK_PAGE, bytes), bytes, limits), 0);
		memset(view->block, 0, bytes);
		block_init(view);
		block_open(view);
		for (int i = 0; i < 8; i++)
			w->readers[p][i].handle = PTL_INVALID_HANDLE;
		fill(w, p);
	}
	open_frames(w);
}

void world_drop(struct world *w)
{
	if (w->fabric) {
		CHECK_IS(fabric_close(w->fabric), 0);
		free(w->fabric);
	}
	for (uint32_t p = 0; p < PROCESSES; p++) {
		for (uint32_t i = 0; i < CANARY_BYTES; i++)
			if (w->maps[p][i] != CANARY ||
			    w->maps[p][CANARY_BYTES + SEGMENT + i] != CANARY) {
				check_failed(__FILE__, __LINE__, "canaries are whole");
				break;
			}
		free(w->views[p].block);
		free(w->maps[p]);
	}
}

void world_close(struct world *w)
{
	for (uint32_t p = 0; p < PROCESSES; p++) {
		CHECK_IS(status(w, p, STAT_ME_USED), 0);
		CHECK_IS(status(w, p, STAT_MD_USED), 0);
		CHECK_IS(status(w, p, STAT_EQ_USED), 0);
		CHECK_IS(status(w, p, STAT_OP_USED), 0);
		CHECK_IS(status(w, p, STAT_PIECE_USED), 0);
		CHECK_IS(block_pending(&w->views[p]), 0);
	}
	world_drop(w);
}

uint8_t pattern(uint32_t p, uint64_t offset)
{
	return (uint8_t)(offset * 7 + offset / 251 + p * 85 + 1);
}

void fill(struct world *w, uint32_t p)
{
	for (uint32_t i = 0; i < WORDS; i++)
		w->views[p].memory[i] = pattern(p, i);
}

int shows(struct world *w, uint32_t p, uint64_t at, uint32_t q, uint64_t from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		if (w->views[p].memory[at + i] != pattern(q, from + i))
			return 0;
	return 1;
}

handle_t new_eq(struct world *w, uint32_t p, uint32_t count)
{
	struct process_view *view = &w->views[p];
	struct eq_info info = { 0 };
	struct eq_reader *reader = w->readers[p];
	uint64_t word;

	while (reader->handle != PTL_INVALID_HANDLE)
		reader++;
	word = WORDS + 8 * (uint64_t)(reader - w->readers[p]);
	CHECK_IS(eq_alloc(view, count, BASE + word, 0, &info), 0);
	reader->handle = info.handle;
	reader->slots = (const event_word *)(view->slots + info.first_slot * EVENT_SLOT_BYTES);
	reader->mask = info.count - 1;
	eq_advance(reader, *(uint64_t *)(view->memory + word));
	return info.handle;
}

handle_t new_me_with(struct world *w, uint32_t p, uint32_t pt, struct me_args args)
{
	handle_t handle = HANDLE_NONE;

	CHECK_IS(me_attach(&w->views[p], pt, &args, &handle), 0);
	return handle;
}

handle_t new_me(struct world *w, uint32_t p, uint64_t bits)
{
	return new_me_with(w, p, PT, (struct me_args){
		.match_bits = bits, .nid = ANY_ID, .pid = ANY_ID, .position = INSERT_AFTER });
}

handle_t attach(struct world *w, uint32_t p, handle_t me, struct md_args args, int unlink)
{
	handle_t handle = HANDLE_NONE;

	CHECK_IS(md_attach(&w->views[p], me, &args, unlink, &handle), 0);
	return handle;
}

handle_t bind(struct world *w, uint32_t p, struct md_args args, int unlink)
{
	handle_t handle = HANDLE_NONE;

	CHECK_IS(md_bind(&w->views[p], &args, unlink, &handle), 0);
	return handle;
}

struct md_args memory(uint64_t offset, uint64_t length, uint32_t options, handle_t eq)
{
	return (struct md_args){ .start = BASE + offset, .length = length,
				 .threshold = MD_THRESH_INF, .options = options,
				 .user_ptr = 0x1234, .eq_handle = eq };
}

struct initiator_args to(handle_t md, uint32_t nid, uint64_t bits)
{
	return (struct initiator_args){ .md = md, .length = LENGTH_WHOLE, .target_nid = nid,
					.target_pid = 1, .pt_index = PT, .match_bits = bits,
					.hdr_data = 0xabcdef };
}

/* Whether this message goes over frames. Messages to the same node and to nodes that a test
 * declares dead do not. */
static int uses_frames(const struct world *w, const struct initiator_args *args, uint32_t from)
{
	return w->fabric && args->target_nid != from && args->target_nid < PROCESSES &&
	       !(w->loop.dead >> args->target_nid & 1);
}

static int settle(struct world *w, int result)
{
	CHECK_IS(fabric_settle(w->fabric, 60000000000ull), 1);
	return result;
}

int put(struct world *w, uint32_t from, struct initiator_args args)
{
	if (uses_frames(w, &args, from))
		return settle(w, fabric_start(w->fabric, from, &args));
	return loop_start(&w->loop, from, &args);
}

int get(struct world *w, uint32_t from, struct initiator_args args)
{
	args.operation = MESSAGE_GET;
	return put(w, from, args);
}

int getput(struct world *w, uint32_t from, const struct initiator_args *args)
{
	return put(w, from, *args);
}

struct message sent_put(struct world *w, uint32_t from, const struct initiator_args *args)
{
	struct message message = { 0 };
	struct grant source;

	CHECK_IS(initiator_put(&w->views[from], args, &message, &source), 0);
	CHECK_IS(initiator_sent(&w->views[from], &message, &source, NI_OK), 0);
	return message;
}

struct message request(uint8_t operation, uint32_t from, uint32_t target, uint64_t bits,
		       uint64_t length)
{
	return (struct message){ .operation = operation, .source_nid = from, .source_pid = 1,
				 .target_nid = target, .target_pid = 1, .uid = 1000, .jid = JOB,
				 .pt_index = PT, .match_bits = bits, .length = length };
}

static struct eq_reader *reader_of(struct world *w, uint32_t p, handle_t eq)
{
	struct eq_reader *reader = w->readers[p];

	while (reader->handle != eq)
		reader++;
	return reader;
}

int next(struct world *w, uint32_t p, handle_t eq)
{
	struct eq_reader *reader = reader_of(w, p, eq);
	int result = eq_read(reader, &w->event);

	*(uint64_t *)(w->views[p].memory + WORDS + 8 * (uint64_t)(reader - w->readers[p])) =
		reader->next;
	if (result == PTL_EQ_EMPTY)
		return -1;
	return result == PTL_EQ_DROPPED ? -2 : (int)w->event.type;
}

uint64_t status(struct world *w, uint32_t p, enum block_register index)
{
	uint64_t value = 0;

	CHECK_IS(block_status(&w->views[p], index, &value), 0);
	return value;
}

void remove_me(struct world *w, uint32_t p, handle_t me)
{
	if (me_lookup(&w->views[p], me))
		CHECK_IS(me_unlink(&w->views[p], me), 0);
}

void remove_md(struct world *w, uint32_t p, handle_t md)
{
	if (md_lookup(&w->views[p], md))
		CHECK_IS(md_unlink(&w->views[p], md), 0);
}

void remove_eq(struct world *w, uint32_t p, handle_t eq)
{
	struct eq_reader *reader = reader_of(w, p, eq);

	CHECK_IS(eq_free(&w->views[p], eq), 0);
	reader->handle = PTL_INVALID_HANDLE;
}

int arrives(struct world *w, uint32_t p, struct message m, uint64_t *offset,
		   uint64_t *bytes)
{
	static const uint8_t payload[DELIVER_OPERAND_BYTES];
	uint8_t fetched[DELIVER_INLINE_BYTES];
	struct message answer;
	struct grant grant;
	int result;

	if (!check_split && m.length <= DELIVER_INLINE_BYTES && m.mlength <= DELIVER_INLINE_BYTES)
		result = deliver_inline(&w->views[p], &m, payload, &grant, &answer, fetched);
	else
		result = deliver_begin(&w->views[p], &m, m.source_nid, &grant, &answer);
	if (offset)
		*offset = grant.offset;
	if (bytes)
		*bytes = grant.bytes;
	if (result == DELIVER_OK)
		CHECK_IS(deliver_end(&w->views[p], &grant, NI_OK, &answer), DELIVER_OK);
	return result;
}

int put_arrives(struct world *w, uint64_t bits, uint64_t length)
{
	return arrives(w, 0, request(MESSAGE_PUT, 1, 0, bits, length), 0, 0);
}

struct pair pair_open(struct world *w, uint32_t options, int threshold, int unlink)
{
	struct pair pair;
	struct md_args args;

	world_open(w, &test_limits);
	pair.eq = new_eq(w, 0, 32);
	pair.me = new_me(w, 0, 5);
	pair.md = attach(w, 0, pair.me, memory(1000, 64, MD_OP_PUT | MD_OP_GET |
					       MD_MANAGE_REMOTE | options, pair.eq), UNLINK_NEVER);
	pair.events = new_eq(w, 1, 32);
	args = memory(2000, 64, 0, pair.events);
	args.threshold = threshold;
	pair.source = bind(w, 1, args, unlink);
	return pair;
}

void pair_close(struct world *w, struct pair *pair)
{
	remove_me(w, 0, pair->me);
	remove_eq(w, 0, pair->eq);
	remove_md(w, 1, pair->source);
	remove_eq(w, 1, pair->events);
	world_close(w);
}
