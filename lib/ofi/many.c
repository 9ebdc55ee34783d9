/*
 * FI_MULTI_RECV buffers: receives that take many messages. Each message has a receive of its own, a
 * part of the buffer. A buffer that takes no more messages ends when its parts are complete. Called by
 * the application's one thread.
 */
#include "provider.h"

static size_t room_of(const struct rx *rx)
{
	return rx->buffer.bytes - rx->filled;
}

/* A receive of one message into a part of the buffer. */
static struct rx *make_part(struct endpoint *ep, struct rx *rx, size_t offset, size_t bytes)
{
	struct rx *part = mfi_rx_take(ep);

	if (!part)
		mfi_no_memory("open receives", ep->posted);
	part->parent = rx;
	rx->children++;
	part->context = rx->context;
	part->flags = rx->flags;
	part->buffer = (struct buffer){ .base = rx->buffer.base + offset, .bytes = bytes,
					.count = 1 };
	return part;
}

void mfi_many_deliver(struct endpoint *ep, struct early *early, struct rx *rx)
{
	size_t at = rx->filled, bytes = early->length < room_of(rx) ? early->length : room_of(rx);

	rx->filled += bytes;
	mfi_early_deliver(ep, early, make_part(ep, rx, at, bytes));
}

int mfi_many_is_used_up(const struct endpoint *ep, const struct rx *rx, const struct early *early)
{
	return rx->filled > 0 &&
	       (room_of(rx) < ep->multi_recv || (early && early->length > room_of(rx)));
}

void mfi_many_arrived(struct endpoint *ep, struct rx *rx, const ptl_event_t *event)
{
	uint64_t bits = event->match_bits, header = event->hdr_data;
	struct rx *part;

	if (event->type == PTL_EVENT_UNLINK) {
		mfi_many_unlinked(ep);
		mfi_rx_release(ep, rx, 0);
		return;
	}
	mfi_credit_taken(ep, rank_of(event->initiator), mfi_units(event->rlength, bits), header, 0);
	part = make_part(ep, rx, rx->filled + event->offset, event->mlength);
	part->arrived_bits = bits;
	part->header = header;
	part->arrived = event->rlength;
	mfi_received(ep, part, event->mlength, event->ni_fail_type == PTL_NI_OK ? 0 :
				     mfi_death(event->initiator));
}

/* Ends a released receive without open parts. */
static void end_released(struct endpoint *ep, struct rx *rx)
{
	if (!rx->released || rx->children)
		return;
	if (rx->failure) {
		mfi_rx_fail(ep, rx, rx->failure);
		return;
	}
	*mfi_cq_slot(ep->rx_cq) = (struct fi_cq_tagged_entry){
		.op_context = rx->context, .flags = FI_MULTI_RECV,
	};
	mfi_rx_give(ep, rx);
}

void mfi_many_part_ended(struct endpoint *ep, struct rx *rx)
{
	rx->children--;
	end_released(ep, rx);
}

void mfi_rx_release(struct endpoint *ep, struct rx *rx, int failure)
{
	rx->failure = failure;
	rx->released = 1;
	end_released(ep, rx);
}
