/*
 * Calling the handlers of event queues, in upcalls (enter.c).
 *
 * Owns the table of queues with handlers. An upcall may come between any two stores of the
 * application, so the table is consistent after each: an entry counts once `handler` is set, which
 * is stored last when an entry is made and cleared first when it is freed. The kernel knows a queue
 * before it enters the table and until after it has left it, so the kernel never waits for a
 * handler that would not be called.
 */
#include "upcall.h"

#include "eq_reader.h"
#include "portals_calls.h"

#define QUEUES        64u              /* event queues of an interface */
#define TURN          64               /* events of one queue before the next one's turn */

struct handled_queue {
	uint64_t next;                 /* number of the event that PtlEQGet takes next, and */
	uint64_t called;               /* of the handler's next one; the kernel reads both */
	ptl_eq_handler_t handler;      /* null: this entry is free */
	ptl_handle_eq_t handle;
	const event_word *slots;       /* read only */
	uint64_t mask;                 /* slots - 1 */
};

static struct handled_queue queues[QUEUES];
static struct handled_queue *end = queues; /* after the last entry that was ever used */

/* Compiler barrier: the upcall must see the application's stores in order. */
static inline void in_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static struct handled_queue *queue_of(ptl_handle_eq_t eq)
{
	for (struct handled_queue *queue = queues; queue < end; queue++)
		if (queue->handler && queue->handle == eq)
			return queue;
	return NULL;
}

int upcall_has_queues(void)
{
	for (struct handled_queue *queue = queues; queue < end; queue++)
		if (queue->handler)
			return 1;
	return portals_has_filling();
}

int upcall_is_queue(ptl_handle_eq_t eq)
{
	return queue_of(eq) != NULL;
}

/* ---- reading ---- */

/* Copies event *number, or the oldest one after it that is still in the queue; *number becomes its
 * number. 0: none has come yet. */
static int fetch(const struct handled_queue *queue, uint64_t *number, ptl_event_t *event)
{
	for (;;) {
		const event_word *slot =
			queue->slots + (*number & queue->mask) * EVENT_SLOT_WORDS;
		uint64_t word = __atomic_load_n(&slot[EVENT_SEQUENCE_WORD], __ATOMIC_ACQUIRE);
		uint64_t there = word & ~EVENT_WRITING_FLAG;

		if (word == *number && eq_copy(slot, word, event))
			return 1;
		if (word == *number)
			continue;      /* replaced meanwhile: the word has changed */
		if (there <= *number)
			return 0;
		*number = there - queue->mask > *number ? there - queue->mask : *number + 1;
	}
}

/* Gives only events that the handler has seen. Lost events are reported together with the next
 * event that is there. */
int upcall_eq_get(ptl_handle_eq_t eq, ptl_event_t *event)
{
	struct handled_queue *queue = queue_of(eq);
	uint64_t number, next;

	if (!queue)
		return PTL_EQ_INVALID;
	if (upcall_is_running())
		return PTL_FAIL;
	number = next = queue->next;
	if (next == __atomic_load_n(&queue->called, __ATOMIC_RELAXED) ||
	    !fetch(queue, &number, event) ||
	    number >= __atomic_load_n(&queue->called, __ATOMIC_RELAXED))
		return PTL_EQ_EMPTY;
	__atomic_store_n(&queue->next, number + 1, __ATOMIC_RELEASE);
	return number == next ? PTL_OK : PTL_EQ_DROPPED;
}

int upcall_eq_is_there(ptl_handle_eq_t eq)
{
	const struct handled_queue *queue = queue_of(eq);

	return queue && queue->next != __atomic_load_n(&queue->called, __ATOMIC_RELAXED);
}

/* ---- the upcall ---- */

/* Frees the event's slot before the call: what the handler starts finds room for its reply even in
 * a queue of one. */
static void call_handler(struct handled_queue *queue)
{
	ptl_event_t event;
	uint64_t number;

	for (int i = 0; i < TURN; i++) {
		number = queue->called;
		if (!fetch(queue, &number, &event))
			return;
		__atomic_store_n(&queue->called, number + 1, __ATOMIC_RELEASE);
		queue->handler(&event);
	}
}

void upcall_call_handlers(void)
{
	for (struct handled_queue *queue = queues; queue < end; queue++)
		if (queue->handler)
			call_handler(queue);
	portals_call_filling();
}

/* ---- making and freeing queues ---- */

int upcall_eq_alloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler,
		    ptl_handle_eq_t *eq)
{
	struct handled_queue *queue = queues;
	unsigned long stack = upcall_stack();
	struct margay_eq info;
	int result;

	while (queue < queues + QUEUES && queue->handler)
		queue++;
	if (queue == queues + QUEUES || !stack)
		return PTL_NO_SPACE;
	result = call6(SYS_EQ_ALLOC, ni, count, (unsigned long)&queue->next,
		       (unsigned long)&info, (unsigned long)upcall_entry, stack);
	if (result != PTL_OK)
		return result;
	queue->handle = info.handle;
	queue->slots = (const event_word *)info.slots;
	queue->mask = info.count - 1;
	if (end == queue)
		end++;
	in_order();
	queue->handler = handler;
	*eq = info.handle;
	return PTL_OK;
}

int upcall_eq_free(ptl_handle_eq_t eq)
{
	struct handled_queue *queue = queue_of(eq);
	int result;

	if (!queue)
		return PTL_EQ_INVALID;
	result = call3(SYS_EQ_FREE, eq, 0, 0);
	if (result == PTL_OK)
		queue->handler = NULL;
	return result;
}

void upcall_forget_queues(void)
{
	for (struct handled_queue *queue = queues; queue < end; queue++)
		queue->handler = NULL;
}
