/*
 * Acknowledgements at the sender: what has arrived, what is lost, what may be
 * sent. Called for every frame of the right incarnations. See link.h.
 */
#include "state.h"

/* So many frames must arrive, and none be sent again, before more are under way than the maps
 * show: with one of those that are lost, all that are behind the maps are. */
#define CALM_FRAMES  2048u

/* What a frame says of one lane. */
struct said {
	uint32_t ack, window;
	uint64_t arrived;          /* bit i: frame ack + i has; bit 0: and waits for its payload */
	uint64_t refused;          /* bit i: frame ack + i was */
};

/* A round trip ends when its frame is acknowledged, as one of the first or by itself. */
static inline void measure(struct flow *flow, const struct said *said, uint32_t now)
{
	uint32_t at = flow->timed - said->ack;

	if (!(flow->flags & FLOW_TIMED))
		return;
	if (!is_before(flow->timed, said->ack) && (at >= MAPPED || !(said->arrived >> at & 1)))
		return;
	timer_measure(flow, now - flow->timed_at);
	flow->flags &= (uint8_t)~FLOW_TIMED;
}

/* The maps begin `n` frames later. What was behind them was dropped, as there is a gap. */
static void shift_maps(struct flow *flow, uint32_t n)
{
	flow->acked = shifted(flow->acked, n) & ~1ULL;
	flow->marked = shifted(flow->marked, n);
	flow->again = shifted(flow->again, n);
	flow->marked |= bits(flow->next - flow->una) & ~bits(n < MAPPED ? MAPPED - n : 0);
}

/* So many more may be under way. */
static inline void grow(struct flow *flow, uint32_t n)
{
	flow->burst = flow->burst + n < LINK_MOST_WINDOW ?
		(uint8_t)(flow->burst + n) : (uint8_t)LINK_MOST_WINDOW;
}

/* The first `n` frames under way have arrived, and all before. */
static void advance(struct link *link, struct flow *flow, uint32_t n)
{
	flow->una += n;
	flow->stuck = 0;
	if (flow_has_gap(flow))
		shift_maps(flow, n);
	if (!is_before(flow->una, flow->recover + CALM_FRAMES)) {
		flow->recover = flow->una - CALM_FRAMES; /* numbers wrap: not further behind */
		grow(flow, n);
	} else if (flow->burst < MAPPED) {
		grow(flow, n);
	}
	while (flow->head != NO_RECORD) {
		uint32_t index = flow->head;
		struct send *send = send_at(link, index);

		if (is_before(flow->una, send->first + send->frames))
			break;
		flow->head = send->next;
		if (flow->head == NO_RECORD)
			flow->tail = NO_RECORD;
		flow->sends--;
		if (send->brief == BRIEF_ALONE && !send->with_card)
			send_give(link, send, index);
		else
			send_end(link, index, 0);
	}
}

/* Frames that later ones have overtaken are lost, once; those that were sent
 * again are lost again if frames that left after them have arrived. Frames that
 * were refused have arrived in this sense, and as this is said a while later, one of
 * them is enough. */
static uint64_t holes(struct flow *flow, uint64_t refused)
{
	uint32_t under_way = flow->next - flow->una, later = LATER_FRAMES;
	uint32_t since = flow->recover - flow->una;
	uint64_t top = flow->acked | refused;

	if (under_way <= LATER_FRAMES || refused)
		later = 1;
	if (is_before(flow->recover, flow->una))
		since = 0;
	if ((uint32_t)__builtin_popcountll(top & ~bits(since)) >= later || (refused & flow->again))
		flow->again = 0;
	for (uint32_t i = 1; i < later && top; i++)
		top &= ~(1ULL << (63 - __builtin_clzll(top)));
	if (!top)
		return 0;
	return bits(63 - (uint32_t)__builtin_clzll(top)) & ~flow->acked & ~flow->again &
	       ~flow->marked;
}

/* What is missing before what has arrived, or was refused, is to be sent again. */
__attribute__((noinline))
static void mark_lost(struct link *link, struct flow *flow, uint64_t refused)
{
	uint64_t lost;

	flow->marked &= ~flow->acked;
	refused &= bits(flow->next - flow->una) & ~flow->acked;
	if (refused & 1)
		flow->stuck = 0;
	lost = holes(flow, refused);
	flow->marked |= refused;
	if (lost) {
		flow->marked |= lost;
		if (flow->burst > MAPPED)
			flow->burst = MAPPED;
		link->counters[LINK_FAST] += (uint64_t)__builtin_popcountll(lost);
	}
}

static inline void take(struct link *link, struct flow *flow, const struct said *said, uint64_t now)
{
	uint32_t under_way = flow->next - flow->una, n = said->ack - flow->una;
	uint32_t window = said->window < LINK_MOST_WINDOW ? said->window : LINK_MOST_WINDOW;
	int waits = said->arrived & 1;

	if (n > under_way)
		return;                /* old */
	measure(flow, said, units(now));
	if (flow->credit > window + n)
		window = flow->credit - n;
	flow->credit = (uint8_t)window;
	if (n)
		advance(link, flow, n); /* whoever hears of it may send again */
	if (said->arrived) {
		flow->acked |= said->arrived & bits(under_way - n);
		if (waits)
			flow->stuck = 0;
	}
	if (flow->acked || said->refused)
		mark_lost(link, flow, said->refused);
	if (flow->next == flow->una) {
		flow->flags &= (uint8_t)~FLOW_RESENDS;
		if (flow->fresh != NO_RECORD)
			bundle_leave(link, flow);
	} else if (n || waits) {
		timer_resend(link, flow, units(now));
	}
	if (flow->marked || flow->fresh != NO_RECORD)
		send_ready(link, flow);
}

void ack_plain(struct link *link, struct flow *flow, uint32_t ack, uint32_t window, uint64_t now)
{
	take(link, flow, &(struct said){ .ack = ack, .window = window }, now);
}

int ack_take(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now)
{
	struct said said = { .ack = wire->ack, .window = wire->window,
			     .arrived = wire->selective << 1 | wire->waits,
			     .refused = wire->refused };

	if (!ack_can_be(flow, wire->ack))
		return 0;
	take(link, flow, &said, now);
	if (ack_of_other_can_be(flow, wire->other_ack, wire->other_window))
		ack_of_other(link, flow, wire->other_ack, wire->other_window, now);
	else
		count(link, LINK_NONSENSE); /* of that lane only: this one is good */
	return 1;
}
