/*
 * Frames on their way: a heap by the time at which they arrive; equal times in
 * the order of sending. And the frame that its successor shall overtake: each
 * port holds at most one, for HOLD_NS at most, in case that nothing follows.
 */
#include "switch.h"

#include <stdlib.h>
#include <string.h>

#define HOLD_NS  1000000u

struct delayed {
	uint64_t when;         /* ns */
	uint64_t order;
	struct port *to;
	bool released;         /* was held, and has left; its place in the heap is void */
	uint32_t bytes;        /* of the frame */
	uint8_t wire[];        /* length and frame */
};

static bool before(const struct delayed *a, const struct delayed *b)
{
	return a->when != b->when ? a->when < b->when : a->order < b->order;
}

static void put_at(struct network *net, uint32_t at, struct delayed *frame)
{
	while (at > 0 && before(frame, net->heap[(at - 1) / 2])) {
		net->heap[at] = net->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	net->heap[at] = frame;
}

static struct delayed *take_first(struct network *net)
{
	struct delayed *first = net->heap[0], *last = net->heap[--net->heap_n];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < net->heap_n) {
		if (child + 1 < net->heap_n && before(net->heap[child + 1], net->heap[child]))
			child++;
		if (!before(net->heap[child], last))
			break;
		net->heap[at] = net->heap[child];
		at = child;
	}
	if (net->heap_n)
		net->heap[at] = last;
	return first;
}

/* A copy of the frame in the heap, or null: too much is on its way (counted). */
static struct delayed *keep(struct network *net, struct port *to, struct frame frame,
			    uint64_t when)
{
	struct delayed *kept = NULL;

	if (net->heap_n == net->heap_room) {
		uint32_t room = net->heap_room ? 2 * net->heap_room : 1024;
		struct delayed **grown = realloc(net->heap, room * sizeof(*grown));

		if (grown) {
			net->heap = grown;
			net->heap_room = room;
		}
	}
	if (to->on_the_way + frame.bytes <= ON_THE_WAY && net->heap_n < net->heap_room)
		kept = malloc(sizeof(*kept) + LENGTH_BYTES + frame.bytes);
	if (!kept) {
		to->counters[PORT_overflow]++;
		return NULL;
	}
	*kept = (struct delayed){ .when = when, .order = net->arrivals++, .to = to,
				  .bytes = frame.bytes };
	memcpy(kept->wire, frame.wire, LENGTH_BYTES + frame.bytes);
	to->on_the_way += frame.bytes;
	put_at(net, net->heap_n++, kept);
	return kept;
}

void delay_until(struct network *net, struct port *to, struct frame frame, uint64_t when)
{
	keep(net, to, frame, when);
}

void delay_hold(struct network *net, struct port *to, struct frame frame)
{
	delay_release(net, to);
	to->held = keep(net, to, frame, now_ns() + HOLD_NS);
}

void delay_release(struct network *net, struct port *to)
{
	struct delayed *held = to->held;

	if (!held)
		return;
	to->held = NULL;
	held->released = true;
	to->on_the_way -= held->bytes;
	port_give(net, to, (struct frame){ held->wire, held->bytes }, false);
}

void delay_run(struct network *net)
{
	uint64_t now = net->heap_n ? now_ns() : 0;

	while (net->heap_n && net->heap[0]->when <= now) {
		struct delayed *frame = take_first(net);

		if (frame->to->held == frame)
			delay_release(net, frame->to);
		else if (!frame->released) {
			frame->to->on_the_way -= frame->bytes;
			port_give(net, frame->to, (struct frame){ frame->wire, frame->bytes }, false);
		}
		free(frame);
	}
}

uint64_t delay_next(const struct network *net)
{
	return net->heap_n ? net->heap[0]->when : UINT64_MAX;
}

void delay_drop(struct network *net)
{
	while (net->heap_n)
		free(net->heap[--net->heap_n]);
	free(net->heap);
}
