/*
 * Event queues of Portals 3.0. A queue is one of 3.3 with room for twice the
 * events, and a ring here. Events that 3.0 does not have (UNLINK, and those of
 * failed operations) are dropped on the way. PtlEQCount moves new events into the ring and counts them;
 * PtlEQGet empties the ring first. Owns the rings.
 */
#include "p30_calls.h"
#include <stdlib.h>
#include "libc-glue/syscall.h"

#define QUEUES 64u              /* event queues of a process */

struct taken {
	ptl_event_t event;
	int result;             /* PTL_OK, or PTL_EQ_DROPPED: events before it are lost */
};

static struct ring {
	ptl_handle_eq_t eq;     /* 0: not in use */
	struct taken *slots;
	ptl_size_t size;        /* slots */
	ptl_size_t first, used; /* index of the oldest event; events in the ring */
	ptl_size_t hidden;      /* events dropped so far because 3.0 does not have them */
	int dropped;            /* a hidden event reported a loss before it */
	ptl_seq_t added;        /* events that this library made itself */
	ptl_seq_t last;         /* sequence number of the newest event */
} rings[QUEUES];

/* The event's kind in 3.0, or -1. */
static int kind_of(const ptl33_event_t *event)
{
	if ((int)event->type == SEND_END33)
		return PTL_EVENT_SENT;
	if (event->ni_fail_type != NI_OK33)
		return -1;
	switch ((int)event->type) {
	case GET_END33:   return PTL_EVENT_GET;
	case PUT_END33:   return PTL_EVENT_PUT;
	case REPLY_END33: return PTL_EVENT_REPLY;
	case ACK_EVENT33: return PTL_EVENT_ACK;
	default:          return -1;
	}
}

static ptl_event_t event30(const ptl33_event_t *event, int kind, ptl_seq_t added)
{
	return (ptl_event_t){
		.type = (ptl_event_kind_t)kind, .sequence = event->sequence + added,
		.initiator = p30_process(event->initiator, event->jid),
		.portal = event->pt_index, .match_bits = event->match_bits,
		.rlength = event->rlength, .mlength = event->mlength, .offset = event->offset,
		.mem_desc = p30_md(&event->md), .hdr_data = event->hdr_data,
	};
}

static struct ring *ring_of(ptl_handle_eq_t eq)
{
	struct ring *ring = &rings[HANDLE_INDEX(eq) % QUEUES];

	return eq && ring->eq == eq ? ring : NULL;
}

#define LOOK_ONCE  0UL          /* deadlines of a wait, in ns of glue_now_ns */
#define FOR_EVER   (~0UL)
#define NS_PER_MS  1000000UL
#define MOST_MS    1000000UL    /* ms of one wait of PtlEQPoll */

static int next33(ptl_handle_eq_t eq, uint64_t until, ptl33_event_t *event)
{
	int result, which;

	if (until == LOOK_ONCE)
		return ptl33_EQGet(eq, event);
	if (until == FOR_EVER)
		return ptl33_EQWait(eq, event);
	for (;;) {
		uint64_t now = glue_now_ns();
		uint64_t ms = now < until ? (until - now + NS_PER_MS - 1) / NS_PER_MS : 0;

		result = ptl33_EQPoll(&eq, 1, (uint32_t)(ms < MOST_MS ? ms : MOST_MS), event, &which);
		if (result != PTL_EQ_EMPTY || ms <= MOST_MS)
			return result;
	}
}

/* Takes the next event that 3.0 has. */
static int pull(struct ring *ring, uint64_t until, struct taken *taken)
{
	ptl33_event_t event;
	int kind;

	for (;;) {
		int result = next33(ring->eq, until, &event);

		if (result != PTL_OK && result != PTL_EQ_DROPPED)
			return result;
		ring->dropped |= result == PTL_EQ_DROPPED;
		kind = kind_of(&event);
		if (kind >= 0)
			break;
		ring->hidden++;
	}
	taken->event = event30(&event, kind, ring->added);
	ring->last = taken->event.sequence;
	taken->result = ring->dropped ? PTL_EQ_DROPPED : PTL_OK;
	ring->dropped = 0;
	return PTL_OK;
}

/* Moves new events into the ring. */
static void fill(struct ring *ring)
{
	while (ring->used < ring->size) {
		ptl_size_t at = (ring->first + ring->used) % ring->size;

		if (pull(ring, LOOK_ONCE, &ring->slots[at]) != PTL_OK)
			break;
		ring->used++;
	}
}

void p30_gather(ptl_handle_eq_t eq)
{
	struct ring *ring = ring_of(eq);

	if (ring)
		fill(ring);
}

void p30_record(ptl_handle_eq_t eq, const ptl_event_t *event)
{
	struct ring *ring = ring_of(eq);
	struct taken taken = { *event, PTL_OK };

	if (!ring)
		return;
	if (ring->used == ring->size) { /* a full queue loses its oldest event */
		ring->first = (ring->first + 1) % ring->size;
		if (--ring->used > 0)
			ring->slots[ring->first].result = PTL_EQ_DROPPED;
		else
			taken.result = PTL_EQ_DROPPED;
	}
	ring->added++;
	taken.event.sequence = ++ring->last;
	ring->slots[(ring->first + ring->used++) % ring->size] = taken;
}

static int take(ptl_handle_eq_t eventq, uint64_t until, ptl_event_t *event)
{
	struct ring *ring = ring_of(eventq);
	struct taken taken;
	int result = PTL_OK;

	if (!ring)
		return PTL_INV_EQ;
	if (ring->used > 0) {
		taken = ring->slots[ring->first];
		ring->first = (ring->first + 1) % ring->size;
		ring->used--;
	} else {
		result = pull(ring, until, &taken);
	}
	if (result != PTL_OK)
		return result;
	*event = taken.event;
	return taken.result;
}

int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_handle_eq_t *eventq)
{
	struct taken *slots;
	struct ring *ring;
	int result;

	if (count == 0 || count > SIZE_MAX / 2 / sizeof *slots)
		return PTL_NOSPACE;
	slots = malloc(count * sizeof *slots);
	if (!slots)
		return PTL_NOSPACE;
	result = ptl33_EQAlloc(ni, count * 2, ptl33_no_handler, eventq);
	if (result != PTL_OK) {
		free(slots);
		return result;
	}
	ring = &rings[HANDLE_INDEX(*eventq) % QUEUES];
	*ring = (struct ring){ .eq = *eventq, .slots = slots, .size = count,
				.last = (ptl_seq_t)-1 };
	return PTL_OK;
}

static void forget(struct ring *ring)
{
	free(ring->slots);
	*ring = (struct ring){ 0 };
}

int PtlEQFree(ptl_handle_eq_t eventq)
{
	struct ring *ring = ring_of(eventq);
	int result = ring ? ptl33_EQFree(eventq) : PTL_INV_EQ;

	if (result == PTL_OK)
		forget(ring);
	return result;
}

void p30_forget(void)
{
	for (unsigned int i = 0; i < QUEUES; i++)
		forget(&rings[i]);
}

int PtlEQCount(ptl_handle_eq_t eventq, ptl_size_t *count)
{
	struct ring *ring = ring_of(eventq);

	if (!ring)
		return PTL_INV_EQ;
	fill(ring);
	*count = ring->used;
	return PTL_OK;
}

int PtlEQGet(ptl_handle_eq_t eventq, ptl_event_t *event)
{
	return take(eventq, LOOK_ONCE, event);
}

int PtlEQWait(ptl_handle_eq_t eventq, ptl_event_t *event)
{
	return take(eventq, FOR_EVER, event);
}

int PtlEQWait_timeout(ptl_handle_eq_t eventq, ptl_event_t *event, int timeout)
{
	return take(eventq, timeout > 0 ? glue_now_ns() + (uint64_t)timeout * 1000 * NS_PER_MS
			    : LOOK_ONCE, event);
}

int p30_update(ptl_handle_md_t md, ptl33_md_t *before, ptl33_md_t *after, ptl_handle_eq_t testq)
{
	struct ring *ring = testq == PTL_EQ_NONE ? NULL : ring_of(testq);
	ptl_size_t hidden;
	int result;

	if (testq != PTL_EQ_NONE && !ring)
		return PTL_INV_EQ;
	do {
		if (ring)
			fill(ring);
		if (ring && ring->used > 0) {
			result = ptl33_MDUpdate(md, before, NULL, PTL_EQ_NONE);
			return result == PTL_OK && after ? PTL_NOUPDATE : result;
		}
		hidden = ring ? ring->hidden : 0;
		result = ptl33_MDUpdate(md, before, after, testq);
		if (ring)
			fill(ring); /* perhaps all were events that 3.0 does not have */
	} while (result == PTL_NOUPDATE && ring && (ring->hidden != hidden || ring->used > 0));
	return result;
}
