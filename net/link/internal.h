/*
 * What the link's files ask of each other, file by file; the records are in flow.h. Calls go
 * one way, from the top of this ladder down (tests/test_rooms.py):
 *
 *   receive.c            frames from the card           link.c   memory and configuration
 *   clock.c              what time brings
 *   peer.c               the end of a peer
 *   bulk_land.c  ack.c   parts, acknowledgements that arrive
 *   reassemble.c         messages that arrive
 *   message.c   bulk.c   messages that are sent; grants of long ones
 *   transmit.c           which frame leaves next
 *   bulk_send.c          parts of long messages
 *   frame.c              making frames
 *   batch.c              several short messages in a frame
 *   flow.c  timer.c  wire.c
 *
 * Private to net/link/.
 */
#ifndef NET_LINK_INTERNAL_H
#define NET_LINK_INTERNAL_H
#include "flow.h"

/* ---- flow.c ---- */

struct flow *flow_find(const struct link *link, uint32_t node, enum link_lane lane);
/* The same, both made if they are not there; null: no memory for them. */
struct flow *flow_open(struct link *link, uint32_t node, enum link_lane lane);
/* A flow's numbers at the beginning of a conversation. */
void flow_reset(struct flow *flow);
/* This flow may have something to send. */
void flow_ready(struct link *link, struct flow *flow);

/* How many senders there are may have changed: of the card's ring each has a share. */
__attribute__((noinline)) void flow_share_anew(struct link *link, uint16_t senders);

static inline void flow_share(struct link *link)
{
	uint16_t senders = link->senders > link->senders_before ?
		link->senders : link->senders_before;

	senders += senders == 0;
	if (senders != link->sharers)
		flow_share_anew(link, senders);
}

/* The flow brings data in this epoch: its share of the card's ring counts. */
static inline void flow_count_sender(struct link *link, struct flow *flow)
{
	if (flow->epoch != (uint8_t)link->epoch) {
		flow->epoch = (uint8_t)link->epoch;
		link->senders++;
		flow_share(link);
	}
}

/* ---- timer.c ---- */

/* The flow's place in the heap becomes that of this earlier time. */
__attribute__((noinline)) void timer_move(struct link *link, struct flow *flow, uint32_t at);

/* The flow's timer goes off at that time, if not earlier. */
static inline void timer_by(struct link *link, struct flow *flow, uint32_t at)
{
	if (flow->heap_at == NO_RECORD || is_before(at, flow->timer_at))
		timer_move(link, flow, at);
}

/* Here `now` is in units, as the times in a flow are. */

/* What is under way is sent again unless something is heard within its timeout, from now on;
 * later where nothing need be lost. */
void timer_resend(struct link *link, struct flow *flow, uint32_t now);
/* The same for the only frame under way, where all before has arrived. */
void timer_first(struct link *link, struct flow *flow, uint32_t now);
/* An acknowledgement by itself in so many ns, if none is due earlier. */
void timer_ack(struct link *link, struct flow *flow, uint32_t now, uint64_t ns);
/* A round trip took so many units. */
void timer_measure(struct flow *flow, uint32_t trip);
/* Units until what is under way counts as lost: longer with each of its timeouts. */
uint32_t timer_timeout(const struct link *link, const struct flow *flow);
/* The earlier of its times, none of which is before that in the heap: 0 if none counts. */
int timer_earliest(const struct flow *flow, uint32_t *at);
void timer_remove(struct link *link, struct flow *flow);
/* The first in the heap has its true time there: link->due is as late as it can be. */
void timer_refresh(struct link *link);
/* Neither of its times counts any more. */
void timer_cancel(struct link *link, struct flow *flow);
/* Give the peer up as soon as the caller has returned: nothing more is sent, whatever comes. */
void timer_give_up(struct link *link, struct flow *flow);

/* ---- message.c ---- */

/* The short request in this room (of the next free record, or of a batch) is to be sent, as
 * any other. Returns as link_fast_send: 1 if it has joined messages that are not ready yet. */
__attribute__((noinline))
int message_fast_send(struct link *link, struct link_room room, uint64_t now, uint32_t bytes);
/* An unsignalled message has arrived: its record is free. */
static inline void message_free(struct link *link, struct send *send, uint32_t index)
{
	link->sends_used[send->lane]--;
	send->next = link->sends.free;
	link->sends.free = (uint16_t)index;
	link->sends.used--;
	count(link, LINK_MESSAGES_OUT);
}
/* A message is acknowledged: link_port_sent. Or it has failed: likewise, as soon as the card is
 * done with it. */
__attribute__((noinline)) void message_end(struct link *link, uint32_t send, int fail);
/* The card has read one frame of a message more. */
void message_card_done(struct link *link, uint32_t send);

/* ---- transmit.c ---- */

/* Whether there are parts to send, and not so many with the card that what is sent next
 * would be late. */
static inline int bulk_can_send(const struct link *link)
{
	return link->bulk.sends_first != NO_RECORD && !link->bulk.full &&
	       link->bulk.parts_out < BULK_PARTS_OUT;
}

/* Send what may be sent now, flow by flow. */
__attribute__((noinline)) void transmit_turns(struct link *link, uint64_t now);

static inline void transmit(struct link *link, uint64_t now)
{
	if (!link->transmitting && !link->stalled &&
	    (link->ready_first != NO_RECORD || bulk_can_send(link)))
		transmit_turns(link, now);
}

/* ---- frame.c ---- */

#define IN_RECORD    0x10000u      /* cookie: the frame is that in a struct send */

/* An acknowledgement by itself, now or as soon as there is room. */
__attribute__((noinline)) void frame_ack(struct link *link, struct flow *flow, uint64_t now);
/* Answer a frame that was meant for another incarnation of this node. */
void frame_reset(struct link *link, const struct wire *to, uint32_t mine, int over);
/* What both lanes of this flow's peer have received, for a frame of this one that leaves now. */
void frame_acknowledge(struct link *link, struct flow *flow, struct wire *wire);
/* A frame without payload to a node, from this card to its like. NIC_FULL: there is no
 * room for it. */
int frame_bare(struct link *link, struct nic *nic, uint32_t node, const struct wire *wire);
/* Header, of which `header` has the room, and payload of a frame as pieces; returns how many,
 * 0: the user cannot. */
uint32_t frame_make(struct link *link, struct flow *flow, const struct send *send,
		    uint32_t sequence, uint8_t *header, struct nic_piece *pieces);
/* The header of a frame from one of our cards to the one of that number of a node. */
static inline void frame_header(const struct nic *nic, uint8_t *header, uint32_t node,
				const struct wire *wire)
{
	wire_write_to(header, wire_address_word(node, nic->address[3]),
		      wire_get(nic->address, NIC_ADDRESS_BYTES), wire);
}

/* A struct transmit for a frame of this message or, NO_RECORD, of none: its number, or
 * NO_RECORD. */
uint32_t frame_record(struct link *link, uint32_t message);
/* Give a frame of a message, or of none, to the card. It is known by its struct transmit, or
 * by its message's record where its header is there. NIC_FULL: nothing happened. */
int frame_send(struct link *link, struct nic *nic, uint32_t cookie, struct send *send,
	       const struct nic_piece *pieces, uint32_t n);
/* A part of a message, as send_frame does: 1, NIC_FULL, or 0 if the user cannot. */
int frame_part(struct link *link, struct nic *nic, uint32_t index, struct wire *wire,
	       uint64_t at);

/* ---- ack.c ---- */

/* What a frame of this flow says about what this node has sent on both lanes. 0: it cannot be. */
int ack_receive(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now);
/* A cumulative acknowledgement, and nothing more is said of this lane. */
void ack_cumulative(struct link *link, struct flow *flow, uint32_t ack, uint32_t window,
		    uint64_t now);

/* The same of the other lane than that of the frame, if its window is not 0. */
static inline void ack_of_other(struct link *link, struct flow *flow, uint32_t ack,
				uint32_t window, uint64_t now)
{
	struct flow *other = flow_other(flow);

	if (window && ack != other->tx.una)
		ack_cumulative(link, other, ack, window, now);
}

/* Whether this flow may have heard of that acknowledgement: it is of what was sent, or old. */
static inline int ack_can_be(const struct flow *flow, uint32_t ack)
{
	return ack - flow->tx.una <= flow->tx.next - flow->tx.una || is_before(ack, flow->tx.una);
}

static inline int ack_of_other_can_be(struct flow *flow, uint32_t ack, uint32_t window)
{
	return !window || ack_can_be(flow_other(flow), ack);
}

/* ---- batch.c ---- */

/* Room behind the last message of a flow that has one, as link_fast_room gives it: null if that
 * has left, or nothing joins it. */
uint8_t *batch_room(const struct link *link, const struct flow *flow);
/* The message in that room, with `bytes` bytes of payload, is there. 0: and none fits behind
 * it, all are ready to leave. */
int batch_add(struct link *link, struct flow *flow, uint32_t bytes);
/* The last message of a flow is delayed for a batch, and so are those behind it until
 * batch_release. 0: it cannot be. */
int batch_delay(struct link *link, struct flow *flow, uint64_t now);
/* The next message of a flow is delayed. */
int batch_is_delayed(const struct link *link, const struct flow *flow);
/* They are no longer delayed, if they were. */
void batch_release(struct link *link, struct flow *flow);
/* A batch's payload, and the fields of its frame that are its own: how many pieces. */
uint32_t batch_pieces(const struct link *link, const struct send *send, struct wire *wire,
		      struct nic_piece *pieces);
/* Its messages behind the first are acknowledged or have failed. */
void batch_end(struct link *link, uint32_t batch, int fail);
/* A batch in its turn: LINK_BUSY if the user is, with one of its messages. */
int batch_deliver(struct link *link, struct flow *flow, const struct wire *wire);

/* ---- reassemble.c ---- */

/* The user is too busy for this frame: the peer is asked to send it again a little later. */
__attribute__((noinline))
void reassemble_refuse(struct link *link, struct flow *flow, uint32_t sequence, uint64_t now);

/* What has arrived in its turn is acknowledged soon: by the next frame that goes there, or
 * once it is a quarter of what the peer may send, or most_unacked: the peer must not wait
 * and then send very many at once. */
static inline void reassemble_acknowledge(struct link *link, struct flow *flow, uint64_t now)
{
	if (flow->rx.unacked * 4u >= flow->rx.window || flow->rx.unacked >= link->most_unacked)
		frame_ack(link, flow, now);
	else
		timer_ack(link, flow, units(now), link->config.ack_delay);
}

/* The sender of this message may wait for its acknowledgement, to use its memory again. */
__attribute__((noinline)) void reassemble_note_waiter(struct link *link, const struct flow *flow);
/* Acknowledge to such senders now: nothing is sent for a while that would carry it. */
void reassemble_ack_waiters(struct link *link, uint64_t now);

/* A MSG with messages, of the right incarnations. */
void reassemble(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now);
/* 1: what the flow expects next is announced and begun, and waits for its payload. */
static inline int reassemble_waits(const struct link *link, const struct flow *flow)
{
	const struct assembly *assembly;

	if (flow->rx.assembly == NO_RECORD)
		return 0;
	assembly = record_at(&link->assemblies, flow->rx.assembly);
	return assembly->announced && !assembly->whole && assembly->first == flow->rx.expected;
}
/* 1: a cumulative acknowledgement says all of what this flow has received, so that frames of
 * the other lane can carry it. */
static inline int ack_is_cumulative(const struct link *link, const struct flow *flow)
{
	return !(flow->rx.arrived | flow->rx.refused) && !(flow->rx.flags & RX_REFUSED) &&
	       !reassemble_waits(link, flow);
}

/* An acknowledgement leaves with a frame. Each one opens the receive window to the peer's share
 * of the card's ring. */
static inline void ack_piggyback(struct flow *flow, uint8_t share)
{
	if (flow->rx.window < share)
		flow->rx.window = share;
	flow->rx.unacked = 0;
	flow->rx.flags &= (uint8_t)~(RX_ACK_TIMER | RX_ACK_NOW);
}

/* An announced message of this flow is whole. */
void reassemble_payload_whole(struct link *link, struct flow *flow, uint64_t now);
/* These begun messages end with failure, these early ones are dropped. */
void reassemble_lose(struct link *link, uint32_t assembly, uint32_t stash);

/* ---- bulk.c ---- */

/* `aside`: memory for one part. */
void bulk_open(struct link *link, uint8_t *aside);
/* An announced message has begun, or was heard of again: it wants a turn. */
void bulk_request_turn(struct link *link, uint32_t assembly);
/* Grant what can be granted now. */
__attribute__((noinline))
void bulk_run(struct link *link, uint64_t now);

/* ---- bulk_land.c ---- */

/* A BULK frame on the ordinary card. */
void bulk_pulled(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now);
/* A flow starts anew: nothing of it is written any more. */
void bulk_lose(struct link *link, struct flow *flow);
void bulk_tick(struct link *link, uint64_t now);

/* ---- bulk_send.c ---- */

/* A GRANT frame for this flow. */
void bulk_accept_grant(struct link *link, struct flow *flow, const struct wire *wire);
/* Whether a message is announced, rather than sent in `fragment` bytes at once; then parts
 * of nearly equal length, and what its announcement takes along, if that is a part less. */
int bulk_is_announced(const struct link *link, uint64_t length, uint32_t *fragment,
		      uint32_t *tail);
/* A message that is announced: what a turn needs. */
void bulk_send_open(struct link *link, struct send *send, const struct flow *flow);
/* This send leaves the list of those that have parts to send. */
void bulk_send_remove(struct link *link, uint32_t send);
/* Send one part: 1, NIC_FULL, or 0 if there is none. */
int bulk_send_part(struct link *link);

/* ---- peer.c ---- */

/* Both lanes of a node start anew: what is under way fails. `bump`: toward this node the
 * own incarnation grows. `theirs`: its new one, 0: as known. Calls link_port_lost. */
void peer_lose(struct link *link, uint32_t node, int bump, uint32_t theirs);

#endif
