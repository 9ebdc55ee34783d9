/*
 * Functions that the link's files share, file by file; flow.h has the records. A file calls only
 * files below its line in this list. tests/test_rooms.py compares the calls with it. Only the
 * link's user calls up: from within link_port_* it may call link_send (link.h).
 *
 *   receive.c            frames from the card           link.c   memory and configuration
 *   clock.c              timeouts
 *   peer.c               losing a peer
 *   bulk_land.c  ack.c   parts and acknowledgements that arrive
 *   reassemble.c         messages that arrive
 *   message.c   bulk.c   messages to send; grants for long messages that arrive
 *   transmit.c           which frame is sent next
 *   bulk_send.c          sending parts of long messages
 *   frame.c              making frames
 *   batch.c              several short messages in one frame
 *   flow.c  timer.c  wire.c
 *   siphash.c  crc.c     tags and checksums
 *
 * Private to net/link/.
 */
#ifndef NET_LINK_INTERNAL_H
#define NET_LINK_INTERNAL_H
#include "flow.h"

/* ---- flow.c ---- */

/* Null: there is none; `node` may be any number. */
struct flow *flow_find(const struct link *link, uint32_t node, enum link_lane lane);
/* The same, but makes the flows of both lanes if the peer has none. `node` is one of the job's. */
struct flow *flow_open(struct link *link, uint32_t node, enum link_lane lane);
/* Return a flow to its initial state, with sequence numbers from 0. */
void flow_reset(struct flow *flow);
/* This flow may have something to send: put it into the ready list. */
void flow_ready(struct link *link, struct flow *flow);

/* Compute each sender's share of the card's ring, for this number of senders. */
__attribute__((noinline)) void flow_share(struct link *link, uint32_t senders);

/* The peer has sent data on this flow: count it once in each epoch as a sender. */
static inline void flow_count_sender(struct link *link, struct flow *flow)
{
	if (flow->epoch != (uint8_t)link->epoch) {
		flow->epoch = (uint8_t)link->epoch;
		if (++link->senders > link->sharers)
			flow_share(link, link->senders);
	}
}

/* ---- timer.c ---- */

/* One of the flow's timers expires at this time, in units: look at it then at the latest. */
void timer_by(struct link *link, struct flow *flow, uint32_t at);
/* Restart the retransmission timer of the frames under way. */
void timer_resend(struct link *link, struct flow *flow);
/* Send a bare acknowledgement in `ns` nanoseconds, unless one is due earlier. */
void timer_ack(struct link *link, struct flow *flow, uint64_t ns);
/* Take a measured round trip, in units, into account. */
void timer_measure(struct flow *flow, uint32_t trip);
/* Give the peer up at the next link_tick; until then this flow sends nothing more. */
void timer_give_up(struct link *link, struct flow *flow);

/* ---- batch.c ---- */

/* Room for another message in the batch at the end of a flow's queue, as link_fast_room returns
 * it. Null: the last message has left, is of another kind, or its batch is full. The flow has
 * at least one message. */
uint8_t *batch_room(const struct link *link, const struct flow *flow);
/* Add the message in that room, with `bytes` bytes of payload, to the batch. 0: the batch is now
 * full and no longer delayed. */
int batch_add(struct link *link, struct flow *flow, uint32_t bytes);
/* Delay the last message of a flow, and those that join it, until batch_release. 0: it cannot
 * be delayed. */
int batch_delay(struct link *link, struct flow *flow);
/* Whether the next message of a flow is delayed. */
static inline int batch_is_delayed(const struct flow *flow)
{
	return flow->flags & FLOW_DELAYED && flow->tx.unsent == flow->tx.tail;
}
/* End the delay of a flow's messages, if there is one. */
void batch_release(struct link *link, struct flow *flow);
/* Set the fields of a batch's frame; returns its payload. */
struct nic_piece batch_payload(const struct link *link, const struct send *send,
			       struct wire *wire);
/* The messages of a batch behind the first one, which begin at `at`, are acknowledged or have
 * failed. */
void batch_end(struct link *link, uint32_t batch, uint32_t at, int fail);
/* Deliver a batch to the user. */
void batch_deliver(struct link *link, const struct flow *flow, const struct wire *wire);

/* ---- frame.c ---- */

/*
 * A frame given to a card is named by a cookie: the index of its struct transmit, or IN_RECORD
 * and the index of its message if the header is in the message's record.
 */
#define IN_RECORD    0x10000u

/* Send a bare acknowledgement now or, if the card is full, as soon as it has room. */
__attribute__((noinline)) void frame_ack(struct link *link, struct flow *flow);
/* Answer a frame that was meant for another incarnation of this node. `over`: the incarnation
 * has changed because this node gave the peer up. */
void frame_reset(struct link *link, const struct wire *to, uint32_t mine, int over);
/* Fill in the acknowledgements of both lanes, for a frame of this flow that is sent now. */
void frame_acknowledge(struct link *link, struct flow *flow, struct wire *wire);
/* Send a frame without payload from this card to the card of the same number of a node.
 * NIC_FULL: nothing was sent. */
int frame_bare(struct link *link, struct nic *nic, uint32_t node, const struct wire *wire);
/* Make frame `sequence` of a message: write the header to `header`, and set pieces for header
 * and payload. Returns the number of pieces; 0: the user cannot show the payload. */
uint32_t frame_make(struct link *link, struct flow *flow, const struct send *send,
		    uint32_t sequence, uint8_t *header, struct nic_piece *pieces);
/* Write the header of a frame from this card to the card of the same number of a node. */
static inline void frame_header(const struct nic *nic, uint8_t *header, uint32_t node,
				const struct wire *wire)
{
	wire_write(header, wire_address_word(node, nic->address[3]),
		   wire_get(nic->address, NIC_ADDRESS_BYTES), wire);
}

/* Allocate a struct transmit for a frame of this message (NO_RECORD: of no message). Returns its
 * index, or NO_RECORD. */
uint32_t frame_record(struct link *link, uint32_t message);
/* Give a frame of `send`, or of no message (null), to the card. On failure its struct transmit
 * is free again. Returns the card's result. */
int frame_send(struct link *link, struct nic *nic, uint32_t cookie, struct send *send,
	       const struct nic_piece *pieces, uint32_t n);
/* Send one part, payload from `at` on, of message `index`: 1; NIC_FULL; or 0 if the user cannot
 * show the payload. */
int frame_part(struct link *link, struct nic *nic, uint32_t index, struct wire *wire,
	       uint64_t at);

/* ---- bulk_send.c ---- */

/* A GRANT frame for this flow has arrived. */
void bulk_accept_grant(struct link *link, struct flow *flow, const struct wire *wire);
/* Whether a message of this length is announced; then set the fields that its parts need.
 * `fragment`: as of link_send. */
int bulk_announce(struct link *link, struct send *send, const struct flow *flow,
		  uint32_t fragment);
/* An announced message has ended: send no more parts of it. */
void bulk_send_end(struct link *link, uint32_t send);
/* Send one part: 1, NIC_FULL, or 0 if there is none. */
int bulk_send_part(struct link *link);

/* Whether a part can be sent: there is one, and the card's queue is not so long that other
 * frames would be late. */
static inline int bulk_can_send(const struct link *link)
{
	return link->bulk_send.first != NO_RECORD && !link->bulk_send.full &&
	       link->bulk_send.parts_out < BULK_PARTS_OUT;
}

/* ---- transmit.c ---- */

/* Send all that may be sent now, one frame per flow in turn. */
__attribute__((noinline)) void transmit_turns(struct link *link);

/* The same, if there is anything to send. */
static inline void transmit(struct link *link)
{
	if (!link->transmitting && !link->stalled &&
	    (link->ready_first != NO_FLOW || bulk_can_send(link)))
		transmit_turns(link);
}

/* ---- bulk.c ---- */

/* `nic`: the bulk card, or null. `aside`: memory for one part. */
void bulk_open(struct link *link, struct nic *nic, uint8_t *aside);
/* The memory of payload bytes [at, at + bytes) of a begun message; all memory if it is not known. */
struct memory bulk_memory(struct link *link, struct assembly *assembly, uint64_t at,
			  uint64_t bytes);
/* So many bytes of this flow are written now: note that if another node has the turn. */
static inline void bulk_note_data(struct link *link, const struct flow *flow, uint32_t bytes)
{
	if (bytes && link->bulk.flow != NO_FLOW &&
	    flow->node != link->flows[link->bulk.flow].node)
		link->bulk.others++;
}

/* Queue the flow of an announced message for a turn: the message has just begun, or its
 * announcement has arrived again. */
void bulk_request_turn(struct link *link, uint32_t assembly);
/* Send all grants that are possible now; begin and end turns as needed. When a part has `landed`
 * fewer grants are sent, of more parts each. */
__attribute__((noinline)) void bulk_run(struct link *link, int landed);

/* ---- message.c ---- */

/* An unsignalled message is acknowledged and the card is done with it: free its record. */
static inline void message_free(struct link *link, struct send *send, uint32_t index)
{
	link->sends_used[send->lane]--;
	send->next = link->sends.free;
	link->sends.free = (uint16_t)index;
	link->sends.used--;
	count(link, LINK_MESSAGES_OUT);
}
/* A message is acknowledged: report that now. Or it has failed: report it when the card has read
 * all of its frames. */
__attribute__((noinline)) void send_end(struct link *link, uint32_t send, int fail);
/* The card has read one more frame of a message. */
void send_card_done(struct link *link, uint32_t send);

/* ---- reassemble.c ---- */

/* Refuse a frame: the peer will be asked a little later to send it again. */
__attribute__((noinline))
void reassemble_refuse(struct link *link, struct flow *flow, uint32_t sequence);

/* Acknowledge frames that arrived in order: delayed, so that the next frame to the peer can
 * carry it, but at once when they are a quarter of what the receive window has left (39 of 192 at
 * most), or most_unacked. Otherwise the peer's window would fill up, and then it would send a large
 * burst. */
static inline void reassemble_acknowledge(struct link *link, struct flow *flow)
{
	if (flow->rx.unacked * 4u >= flow->rx.window || flow->rx.unacked >= link->most_unacked)
		frame_ack(link, flow);
	else
		timer_ack(link, flow, LINK_ACK_DELAY);
}

/* Process a MSG with messages whose incarnations are right. */
void reassemble(struct link *link, struct flow *flow, const struct wire *wire);

/* The payload of an announced message of this flow is complete. */
void reassemble_payload_whole(struct link *link, struct flow *flow);
/* Fail the begun messages and drop the early ones of a peer that is lost: two lists. */
void reassemble_lose(struct link *link, uint32_t assembly, uint32_t stash);

/* ---- ack.c ---- */

/* Apply a frame's acknowledgements of both lanes. 0: that of its own lane is invalid. */
int ack_receive(struct link *link, struct flow *flow, const struct wire *wire);
/* Apply a frame's acknowledgement of one lane that is only cumulative. 0: it is invalid. */
int ack_cumulative(struct link *link, struct flow *flow, uint32_t ack, uint32_t window);

/* The same for the lane that is not the frame's own; a window of 0 means there is none. An invalid
 * one is only counted: the frame is accepted. */
static inline void ack_other(struct link *link, struct flow *flow, uint32_t ack, uint32_t window)
{
	struct flow *other = flow_other(flow);

	if (window && ack != other->tx.una && !ack_cumulative(link, other, ack, window))
		count(link, LINK_NONSENSE);
}

/* ---- bulk_land.c ---- */

/* A BULK frame has arrived on the ordinary card. */
void bulk_accept_part(struct link *link, struct flow *flow, const struct wire *wire);
/* The flow's peer is lost: withdraw its buffers and its request for a turn. */
void bulk_lose(struct link *link, struct flow *flow);
/* The turn's timer has expired. */
void bulk_tick(struct link *link);

/* ---- peer.c ---- */

/* Reset both lanes of a node and fail all that is under way. `theirs`: the node's new incarnation.
 * 0: the node is given up, so this node's incarnation toward it grows. Calls link_port_lost. */
void peer_lose(struct link *link, uint32_t node, uint32_t theirs);

#endif
