/*
 * The index of match entries: masks, order numbers, and inserting entries into chains and removing
 * them. See index.h. Links of a chain are entry indices + 1, so that zeroed memory is an empty
 * index.
 */
#include "index.h"

/* Order numbers. A new numbering uses [ORDER_FIRST, ORDER_FIRST + ORDER_RANGE), and an entry at an
 * end of the list is ORDER_GAP from its neighbour. So a billion more entries fit at both ends. */
#define ORDER_GAP    (1ULL << 32)
#define ORDER_FIRST  (1ULL << 62)
#define ORDER_RANGE  (1ULL << 63)

void index_init(struct process_view *view)
{
	for (uint32_t i = 0; i < index_chains(view->limits.mes); i++)
		view->chains[i] = (struct chain){ 0, 0 };
}

/* The parts of a source that an entry compares. */
static uint64_t source_mask(const struct me *me)
{
	return (me->nid == ANY_ID ? 0 : SOURCE_NID) | (me->pid == ANY_ID ? 0 : SOURCE_PID);
}

/* Choose one of the portal's masks for an entry: one in use that is the same, else a free one,
 * which is set up, else MASK_REST. */
static uint32_t mask_of(struct process_view *view, struct portal *portal, const struct me *me)
{
	struct mask *masks = &view->masks[me->pt_index * PORTAL_MASKS];
	uint64_t bits = ~me->ignore_bits, source = source_mask(me);
	uint32_t found;

	/* From the last: entries that are inserted and removed often mostly use late masks. */
	for (uint32_t used = portal->indexed & ~(1u << MASK_REST); used; used &= ~(1u << found)) {
		found = (uint32_t)__builtin_clz(used) ^ 31;
		if (masks[found].bits == bits && masks[found].source == source)
			return found;
	}
	found = (uint32_t)__builtin_ctz(~(uint32_t)portal->indexed | 1u << MASK_REST);
	if (portal->indexed >> found & 1) /* MASK_REST, already set up */
		return found;
	if (found == MASK_REST)
		bits = source = 0;
	masks[found] = (struct mask){ .bits = bits, .source = source };
	masks[found].salt = (me->pt_index * PORTAL_MASKS + found) * 0xa0761d6478bd642fULL;
	portal->indexed |= (uint8_t)(1u << found);
	return found;
}

/* Set an entry's mask and chain. */
static void classify(struct process_view *view, struct portal *portal, struct me *me)
{
	const struct mask *mask;

	me->mask = me->pt_index * PORTAL_MASKS + mask_of(view, portal, me);
	mask = &view->masks[me->mask];
	me->chain = (uint16_t)index_chain(view, mask, me->match_bits,
					  index_source(me->nid, me->pid));
}

/* Number all entries of a list anew. 0 or PORTALS_FAIL. */
__attribute__((noinline))
static int renumber(struct process_view *view, const struct portal *portal)
{
	uint64_t step = ORDER_RANGE / (portal->count + 1u), order = ORDER_FIRST;
	uint32_t steps = view->limits.mes;

	for (uint32_t i = portal->first; i != NO_INDEX; i = view->mes[i].next) {
		if (i >= view->limits.mes || steps-- == 0)
			return PORTALS_FAIL;
		order += step;
		view->mes[i].order = order;
	}
	return PORTALS_OK;
}

/*
 * Number a new entry between its neighbours, whose indices are valid. Inside the list its number is
 * far from that of the entry at which PtlMEInsert inserted it, as the next entry is likely to be
 * inserted there, too. 1, or 0 if there is no number left.
 */
static int number(const struct process_view *view, struct me *me, enum insert_pos position)
{
	uint64_t low = me->prev == NO_INDEX ? 0 : view->mes[me->prev].order;
	uint64_t high = me->next == NO_INDEX ? ~0ULL : view->mes[me->next].order;
	uint64_t gap;

	if (low >= high || high - low < 2)
		return 0;
	gap = (high - low) / 2;
	if (gap > ORDER_GAP)
		gap = ORDER_GAP;
	if (me->prev == NO_INDEX || (me->next != NO_INDEX && position == INSERT_AFTER))
		me->order = high - gap;
	else
		me->order = low + gap;
	return 1;
}

/* Whether the neighbour with this index has the same mask and chain. */
static int chained_with(const struct process_view *view, uint32_t index, const struct me *me)
{
	return index < view->limits.mes && view->mes[index].chain == me->chain &&
	       view->mes[index].mask == me->mask;
}

/*
 * Find the entry of the chain after which a new one belongs: *at, 0 for none. The usual cases take
 * one step: an empty chain, next to a neighbour in the list, at the end or start of the chain.
 * Otherwise it searches back from the end. 0 or PORTALS_FAIL.
 */
static int place_in(const struct process_view *view, const struct chain *chain,
		    const struct me *me, uint32_t *at)
{
	uint32_t steps = view->limits.mes;
	const struct me *other;

	*at = 0;
	if (!chain->first)
		return PORTALS_OK;
	if (chained_with(view, me->prev, me)) {
		*at = me->prev + 1u;
		return PORTALS_OK;
	}
	if (chained_with(view, me->next, me)) {
		*at = view->mes[me->next].earlier;
		return *at <= view->limits.mes ? PORTALS_OK : PORTALS_FAIL;
	}
	if (chain->first <= view->limits.mes) {
		other = &view->mes[chain->first - 1];
		if (other->mask == me->mask && other->order > me->order)
			return PORTALS_OK;
	}
	for (*at = chain->last; *at; *at = other->earlier) {
		if (*at > view->limits.mes || steps-- == 0)
			return PORTALS_FAIL;
		other = &view->mes[*at - 1];
		if (other->mask == me->mask && other->order < me->order)
			break;
	}
	return PORTALS_OK;
}

/* Put a numbered entry into the chain of its key. */
static int chain_add(struct process_view *view, struct portal *portal, struct me *me)
{
	uint16_t self = (uint16_t)(me - view->mes + 1);
	struct chain *chain;
	uint32_t at, later;

	classify(view, portal, me);
	chain = &view->chains[me->chain];
	if (place_in(view, chain, me, &at))
		return PORTALS_FAIL;
	later = at ? view->mes[at - 1].later : chain->first;
	if (later > view->limits.mes)
		return PORTALS_FAIL;
	me->earlier = (uint16_t)at;
	me->later = (uint16_t)later;
	if (at)
		view->mes[at - 1].later = self;
	else
		chain->first = self;
	if (later)
		view->mes[later - 1].earlier = self;
	else
		chain->last = self;
	view->masks[me->mask].count++;
	return PORTALS_OK;
}

/* A list has become long: add all its entries to the index. */
__attribute__((noinline))
static int build(struct process_view *view, struct portal *portal)
{
	uint32_t steps = view->limits.mes;

	if (renumber(view, portal))
		return PORTALS_FAIL;
	/* The numbers are right, so each entry goes behind the earlier ones. A next entry that is
	 * not in the index yet has CHAIN_NONE, so place_in does not take it for a neighbour. */
	for (uint32_t i = portal->first; i != NO_INDEX; i = view->mes[i].next) {
		struct me *me = &view->mes[i];

		if (steps-- == 0 || &view->portals[me->pt_index] != portal)
			return PORTALS_FAIL;
		if (chain_add(view, portal, me))
			return PORTALS_FAIL;
	}
	return PORTALS_OK;
}

int index_add(struct process_view *view, struct me *me, enum insert_pos position)
{
	struct portal *portal = &view->portals[me->pt_index];

	if (!portal->indexed)
		return portal->count > INDEX_FROM ? build(view, portal) : PORTALS_OK;
	if (!number(view, me, position) && renumber(view, portal))
		return PORTALS_FAIL;
	return chain_add(view, portal, me);
}

int index_remove(struct process_view *view, struct portal *portal, const struct me *me)
{
	struct chain *chain;

	if (me->mask / PORTAL_MASKS != me->pt_index || me->chain >= 1u << (64 - view->chain_shift) ||
	    me->later > view->limits.mes || me->earlier > view->limits.mes)
		return PORTALS_FAIL;
	chain = &view->chains[me->chain];
	if (me->earlier)
		view->mes[me->earlier - 1].later = me->later;
	else
		chain->first = me->later;
	if (me->later)
		view->mes[me->later - 1].earlier = me->earlier;
	else
		chain->last = me->earlier;
	if (--view->masks[me->mask].count == 0)
		portal->indexed &= (uint8_t)~(1u << me->mask % PORTAL_MASKS);
	return PORTALS_OK;
}
