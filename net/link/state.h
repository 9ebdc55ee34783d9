/*
 * What the link's files ask of each other, file by file. The records that it is about are
 * those of records.h. Private to net/link/.
 */
#ifndef NET_LINK_STATE_H
#define NET_LINK_STATE_H
#include "records.h"

/* ---- flow.c ---- */

struct flow *flow_find(const struct link *link, uint32_t node, enum link_lane lane);
/* The same, both made if they are not there; null: no memory for them. */
struct flow *flow_open(struct link *link, uint32_t node, enum link_lane lane);
/* Both lanes of a node start anew: what is under way fails. `bump`: toward this node the
 * own incarnation grows. `theirs`: its new one, 0: as known. Calls lost(). */
void flow_lose(struct link *link, uint32_t node, int bump, uint32_t theirs);

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
static inline void flow_heard(struct link *link, struct flow *flow)
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

/* It shall not be later than that. */
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
/* Units until what is under way counts as lost: longer with each of flow->tries. */
uint32_t timer_timeout(const struct link *link, const struct flow *flow);
/* Neither of its times counts any more. */
void timer_cancel(struct link *link, struct flow *flow);
/* Give the peer up as soon as the caller has returned: nothing more is sent, whatever comes. */
void timer_give_up(struct link *link, struct flow *flow);

/* ---- queue.c ---- */

/* The short request in this room (of the next free record, or of a bundle) is to be sent, as
 * any other. Returns as link_brief_send: 1 if it has joined messages that are not ready yet. */
__attribute__((noinline))
int send_brief(struct link *link, struct link_room room, uint64_t now, uint32_t bytes);
/* A message that has ended well and that nobody hears of: its record is free. */
static inline void send_give(struct link *link, struct send *send, uint32_t index)
{
	link->sends_used[send->lane]--;
	send->next = link->sends.free;
	link->sends.free = (uint16_t)index;
	link->sends.used--;
	count(link, LINK_MESSAGES_OUT);
}
/* A message is acknowledged: sent(). Or it has failed: sent(), as soon as the card is done with
 * it. */
__attribute__((noinline)) void send_end(struct link *link, uint32_t send, int fail);
/* One use less of a message that is not free. */
void send_drop(struct link *link, uint32_t send);

/* ---- send.c ---- */

#define IN_RECORD    0x10000u      /* cookie: the frame is that in a struct send */

/* This flow may have something to send. */
void send_ready(struct link *link, struct flow *flow);
/* Whether there are parts to send, and not so many with the card that what is sent next
 * would be late. */
static inline int can_serve(const struct link *link)
{
	return link->bulk.serve_first != NO_RECORD && !link->bulk.full &&
	       link->bulk.parts_out < BULK_PARTS_OUT;
}

/* Send what may be sent now, flow by flow. */
__attribute__((noinline)) void send_turns(struct link *link, uint64_t now);

static inline void send_pump(struct link *link, uint64_t now)
{
	if (!link->pumping && !link->stalled && (link->ready_first != NO_RECORD || can_serve(link)))
		send_turns(link, now);
}

/* An acknowledgement by itself, now or as soon as there is room. */
__attribute__((noinline)) void send_ack(struct link *link, struct flow *flow, uint64_t now);
/* Answer a frame that was meant for somebody else. */
void send_reset(struct link *link, const struct wire *to, uint32_t mine, int over);
/* What both lanes of this flow's peer have received, for a frame of this one that leaves now. */
void send_acknowledge(struct link *link, struct flow *flow, struct wire *wire);
/* A frame without payload to a node, from this card to its like. NIC_FULL: there is no
 * room for it. */
int send_bare(struct link *link, struct nic *nic, uint32_t node, const struct wire *wire);
/* Whether this flow may send a frame now. */
int send_may(const struct link *link, const struct flow *flow);
/* Header, of which `header` has the room, and payload of a frame as pieces; returns how many,
 * 0: the user cannot. */
uint32_t send_make(struct link *link, struct flow *flow, const struct send *send,
		   uint32_t sequence, uint8_t *header, struct nic_piece *pieces);
/* The next frame of this flow has left, or is about to. */
void send_departed(struct link *link, struct flow *flow, const struct send *send, uint32_t now);
/* The header of a frame from one of our cards to the one of that number of a node. */
static inline void send_header(const struct nic *nic, uint8_t *header, uint32_t node,
			       const struct wire *wire)
{
	wire_write_to(header, wire_address_word(node, nic->address[3]),
		      wire_get(nic->address, NIC_ADDRESS_BYTES), wire);
}

/* A struct transmit for a frame of this message or, NO_RECORD, of none: its number, or
 * NO_RECORD. */
uint32_t send_transmit(struct link *link, uint32_t message);
/* A part of a message, as send_frame does: 1, NIC_FULL, or 0 if the user cannot. */
int send_part(struct link *link, struct nic *nic, uint32_t index, struct wire *wire,
	      uint64_t at);

/* ---- ack.c ---- */

/* What a frame of this flow says about what this node has sent on both lanes. 0: it cannot be. */
int ack_take(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now);
/* So far all has arrived, and nothing more is said of this lane. */
void ack_plain(struct link *link, struct flow *flow, uint32_t ack, uint32_t window, uint64_t now);

/* The same of the other lane than that of the frame, if its window is not 0. */
static inline void ack_of_other(struct link *link, struct flow *flow, uint32_t ack,
				uint32_t window, uint64_t now)
{
	struct flow *other = flow_other(flow);

	if (window && ack != other->una)
		ack_plain(link, other, ack, window, now);
}

/* Whether this flow may have heard of that acknowledgement: it is of what was sent, or old. */
static inline int ack_can_be(const struct flow *flow, uint32_t ack)
{
	return ack - flow->una <= flow->next - flow->una || is_before(ack, flow->una);
}

static inline int ack_of_other_can_be(struct flow *flow, uint32_t ack, uint32_t window)
{
	return !window || ack_can_be(flow_other(flow), ack);
}

/* ---- bundle.c ---- */

/* Room behind the last message of a flow that has one, as link_brief gives it: null if that
 * has left, or nothing joins it. */
uint8_t *bundle_room(const struct link *link, const struct flow *flow);
/* The message in that room, with `bytes` bytes of payload, is there. 0: and none fits behind
 * it, all are ready to leave. */
int bundle_add(struct link *link, struct flow *flow, uint32_t bytes);
/* The last message of a flow waits for company, and so do those behind it until bundle_leave.
 * 0: it cannot. */
int bundle_hold(struct link *link, struct flow *flow, uint64_t now);
/* The next message of a flow does. */
int bundle_is_held(const struct link *link, const struct flow *flow);
/* They do no longer, if they did. */
void bundle_leave(struct link *link, struct flow *flow);
/* A bundle's payload, and the fields of its frame that are its own: how many pieces. */
uint32_t bundle_pieces(const struct link *link, const struct send *send, struct wire *wire,
		       struct nic_piece *pieces);
/* Its messages behind the first are acknowledged or have failed. */
void bundle_end(struct link *link, uint32_t bundle, int fail);
/* A bundle in its turn: LINK_BUSY if the user is, with one of its messages. */
int bundle_take(struct link *link, struct flow *flow, const struct wire *wire);

/* ---- train.c ---- */

/* Several frames for the node of this flow in one, of which the next of this flow, which may be
 * sent, is the first: 1, NIC_FULL, or 0 if there is but that one. */
int train_send(struct link *link, struct flow *flow, uint64_t now);

/* ---- plain.c ---- */

/* A frame as most are, all of it: 1. 0: it is another, and nothing has changed. */
int plain_take(struct link *link, uint64_t now, const uint8_t *frame, uint32_t bytes);

/* ---- assemble.c ---- */

/* The user is too busy for this frame: the peer shall send it again a little later. */
__attribute__((noinline))
void assemble_refuse(struct link *link, struct flow *flow, uint32_t sequence, uint64_t now);

/* What has arrived in its turn is acknowledged soon: by the next frame that goes there, or
 * once it is a quarter of what the peer may send, or most_unacked: the peer shall not wait
 * and then send very many at once. */
static inline void assemble_acknowledge(struct link *link, struct flow *flow, uint64_t now)
{
	if (flow->unacked * 4u >= flow->granted || flow->unacked >= link->most_unacked)
		send_ack(link, flow, now);
	else
		timer_ack(link, flow, units(now), link->config.ack_delay);
}

/* Of this message nobody has kept a copy: its sender may wait for the acknowledgement. */
__attribute__((noinline)) void assemble_owe(struct link *link, const struct flow *flow);
/* Nothing is sent for a while that would take it along. */
void assemble_rest(struct link *link, uint64_t now);

/* A MSG with messages, of the right incarnations. */
void assemble(struct link *link, struct flow *flow, const struct wire *wire, uint64_t now);
/* 1: what the flow expects next is announced and begun, and waits for its payload. */
static inline int assemble_waits(const struct link *link, const struct flow *flow)
{
	const struct assembly *assembly;

	if (flow->assembly == NO_RECORD)
		return 0;
	assembly = record_at(&link->assemblies, flow->assembly);
	return assembly->announced && !assembly->whole && assembly->first == flow->expected;
}
/* 1: how far all has arrived is all that is to be said of what this flow has received, so that
 * frames of the other lane say it as well. */
static inline int ack_is_plain(const struct link *link, const struct flow *flow)
{
	return !(flow->arrived | flow->refused) && !(flow->flags & FLOW_REFUSED) &&
	       !assemble_waits(link, flow);
}

/* That leaves with a frame. With every word of it the peer may send as much as its share of the
 * card's ring is. */
static inline void ack_ride(struct flow *flow, uint8_t share)
{
	if (flow->granted < share)
		flow->granted = share;
	flow->unacked = 0;
	flow->flags &= (uint8_t)~(FLOW_ACKS | FLOW_ACK_NOW);
}

/* An announced message of this flow is whole. */
void assemble_whole(struct link *link, struct flow *flow, uint64_t now);
/* These begun messages end with failure, these early ones are dropped. */
void assemble_lose(struct link *link, uint32_t assembly, uint32_t stash);

/* ---- bulk.c ---- */

/* `aside`: memory for one part. */
void bulk_open(struct link *link, uint8_t *aside);
/* An announced message has begun, or was heard of again: it wants a turn. */
void bulk_want(struct link *link, uint32_t assembly);
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
void serve_grant(struct link *link, struct flow *flow, const struct wire *wire);
/* Whether a message is announced, rather than sent in `fragment` bytes at once; then parts
 * of nearly equal length, and what its announcement takes along, if that is a part less. */
int serve_announces(const struct link *link, uint64_t length, uint32_t *fragment,
		    uint32_t *tail);
/* A message that is announced: what a turn needs. */
void serve_open(struct link *link, struct send *send, const struct flow *flow);
/* This send leaves the list of those that have parts to send. */
void serve_forget(struct link *link, uint32_t send);
/* Send one part: 1, NIC_FULL, or 0 if there is none. */
int serve(struct link *link);

#endif
