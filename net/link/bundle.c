/*
 * Bundles: several short messages in one frame. A frame costs its card, and the peer's,
 * far more than such a message, so on a flow that has frames under way the next message
 * of link_brief is held, and those behind it join it. All leave together
 *
 *   when there is no room for another one, or when the peer has acknowledged what was
 *   under way: a flow with nothing under way holds nothing;
 *   when another kind of message is sent behind them, as a flow keeps its order;
 *   when the user says so (link_flush), because nothing more comes soon: it waits;
 *   after config.hold ns at the latest.
 *
 * The first message is in its record as if it were alone, and leaves so if it stays alone;
 * those behind it are in a struct bundle, as the wire wants them. Messages join also what is
 * no longer held, but has not left, as the window is closed or the card is full.
 */
#include "state.h"
#include "../port.h"

#define ROOM (WIRE_ENTRY + LINK_HEADER_BYTES + LINK_BRIEF_BYTES) /* for any message */

/* The messages behind the first one of a record, or where they would go. */
static struct bundle *bundle_of(const struct link *link, const struct send *send)
{
	uint32_t index = send->brief == BRIEF_BUNDLE ? send->bundle : link->bundles.free;

	return record_at(&link->bundles, index);
}

/* Payload bytes of its frame. */
static uint32_t bytes_of(const struct link *link, const struct send *send)
{
	return wire_padded((uint32_t)send->length) +
	       (send->brief == BRIEF_BUNDLE ? bundle_of(link, send)->bytes : 0);
}

static int is_full(const struct link *link, const struct send *send)
{
	uint32_t most = link->fragment < WIRE_BUNDLE_BYTES ? link->fragment : WIRE_BUNDLE_BYTES;

	return bytes_of(link, send) + ROOM > most;
}

/* ---- sending ---- */

uint8_t *bundle_room(const struct link *link, const struct flow *flow)
{
	const struct send *send = send_at(link, flow->tail);

	if (!send->brief || is_before(send->first, flow->next) || is_full(link, send))
		return 0;
	if (send->brief == BRIEF_BUNDLE)
		return bundle_of(link, send)->room + bundle_of(link, send)->bytes + WIRE_ENTRY;
	return link->bundles.free == NO_RECORD ? 0 : bundle_of(link, send)->room + WIRE_ENTRY;
}

/* Zeros behind a payload, up to a multiple of 8. */
static void pad(uint8_t *payload, uint32_t bytes)
{
	uint8_t *last = payload + (bytes & ~7u);

	if (bytes % 8)
		wire_put(last, wire_get(last, 8) & bits(bytes % 8 * 8), 8);
}

int bundle_add(struct link *link, struct flow *flow, uint32_t bytes)
{
	struct send *send = send_at(link, flow->tail);
	struct bundle *bundle = bundle_of(link, send);
	uint8_t *entry;

	if (send->brief == BRIEF_ALONE) {
		send->bundle = (uint16_t)record_take(&link->bundles);
		send->brief = BRIEF_BUNDLE;
		bundle->messages = 1;
		bundle->bytes = 0;
		pad(send->message.payload, (uint32_t)send->length);
		count(link, LINK_BUNDLES);
	}
	entry = bundle->room + bundle->bytes;
	wire_put(entry, bytes, 8);
	wire_put(entry + 8, 0, 8);     /* each is whole */
	pad(entry + WIRE_ENTRY + LINK_HEADER_BYTES, bytes);
	bundle->bytes += (uint16_t)(WIRE_ENTRY + LINK_HEADER_BYTES + wire_padded(bytes));
	bundle->messages++;
	count(link, LINK_BUNDLED);
	if (!is_full(link, send))
		return 1;
	bundle_leave(link, flow);
	return 0;
}

int bundle_is_held(const struct link *link, const struct flow *flow)
{
	for (uint32_t i = 0; i < link->n_held; i++)
		if (link->held[i].flow == flow_index(link, flow))
			return flow->fresh == link->held[i].first;
	return 0;
}

int bundle_hold(struct link *link, struct flow *flow, uint64_t now)
{
	if (link->n_held == BUNDLES_HELD || !link->config.bundles)
		return 0;
	if (link->n_held == 0)
		link->hold_until = now + link->config.hold;
	link->held[link->n_held++] =
		(struct held){ (uint16_t)flow_index(link, flow), flow->tail };
	return 1;
}

void bundle_leave(struct link *link, struct flow *flow)
{
	for (uint32_t i = 0; i < link->n_held; i++)
		if (link->held[i].flow == flow_index(link, flow)) {
			link->held[i] = link->held[--link->n_held];
			send_ready(link, flow);
			return;
		}
}

void link_flush(struct link *link, uint64_t now)
{
	link->now = now;
	while (link->n_held)
		bundle_leave(link, &link->flows[link->held[0].flow]);
	send_pump(link, now);
}

int link_holds(const struct link *link)
{
	return link->n_held != 0;
}

uint32_t bundle_pieces(const struct link *link, const struct send *send, struct wire *wire,
		       struct nic_piece *pieces)
{
	const struct bundle *bundle = bundle_of(link, send);
	uint32_t first = wire_padded((uint32_t)send->length);

	wire->messages = bundle->messages;
	wire->bytes = first + bundle->bytes;
	/* no card is given an empty piece */
	pieces[0] = (struct nic_piece){ send->message.payload, first };
	pieces[!!first] = (struct nic_piece){ bundle->room, bundle->bytes };
	return 1 + !!first;
}

void bundle_end(struct link *link, uint32_t index, int fail)
{
	struct bundle *bundle = record_at(&link->bundles, index);
	uint32_t at = 0;

	link->counters[fail ? LINK_FAILED_OUT : LINK_MESSAGES_OUT] += bundle->messages - 1u;
	while (fail && at < bundle->bytes) {
		uint32_t bytes = (uint32_t)wire_get(bundle->room + at, 8);

		at += WIRE_ENTRY + LINK_HEADER_BYTES + wire_padded(bytes);
		link_port_failed(link->context, bytes);
	}
	record_give(&link->bundles, index);
}

/* ---- receiving ---- */

int bundle_take(struct link *link, struct flow *flow, const struct wire *wire)
{
	struct wire_walk walk = { .wire = wire };

	while (wire_walk(&walk)) {
		if (walk.n <= flow->taken)
			continue;
		if (link_port_whole(link->context, flow->node, flow_lane(flow), walk.header,
				     walk.payload, walk.bytes) == LINK_BUSY)
			return LINK_BUSY;
		flow->taken++;
		count(link, LINK_MESSAGES_IN);
	}
	flow->taken = 0;
	return LINK_TAKE;
}
