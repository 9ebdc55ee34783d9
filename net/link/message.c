/*
 * Messages being sent: their records, their order in a flow, and their end. transmit.c sends the
 * queued messages frame by frame. A record belongs to its flow from link_send until the message is
 * acknowledged or has failed, and the card has read all of its frames. See link.h.
 */
#include "internal.h"

/* In a record: a plain put's header, which ends where the payload begins. */
#define PUT_AT (offsetof(struct send, message.payload) - LINK_PUT_BYTES)

#define SAMPLE_UNITS 1000u         /* units (1 ms) between measured round trips, on the fast path */

/* ---- begin ---- */

/* The number of records that this lane may still use. */
static uint32_t records_free(const struct link *link, enum link_lane lane)
{
	uint32_t most = lane == LINK_ANSWERS ? link->config.answers : link->most_requests;
	uint32_t used = link->sends_used[lane] + (lane == LINK_ANSWERS ? link->reserved : 0u);

	return used < most ? most - used : 0;
}

/* Whether a flow may have another record: it gets no more than it leaves free. */
static int has_room(const struct link *link, const struct flow *flow, enum link_lane lane)
{
	uint32_t free = records_free(link, lane);

	return free > 0 && (!flow || flow->tx.sends <= free);
}

int link_has_room(const struct link *link, uint32_t node, enum link_lane lane)
{
	return has_room(link, flow_find(link, node, lane), lane);
}

/* Set the fields of a new message that do not depend on how it is sent. */
static inline void init_send(struct send *send, enum link_lane lane, uint32_t first)
{
	send->next = NO_RECORD;
	send->with_card = 0;
	send->lane = (uint8_t)lane;
	send->ended = send->fail = send->reported = send->unsignalled = 0;
	send->first = first;
}

/* The other fields, of a plain put. */
static inline void init_put(struct send *send, uint32_t bytes)
{
	send->unsignalled = UNSIGNALLED_ALONE;
	send->is_inline = 1;
	send->announced = 0;
	send->frames = 1;
	send->length = send->fragment = bytes;
}

/* Take the next free record for a new last message of the flow. The caller knows that there is one,
 * and sets its length, fragment, frames, announced and is_inline. */
static inline struct send *queue(struct link *link, struct flow *flow, enum link_lane lane)
{
	uint32_t index = record_alloc(&link->sends);
	struct send *send = send_at(link, index);

	link->sends_used[lane]++;
	init_send(send, lane, flow->tx.next);
	if (flow->tx.tail != NO_RECORD) {
		struct send *last = send_at(link, flow->tx.tail);

		last->next = (uint16_t)index;
		send->first = last->first + last->frames;
	} else {
		flow->tx.head = (uint16_t)index;
	}
	flow->tx.tail = (uint16_t)index;
	if (flow->tx.unsent == NO_RECORD)
		flow->tx.unsent = (uint16_t)index;
	flow->tx.sends++;
	return send;
}

/* Choose how to send a message of `length` payload bytes: announced, or in frames with at most
 * `fragment` bytes (0: no limit). Returns 0 if it cannot be sent. */
static int choose_frames(struct link *link, struct send *send, const struct flow *flow,
			 uint64_t length, uint32_t fragment)
{
	uint64_t frames = 1;

	send->length = length;
	send->announced = (uint8_t)bulk_announce(link, send, flow, fragment);
	if (!send->announced) {
		send->fragment = fragment && fragment < link->fragment ? fragment : link->fragment;
		if (length)
			frames = (length - 1) / send->fragment + 1;
	}
	send->frames = (uint32_t)frames;
	return frames <= WIRE_MOST_FRAMES && (frames == 1 || length > LINK_WHOLE_BYTES);
}

/* The flow to a node, for one more message. Null: there is no free record. */
static struct flow *flow_for(struct link *link, uint32_t node, enum link_lane lane)
{
	struct flow *flow = flow_find(link, node, lane);

	/* An answer uses a record that link_reserve has reserved after it called has_room. */
	if (lane == LINK_REQUESTS ? !has_room(link, flow, lane) : records_free(link, lane) == 0)
		return 0;
	return flow ? flow : flow_open(link, node, lane);
}

int link_reserve(struct link *link, uint32_t node)
{
	if (!link_has_room(link, node, LINK_ANSWERS))
		return 0;
	link->reserved++;
	return 1;
}

void link_unreserve(struct link *link)
{
	link->reserved--;
}

struct link_message *link_message(const struct link *link)
{
	return &send_at(link, link->sends.free)->message;
}

/* The header of a plain put in the same record. */
static inline uint8_t *put_header(const struct link *link)
{
	return (uint8_t *)send_at(link, link->sends.free) + PUT_AT;
}

int link_send(struct link *link, uint64_t now, uint32_t node, enum link_lane lane,
	      uint64_t length, int is_inline, uint32_t fragment)
{
	struct send *send;
	struct flow *flow;

	link->now = now;
	if (node >= link->config.nodes || node == link->config.node ||
	    (uint32_t)lane >= LINK_LANES || length > WIRE_MOST_LENGTH)
		return LINK_WRONG;
	flow = flow_for(link, node, lane);
	if (!flow)
		return LINK_FULL;
	send = send_at(link, link->sends.free);
	if (!choose_frames(link, send, flow, length, fragment))
		return LINK_WRONG;
	send->is_inline = (uint8_t)is_inline;
	queue(link, flow, lane);
	batch_release(link, flow);
	flow_ready(link, flow);
	transmit(link);
	return LINK_OK;
}

/* Queue the plain put in this room, which is in the next free record or in a batch. Returns as
 * link_fast_send does: 1 if the put has joined a batch that is still delayed. */
__attribute__((noinline))
static int queue_put(struct link *link, struct link_room room, uint32_t bytes)
{
	struct flow *flow = room.flow;
	int joins = room.header != put_header(link);
	int is_busy = flow->tx.next != flow->tx.una, is_delayed = 0;
	struct send *send;

	if (joins) {
		is_delayed = batch_add(link, flow, bytes);
	} else {
		batch_release(link, flow);
		send = queue(link, flow, LINK_REQUESTS);
		init_put(send, bytes);
		if (!is_busy || !batch_delay(link, flow))
			flow_ready(link, flow);
	}
	transmit(link);
	return is_delayed;
}

uint32_t link_sends_to(const struct link *link, uint32_t node, enum link_lane lane)
{
	const struct flow *flow = flow_find(link, node, lane);

	return flow ? flow->tx.sends : 0;
}

uint32_t link_pending(const struct link *link)
{
	return (uint32_t)link->sends.used + link->reserved;
}

/* ---- the fast path of plain puts ---- */

struct link_room link_fast_room(struct link *link, uint32_t node)
{
	struct flow *flow = flow_find(link, node, LINK_REQUESTS);
	uint8_t *header = 0;

	if (flow && flow->tx.head != NO_RECORD)
		header = batch_room(link, flow);
	if (flow && !header && has_room(link, flow, LINK_REQUESTS))
		header = put_header(link);
	return (struct link_room){ header, flow };
}

/* Whether the fast path applies: the flow has nothing under way, its acknowledgement is only
 * cumulative, and no other frame waits for the card. */
static inline int is_quiet(const struct link *link, const struct flow *flow)
{
	return flow->tx.head == NO_RECORD && flow->tx.window && flow_is_cumulative(flow) &&
	       link->ready_first == NO_FLOW && !link->transmitting && !link->stalled;
}

/* The card did not accept the frame. If its ring is full the frame will be sent again as a new
 * one; otherwise it counts as sent, and lost. */
__attribute__((noinline, cold))
static void fast_send_failed(struct link *link, struct flow *flow, uint32_t index, int result)
{
	send_at(link, index)->with_card--;
	if (result != NIC_FULL)
		return;
	count(link, LINK_CARD_FULL);
	link->stalled = 1;
	flow->tx.next--;
	flow->tx.unsent = (uint16_t)index;
	flow->tx.flags &= (uint8_t)~TX_SAMPLING;
	flow_ready(link, flow);
}

int link_fast_send(struct link *link, struct link_room room, uint64_t now, uint32_t bytes)
{
	struct send *send = (struct send *)(room.header - PUT_AT);
	uint8_t *frame = room.header - LINK_FRAME_BYTES;
	struct nic_piece piece = { frame, WIRE_PUT_DATA + bytes };
	uint32_t index = link->sends.free, at = units(now);
	struct flow *flow = room.flow;
	struct nic *nic = link->nic;
	struct wire_fast fast;
	int result;

	link->now = now;
	if (!is_quiet(link, flow))
		return queue_put(link, room, bytes);
	link->sends.free = send->next;
	record_count(&link->sends);
	link->sends_used[LINK_REQUESTS]++;
	init_send(send, LINK_REQUESTS, flow->tx.next);
	send->with_card = 1;
	init_put(send, bytes);
	flow->tx.head = flow->tx.tail = (uint16_t)index;
	flow->tx.sends = 1;
	flow_piggyback(flow, link->ring_share);
	fast = (struct wire_fast){ .incarnations = flow->incarnations << 32 | flow->incarnations >> 32,
				   .sequence = flow->tx.next, .ack = flow->rx.expected,
				   .window = flow->rx.window };
	/* The lane of answers, if its acknowledgement has changed. */
	if (flow[1].rx.unacked && flow_is_cumulative(flow + 1)) {
		flow_piggyback(flow + 1, link->ring_share);
		fast.other_ack = flow[1].rx.expected;
		fast.other_window = flow[1].rx.window;
	}
	wire_fast_write(&link->prefix, flow->node, &fast, frame, bytes);
	if (__builtin_expect(link->guards, 0))
		wire_seal(link->key, 1, &piece, 1);
	else
		wire_put(frame + WIRE_CHECKSUM, wire_checksum(frame, WIRE_PUT_DATA), 4);

	/* Count the frame as sent now; fast_send_failed reverts that. */
	flow->tx.flags &= (uint8_t)~TX_SAMPLING;
	if (at - flow->tx.sampled_at >= SAMPLE_UNITS) {
		flow->tx.flags |= TX_SAMPLING;
		flow->tx.sample = (uint16_t)flow->tx.next;
		flow->tx.sampled_at = at;
	}
	flow->tx.next++;
	if (!(flow->tx.flags & TX_TIMER))
		timer_resend(link, flow);
	link->transmitting = 1;
	result = nic->ops->send(nic, &piece, 1, IN_RECORD | index);
	link->transmitting = 0;
	if (result != NIC_OK) {
		fast_send_failed(link, flow, index, result);
		return 0;
	}
	count(link, LINK_FRAMES_OUT);
	count(link, LINK_DATA_OUT);
	return 1;
}

void link_flush(struct link *link, uint64_t now)
{
	link->now = now;
	/* A flow that delays a message has frames under way, and so a timer. */
	for (uint32_t index = link->timed; link->n_delayed && index != NO_FLOW;
	     index = link->flows[index].timed_next)
		batch_release(link, &link->flows[index]);
	transmit(link);
}

int link_has_delayed(const struct link *link)
{
	return link->n_delayed != 0;
}

/* ---- end ---- */

/* Report the end of a message to the user. If it is unsignalled, only failure is reported. */
static void report_end(struct link *link, struct send *send, int fail)
{
	count(link, fail ? LINK_FAILED_OUT : LINK_MESSAGES_OUT);
	if (!send->unsignalled)
		link_port_sent(link->context, &send->message, fail);
	else if (fail)
		link_port_failed(link->context, (uint32_t)send->length);
}

/* Free the record of a message that has ended, and report its end unless that was done. */
static void release(struct link *link, uint32_t index)
{
	struct send *send = send_at(link, index);
	uint32_t batch = send->unsignalled == UNSIGNALLED_BATCH ? send->batch : NO_RECORD;
	uint32_t first = wire_padded((uint32_t)send->length);
	int fail = send->fail;

	link->sends_used[send->lane]--;
	record_free(&link->sends, index);
	if (!send->reported)
		report_end(link, send, fail);
	if (batch != NO_RECORD)
		batch_end(link, batch, first, fail);
}

/* Success is reported at once: the acknowledging frame may carry the peer's answer, and the user
 * must see the end of a message before anything that the message causes. Failure is reported when
 * the card has read all frames, as until then the message may still arrive. */
void send_end(struct link *link, uint32_t index, int fail)
{
	struct send *send = send_at(link, index);

	send->ended = 1;
	send->fail = (uint8_t)fail;
	if (send->announced)
		bulk_send_end(link, index);
	if (send->with_card == 0) {
		release(link, index);
		return;
	}
	link->ended_with_card++;
	if (!fail) {
		send->reported = 1;
		report_end(link, send, 0);
	}
}

void send_card_done(struct link *link, uint32_t index)
{
	struct send *send = send_at(link, index);

	if (--send->with_card == 0 && send->ended) {
		link->ended_with_card--;
		release(link, index);
	}
}
