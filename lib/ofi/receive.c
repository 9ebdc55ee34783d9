/*
 * Arrivals: what a message does to the receive that it lands in, or to a later receive that finds
 * it. Called by the application's one thread, as it takes events.
 */
#include "provider.h"
#include <stdlib.h>
#include <string.h>

/* ---- what a message does to a receive ---- */

int mfi_matches(const struct rx *rx, const struct early *early)
{
	return ((rx->bits ^ early->bits) & ~(rx->ignore | BITS_LONG)) == 0 &&
	       (rx->source.nid == PTL_NID_ANY || rank_of(rx->source) == early->source);
}

size_t mfi_scatter(const struct buffer *to, const char *from, size_t bytes)
{
	size_t done = 0;

	if (bytes > to->bytes)
		bytes = to->bytes;
	if (to->count <= 1) {
		memcpy(to->base, from, bytes);
		return bytes;
	}
	for (size_t i = 0; i < to->count && done < bytes; i++) {
		size_t part = to->pieces[i].iov_len < bytes - done ? to->pieces[i].iov_len :
			      bytes - done;

		memcpy(to->pieces[i].iov_base, from + done, part);
		done += part;
	}
	return done;
}

/* Records what the header of a message says. */
static void header_is(struct rx *rx, uint64_t bits, uint64_t header, size_t length)
{
	rx->arrived_bits = bits;
	rx->header = header;
	rx->arrived = length;
}

/* Flags of a receive's completion. */
static uint64_t flags_of(const struct rx *rx)
{
	return FI_RECV | FI_REMOTE_CQ_DATA |
	       (rx->arrived_bits & BITS_UNTAGGED ? FI_MSG : FI_TAGGED);
}

__attribute__((noinline, cold))
static void complain(struct endpoint *ep, const struct rx *rx, size_t length, int error)
{
	const struct fi_cq_err_entry entry = {
		.op_context = rx->context, .flags = flags_of(rx), .len = length,
		.buf = rx->buffer.base, .data = HEADER_DATA(rx->header),
		.tag = rx->arrived_bits & BITS_TAG, .olen = rx->arrived - length,
		.err = error, .prov_errno = PTL_FAIL,
	};

	if (ep->recv_counter)
		ep->recv_counter->errors++;
	mfi_cq_fail(ep->rx_cq, &entry);
}

void mfi_received(struct endpoint *ep, struct rx *rx, size_t length, int error)
{
	struct rx *parent = rx->parent;

	if (error || length < rx->arrived) {
		complain(ep, rx, length, error ? error : FI_ETRUNC);
	} else {
		if (ep->recv_counter)
			ep->recv_counter->value++;
		if (rx->flags & FI_COMPLETION) {
			struct fi_cq_tagged_entry *entry = mfi_cq_slot(ep->rx_cq);

			entry->op_context = rx->context;
			entry->flags = flags_of(rx);
			entry->len = length;
			entry->buf = rx->buffer.base;
			entry->data = HEADER_DATA(rx->header);
			entry->tag = rx->arrived_bits & BITS_TAG;
		}
	}
	mfi_rx_give(ep, rx);
	if (parent)
		mfi_many_part_ended(ep, parent);
}

void mfi_arrived(struct endpoint *ep, struct rx *rx, const ptl_event_t *event)
{
	uint64_t bits = event->match_bits, header = event->hdr_data;
	uint32_t rank = rank_of(event->initiator);
	int is_long = !!(bits & BITS_LONG);
	/* The sender's kernel has given the credit back. */
	int returned = !(bits & BITS_UNTAGGED) &&
		       (is_long ? event->mlength > 0 : !!(header & HEADER_ACKED));

	ep->posted--;
	rx->entry = PTL_INVALID_HANDLE;
	mfi_credit_taken(ep, rank, mfi_units(event->rlength, bits), header, returned);
	header_is(rx, bits, header, event->rlength);
	if (event->ni_fail_type != PTL_NI_OK)
		mfi_received(ep, rx, 0, mfi_death(event->initiator));
	else if (is_long && event->mlength == 0 && event->rlength > 0)  /* no room: it is fetched */
		mfi_fetch(ep, rx, rank, event->offset);
	else
		mfi_received(ep, rx, event->mlength, 0);
}

void mfi_rx_fail(struct endpoint *ep, struct rx *rx, int error)
{
	header_is(rx, rx->bits, 0, 0);
	mfi_received(ep, rx, 0, error);
}

/* Makes a descriptor of the receive's pieces. */
static int bind_pieces(struct endpoint *ep, const struct rx *rx, ptl_handle_md_t *handle)
{
	const ptl_md_t md = {
		.start = rx->buffer.pieces, .length = rx->buffer.count,
		.threshold = PTL_MD_THRESH_INF, .options = PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE,
		.eq_handle = ep->queues[QUEUE_TX],
	};
	int error;

	if (mfi_entry_take(ep))
		return PTL_NO_SPACE;
	error = PtlMDBind(ep->domain->ni, md, PTL_RETAIN, handle);
	if (error != PTL_OK)
		mfi_entry_give(ep);
	return error;
}

static int get(struct endpoint *ep, ptl_handle_md_t md, uint64_t at, size_t bytes, uint32_t rank,
	       uint64_t bits, uint64_t origin)
{
	int error;

	while ((error = PtlGetRegion(md, at, bytes, margay_process((int)rank), PORTAL_PULL, 0, bits,
				     origin & ORIGIN_ADDRESS)) == PTL_NO_SPACE)
		mfi_make_room(ep);
	return error;
}

/* If the bytes cannot be written where they belong, it fetches none, so that the send ends. */
void mfi_fetch(struct endpoint *ep, struct rx *rx, uint32_t rank, uint64_t origin)
{
	size_t bytes = rx->arrived < rx->buffer.bytes ? rx->arrived : rx->buffer.bytes;
	uint16_t slot = mfi_tx_take(ep, TX_PULL);
	struct tx *tx = &ep->tx[slot];
	uint64_t bits = (uint64_t)slot << PULL_SLOT_SHIFT;
	ptl_handle_md_t md = ep->fetched;
	uint64_t at = (uintptr_t)rx->buffer.base;
	int error = PTL_OK;

	tx->rx = rx;
	tx->rank = rank;
	tx->origin = (uint32_t)(origin >> ORIGIN_SLOT_SHIFT);
	bits |= tx->origin < TX_SLOTS ? tx->origin : PULL_PARKED;
	if (rx->buffer.count > 1) {
		error = bind_pieces(ep, rx, &tx->md);
		md = tx->md;
		at = 0;
		if (error == PTL_NO_SPACE) {    /* open receives and sends hold all: scatter it */
			md = ep->fetched;
			tx->copy = malloc(bytes);
			if (!tx->copy)
				mfi_no_memory("long messages in pieces", 1);
			at = (uintptr_t)tx->copy;
			error = PTL_OK;
		}
	}
	if (error == PTL_OK)
		error = get(ep, md, at, bytes, rank, bits, origin);
	if (error != PTL_OK) {
		tx->error = -mfi_error(error);
		error = get(ep, ep->fetched, 0, 0, rank, bits, origin);
	}
	if (error != PTL_OK)
		mfi_tx_part(ep, slot, 0, -mfi_error(error));
}
