/*
 * Event queues: rings of event slots, written under the block's lock, and read by the application
 * without a lock (rule 20), as with a sequence lock.
 *
 * Event number n of a queue is in slot n & (count - 1). Numbers only grow. They start at
 * block.event_base, which no earlier queue of this block has reached. So an old sequence number in
 * a slot is always smaller than the one that a new reader expects, and slots need not be cleared.
 * The writer of event n stores sequence = n | EVENT_WRITING, the fields, and sequence = n. A reader
 * that expects n and finds s:
 *   s == n                 copy the event, read s again: if unchanged, the copy is valid
 *   (s & ~WRITING) > n     overtaken: the oldest event still there is number s - count + 1
 *   otherwise              the queue is empty
 */
#ifndef NET_PORTALS_EQ_H
#define NET_PORTALS_EQ_H
#include "process.h"

/* When the owner's handler is called. */
enum eq_handler {
	EQ_NO_HANDLER,
	EQ_HANDLER_EACH,       /* for each event, before the owner reads it */
	EQ_HANDLER_FILLING     /* when the queue becomes three quarters full */
};

struct eq {
	handle_t handle;       /* its own while in use; else KIND_FREE and the next generation */
	uint64_t next;         /* number of the next event */
	uint64_t read_index;   /* segment offset of the reader's words, see eq_alloc; the first is
	                          the number of the event that it reads next */
	uint32_t first_slot;   /* first slot in the event area; free: next free queue */
	uint32_t count;        /* slots, a power of two */
	uint32_t reserved;     /* slots reserved for replies that have begun, and for the
	                          UNLINK of their descriptors (rule 22) */
	uint32_t begun;        /* END and UNLINK events that begun operations will still record */
	uint32_t handler;      /* enum eq_handler */
	uint32_t zero[5];
};

_Static_assert(sizeof(struct eq) == 64, "one cache line per queue");

/* Result of PtlEQAlloc for the library. */
struct eq_info {
	handle_t handle;
	uint32_t first_slot;   /* in the event area */
	uint32_t count;
};

/*
 * Make a queue of at least `count` slots. `read_index` is the address of 8-byte aligned words in
 * the owner's segment. The first is the number of the event that the owner reads next. With
 * EQ_HANDLER_EACH there is a second word: the number of the event for which the handler is called
 * next; room for replies then depends on that word. With EQ_HANDLER_FILLING there are two more
 * words: the engine writes a new number to the first one each time the queue becomes three
 * quarters full; the owner copies it to the second one when it has called its handler for that.
 * The engine initialises all of these words with the first event's number.
 * PORTALS_NO_SPACE (also for a count of 0), PORTALS_SEGV, PORTALS_FAIL.
 */
int eq_alloc(struct process_view *view, uint64_t count, uint64_t read_index,
	     enum eq_handler handler, struct eq_info *info);

/* Free a queue. Descriptors that name it record no more events.
 * PORTALS_EQ_INVALID. */
int eq_free(struct process_view *view, handle_t handle);

/* The number of unread events, at most the queue's size; above 0 PtlEQGet finds one. Or
 * PORTALS_EQ_INVALID. For SYS_EQ_WAIT: the owner's kernel may call it without the lock. It calls
 * it once more after it has set its sleep flag (docs/machine.md, Sleep). */
int64_t eq_unread(const struct process_view *view, handle_t handle);

/* Not 0 if the queue's handler must be called: the number of events for which it was not called
 * yet, or with EQ_HANDLER_FILLING 1. 0 also if there is no handler or no such queue. May be called
 * without the lock, as eq_unread. */
uint64_t eq_unhandled(const struct process_view *view, handle_t handle);

/* The queue in use, or null; EQ_NONE and stale handles give null. */
static inline struct eq *eq_lookup(const struct process_view *view, handle_t handle)
{
	uint32_t index = HANDLE_INDEX_OF(KIND_EQ, handle);

	if (index >= view->limits.eqs || view->eqs[index].handle != handle)
		return 0;
	return &view->eqs[index];
}

/* Rule 24: whether the queue has no unread event, and no begun operation will still record one in
 * it. */
int eq_is_quiet(const struct process_view *view, const struct eq *eq);

/* Rule 14: whether `needed` events fit in addition to the reserved slots, without overtaking the
 * reader (or with EQ_HANDLER_EACH the handler). */
int eq_has_room(const struct process_view *view, struct eq *eq, uint32_t needed);

/* A call of the engine has just recorded `events` > 0 events in this queue, which has a handler:
 * 1 if the handler must be called for that. With EQ_HANDLER_FILLING that is so if these events
 * made the queue three quarters full, by the reader's word. */
int eq_calls(const struct process_view *view, const struct eq *eq, uint32_t events);

/* Write an event, first the slot and then `next`, so that a reader of `next` finds the event. A
 * reader of the slot finds it earlier. Its type is `type`; head->type is not used. `end` holds the
 * event's last two fields, link and fail. Returns 1, or 0 if the queue is damaged. */
uint32_t eq_write(const struct process_view *view, struct eq *eq, enum event_kind type,
		  const struct event_head *head, const struct md_args *md, uint64_t hdr_data,
		  uint64_t end);

extern const struct md_args eq_md_gone; /* all zero: for events whose descriptor is gone */

/* Record an event, as eq_write. `md`: the descriptor's state, or null if it is gone. */
static inline uint32_t eq_record(const struct process_view *view, struct eq *eq,
				 const struct event_head *head, enum event_kind type,
				 const struct md_args *md, uint64_t hdr_data, uint32_t link,
				 enum fail_type fail)
{
	return eq_write(view, eq, type, head, md ? md : &eq_md_gone, hdr_data,
			(uint64_t)fail << 32 | link);
}

#endif
