/*
 * Frames on their way: a heap by the time at which they have passed a link, the sender's or the
 * receiver's; frames of equal time stay in order. A frame takes its turn on the receiver's link
 * only when it has reached the switch, so a slow sender delays no other port. Also the frame that
 * its successor shall overtake: each port holds at most one, for at most HOLD_NS in case nothing
 * follows.
 */
#include "switch.h"

#include <stdlib.h>
#include <string.h>

struct delayed {
	uint64_t when;         /* ns */
	uint64_t order;
	struct port *from;     /* it is on this port's link; null: on the link of `to` */
	struct port *to;
	bool released;         /* was held and has left; its heap entry is void */
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

/* A copy of the frame in the heap, or null: too much is under way (counted). */
static struct delayed *keep(struct network *net, struct port *from, struct port *to,
			    struct frame frame, uint64_t when)
{
	struct port *over = from ? from : to;
	uint32_t *load = from ? &from->leaving : &to->arriving;
	struct delayed *kept = NULL;

	if (net->heap_n == net->heap_room) {
		uint32_t room = net->heap_room ? 2 * net->heap_room : 1024;
		struct delayed **grown = realloc(net->heap, room * sizeof(*grown));

		if (grown) {
			net->heap = grown;
			net->heap_room = room;
		}
	}
	if (*load + frame.bytes <= ON_THE_WAY && net->heap_n < net->heap_room)
		kept = malloc(sizeof(*kept) + LENGTH_BYTES + frame.bytes);
	if (!kept) {
		over->counters[PORT_overflow]++;
		return NULL;
	}
	*kept = (struct delayed){ .when = when, .order = net->arrivals++, .from = from, .to = to,
				  .bytes = frame.bytes };
	memcpy(kept->wire, frame.wire, LENGTH_BYTES + frame.bytes);
	*load += frame.bytes;
	put_at(net, net->heap_n++, kept);
	return kept;
}

/* The time at which a frame has passed the receiver's link; 0: it is full (counted). */
static uint64_t turn(struct port *to, uint32_t bytes, uint64_t now)
{
	uint64_t when = to->arriving + bytes <= ON_THE_WAY ? links_arrive(to, bytes, now) : 0;

	if (!when)
		to->counters[PORT_overflow]++;
	return when;
}

void delay_both(struct network *net, struct port *from, struct port *to, struct frame frame,
		uint64_t when)
{
	keep(net, from, to, frame, when);
}

void delay_second(struct network *net, struct port *to, struct frame frame, uint64_t late)
{
	uint64_t when = turn(to, frame.bytes, now_ns());

	if (when)
		keep(net, NULL, to, frame, when + late);
}

void delay_hold(struct network *net, struct port *to, struct frame frame)
{
	delay_release(net, to);
	to->held = keep(net, NULL, to, frame, now_ns() + HOLD_NS);
}

static void arrive(struct network *net, struct delayed *frame)
{
	frame->to->arriving -= frame->bytes;
	port_give(net, frame->to, (struct frame){ frame->wire, frame->bytes }, false);
}

void delay_release(struct network *net, struct port *to)
{
	struct delayed *held = to->held;

	if (!held)
		return;
	to->held = NULL;
	held->released = true;
	arrive(net, held);
}

/* A frame has reached the switch. False: it goes no further. */
static bool go_on(struct network *net, struct delayed *frame)
{
	frame->from->leaving -= frame->bytes;
	frame->from = NULL;
	frame->when = turn(frame->to, frame->bytes, frame->when);
	if (!frame->when)
		return false;
	frame->to->arriving += frame->bytes;
	frame->order = net->arrivals++;
	put_at(net, net->heap_n++, frame);
	return true;
}

void delay_run(struct network *net)
{
	uint64_t now = net->heap_n ? now_ns() : 0;

	while (net->heap_n && net->heap[0]->when <= now) {
		struct delayed *frame = take_first(net);

		if (frame->from) {
			if (go_on(net, frame))
				continue;
		} else if (frame->to->held == frame) {
			delay_release(net, frame->to);
		} else if (!frame->released) {
			arrive(net, frame);
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
