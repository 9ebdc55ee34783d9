/*
 * The index of match entries: masks, order numbers, and inserting entries into chains and removing
 * them. See index.h. Links of a chain are entry indices + 1, so that zeroed memory is an empty
 * index.
 */
#include "index.h"

/* Order numbers. A new numbering uses [ORDER_FIRST, ORDER_FIRST + ORDER_RANGE), and an entry at an
 * end of the list is ORDER_GAP from its neighbour. So billions of more entries fit at both ends. */
#define ORDER_GAP    (1ULL << 29)
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
	uint64_t source = (uint64_t)me->pid << 32 | me->nid; /* both at once */

	if (source == ~0ULL)
		return 0;
	return (me->nid == ANY_ID ? 0 : SOURCE_NID) | (me->pid == ANY_ID ? 0 : SOURCE_PID);
}

/* Choose one of the portal's masks: one in use that is the same, else a free one, which is set up,
 * else MASK_REST. Returns its number in the portal. */
__attribute__((noinline))
static uint32_t find_mask(struct process_view *view, struct portal *portal, uint32_t pt_index,
			  uint64_t bits, uint64_t source)
{
	struct mask *masks = &view->masks[pt_index * PORTAL_MASKS];
	uint32_t found;

	for (uint32_t used = portal->indexed & ~(1u << MASK_REST); used; used &= used - 1) {
		found = (uint32_t)__builtin_ctz(used);
		if (masks[found].bits == bits && masks[found].source == source)
			goto out;
	}
	found = (uint32_t)__builtin_ctz(~(uint32_t)portal->indexed | 1u << MASK_REST);
	if (portal->indexed >> found & 1) /* MASK_REST, already set up */
		goto out;
	if (found == MASK_REST)
		bits = source = 0;
	masks[found] = (struct mask){ .bits = bits, .source = source, .least = ~0ULL };
	portal->entries[found] = 0;
	portal->indexed |= (uint8_t)(1u << found);
out:
	portal->recent = (uint8_t)found;
	return found;
}

/* The number in the block of the mask of an entry with this mask of its source. The next entry
 * often has the same one, so that is tried first. */
static inline uint32_t mask_of(struct process_view *view, struct portal *portal,
			       uint32_t pt_index, const struct me *me, uint64_t source)
{
	uint32_t first = pt_index * PORTAL_MASKS, recent = portal->recent;
	const struct mask *mask = &view->masks[first + recent];
	uint64_t bits = ~me->ignore_bits;

	if (recent < PORTAL_MASKS && mask->bits == bits && mask->source == source)
		return first + recent;
	return first + find_mask(view, portal, pt_index, bits, source);
}

/* An entry with this mask has this order number. */
static inline void at_most(struct mask *mask, uint64_t order)
{
	if (order < mask->least)
		mask->least = order;
}

/* Number all entries of a list anew. Those that are not in the index yet have CHAIN_NONE. 0 or
 * PORTALS_FAIL. */
__attribute__((noinline))
static int renumber(struct process_view *view, const struct portal *portal)
{
	struct mask *masks = &view->masks[(portal - view->portals) * PORTAL_MASKS];
	uint64_t step = ORDER_RANGE / (portal->count + 1u), order = ORDER_FIRST;
	uint32_t steps = view->limits.mes;

	for (uint32_t i = 0; i < PORTAL_MASKS; i++)
		masks[i].least = ~0ULL;
	for (uint32_t i = portal->first; i != NO_INDEX; i = view->mes[i].next) {
		if (i >= view->limits.mes || steps-- == 0)
			return PORTALS_FAIL;
		order += step;
		view->mes[i].order = order;
		if (view->mes[i].chain != CHAIN_NONE)
			at_most(&masks[view->mes[i].mask % PORTAL_MASKS], order);
	}
	return PORTALS_OK;
}

/* The same for a list with a new entry, unless there are numbers left between its neighbours. */
__attribute__((noinline))
static int squeeze(struct process_view *view, const struct portal *portal, struct me *me,
		   uint64_t low, uint64_t gap)
{
	if (gap < 2) {
		me->chain = CHAIN_NONE;
		return renumber(view, portal);
	}
	me->order = low + gap / 2;
	return PORTALS_OK;
}

/* Number a new entry between those of its neighbours. Inside the list its number is far from that of
 * the entry at which PtlMEInsert inserted it, as the next entry is likely to be inserted there, too.
 * 0 or PORTALS_FAIL. */
static inline int number(struct process_view *view, const struct portal *portal, struct me *me,
			 const struct index_gap *gap)
{
	uint64_t low = gap->low, high = gap->high;

	if (high - low <= 2 * ORDER_GAP)
		return squeeze(view, portal, me, low, high - low);
	me->order = low == 0 || (gap->position == INSERT_AFTER && high != ~0ULL) ?
		    high - ORDER_GAP : low + ORDER_GAP;
	return PORTALS_OK;
}

/* Whether the neighbour with this index has the same mask and chain. */
static int chained_with(const struct process_view *view, uint32_t index, const struct me *me)
{
	return index < view->limits.mes && view->mes[index].chain == me->chain &&
	       view->mes[index].mask == me->mask;
}

/*
 * Find the entry of a chain after which a new one belongs: *at, 0 for none. The usual cases take
 * one step: next to a neighbour in the list, at the end or start of the chain. Otherwise it
 * searches back from the end. 0 or PORTALS_FAIL.
 */
static int place_in(const struct process_view *view, const struct chain *chain,
		    const struct me *me, uint32_t *at)
{
	/* Read once: a faulty node may write them. */
	uint32_t prev = ((const volatile struct me *)me)->prev;
	uint32_t next = ((const volatile struct me *)me)->next;
	uint32_t first = ((const volatile struct chain *)chain)->first;
	uint32_t steps = view->limits.mes;
	const struct me *other;

	*at = 0;
	if (chained_with(view, prev, me)) {
		*at = prev + 1u;
		return PORTALS_OK;
	}
	if (chained_with(view, next, me)) {
		*at = view->mes[next].earlier;
		return *at <= view->limits.mes ? PORTALS_OK : PORTALS_FAIL;
	}
	if (first - 1 < view->limits.mes) {
		other = &view->mes[first - 1];
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

/* Put an entry into a chain that is not empty. `self` is its index + 1. 0 or PORTALS_FAIL. */
__attribute__((noinline))
static int chain_insert(struct process_view *view, struct chain *chain, struct me *me,
			uint16_t self)
{
	uint32_t at, later;

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
	return PORTALS_OK;
}

/* Put the numbered entry with this index into the chain of its key. 0 or PORTALS_FAIL. */
static inline __attribute__((always_inline))
int chain_add(struct process_view *view, struct portal *portal, uint32_t pt_index,
	      struct me *me, uint32_t index)
{
	uint64_t source = source_mask(me);
	uint32_t number = mask_of(view, portal, pt_index, me, source);
	uint32_t at = index_chain(view, number, me->match_bits,
				  source ? index_source(me->nid, me->pid) : 0);
	struct chain *chain = &view->chains[at];

	me->mask = number;
	me->chain = (uint16_t)at;
	if (chain->first) {
		if (chain_insert(view, chain, me, (uint16_t)(index + 1)))
			return PORTALS_FAIL;
	} else {
		chain->first = chain->last = (uint16_t)(index + 1);
		me->later = me->earlier = 0;
	}
	at_most(&view->masks[number], me->order);
	portal->entries[number % PORTAL_MASKS]++;
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
		if (chain_add(view, portal, me->pt_index, me, i))
			return PORTALS_FAIL;
	}
	return PORTALS_OK;
}

int index_insert(struct process_view *view, const struct me_slot *slot,
		 const struct index_gap *gap)
{
	struct portal *portal = slot->portal;
	struct me *me = &view->mes[slot->index];

	if (__builtin_expect(!portal->indexed, 0)) {
		me->chain = CHAIN_NONE;
		return build(view, portal);
	}
	if (number(view, portal, me, gap))
		return PORTALS_FAIL;
	return chain_add(view, portal, slot->pt_index, me, slot->index);
}

int index_remove(struct process_view *view, struct portal *portal, const struct me *me)
{
	/* Each read once: other nodes may write to the block. */
	uint32_t number = __atomic_load_n(&me->mask, __ATOMIC_RELAXED);
	uint16_t at = __atomic_load_n(&me->chain, __ATOMIC_RELAXED);
	uint16_t later = __atomic_load_n(&me->later, __ATOMIC_RELAXED);
	uint16_t earlier = __atomic_load_n(&me->earlier, __ATOMIC_RELAXED);
	struct chain *chain = &view->chains[at];

	if (number / PORTAL_MASKS != (uint32_t)(portal - view->portals) ||
	    at >= 1u << (64 - view->chain_shift) || later > view->limits.mes ||
	    earlier > view->limits.mes)
		return PORTALS_FAIL;
	if (earlier)
		view->mes[earlier - 1].later = later;
	else
		chain->first = later;
	if (later)
		view->mes[later - 1].earlier = earlier;
	else
		chain->last = earlier;
	number %= PORTAL_MASKS;
	if (--portal->entries[number] == 0) {
		portal->indexed &= (uint8_t)~(1u << number);
		if (portal->recent == number)
			portal->recent = MASK_NONE;
	}
	return PORTALS_OK;
}
