/*
 * Batches: several short messages in one frame. A frame costs both cards far more than such a
 * message does. So if a flow has frames under way, the next message of link_fast_room is delayed,
 * and later ones join it. All of them are sent together
 *
 *   when there is no room for another one;
 *   when the peer has acknowledged all that was under way;
 *   when another kind of message is queued behind them, as a flow keeps its order;
 *   when the user calls link_flush, because it is about to wait;
 *   after LINK_BATCH_DELAY ns at the latest.
 *
 * The first message is in its record as if it were alone, and is sent so if no other joins it.
 * Then its payload is copied to a struct batch, where the others follow in the layout of the wire.
 * A message can also join others that are no longer delayed but have not left, as the window is
 * closed or the card full. This is Nagle's algorithm with one addition: a user that waits does not
 * wait for a timer.
 */
#include "internal.h"
#include "../port.h"

#define ROOM (WIRE_ENTRY + WIRE_PUT + LINK_FAST_BYTES) /* most bytes of one message */

/* The struct batch of a message. If it has none yet: the one that it would get. */
static struct batch *batch_of(const struct link *link, const struct send *send)
{
	uint32_t index = send->unsignalled == UNSIGNALLED_BATCH ? send->batch : link->batches.free;

	return batch_at(link, index);
}

/* Payload bytes of the frame of this message, with those that have joined it. */
static uint32_t bytes_of(const struct link *link, const struct send *send)
{
	return send->unsignalled == UNSIGNALLED_BATCH ? batch_of(link, send)->bytes :
		wire_padded((uint32_t)send->length);
}

static int is_full(const struct link *link, const struct send *send)
{
	uint32_t most = link->fragment < WIRE_BATCH_BYTES ? link->fragment : WIRE_BATCH_BYTES;

	return bytes_of(link, send) + ROOM > most;
}

/* ---- sending ---- */

uint8_t *batch_room(const struct link *link, const struct flow *flow)
{
	const struct send *send = send_at(link, flow->tx.tail);

	if (!send->unsignalled || is_before(send->first, flow->tx.next) || is_full(link, send))
		return 0;
	if (send->unsignalled == UNSIGNALLED_ALONE && link->batches.free == NO_RECORD)
		return 0;
	return batch_of(link, send)->room + bytes_of(link, send) + WIRE_ENTRY;
}

/* Write zeros behind a payload, up to a multiple of 8 bytes. */
static void pad(uint8_t *payload, uint32_t bytes)
{
	uint8_t *last = payload + (bytes & ~7u);

	if (bytes % 8)
		wire_put(last, wire_get(last, 8) & bits(bytes % 8 * 8), 8);
}

int batch_add(struct link *link, struct flow *flow, uint32_t bytes)
{
	struct send *send = send_at(link, flow->tx.tail);
	struct batch *batch = batch_of(link, send);
	uint8_t *entry;

	if (send->unsignalled == UNSIGNALLED_ALONE) {
		send->batch = (uint16_t)record_alloc(&link->batches);
		send->unsignalled = UNSIGNALLED_BATCH;
		batch->messages = 1;
		batch->bytes = (uint16_t)wire_padded((uint32_t)send->length);
		port_copy(batch->room, send->message.payload, send->length);
		pad(batch->room, (uint32_t)send->length);
		count(link, LINK_BATCHES);
	}
	entry = batch->room + batch->bytes;
	wire_put(entry, bytes, 8);
	wire_put(entry + 8, 0, 8);     /* offset: the message is whole */
	pad(entry + WIRE_ENTRY + WIRE_PUT, bytes);
	batch->bytes += (uint16_t)(WIRE_ENTRY + WIRE_PUT + wire_padded(bytes));
	batch->messages++;
	count(link, LINK_BATCHED);
	if (!is_full(link, send))
		return 1;
	batch_release(link, flow);
	return 0;
}

int batch_delay(struct link *link, struct flow *flow)
{
	if (!link->config.batches)
		return 0;
	if (link->n_delayed++ == 0)
		link->delayed_until = link->now + LINK_BATCH_DELAY;
	flow->flags |= FLOW_DELAYED;
	return 1;
}

void batch_release(struct link *link, struct flow *flow)
{
	if (!(flow->flags & FLOW_DELAYED))
		return;
	link->n_delayed--;
	flow->flags &= (uint8_t)~FLOW_DELAYED;
	flow_ready(link, flow);
}

struct nic_piece batch_payload(const struct link *link, const struct send *send, struct wire *wire)
{
	const struct batch *batch = batch_of(link, send);

	wire->messages = batch->messages;
	wire->bytes = batch->bytes;
	return (struct nic_piece){ batch->room, batch->bytes };
}

void batch_end(struct link *link, uint32_t index, uint32_t at, int fail)
{
	struct batch *batch = batch_at(link, index);

	link->counters[fail ? LINK_FAILED_OUT : LINK_MESSAGES_OUT] += batch->messages - 1u;
	while (fail && at < batch->bytes) {
		uint32_t bytes = (uint32_t)wire_get(batch->room + at, 8);

		at += WIRE_ENTRY + WIRE_PUT + wire_padded(bytes);
		link_port_failed(link->context, bytes);
	}
	record_free(&link->batches, index);
}

/* ---- receiving ---- */

void batch_deliver(struct link *link, const struct flow *flow, const struct wire *wire)
{
	struct wire_walk walk = { .wire = wire };

	while (wire_walk(&walk))
		link_port_put(link->context, flow->node, walk.header, walk.payload, walk.bytes);
}
