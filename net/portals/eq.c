/*
 * Event queues: allocation, and writing events (rule 20). See eq.h.
 */
#include "eq.h"
#include "pool.h"

/* Find the lowest `count` consecutive slots that no queue uses. */
static int find_slots(const struct process_view *view, uint32_t count, uint32_t *first)
{
	uint32_t start = 0;

	/* Each round but the last moves `start` behind another queue. */
	for (uint32_t round = 0; round <= view->limits.eqs; round++) {
		uint32_t end = start;

		for (uint32_t i = 0; i < view->limits.eqs; i++) {
			const struct eq *eq = &view->eqs[i];

			if (HANDLE_KIND(eq->handle) != KIND_EQ)
				continue;
			if (eq->first_slot > view->limits.slots ||
			    eq->count > view->limits.slots - eq->first_slot)
				return PORTALS_FAIL;
			if (eq->first_slot < start + count && start < eq->first_slot + eq->count &&
			    eq->first_slot + eq->count > end)
				end = eq->first_slot + eq->count;
		}
		if (end == start) {
			*first = start;
			return PORTALS_OK;
		}
		if (end > view->limits.slots || count > view->limits.slots - end)
			return PORTALS_NO_SPACE;
		start = end;
	}
	return PORTALS_FAIL;
}

/* The reader's words (eq_alloc). The second exists only in queues with a handler, and its meaning
 * depends on that. The third exists only with EQ_HANDLER_FILLING. */
enum word { WORD_READ, WORD_HANDLED, WORD_FILLED = WORD_HANDLED, WORD_FILL_HANDLED };

/* The address of one of these words, or null if it is not in the segment. */
static uint64_t *reader(const struct process_view *view, const struct eq *eq, enum word word)
{
	uint64_t bytes = 8 + 8 * (uint64_t)word;

	if (eq->read_index % 8 || view->bytes < bytes || eq->read_index > view->bytes - bytes)
		return 0;
	return (uint64_t *)(view->memory + eq->read_index) + word;
}

int eq_alloc(struct process_view *view, uint64_t count, uint64_t read_index,
	     enum eq_handler handler, struct eq_info *info)
{
	struct pool *pool = &view->block->pools[POOL_EQ];
	uint32_t index, slots = 1, first;
	uint64_t *words;
	int fresh, error;
	struct eq *eq;

	if (!view_holds(view, read_index, 8 + 8 * (uint64_t)handler) || (read_index - view->base) % 8)
		return PORTALS_SEGV;
	if (count == 0 || count > view->limits.slots)
		return PORTALS_NO_SPACE;
	while (slots < count)
		slots *= 2;
	if (slots > view->limits.slots)
		return PORTALS_NO_SPACE;
	error = pool_next(pool, view->limits.eqs, &index, &fresh);
	if (!error)
		error = find_slots(view, slots, &first);
	if (error)
		return error;
	eq = &view->eqs[index];
	if (fresh)
		eq->handle = handle_fresh(view->block, eq->handle, KIND_EQ, index);
	else if (HANDLE_KIND(eq->handle) != KIND_FREE)
		return PORTALS_FAIL;
	pool_taken(pool, fresh, eq->first_slot);
	*eq = (struct eq){
		.handle = handle_in_use(eq->handle, KIND_EQ, index),
		.next = view->block->event_base, .read_index = read_index - view->base,
		.first_slot = first, .count = slots, .handler = handler,
	};
	/* By the checked argument: another kernel can write eq->read_index. */
	words = (uint64_t *)(view->memory + (read_index - view->base));
	for (uint32_t word = 0; word <= handler; word++)
		__atomic_store_n(&words[word], view->block->event_base, __ATOMIC_RELAXED);
	*info = (struct eq_info){ eq->handle, first, slots };
	return PORTALS_OK;
}

int eq_free(struct process_view *view, handle_t handle)
{
	struct eq *eq = eq_lookup(view, handle);

	if (!eq)
		return PORTALS_EQ_INVALID;
	if (eq->next > view->block->event_base)
		view->block->event_base = eq->next;
	eq->handle = handle_free(eq->handle);
	eq->first_slot = view->block->pools[POOL_EQ].free;
	pool_given(&view->block->pools[POOL_EQ], HANDLE_INDEX(handle));
	return PORTALS_OK;
}

/* The number of events from the one that a word names on. If the word is invalid the queue counts
 * as full, as for a reader that was overtaken. */
static uint64_t left(const struct process_view *view, const struct eq *eq, enum word which)
{
	const uint64_t *word = reader(view, eq, which);
	uint64_t next = __atomic_load_n(&eq->next, __ATOMIC_ACQUIRE);
	uint64_t used;

	if (!word)
		return eq->count;
	used = next - __atomic_load_n(word, __ATOMIC_RELAXED);
	return used < eq->count ? used : eq->count;
}

int64_t eq_unread(const struct process_view *view, handle_t handle)
{
	const struct eq *eq = eq_lookup(view, handle);

	return eq ? (int64_t)left(view, eq, WORD_READ) : PORTALS_EQ_INVALID;
}

int eq_is_quiet(const struct process_view *view, const struct eq *eq)
{
	const uint64_t *word = reader(view, eq, WORD_READ);

	return word && __atomic_load_n(word, __ATOMIC_RELAXED) == eq->next && eq->begun == 0;
}

/* Whether the queue has become three quarters full and its handler was not called since. */
static int is_fill_unhandled(const struct process_view *view, const struct eq *eq)
{
	const uint64_t *filled = reader(view, eq, WORD_FILLED);
	const uint64_t *handled = reader(view, eq, WORD_FILL_HANDLED);

	return filled && handled && __atomic_load_n(filled, __ATOMIC_RELAXED) !=
	       __atomic_load_n(handled, __ATOMIC_RELAXED);
}

/*
 * The number of unread events rises only when an engine's call records events. So a call that finds
 * it at the level or above, and below the level without its own events, has crossed the level. This
 * needs no state that reader and writers would both have to change.
 */
__attribute__((noinline, cold)) /* the common path of events is inlined in the callers */
int eq_calls(const struct process_view *view, const struct eq *eq, uint32_t events)
{
	uint64_t *read = reader(view, eq, WORD_READ), *filled = reader(view, eq, WORD_FILLED);
	uint64_t level = eq->count - eq->count / 4, unread;

	if (eq->handler != EQ_HANDLER_FILLING)
		return 1;
	if (!read || !filled || !reader(view, eq, WORD_FILL_HANDLED))
		return 0;
	unread = eq->next - __atomic_load_n(read, __ATOMIC_RELAXED);
	if (unread - level >= events) /* also below the level (it wraps), or with an invalid word */
		return 0;
	__atomic_store_n(filled, eq->next, __ATOMIC_RELEASE);
	return 1;
}

uint64_t eq_unhandled(const struct process_view *view, handle_t handle)
{
	const struct eq *eq = eq_lookup(view, handle);

	if (!eq || !eq->handler)
		return 0;
	if (eq->handler == EQ_HANDLER_FILLING)
		return (uint64_t)is_fill_unhandled(view, eq);
	return left(view, eq, WORD_HANDLED);
}

int eq_has_room(const struct process_view *view, struct eq *eq, uint32_t needed)
{
	return left(view, eq, eq->handler == EQ_HANDLER_EACH ? WORD_HANDLED : WORD_READ) +
	       eq->reserved + needed <= eq->count;
}

/* A 64-bit word of an event; readers copy events by such words, too. */
typedef uint64_t __attribute__((may_alias)) event_word;

#define HEAD_WORDS (sizeof(struct event_head) / 8)
#define MD_WORDS   (sizeof(struct md_args) / 8)

_Static_assert(offsetof(struct event, md) == HEAD_WORDS * 8 &&
	       offsetof(struct event, hdr_data) == (HEAD_WORDS + MD_WORDS) * 8 &&
	       offsetof(struct event, link) == (HEAD_WORDS + MD_WORDS + 1) * 8,
	       "an event consists of these words");

/* Plain stores that the compiler must neither tear nor drop, as readers may read meanwhile. */
static inline void put_words(event_word *to, const event_word *from, uint32_t words)
{
#pragma GCC unroll 8
	for (uint32_t i = 0; i < words; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

const struct md_args eq_md_gone;

uint32_t eq_write(const struct process_view *view, struct eq *eq, enum event_kind type,
		  const struct event_head *head, const struct md_args *md, uint64_t hdr_data,
		  uint64_t end)
{
	uint64_t first = (uint64_t)head->pt_index << 32 | type;
	uint64_t number = eq->next;
	uint64_t index = eq->first_slot + (uint64_t)((uint32_t)number & (eq->count - 1));
	struct event *slot;
	event_word *words;

	if (index >= view->limits.slots)
		return 0;
	slot = (struct event *)(view->slots + index * EVENT_SLOT_BYTES);
	words = (event_word *)slot;
	__atomic_store_n(&slot->sequence, number | EVENT_WRITING, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	put_words(words, &first, 1);
	put_words(words + 1, (const event_word *)head + 1, HEAD_WORDS - 1);
	put_words(words + HEAD_WORDS, (const event_word *)md, MD_WORDS);
	put_words(words + HEAD_WORDS + MD_WORDS, &hdr_data, 1);
	put_words(words + HEAD_WORDS + MD_WORDS + 1, &end, 1);
	__atomic_store_n(&slot->sequence, number, __ATOMIC_RELEASE);
	__atomic_store_n(&eq->next, number + 1, __ATOMIC_RELEASE);
	return 1;
}
