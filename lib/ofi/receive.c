/*
 * Receives. A posted one is a match entry in front of those for early messages: its
 * message lands in the user's buffer while the application computes. A receive whose message
 * is there already takes it (early.c). One that finds no free entry waits in the
 * library, in order. Called by the application's one thread.
 */
#include "provider.h"
#include <stdlib.h>
#include <string.h>

#define BATCH   64u         /* receives allocated at a time */

/* ---- the pool ---- */

static int more(struct endpoint *ep)
{
	struct rx *batch = calloc(BATCH, sizeof(*batch));

	if (!batch)
		return 1;
	for (unsigned int i = 1; i < BATCH; i++) {
		batch[i].next = ep->rx_free;
		ep->rx_free = &batch[i];
	}
	batch[0].next = ep->rx_batches;         /* holds the batch, for its end */
	ep->rx_batches = batch;
	return 0;
}

struct rx *mfi_rx_take(struct endpoint *ep)
{
	struct rx *rx;

	if (!ep->rx_free && more(ep))
		return 0;
	rx = ep->rx_free;
	ep->rx_free = rx->next;
	rx->next = 0;
	rx->parent = 0;
	rx->children = 0;
	rx->released = 0;
	rx->cancelled = 0;
	rx->filled = 0;
	rx->landing = LANDS_POSTED;
	rx->entry = PTL_INVALID_HANDLE;
	rx->buffer.pieces = 0;
	rx->older = ep->open.older;
	rx->newer = &ep->open;
	rx->older->newer = rx;
	ep->open.older = rx;
	return rx;
}

void mfi_rx_give(struct endpoint *ep, struct rx *rx)
{
	free(rx->buffer.pieces);
	rx->older->newer = rx->newer;
	rx->newer->older = rx->older;
	rx->next = ep->rx_free;
	ep->rx_free = rx;
}

void mfi_rx_close(struct endpoint *ep)
{
	while (ep->open.newer != &ep->open)
		mfi_rx_give(ep, ep->open.newer);
	while (ep->rx_batches) {
		struct rx *next = ep->rx_batches->next;

		free(ep->rx_batches);
		ep->rx_batches = next;
	}
}

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

/* What is known when the message's header is. */
static void header_is(struct rx *rx, uint64_t bits, uint64_t header, size_t length)
{
	rx->arrived_bits = bits;
	rx->header = header;
	rx->arrived = length;
}

/* A FI_MULTI_RECV buffer is the caller's again. */
static void release(struct endpoint *ep, struct rx *rx)
{
	if (!rx->released || rx->children)
		return;
	if (rx->cancelled) {
		header_is(rx, rx->bits, 0, 0);
		mfi_received(ep, rx, 0, FI_ECANCELED);
		return;
	}
	*mfi_cq_slot(ep->rx_cq) = (struct fi_cq_tagged_entry){
		.op_context = rx->context, .flags = FI_MULTI_RECV,
	};
	mfi_rx_give(ep, rx);
}

void mfi_received(struct endpoint *ep, struct rx *rx, size_t length, int error)
{
	uint64_t flags = FI_RECV | FI_REMOTE_CQ_DATA |
			 (rx->arrived_bits & BITS_UNTAGGED ? FI_MSG : FI_TAGGED);
	struct rx *parent = rx->parent;

	if (!error && length < rx->arrived)
		error = FI_ETRUNC;
	if (ep->recv_counter && error)
		ep->recv_counter->errors++;
	else if (ep->recv_counter)
		ep->recv_counter->value++;
	if (error) {
		const struct fi_cq_err_entry entry = {
			.op_context = rx->context, .flags = flags, .len = length,
			.buf = rx->buffer.base, .data = HEADER_DATA(rx->header),
			.tag = rx->arrived_bits & BITS_TAG, .olen = rx->arrived - length,
			.err = error, .prov_errno = PTL_FAIL,
		};

		mfi_cq_fail(ep->rx_cq, &entry);
	} else if (rx->flags & FI_COMPLETION) {
		struct fi_cq_tagged_entry *entry = mfi_cq_slot(ep->rx_cq);

		entry->op_context = rx->context;
		entry->flags = flags;
		entry->len = length;
		entry->buf = rx->buffer.base;
		entry->data = HEADER_DATA(rx->header);
		entry->tag = rx->arrived_bits & BITS_TAG;
	}
	mfi_rx_give(ep, rx);
	if (parent) {
		parent->children--;
		release(ep, parent);
	}
}

void mfi_arrived(struct endpoint *ep, struct rx *rx, const ptl_event_t *event)
{
	uint64_t bits = event->match_bits, header = event->hdr_data;
	uint32_t rank = rank_of(event->initiator);
	int is_long = !!(bits & BITS_LONG);
	/* Its sender's kernel has given the credit back. */
	int returned = !(bits & BITS_UNTAGGED) &&
		       (is_long ? event->mlength > 0 : !!(header & HEADER_ACKED));

	ep->posted--;
	rx->entry = PTL_INVALID_HANDLE;
	mfi_credit_taken(ep, rank, mfi_units(event->rlength, bits), header, returned);
	header_is(rx, bits, header, event->rlength);
	if (event->ni_fail_type != PTL_NI_OK)
		mfi_received(ep, rx, 0, FI_EIO);
	else if (is_long && event->mlength == 0)    /* no room at all: the sender waits for a get */
		mfi_fetch(ep, rx, rank, event->offset);
	else
		mfi_received(ep, rx, event->mlength, 0);
}

/* A receive of one message into a part of a FI_MULTI_RECV buffer. */
static struct rx *child_of(struct endpoint *ep, struct rx *parent, size_t offset, size_t bytes)
{
	struct rx *rx = mfi_rx_take(ep);

	if (!rx)
		mfi_no_memory("open receives", ep->posted);
	rx->parent = parent;
	parent->children++;
	rx->context = parent->context;
	rx->flags = FI_COMPLETION;
	rx->buffer = (struct buffer){ .base = parent->buffer.base + offset, .bytes = bytes,
				      .count = 1 };
	return rx;
}

void mfi_arrived_many(struct endpoint *ep, struct rx *rx, const ptl_event_t *event)
{
	uint64_t bits = event->match_bits, header = event->hdr_data;
	struct rx *child;

	if (event->type == PTL_EVENT_UNLINK) {
		rx->released = 1;
		release(ep, rx);
		return;
	}
	mfi_credit_taken(ep, rank_of(event->initiator), mfi_units(event->rlength, bits), header, 0);
	child = child_of(ep, rx, rx->filled + event->offset, event->mlength);
	header_is(child, bits, header, event->rlength);
	mfi_received(ep, child, event->mlength, event->ni_fail_type == PTL_NI_OK ? 0 : FI_EIO);
}

void mfi_fetch(struct endpoint *ep, struct rx *rx, uint32_t rank, uint64_t origin)
{
	const ptl_process_id_t target = margay_process((int)rank);
	size_t bytes = rx->arrived < rx->buffer.bytes ? rx->arrived : rx->buffer.bytes;
	uint16_t slot = mfi_tx_take(ep, TX_PULL);
	struct tx *tx = &ep->tx[slot];
	uint64_t bits = (uint64_t)slot << PULL_SLOT_SHIFT | origin >> ORIGIN_SLOT_SHIFT;
	ptl_handle_md_t md = ep->fetched;
	uint64_t at = (uintptr_t)rx->buffer.base;
	int error;

	tx->rx = rx;
	if (rx->buffer.count > 1) {
		const ptl_md_t pieces = {
			.start = rx->buffer.pieces, .length = rx->buffer.count,
			.threshold = PTL_MD_THRESH_INF,
			.options = PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE,
			.eq_handle = ep->queues[QUEUE_TX],
		};

		while ((error = PtlMDBind(ep->domain->ni, pieces, PTL_RETAIN, &tx->md)) ==
		       PTL_NO_SPACE)
			mfi_make_room(ep);
		md = tx->md;
		at = 0;
	}
	while ((error = PtlGetRegion(md, at, bytes, target, PORTAL_PULL, 0, bits,
				     origin & ORIGIN_ADDRESS)) == PTL_NO_SPACE)
		mfi_make_room(ep);
	if (error != PTL_OK)
		mfi_tx_part(ep, slot, 0, -mfi_error(error));
}

/* ---- posting ---- */

/* Makes the match entry: PTL_OK, or PTL_MD_NO_UPDATE (there are early messages to be looked
 * at first), or what else is wrong. */
static int post_one(struct endpoint *ep, struct rx *rx)
{
	ptl_md_t md = {
		.start = rx->buffer.base, .length = rx->buffer.bytes, .threshold = 1,
		.options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE |
			   PTL_MD_EVENT_UNLINK_DISABLE,
		.user_ptr = rx, .eq_handle = ep->queues[QUEUE_RX],
	};
	ptl_handle_md_t handle;

	if (rx->landing == LANDS_MANY) {
		md.start = rx->buffer.base + rx->filled;
		md.length -= rx->filled;
		md.threshold = PTL_MD_THRESH_INF;
		md.max_size = ep->multi_recv < md.length ? ep->multi_recv : md.length;
		md.options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_EVENT_START_DISABLE;
		md.eq_handle = ep->queues[QUEUE_EARLY];
	} else if (rx->buffer.count > 1) {
		md.start = rx->buffer.pieces;
		md.length = rx->buffer.count;
		md.options |= PTL_MD_IOVEC;
	} else if (rx->buffer.bytes == 0) {
		md.options |= PTL_MD_MANAGE_REMOTE;     /* its event tells a long one's origin */
	}
	ep->stirred = 1;
	return PtlMEMDPost(ep->domain->ni, ep->behind, rx->source, rx->bits,
			   rx->ignore | BITS_LONG, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK,
			   &rx->entry, &handle, ep->queues[QUEUE_EARLY]);
}

static size_t room_of(const struct rx *rx)
{
	return rx->buffer.bytes - rx->filled;
}

/* An early message goes into a FI_MULTI_RECV buffer that is not posted yet. */
static void deliver_many(struct endpoint *ep, struct early *early, struct rx *rx)
{
	size_t at = rx->filled, bytes = early->length < room_of(rx) ? early->length : room_of(rx);

	rx->filled += bytes;
	mfi_early_deliver(ep, early, child_of(ep, rx, at, bytes));
}

/* Whether a FI_MULTI_RECV buffer takes no more. One that the next message, which must not be
 * overtaken, does not fit into takes none either; an empty one takes its beginning. */
static int is_used_up(const struct endpoint *ep, const struct rx *rx, const struct early *early)
{
	return rx->landing == LANDS_MANY && rx->filled > 0 &&
	       (room_of(rx) < ep->multi_recv || (early && early->length > room_of(rx)));
}

/* What else post() finds. */
enum { NO_ENTRY = 1, LOOK_FIRST };

/* Gives it the early message that it matches, or posts it. 0; NO_ENTRY is free; LOOK_FIRST at
 * early messages whose events were not taken; or an error. */
static int post(struct endpoint *ep, struct rx *rx)
{
	for (;;) {
		struct early *early = ep->early_count ? mfi_early_find(ep, rx) : 0;
		int error;

		if (is_used_up(ep, rx, early)) {
			rx->released = 1;
			release(ep, rx);
			return 0;
		}
		if (early && rx->landing == LANDS_POSTED) {
			mfi_early_deliver(ep, early, rx);
			return 0;
		}
		if (early) {
			deliver_many(ep, early, rx);
			continue;
		}
		if (ep->posted == RX_SLOTS)
			return NO_ENTRY;
		error = post_one(ep, rx);
		if (error == PTL_OK) {
			ep->posted += rx->landing == LANDS_POSTED;
			return 0;
		}
		if (error == PTL_NO_SPACE || error == PTL_ME_LIST_TOO_LONG)
			return NO_ENTRY;
		return error == PTL_MD_NO_UPDATE ? LOOK_FIRST : mfi_error(error);
	}
}

void mfi_post_waiting(struct endpoint *ep)
{
	while (ep->waiting) {
		struct rx *rx = ep->waiting, *next = rx->next;
		int error = post(ep, rx);

		if (error == NO_ENTRY)
			return;
		if (error == LOOK_FIRST) {      /* it may be an early one's by then */
			mfi_take_early(ep);
			continue;
		}
		if (error) {
			header_is(rx, rx->bits, 0, 0);
			mfi_received(ep, rx, 0, -error);
		}
		ep->waiting = next;
		if (!next)
			ep->waiting_end = &ep->waiting;
	}
}

static void wait_in_order(struct endpoint *ep, struct rx *rx)
{
	*ep->waiting_end = rx;
	ep->waiting_end = &rx->next;
}

/* ---- the calls ---- */

static int fill(struct endpoint *ep, struct rx *rx, const struct iovec *pieces, size_t count,
		fi_addr_t source, uint64_t bits, uint64_t ignore)
{
	int any = source == FI_ADDR_UNSPEC || !ep->directed;
	uint32_t rank = any ? 0 : mfi_rank(ep, source);

	if (rank == UINT32_MAX)
		return -FI_EADDRNOTAVAIL;
	rx->source = any ? (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY } :
		     margay_process((int)rank);
	rx->bits = bits;
	rx->ignore = ignore;
	rx->buffer.base = count ? pieces->iov_base : 0;
	rx->buffer.bytes = 0;
	for (size_t i = 0; i < count; i++)
		rx->buffer.bytes += pieces[i].iov_len;
	/* Without room it has one piece: then its event tells a long message's origin. */
	rx->buffer.count = count > 1 && rx->buffer.bytes == 0 ? 1 : count;
	if (rx->buffer.count <= 1)
		return 0;
	rx->buffer.pieces = malloc(count * sizeof(*pieces));
	if (!rx->buffer.pieces)
		return -FI_EAGAIN;
	memcpy(rx->buffer.pieces, pieces, count * sizeof(*pieces));
	return 0;
}

/* Says whether a message has come that this receive would take, and claims it if asked. */
static ssize_t peek(struct endpoint *ep, struct rx *rx, uint64_t flags)
{
	struct early *early;

	mfi_progress(ep);
	early = mfi_early_find(ep, rx);
	if (!early)
		return -FI_ENOMSG;
	if (flags & FI_CLAIM) {
		early->claimed = 1;
		early->claimer = rx->context;
	}
	*mfi_cq_slot(ep->rx_cq) = (struct fi_cq_tagged_entry){
		.op_context = rx->context, .flags = FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA,
		.len = early->length, .data = HEADER_DATA(early->header),
		.tag = early->bits & BITS_TAG,
	};
	return 0;
}

static ssize_t claim(struct endpoint *ep, struct rx *rx)
{
	struct early *early = ep->early.newer;

	while (early != &ep->early && !(early->claimed && early->claimer == rx->context))
		early = early->newer;
	if (early == &ep->early)
		return -FI_EINVAL;
	mfi_early_deliver(ep, early, rx);
	return 0;
}

ssize_t mfi_receive(struct endpoint *ep, const struct iovec *pieces, size_t count,
		    fi_addr_t source, uint64_t bits, uint64_t ignore, void *context,
		    uint64_t flags)
{
	struct rx *rx;
	ssize_t error;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (count > IOV_PIECES || ((flags & FI_MULTI_RECV) && count != 1))
		return -FI_EINVAL;
	if (flags & FI_DISCARD)
		return -FI_EBADFLAGS;
	rx = mfi_rx_take(ep);
	if (!rx)
		return -FI_EAGAIN;
	rx->context = context;
	rx->flags = flags;
	if (flags & FI_MULTI_RECV)
		rx->landing = LANDS_MANY;
	error = fill(ep, rx, pieces, count, source, bits, ignore);
	if (!error && (flags & FI_PEEK)) {
		error = peek(ep, rx, flags);
		mfi_rx_give(ep, rx);
		return error;
	}
	if (!error && (flags & FI_CLAIM))
		error = claim(ep, rx);
	else if (!error && ep->waiting)
		error = NO_ENTRY;
	else if (!error)
		while ((error = post(ep, rx)) == LOOK_FIRST)
			mfi_take_early(ep);
	if (error > 0)
		wait_in_order(ep, rx);
	else if (error)
		mfi_rx_give(ep, rx);
	return error < 0 ? error : 0;
}

static void stop_waiting(struct endpoint *ep, struct rx *rx)
{
	struct rx **at = &ep->waiting;

	while (*at && *at != rx)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = rx->next;
	if (ep->waiting_end == &rx->next)
		ep->waiting_end = at;
}

/* Takes the entry of a FI_MULTI_RECV buffer away, and what has come into it. 0, or 1: the
 * kernel has filled it. */
static int withdraw(struct endpoint *ep, struct rx *rx)
{
	int error;

	while ((error = PtlMEUnlink(rx->entry)) == PTL_ME_IN_USE)
		mfi_make_room(ep);              /* until the message has landed */
	if (error != PTL_OK)
		return 1;
	rx->entry = PTL_INVALID_HANDLE;
	mfi_take_early(ep);
	return 0;
}

/* A receive whose message has come, or is coming, is not cancelled. A FI_MULTI_RECV buffer
 * ends when the messages that have come into it are complete. */
ssize_t mfi_cancel(struct fid *fid, void *context)
{
	struct endpoint *ep = (struct endpoint *)fid;
	struct rx *rx = ep->open.newer;
	const struct rx *waiting = ep->waiting;

	while (rx != &ep->open && (rx->context != context || rx->parent))
		rx = rx->newer;
	if (rx == &ep->open)
		return -FI_ENOENT;
	if (rx->entry == PTL_INVALID_HANDLE) {
		while (waiting && waiting != rx)
			waiting = waiting->next;
		if (!waiting)
			return 0;
		stop_waiting(ep, rx);
	} else if (rx->landing == LANDS_MANY) {
		if (withdraw(ep, rx))
			return 0;
	} else {
		if (PtlMEUnlink(rx->entry) != PTL_OK)
			return 0;
		ep->posted--;
	}
	rx->cancelled = rx->released = 1;
	release(ep, rx);
	return 0;
}
