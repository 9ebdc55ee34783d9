/*
 * A node of the engines: its process, and the slots of its segment. See engines_state.h.
 */
#include "engines_state.h"
#include <string.h>
#include "../../net/portals/eq.h"
#include "../../net/portals/md.h"
#include "../../net/portals/me.h"

const struct block_limits engines_limits = {
	.portals = 8, .acs = 4, .mes = 4, .mds = 8, .eqs = 2, .ops = 8, .slots = 2048,
	.pieces = 64
};

/* ---- memory ---- */

uint64_t engines_slot_offset(const struct engines *e, uint32_t slot)
{
	uint64_t first = PATTERN + COUNTERS * 8;

	return slot < SHORTS ? first + slot * SHORT :
		first + SHORTS * SHORT + (uint64_t)(slot - SHORTS) * e->config.longest;
}

uint64_t engines_words(const struct engines *e)
{
	return (engines_slot_offset(e, SLOTS) + 63) & ~63ull;
}

uint8_t *engines_slot(const struct engines *e, uint32_t node, uint32_t slot)
{
	return e->views[node].memory + engines_slot_offset(e, slot);
}

uint16_t engines_take(struct engines *e, uint32_t node, uint32_t length)
{
	uint32_t first = length <= SHORT ? 0 : SHORTS, end = length <= SHORT ? SHORTS : SLOTS;

	for (uint32_t slot = first; slot < end; slot++)
		if (!e->engines[node].taken[slot]) {
			e->engines[node].taken[slot] = 1;
			return (uint16_t)slot;
		}
	return NO_SLOT;
}

void engines_give(struct engines *e, uint32_t node, uint16_t *slot, uint32_t length)
{
	if (*slot == NO_SLOT)
		return;
	memset(engines_slot(e, node, *slot), EMPTY, length);
	e->engines[node].taken[*slot] = 0;
	*slot = NO_SLOT;
}

uint8_t engines_pattern(uint32_t node, uint32_t at)
{
	return (uint8_t)((at * 0x9e3779b1u + node * 0x85ebca6bu) >> 21);
}

int engines_is_pattern(const struct engines *e, const uint8_t *bytes, uint32_t node, uint32_t at,
		      uint32_t length)
{
	const uint8_t *from = e->views[node].memory;
	uint32_t first = PATTERN - at < length ? PATTERN - at : length;

	return !memcmp(bytes, from + at, first) && !memcmp(bytes + first, from, length - first);
}

int engines_is_empty(const uint8_t *bytes, uint64_t length)
{
	return !length || (bytes[0] == EMPTY && !memcmp(bytes, bytes + 1, length - 1));
}

/* ---- processes ---- */

static void open_queue(struct engines *e, uint32_t node, struct eq_reader *reader, uint64_t word,
		       handle_t *handle)
{
	struct process_view *view = &e->views[node];
	struct eq_info info = { 0 };

	if (eq_alloc(view, 1024, BASE + word, 0, &info))
		engines_wrong(e, "has no event queue", node, 0);
	*handle = info.handle;
	reader->slots = (const event_word *)(view->slots + info.first_slot * EVENT_SLOT_BYTES);
	reader->mask = info.count - 1;
	eq_advance(reader, *(uint64_t *)(view->memory + word));
}

static handle_t bind(struct engines *e, uint32_t node, uint64_t offset, uint64_t length,
		     uint32_t options, handle_t eq)
{
	struct md_args args = { .start = BASE + offset, .length = length, .options = options,
				.threshold = MD_THRESH_INF, .eq_handle = eq };
	handle_t handle = HANDLE_NONE;

	if (md_bind(&e->views[node], &args, UNLINK_NEVER, &handle))
		engines_wrong(e, "cannot bind", node, 0);
	return handle;
}

void engines_begin_life(struct engines *e, uint32_t node)
{
	struct process_view *view = &e->views[node];
	struct engine *engine = &e->engines[node];
	uint64_t words = engines_words(e);
	struct iovec_args *array = (struct iovec_args *)(view->memory + words + 64);
	struct me_args me = { .ignore_bits = ~0ull, .nid = ANY_ID, .pid = ANY_ID,
			      .position = INSERT_AFTER };
	struct md_args md = { .start = BASE, .length = words, .threshold = MD_THRESH_INF,
			      .options = MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE };
	handle_t in, out, entry = HANDLE_NONE, handle;

	memset(view->block, 0, block_bytes(&engines_limits));
	block_init(view);
	block_open(view);
	for (uint32_t i = 0; i < PATTERN; i++)
		view->memory[i] = engines_pattern(node, i);
	memset(view->memory + PATTERN, 0, COUNTERS * 8);
	memset(engines_slot(e, node, 0), EMPTY, view->bytes - engines_slot_offset(e, 0));
	memset(view->memory + words, 0, view->bytes - words);
	memset(engine->sums, 0, sizeof(engine->sums));
	memset(engine->last, 0, e->config.nodes * sizeof(*engine->last));
	open_queue(e, node, &engine->out, words, &out);
	open_queue(e, node, &engine->in, words + 8, &in);
	md.eq_handle = in;
	if (me_attach(view, PORTAL, &me, &entry) ||
	    md_attach(view, entry, &md, UNLINK_NEVER, &handle))
		engines_wrong(e, "cannot attach", node, 0);
	engine->source = bind(e, node, 0, words, 0, out);
	/* small pieces, more than fit into a frame; then the rest of the pattern, around its end */
	for (uint32_t i = 0; i < PIECES_SMALL; i++)
		array[i] = (struct iovec_args){ BASE + ROTATED + PIECE * i, PIECE };
	array[PIECES_SMALL] = (struct iovec_args){ BASE + ROTATED + PIECE * PIECES_SMALL,
						   PATTERN - ROTATED - PIECE * PIECES_SMALL };
	array[PIECES_SMALL + 1] = (struct iovec_args){ BASE, ROTATED };
	engine->pieces = bind(e, node, words + 64, PIECES_SMALL + 2, MD_IOVEC, out);
	for (uint32_t i = 0; i < SHORT_SOURCES; i++)
		engine->short_sources[i] = bind(e, node, 100 * i, 16 * (i + 1), 0, EQ_NONE);
	engine->under_way = 0;
	engine->lives++;
}
