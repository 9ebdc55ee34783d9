/*
 * Event queues: rings of event slots, written under the block's lock, read by
 * the application without it (rule 20).
 *
 * Event number n of a queue lies in slot n & (count - 1). Numbers only grow,
 * from event_base on, which no earlier queue of this block has reached: so a
 * slot's old sequence is always smaller than what its new reader expects, and
 * slots need no clearing. Writer of event n: sequence = n | EVENT_WRITING;
 * fields; sequence = n. Reader that expects n, and finds s:
 *   s == n                 copy, look again: unchanged means that it is whole
 *   (s & ~WRITING) > n     overtaken: the oldest event still there is no. s - count + 1
 *   otherwise              empty
 */
#ifndef NET_PORTALS_EQ_H
#define NET_PORTALS_EQ_H
#include "process.h"

/* What an event does besides lying there. */
enum eq_handler {
	EQ_NO_HANDLER,
	EQ_HANDLER_EACH,       /* it is handed to a handler of the owner's first */
	EQ_HANDLER_FILLING     /* the one that fills three quarters calls a handler of the owner's */
};

struct eq {
	handle_t handle;       /* its own while in use; else KIND_FREE and the next generation */
	uint64_t next;         /* number of the next event */
	uint64_t read_index;   /* segment offset of the reader's word: number it reads next;
	                          with a handler of two words or three, see eq_alloc */
	uint32_t first_slot;   /* free: next free queue */
	uint32_t count;        /* slots, a power of two */
	uint32_t reserved;     /* slots promised to replies that have begun (rule 22) */
	uint32_t begun;        /* END and UNLINK events that begun operations have still to record */
	uint32_t handler;      /* enum eq_handler */
	uint32_t zero[5];
};

_Static_assert(sizeof(struct eq) == 64, "one cache line per queue");

/* What PtlEQAlloc tells the library. */
struct eq_info {
	handle_t handle;
	uint32_t first_slot;   /* in the event area */
	uint32_t count;
};

/*
 * New queue of at least `count` slots. `read_index` is the owner's address of
 * an 8-byte aligned word in its segment: the number of the event that it reads
 * next. With EQ_HANDLER_EACH a second word follows: the number of the event
 * that the handler is called with next, which is what makes room for replies.
 * With EQ_HANDLER_FILLING two words follow: the engine writes the first whenever the queue
 * has filled to three quarters, always another number; the owner copies it to the second
 * when it has called its handler for that.
 * The engine stores the first event's number in all of them and only reads the others
 * afterwards.
 * PORTALS_NO_SPACE (also for a count of 0), PORTALS_SEGV, PORTALS_FAIL.
 */
int eq_alloc(struct process_view *view, uint64_t count, uint64_t read_index,
	     enum eq_handler handler, struct eq_info *info);

/* Free a queue. Descriptors that name it record no more events.
 * PORTALS_EQ_INVALID. */
int eq_free(struct process_view *view, handle_t handle);

/* Events that the reader has not taken, at most the queue's size: more than 0
 * means that PtlEQGet finds one. PORTALS_EQ_INVALID. For SYS_EQ_WAIT: the
 * owner's kernel may call it without the lock, and does so once more after it
 * has set its sleep flag (docs/machine.md, Sleep). */
int64_t eq_unread(const struct process_view *view, handle_t handle);

/* Events that the queue's handler was not called with yet, or whether it was not called since
 * the queue has filled; 0 if it has no handler, or there is no such queue. Without the
 * lock, as eq_unread. */
uint64_t eq_unhandled(const struct process_view *view, handle_t handle);

/* The queue in use, or null; EQ_NONE and stale handles give null. */
static inline struct eq *eq_lookup(const struct process_view *view, handle_t handle)
{
	uint32_t index = HANDLE_INDEX_OF(KIND_EQ, handle);

	if (index >= view->limits.eqs || view->eqs[index].handle != handle)
		return 0;
	return &view->eqs[index];
}

/* Rule 24: whether the queue holds no unread event, and no operation that has begun has
 * still to record one in it. */
int eq_is_quiet(const struct process_view *view, const struct eq *eq);

/* Whether `needed` events fit without overtaking the reader (the handler, if
 * there is one), beside what is reserved (rule 14). */
int eq_has_room(const struct process_view *view, struct eq *eq, uint32_t needed);

/* The queue has a handler, and an engine's call has just recorded `events` > 0 events in it:
 * 1 if the handler is to be called for that. Of EQ_HANDLER_FILLING: if the events not yet taken
 * were fewer than three quarters of the slots before these, as far as the reader's word told
 * an engine, and are not any more. */
int eq_calls(const struct process_view *view, const struct eq *eq, uint32_t events);

/* Write the event: slot first, then `next`, so that a reader of `next` finds the event. It has
 * this type, whatever head->type is; `end` is its link and how it ended. Returns 1, or 0 if the
 * queue is damaged. */
uint32_t eq_write(const struct process_view *view, struct eq *eq, enum event_kind type,
		  const struct event_head *head, const struct md_args *md, uint64_t hdr_data,
		  uint64_t end);

extern const struct md_args eq_md_gone;

/* Record an event. `md` gives the descriptor's state, or is null when it is gone. As eq_write. */
static inline uint32_t eq_record(const struct process_view *view, struct eq *eq,
				 const struct event_head *head, enum event_kind type,
				 const struct md_args *md, uint64_t hdr_data, uint32_t link,
				 enum fail_type fail)
{
	return eq_write(view, eq, type, head, md ? md : &eq_md_gone, hdr_data,
			(uint64_t)fail << 32 | link);
}

#endif
