/*
 * The reader of an event queue: takes events from slots that kernels write and
 * this process may only read, without entering the kernel. Included by
 * portals_eq.c, and by tests/host/test_eq_reader.c, which runs it against the
 * engine's writer.
 *
 * Event number n lies in slot n & mask. The slot's last word is the number of
 * the event in it, with EVENT_WRITING set while it is being replaced:
 *   word == n                    the event is there: copy it, look again
 *   word < n                     not there yet
 *   word == n | EVENT_WRITING    not there yet
 *   word without the flag > n    overtaken; the oldest that is still there is
 *                                number word - mask
 * The second look at the word tells whether the copy is consistent.
 */
#ifndef PORTALS_EQ_READER_H
#define PORTALS_EQ_READER_H
#include <portals3.h>
#include <stddef.h>

#define EVENT_SLOT_WORDS      18u              /* from one slot to the next */
#define EVENT_SEQUENCE_WORD   17u              /* follows the words of the event */
#define EVENT_WRITING_FLAG    (1ULL << 63)

/* A 64-bit piece of an event. */
typedef uint64_t __attribute__((may_alias)) event_word;

struct eq_reader {
	uint64_t next;               /* number of the next event to read; the kernel reads it */
	uint64_t filled, told;       /* with `filling`: the kernel changes `filled` when the queue
	                                has filled; `told` equals it once the handler was called */
	ptl_handle_eq_t handle;      /* PTL_INVALID_HANDLE: this entry is free */
	const event_word *slot;      /* the slot of event `next` */
	const event_word *slots;     /* read only */
	uint64_t mask;               /* slots - 1 */
	void (*filling)(ptl_handle_eq_t eq); /* called when the queue has filled; or null */
	volatile int reading;        /* with `filling`: an event is being taken; */
	int put_off;                 /* the handler is called after that */
};

/* Event number `next` is the one to read next. */
static inline void eq_advance(struct eq_reader *queue, uint64_t next)
{
	__atomic_store_n(&queue->next, next, __ATOMIC_RELEASE);
	queue->slot = queue->slots + (next & queue->mask) * EVENT_SLOT_WORDS;
}

_Static_assert(sizeof(ptl_event_t) == (EVENT_SEQUENCE_WORD + 1) * 8, "an event is its words");
_Static_assert(offsetof(ptl_event_t, sequence) == EVENT_SEQUENCE_WORD * 8, "sequence is last");

/* Copy the event in a slot whose word was `number`. 1: the copy is consistent. */
static inline int eq_copy(const event_word *slot, uint64_t number, ptl_event_t *event)
{
	event_word *to = (event_word *)event;

#pragma GCC unroll 17
	for (unsigned int i = 0; i < EVENT_SEQUENCE_WORD; i++)
		to[i] = __atomic_load_n(&slot[i], __ATOMIC_RELAXED);
	/* stored by itself: a pair in a vector register is slow under emulation */
	__atomic_store_n(&to[EVENT_SEQUENCE_WORD], number, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot[EVENT_SEQUENCE_WORD], __ATOMIC_RELAXED) == number;
}

/* The slow path of eq_read: the slot has another number than expected, but not an older one. */
__attribute__((noinline, cold))
static int eq_read_overtaken(struct eq_reader *queue, ptl_event_t *event)
{
	uint64_t next = queue->next;
	int result = PTL_OK;

	for (;;) {
		const event_word *slot = queue->slots + (next & queue->mask) * EVENT_SLOT_WORDS;
		uint64_t word = __atomic_load_n(&slot[EVENT_SEQUENCE_WORD], __ATOMIC_ACQUIRE);
		uint64_t number = word & ~EVENT_WRITING_FLAG;

		if (word == next && eq_copy(slot, word, event))
			break;
		if (word == next)
			continue; /* replaced meanwhile: the word has changed */
		if (number <= next)
			return PTL_EQ_EMPTY;
		result = PTL_EQ_DROPPED;
		next = number - queue->mask > next ? number - queue->mask : next + 1;
	}
	eq_advance(queue, next + 1);
	return result;
}

/* 1 if eq_read would find an event, or find that some are lost. */
static inline int eq_is_there(const struct eq_reader *queue)
{
	uint64_t word = __atomic_load_n(&queue->slot[EVENT_SEQUENCE_WORD], __ATOMIC_ACQUIRE);

	return word == queue->next || (word & ~EVENT_WRITING_FLAG) > queue->next;
}

/* PtlEQGet on this queue: PTL_OK, PTL_EQ_EMPTY or PTL_EQ_DROPPED. */
static inline int eq_read(struct eq_reader *queue, ptl_event_t *event)
{
	const event_word *slot = queue->slot;
	uint64_t word = __atomic_load_n(&slot[EVENT_SEQUENCE_WORD], __ATOMIC_ACQUIRE);
	uint64_t next;

	if (word < queue->next)
		return PTL_EQ_EMPTY;
	if (word != queue->next || !eq_copy(slot, word, event))
		return eq_read_overtaken(queue, event);
	next = word + 1;
	__atomic_store_n(&queue->next, next, __ATOMIC_RELEASE);
	queue->slot = next & queue->mask ? slot + EVENT_SLOT_WORDS : queue->slots;
	return PTL_OK;
}

#endif
