/*
 * Invariants of a link between two calls: lists and counts agree, windows are within bounds, the
 * lists of flows are complete. An independent check of net/link/flow.h.
 */
#include "fuzz_frames.h"
#include "../../../net/link/internal.h"

struct link_view link_look(const struct link *link, uint32_t node, enum link_lane lane)
{
	const struct flow *flow = flow_find(link, node, lane);
	const struct flow *other = flow_find(link, node, !lane);
	struct link_view view = { .mine = link->config.incarnation };

	if (flow) {
		view.mine = flow->mine;
		view.expected = flow->rx.expected;
		view.begun = flow->rx.begun;
		view.una = flow->tx.una;
		view.next = flow->tx.next;
	} else if (other) {
		view.mine = other->mine;
	}
	for (uint32_t i = flow ? flow->tx.head : NO_RECORD; i != NO_RECORD;) {
		const struct send *send = send_at(link, i);

		if (send->announced) {
			view.sent = send->first;
			view.sent_parts = (uint32_t)((send->length - send->tail - 1) / send->fragment + 1);
			break;
		}
		i = send->next;
	}
	view.has_posted = link->bulk.posted != link->bulk.filled;
	if (flow && flow->rx.assembly != NO_RECORD) {
		const struct assembly *first = assembly_at(link, flow->rx.assembly);

		view.bulk = first->first;
		if (assembly_waits(first)) {
			uint64_t at = (uint64_t)first->received * first->fragment;

			view.part = first->received;
			view.part_bytes = (uint32_t)(first->length - at < first->fragment ?
						     first->length - at : first->fragment);
		}
	}
	return view;
}

/* Leaves out what changes when frames are sent, as any call of the link may send some. */
uint64_t link_digest(const struct link *link)
{
	uint64_t digest = link->n_flows;

	for (uint32_t i = 0; i < link->n_flows; i++) {
		const struct flow *flow = &link->flows[i];
		const uint64_t fields[] = {
			flow->node, flow->mine, flow->theirs, flow->tx.timeouts, flow->tx.una, flow->tx.sacked,
			flow->rx.expected, flow->rx.begun, flow->rx.arrived, flow->rx.assembly, flow->rx.stash
		};

		for (uint32_t field = 0; field < sizeof(fields) / sizeof(fields[0]); field++)
			digest = (digest ^ fields[field]) * 0x100000001b3;
	}
	return digest;
}

/* The number of records in a chain. */
static uint32_t length(const struct record_pool *records, uint32_t index)
{
	uint32_t n = 0;

	for (; index != NO_RECORD; n++) {
		MUST(index < records->limit && n < records->limit);
		index = *(const uint16_t *)record_at(records, index);
	}
	return n;
}

static void check_sending(const struct link *link, const struct flow *flow)
{
	uint32_t under_way = flow->tx.next - flow->tx.una, at = flow->tx.una, last = NO_RECORD;
	int fresh = 0;

	MUST(under_way <= LINK_MOST_WINDOW && flow->tx.window <= LINK_MOST_WINDOW);
	MUST(!((flow->tx.sacked | flow->tx.lost | flow->tx.resent) & ~bits(under_way)));
	MUST(!(flow->tx.sacked & flow->tx.lost));
	MUST(flow->tx.cwnd >= 1 && flow->tx.cwnd <= LINK_MOST_WINDOW);
	MUST(!under_way || (flow->tx.flags & TX_TIMER));
	MUST(length(&link->sends, flow->tx.head) == flow->tx.sends);
	for (uint32_t i = flow->tx.head; i != NO_RECORD;) {
		const struct send *send = send_at(link, i);

		MUST(!send->ended && send->lane == flow_lane(flow));
		/* the first contains una, the others are consecutive */
		if (i == flow->tx.head)
			MUST(flow->tx.una - send->first < send->frames);
		else
			MUST(send->first == at);
		at = send->first + send->frames;
		if (i == flow->tx.unsent) {
			MUST(flow->tx.next - send->first < send->frames);
			fresh = 1;
		}
		last = i;
		i = send->next;
	}
	MUST(last == flow->tx.tail && fresh == (flow->tx.unsent != NO_RECORD));
	if (flow->tx.unsent == NO_RECORD)
		MUST(flow->tx.head == NO_RECORD ? under_way == 0 : at == flow->tx.next);
}

static void check_receiving(const struct link *link, const struct flow *flow)
{
	const struct assembly *first = flow->rx.assembly == NO_RECORD ? 0 :
		assembly_at(link, flow->rx.assembly);
	uint32_t at = flow->rx.expected, n = 0;

	MUST(flow->rx.window >= 1 && flow->rx.window <= LINK_MOST_WINDOW);
	MUST(!(flow->rx.arrived & ~bits(flow->rx.window)));
	MUST(!is_before(flow->rx.begun, flow->rx.expected));
	MUST(!(flow->rx.refused & ~bits(flow->rx.window)));
	MUST((flow->rx.arrived & 1) == (first && assembly_waits(first) &&
					first->first == flow->rx.expected));
	for (uint32_t i = flow->rx.assembly; i != NO_RECORD; n++) {
		const struct assembly *assembly = assembly_at(link, i);

		MUST(n < LINK_MOST_WINDOW);
		if (n == 0)
			MUST(flow->rx.expected - assembly->first < assembly->frames);
		else
			MUST(assembly->first == at);
		at = assembly->first + assembly->frames;
		i = assembly->next;
	}
	/* Messages between the two have begun and not ended. */
	MUST(at == flow->rx.begun);
	for (uint32_t i = flow->rx.stash; i != NO_RECORD;) {
		const struct stash *stash = record_at(&link->stashes, i);
		uint32_t ahead = stash->wire.sequence - flow->rx.expected;

		MUST(ahead >= 1 && ahead < flow->rx.window && flow->rx.arrived >> ahead & 1);
		MUST(!is_before(stash->wire.sequence, flow->rx.begun));
		i = stash->next;
	}
}

/* Buffers and parts belong to the flow whose turn it is, each once and in order. No part is in
 * two places, and all posted, unfilled buffers are in the ring. */
static void check_buffers(const struct link *link)
{
	const struct bulk *bulk = &link->bulk;
	uint32_t used = bulk->next - bulk->oldest, posted = bulk->posted - bulk->filled;
	/* By buffer: the parts in it, and how often the card has it: 1 in all if it is in use. */
	uint8_t contents[BULK_BUFFERS] = { 0 };

	MUST(used <= BULK_BUFFERS && posted <= bulk->most && posted <= BULK_POSTED);
	MUST((bulk->flow == NO_FLOW) == (used == 0));
	MUST(!bulk->copied || used == 0 || posted == 0);
	MUST((bulk->flow == NO_FLOW) == (bulk->at == LINK_NEVER));
	for (uint32_t number = bulk->oldest; number != bulk->next; number++) {
		const struct buffer *buffer = &bulk->buffers[number % BULK_BUFFERS];
		const struct assembly *assembly = assembly_at(link, buffer->assembly);

		MUST(buffer->assembly < link->assemblies.limit && assembly->flow == bulk->flow);
		MUST(assembly->announced && assembly_waits(assembly) && assembly->granted <= assembly->parts);
		MUST(buffer->part >= assembly->received && buffer->part < assembly->granted);
		MUST(buffer->at != PART_ASIDE);
		/* At most the parts that had been granted before buffers were withdrawn. */
		MUST(!is_before(bulk->next + BULK_BUFFERS, buffer->after));
		if (bulk->copied)
			continue;
		if (buffer->at < BULK_BUFFERS)
			contents[buffer->at]++;
		else
			MUST(buffer->at == PART_MISSING);
	}
	for (uint32_t i = bulk->filled; i != bulk->posted; i++)
		contents[bulk->ring[i % BULK_POSTED]]++;
	for (uint32_t i = 0; i < BULK_BUFFERS && !bulk->copied; i++)
		MUST(contents[i] == ((i - bulk->oldest) % BULK_BUFFERS < used));
}

/* Flows that wait for a turn, and flows with parts to send. */
static void check_bulk(const struct link *link)
{
	const struct bulk *bulk = &link->bulk;
	const uint16_t *end = &bulk->first;
	uint32_t n = 0;

	check_buffers(link);
	for (uint32_t i = bulk->first; i != NO_RECORD; n++) {
		const struct assembly *assembly = assembly_at(link, i);

		MUST(n < link->assemblies.used && assembly->announced && assembly_waits(assembly));
		MUST(assembly->queued && assembly->flow != bulk->flow);
		end = &assembly->turn_next;
		i = *end;
	}
	MUST(bulk->end == end);
	n = 0;
	for (uint32_t i = link->bulk_send.first; i != NO_RECORD; n++) {
		const struct send *send = send_at(link, i);

		MUST(n < link->sends.used && send->announced && !send->ended);
		MUST(send->again < send->again_until || send->parts_sent < send->granted);
		i = send->bulk_next;
	}
	MUST(link->bulk_send.parts_out <= link->transmits.used);
}

/* A message that is delayed for a batch is the last of its flow, and waits for frames under way. */
static void check_delayed(const struct link *link, const struct flow *flow)
{
	const struct send *last = send_at(link, flow->tx.tail);

	MUST(flow->tx.tail != NO_RECORD && last->unsignalled);
	MUST(!is_before(last->first, flow->tx.next) && flow->tx.next != flow->tx.una);
}

/* A flow's timer: it is in the list, and link->due is not later. */
static void check_timer(const struct link *link, const struct flow *flow, uint32_t at)
{
	MUST(flow->flags & FLOW_TIMED && !is_before(at, link->due));
}

/* Batches being sent, and batches that arrived early. */
static uint32_t batches_of(const struct link *link, const struct flow *flow)
{
	uint32_t n = 0;

	for (uint32_t i = flow->tx.head; i != NO_RECORD;) {
		const struct send *send = send_at(link, i);

		n += send->unsignalled == UNSIGNALLED_BATCH;
		i = send->next;
	}
	for (uint32_t i = flow->rx.stash; i != NO_RECORD;) {
		const struct stash *stash = record_at(&link->stashes, i);

		n += stash->batch != NO_RECORD;
		i = stash->next;
	}
	return n;
}

void link_check(const struct link *link)
{
	uint32_t assemblies = 0, stashes = 0, sends = 0, timed = 0, ready = 0, delayed = 0,
		 batches = 0;

	for (uint32_t i = 0; i < link->n_flows; i++) {
		const struct flow *flow = &link->flows[i];

		check_sending(link, flow);
		check_receiving(link, flow);
		assemblies += length(&link->assemblies, flow->rx.assembly);
		stashes += length(&link->stashes, flow->rx.stash);
		sends += flow->tx.sends;
		batches += batches_of(link, flow);
		ready += !!(flow->flags & FLOW_READY);
		timed += !!(flow->flags & FLOW_TIMED);
		if (flow->tx.flags & TX_TIMER)
			check_timer(link, flow, flow->tx.resend_at);
		if (flow->rx.flags & RX_ACK_TIMER)
			check_timer(link, flow, flow->rx.ack_at);
		MUST(flow->tx.flags & TX_TIMER || flow->tx.next == flow->tx.una);
		MUST(flow->rx.flags & RX_ACK_TIMER || flow->rx.unacked == 0);
		delayed += !!(flow->flags & FLOW_DELAYED);
		if (flow->flags & FLOW_DELAYED)
			check_delayed(link, flow);
	}
	check_bulk(link);
	MUST(delayed == link->n_delayed);
	for (uint32_t i = link->timed; i != NO_FLOW; i = link->flows[i].timed_next)
		MUST(timed-- > 0 && (link->flows[i].flags & FLOW_TIMED));
	MUST(timed == 0);
	for (uint32_t i = link->ready_first; i != NO_FLOW; i = link->flows[i].ready_next)
		MUST(ready-- > 0 && (link->flows[i].flags & FLOW_READY));
	MUST(ready == 0);
	MUST(assemblies == link->assemblies.used && stashes == link->stashes.used);
	/* Acknowledged ones wait only for the card. */
	MUST(sends <= link->sends.used && batches <= link->batches.used);
	MUST(link->batches.used + length(&link->batches, link->batches.free) ==
	     link->batches.limit);
	MUST(link->sends_used[0] + link->sends_used[1] == link->sends.used);
	MUST(link->sends.used + length(&link->sends, link->sends.free) == link->sends.limit);
	MUST(link->transmits.used + length(&link->transmits, link->transmits.free) ==
	     link->transmits.limit);
}
