/*
 * Acknowledgements at the sender: which frames have arrived, which are lost, and how many may be
 * sent. Called for every frame of the right incarnations. See docs/wire.md.
 */
#include "internal.h"

/* The congestion window grows by one with each acknowledged frame, up to MAPPED frames. It grows
 * further only after this many frames without a retransmission, since the loss of one frame also
 * loses all frames behind the maps. */
#define LOSSLESS_FRAMES 2048u

/* What a frame says about one lane. */
struct ack_fields {
	uint32_t ack, window;
	uint64_t arrived;          /* bit i: frame ack + i has arrived; bit 0: and waits for its
	                              payload */
	uint64_t refused;          /* bit i: frame ack + i was refused */
};

/* End the measured round trip if its frame is acknowledged, cumulatively or selectively. */
static inline void measure(const struct link *link, struct flow *flow,
			   const struct ack_fields *fields)
{
	int16_t at = (int16_t)(flow->tx.sample - fields->ack);

	if (!(flow->tx.flags & TX_SAMPLING))
		return;
	if (at >= 0 && (at >= (int)MAPPED || !(fields->arrived >> at & 1)))
		return;
	timer_measure(flow, units(link->now) - flow->tx.sampled_at);
	flow->tx.flags &= (uint8_t)~TX_SAMPLING;
}

/* Move the start of the maps by `n` frames. There is a gap, so the receiver dropped the frames
 * behind the maps: mark those that the maps now cover as lost. */
static void shift_maps(struct flow *flow, uint32_t n)
{
	flow->tx.sacked = shifted(flow->tx.sacked, n) & ~1ULL;
	flow->tx.lost = shifted(flow->tx.lost, n);
	flow->tx.resent = shifted(flow->tx.resent, n);
	flow->tx.lost |= bits(flow->tx.next - flow->tx.una) & ~bits(n < MAPPED ? MAPPED - n : 0);
}

/* Enlarge the congestion window by `n` frames. */
static inline void grow(struct flow *flow, uint32_t n)
{
	flow->tx.cwnd = flow->tx.cwnd + n < LINK_MOST_WINDOW ?
		(uint8_t)(flow->tx.cwnd + n) : (uint8_t)LINK_MOST_WINDOW;
}

/* The oldest `n` frames under way are acknowledged. */
static void advance(struct link *link, struct flow *flow, uint32_t n)
{
	flow->tx.una += n;
	flow->tx.timeouts = 0;
	if (flow_has_gap(flow))
		shift_maps(flow, n);
	if (!is_before(flow->tx.una, flow->tx.after_resend + LOSSLESS_FRAMES)) {
		/* keep `after_resend` at a fixed distance, as sequence numbers wrap */
		flow->tx.after_resend = flow->tx.una - LOSSLESS_FRAMES;
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
			send_end(link, index, 0);
	}
}

/* Fast retransmission: a map of the frames that are newly found lost. A frame is lost if enough
 * later frames have arrived. A retransmitted frame is lost again if enough frames that were sent
 * after it have arrived. For this a refused frame counts as arrived. As refusals are reported
 * with a delay, one of them is enough. */
static uint64_t holes(struct flow *flow, uint64_t refused)
{
	uint32_t under_way = flow->tx.next - flow->tx.una, later = DUP_THRESHOLD;
	uint32_t since = flow->tx.after_resend - flow->tx.una;
	uint64_t top = flow->tx.sacked | refused;

	if (under_way <= DUP_THRESHOLD || refused)
		later = 1;
	if (is_before(flow->tx.after_resend, flow->tx.una))
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

/* Mark refused frames, and frames that are missing before arrived or refused ones, as lost. */
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

/* Apply what a frame says about one lane. 0: it acknowledges frames that were not sent. */
static inline int apply(struct link *link, struct flow *flow, const struct ack_fields *fields)
{
	uint32_t under_way = flow->tx.next - flow->tx.una, n = fields->ack - flow->tx.una;
	uint32_t window = fields->window < LINK_MOST_WINDOW ? fields->window : LINK_MOST_WINDOW;
	int waits = fields->arrived & 1;

	if (n > under_way)
		return is_before(fields->ack, flow->tx.una); /* 1: an old acknowledgement */
	measure(link, flow, fields);
	if (flow->tx.window > window + n)
		window = flow->tx.window - n;
	flow->tx.window = (uint8_t)window;
	if (n)
		advance(link, flow, n); /* the user may send from within */
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
		timer_resend(link, flow);
	}
	if (flow->tx.lost || flow->tx.unsent != NO_RECORD)
		flow_ready(link, flow);
	return 1;
}

int ack_cumulative(struct link *link, struct flow *flow, uint32_t ack, uint32_t window)
{
	return apply(link, flow, &(struct ack_fields){ .ack = ack, .window = window });
}

int ack_receive(struct link *link, struct flow *flow, const struct wire *wire)
{
	struct ack_fields fields = { .ack = wire->ack, .window = wire->window,
				     .arrived = wire->selective,
				     .refused = wire->kind == WIRE_KIND_MSG ? wire->refused : 0 };

	if (!apply(link, flow, &fields))
		return 0;
	ack_other(link, flow, wire->other_ack, wire->other_window);
	return 1;
}
