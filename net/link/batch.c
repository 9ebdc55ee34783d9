/*
 * Batches: several short messages in one frame. A frame costs its card, and the peer's,
 * far more than such a message, so on a flow that has frames under way the next message
 * of link_fast_room is delayed, and those behind it join it. All leave together
 *
 *   when there is no room for another one, or when the peer has acknowledged what was
 *   under way: a flow with nothing under way delays nothing;
 *   when another kind of message is sent behind them, as a flow keeps its order;
 *   when the user says so (link_flush), because nothing more comes soon: it waits;
 *   after config.batch_delay ns at the latest.
 *
 * The first message is in its record as if it were alone, and leaves so if it stays alone;
 * those behind it are in a struct batch, as the wire wants them. Messages join also what is
 * no longer delayed, but has not left, as the window is closed or the card is full. This is
 * Nagle's algorithm with one more way out: a user that waits does not wait for a timer.
 */
#include "internal.h"
#include "../port.h"

#define ROOM (WIRE_ENTRY + LINK_HEADER_BYTES + LINK_FAST_BYTES) /* for any message */

/* The messages behind the first one of a record, or where they would go. */
static struct batch *batch_of(const struct link *link, const struct send *send)
{
	uint32_t index = send->unsignalled == UNSIGNALLED_BATCH ? send->batch : link->batches.free;

	return record_at(&link->batches, index);
}

/* Payload bytes of its frame. */
static uint32_t bytes_of(const struct link *link, const struct send *send)
{
	return wire_padded((uint32_t)send->length) +
	       (send->unsignalled == UNSIGNALLED_BATCH ? batch_of(link, send)->bytes : 0);
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
	if (send->unsignalled == UNSIGNALLED_BATCH)
		return batch_of(link, send)->room + batch_of(link, send)->bytes + WIRE_ENTRY;
	return link->batches.free == NO_RECORD ? 0 : batch_of(link, send)->room + WIRE_ENTRY;
}

/* Zeros behind a payload, up to a multiple of 8. */
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
		batch->bytes = 0;
		pad(send->message.payload, (uint32_t)send->length);
		count(link, LINK_BATCHES);
	}
	entry = batch->room + batch->bytes;
	wire_put(entry, bytes, 8);
	wire_put(entry + 8, 0, 8);     /* each is whole */
	pad(entry + WIRE_ENTRY + LINK_HEADER_BYTES, bytes);
	batch->bytes += (uint16_t)(WIRE_ENTRY + LINK_HEADER_BYTES + wire_padded(bytes));
	batch->messages++;
	count(link, LINK_BATCHED);
	if (!is_full(link, send))
		return 1;
	batch_release(link, flow);
	return 0;
}

int batch_is_delayed(const struct link *link, const struct flow *flow)
{
	for (uint32_t i = 0; i < link->n_delayed; i++)
		if (link->delayed[i].flow == flow_index(link, flow))
			return flow->tx.unsent == link->delayed[i].first;
	return 0;
}

int batch_delay(struct link *link, struct flow *flow, uint64_t now)
{
	if (link->n_delayed == MOST_DELAYED || !link->config.batches)
		return 0;
	if (link->n_delayed == 0)
		link->delayed_until = now + link->config.batch_delay;
	link->delayed[link->n_delayed++] =
		(struct delayed){ (uint16_t)flow_index(link, flow), flow->tx.tail };
	return 1;
}

void batch_release(struct link *link, struct flow *flow)
{
	for (uint32_t i = 0; i < link->n_delayed; i++)
		if (link->delayed[i].flow == flow_index(link, flow)) {
			link->delayed[i] = link->delayed[--link->n_delayed];
			flow_ready(link, flow);
			return;
		}
}

uint32_t batch_pieces(const struct link *link, const struct send *send, struct wire *wire,
		      struct nic_piece *pieces)
{
	const struct batch *batch = batch_of(link, send);
	uint32_t first = wire_padded((uint32_t)send->length);

	wire->messages = batch->messages;
	wire->bytes = first + batch->bytes;
	/* no card is given an empty piece */
	pieces[0] = (struct nic_piece){ send->message.payload, first };
	pieces[!!first] = (struct nic_piece){ batch->room, batch->bytes };
	return 1 + !!first;
}

void batch_end(struct link *link, uint32_t index, int fail)
{
	struct batch *batch = record_at(&link->batches, index);
	uint32_t at = 0;

	link->counters[fail ? LINK_FAILED_OUT : LINK_MESSAGES_OUT] += batch->messages - 1u;
	while (fail && at < batch->bytes) {
		uint32_t bytes = (uint32_t)wire_get(batch->room + at, 8);

		at += WIRE_ENTRY + LINK_HEADER_BYTES + wire_padded(bytes);
		link_port_failed(link->context, bytes);
	}
	record_free(&link->batches, index);
}

/* ---- receiving ---- */

int batch_deliver(struct link *link, struct flow *flow, const struct wire *wire)
{
	struct wire_walk walk = { .wire = wire };

	while (wire_walk(&walk)) {
		if (walk.n <= flow->rx.taken)
			continue;
		if (link_port_whole(link->context, flow->node, flow_lane(flow), walk.header,
				     walk.payload, walk.bytes) == LINK_BUSY)
			return LINK_BUSY;
		flow->rx.taken++;
		count(link, LINK_MESSAGES_IN);
	}
	flow->rx.taken = 0;
	return LINK_TAKE;
}
