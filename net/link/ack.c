/*
 * Acknowledgements at the sender: what has arrived, what is lost, what may be
 * sent. Called for every frame of the right incarnations. See link.h.
 */
#include "internal.h"

/* The congestion window grows with each frame that is acknowledged: at once up to what the maps
 * show, and further only when so many frames have arrived since the last retransmission. With
 * a frame that is lost, all that are behind the maps are. */
#define LOSSLESS_FRAMES 2048u

/* What a frame says of one lane. */
struct ack_fields {
	uint32_t ack, window;
	uint64_t arrived;          /* bit i: frame ack + i has; bit 0: and waits for its payload */
	uint64_t refused;          /* bit i: frame ack + i was */
};

/* A round trip ends when its frame is acknowledged, as one of the first or by itself. */
static inline void measure(struct flow *flow, const struct ack_fields *fields, uint32_t now)
{
	uint32_t at = flow->tx.timed - fields->ack;

	if (!(flow->tx.flags & TX_TIMED))
		return;
	if (!is_before(flow->tx.timed, fields->ack) &&
	    (at >= MAPPED || !(fields->arrived >> at & 1)))
		return;
	timer_measure(flow, now - flow->tx.timed_at);
	flow->tx.flags &= (uint8_t)~TX_TIMED;
}

/* The maps begin `n` frames later. What was behind them was dropped, as there is a gap. */
static void shift_maps(struct flow *flow, uint32_t n)
{
	flow->tx.sacked = shifted(flow->tx.sacked, n) & ~1ULL;
	flow->tx.lost = shifted(flow->tx.lost, n);
	flow->tx.resent = shifted(flow->tx.resent, n);
	flow->tx.lost |= bits(flow->tx.next - flow->tx.una) & ~bits(n < MAPPED ? MAPPED - n : 0);
}

/* The congestion window. */
static inline void grow(struct flow *flow, uint32_t n)
{
	flow->tx.cwnd = flow->tx.cwnd + n < LINK_MOST_WINDOW ?
		(uint8_t)(flow->tx.cwnd + n) : (uint8_t)LINK_MOST_WINDOW;
}

/* The first `n` frames under way have arrived, and all before. */
static void advance(struct link *link, struct flow *flow, uint32_t n)
{
	flow->tx.una += n;
	flow->tx.timeouts = 0;
	if (flow_has_gap(flow))
		shift_maps(flow, n);
	if (!is_before(flow->tx.una, flow->tx.recover + LOSSLESS_FRAMES)) {
		/* numbers wrap: not further behind */
		flow->tx.recover = flow->tx.una - LOSSLESS_FRAMES;
		grow(flow, n);
	} else if (flow->tx.cwnd < MAPPED) {
		grow(flow, n);
	}
	while (flow->tx.head != NO_RECORD) {
		uint32_t index = flow->tx.head;
		struct send *send = send_at(link, index);

		if (is_before(flow->tx.una, send->first + send->frames))
			break;
		flow->tx.head = send->next;
		if (flow->tx.head == NO_RECORD)
			flow->tx.tail = NO_RECORD;
		flow->tx.sends--;
		if (send->unsignalled == UNSIGNALLED_ALONE && !send->with_card)
			message_free(link, send, index);
		else
			message_end(link, index, 0);
	}
}

/* Fast retransmission: frames that later ones have overtaken are lost, once; those that were
 * sent again are lost again if frames that left after them have arrived. Frames that
 * were refused have arrived in this sense, and as this is said a while later, one of
 * them is enough. */
static uint64_t holes(struct flow *flow, uint64_t refused)
{
	uint32_t under_way = flow->tx.next - flow->tx.una, later = DUP_THRESHOLD;
	uint32_t since = flow->tx.recover - flow->tx.una;
	uint64_t top = flow->tx.sacked | refused;

	if (under_way <= DUP_THRESHOLD || refused)
		later = 1;
	if (is_before(flow->tx.recover, flow->tx.una))
		since = 0;
	if ((uint32_t)__builtin_popcountll(top & ~bits(since)) >= later ||
	    (refused & flow->tx.resent))
		flow->tx.resent = 0;
	for (uint32_t i = 1; i < later && top; i++)
		top &= ~(1ULL << (63 - __builtin_clzll(top)));
	if (!top)
		return 0;
	return bits(63 - (uint32_t)__builtin_clzll(top)) & ~flow->tx.sacked & ~flow->tx.resent &
	       ~flow->tx.lost;
}

/* What is missing before what has arrived, or was refused, is to be sent again. */
__attribute__((noinline))
static void mark_lost(struct link *link, struct flow *flow, uint64_t refused)
{
	uint64_t lost;

	flow->tx.lost &= ~flow->tx.sacked;
	refused &= bits(flow->tx.next - flow->tx.una) & ~flow->tx.sacked;
	if (refused & 1)
		flow->tx.timeouts = 0;
	lost = holes(flow, refused);
	flow->tx.lost |= refused;
	if (lost) {
		flow->tx.lost |= lost;
		if (flow->tx.cwnd > MAPPED)
			flow->tx.cwnd = MAPPED;
		link->counters[LINK_FAST] += (uint64_t)__builtin_popcountll(lost);
	}
}

static inline void apply(struct link *link, struct flow *flow, const struct ack_fields *fields,
			 uint64_t now)
{
	uint32_t under_way = flow->tx.next - flow->tx.una, n = fields->ack - flow->tx.una;
	uint32_t window = fields->window < LINK_MOST_WINDOW ? fields->window : LINK_MOST_WINDOW;
	int waits = fields->arrived & 1;

	if (n > under_way)
		return;                /* old */
	measure(flow, fields, units(now));
	if (flow->tx.window > window + n)
		window = flow->tx.window - n;
	flow->tx.window = (uint8_t)window;
	if (n)
		advance(link, flow, n); /* its user may send from within */
	if (fields->arrived) {
		flow->tx.sacked |= fields->arrived & bits(under_way - n);
		if (waits)
			flow->tx.timeouts = 0;
	}
	if (flow->tx.sacked || fields->refused)
		mark_lost(link, flow, fields->refused);
	if (flow->tx.next == flow->tx.una) {
		flow->tx.flags &= (uint8_t)~TX_TIMER;
		if (flow->tx.unsent != NO_RECORD)
			batch_release(link, flow);
	} else if (n || waits) {
		timer_resend(link, flow, units(now));
	}
	if (flow->tx.lost || flow->tx.unsent != NO_RECORD)
		flow_ready(link, flow);
}

void ack_cumulative(struct link *link, struct flow *flow, uint32_t ack, uint32_t window,
		    uint64_t now)
{
	apply(link, flow, &(struct ack_fields){ .ack = ack, .window = window }, now);
}

int ack_receive(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now)
{
	struct ack_fields fields = { .ack = wire->ack, .window = wire->window,
				     .arrived = wire->selective << 1 | wire->waits,
				     .refused = wire->refused };

	if (!ack_is_valid(flow, wire->ack))
		return 0;
	apply(link, flow, &fields, now);
	if (other_ack_is_valid(flow, wire->other_ack, wire->other_window))
		apply_other_ack(link, flow, wire->other_ack, wire->other_window, now);
	else
		count(link, LINK_NONSENSE); /* of that lane only: this one is good */
	return 1;
}
