/*
 * Receives, from the call until they are posted: a match entry in front of those for early
 * messages, so that the message lands in the user's buffer while the application computes. If the
 * message is there already, the receive takes it (early.c). If no entry is free, the receive waits
 * in the library, in order, and takes its message there if that comes first. So no early message
 * matches a receive that waits. Owns the pool of receives. Called by the application's one thread.
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
		batch[i].landing = LANDS_NOWHERE;
		batch[i].next = ep->rx_free;
		ep->rx_free = &batch[i];
	}
	batch[0].next = ep->rx_batches;         /* keeps the batch, to free it at the end */
	ep->rx_batches = batch;
	return 0;
}

/* Inlined into every call that posts, because a call would take more instructions. */
static inline __attribute__((always_inline)) struct rx *take(struct endpoint *ep)
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
	rx->failure = 0;
	rx->filled = 0;
	rx->landing = LANDS_POSTED;
	rx->entry = PTL_INVALID_HANDLE;
	rx->buffer.pieces = 0;
	return rx;
}

struct rx *mfi_rx_take(struct endpoint *ep)
{
	return take(ep);
}

void mfi_rx_give(struct endpoint *ep, struct rx *rx)
{
	if (rx->buffer.pieces)
		free(rx->buffer.pieces);
	rx->landing = LANDS_NOWHERE;
	rx->next = ep->rx_free;
	ep->rx_free = rx;
}

void mfi_rx_close(struct endpoint *ep)
{
	while (ep->rx_batches) {
		struct rx *batch = ep->rx_batches;

		for (unsigned int i = 1; i < BATCH; i++)
			if (batch[i].landing != LANDS_NOWHERE)
				free(batch[i].buffer.pieces);
		ep->rx_batches = batch->next;
		free(batch);
	}
}

/* An open receive with this context, or null. */
static struct rx *find_open(const struct endpoint *ep, const void *context)
{
	for (struct rx *batch = ep->rx_batches; batch; batch = batch->next)
		for (unsigned int i = 1; i < BATCH; i++)
			if (batch[i].landing != LANDS_NOWHERE && batch[i].context == context &&
			    !batch[i].parent)
				return &batch[i];
	return 0;
}

/* ---- posting ---- */

/* Makes the match entry: PTL_OK, PTL_MD_NO_UPDATE (look at early messages first), or another
 * error. */
static inline int post_one(struct endpoint *ep, struct rx *rx)
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
		md.options |= PTL_MD_MANAGE_REMOTE;     /* the event has a long message's origin */
	}
	ep->active = 1;
	return PtlMEMDPost(ep->domain->ni, ep->behind, rx->source, rx->bits,
			   rx->ignore | BITS_LONG, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK,
			   &rx->entry, &handle, ep->queues[QUEUE_EARLY]);
}

/* Whether there is an early message from its source. */
static inline int may_be_early(const struct endpoint *ep, const struct rx *rx)
{
	return rx->source.nid == PTL_NID_ANY ? ep->early_count != 0 :
	       ep->peers[rank_of(rx->source)].first != 0;
}

/* Gives the receive the early messages that it matches: one, or as many as fit. 1: it takes no
 * more. */
__attribute__((noinline))
static int is_served(struct endpoint *ep, struct rx *rx)
{
	for (;;) {
		struct early *early = may_be_early(ep, rx) ? mfi_early_find(ep, rx) : 0;

		if (rx->landing == LANDS_MANY && mfi_many_is_used_up(ep, rx, early)) {
			mfi_rx_release(ep, rx, 0);
			return 1;
		}
		if (!early)
			return 0;
		if (rx->landing == LANDS_POSTED) {
			mfi_early_deliver(ep, early, rx);
			return 1;
		}
		mfi_many_deliver(ep, early, rx);
	}
}

/* Other results of post(). */
enum { NO_ENTRY = 1, LOOK_FIRST };

/* Gives the receive the early message that it matches, or posts it. 0; NO_ENTRY: no match entry is
 * free; LOOK_FIRST: events of early messages have not been read; or an error. Inlined like
 * take(). */
static inline __attribute__((always_inline)) int post(struct endpoint *ep, struct rx *rx)
{
	int error;

	if ((may_be_early(ep, rx) || rx->landing == LANDS_MANY) && is_served(ep, rx))
		return 0;
	if (ep->posted >= ep->posted_most)
		return NO_ENTRY;
	if (rx->landing == LANDS_MANY && ep->posted_many == MANY_MOST)
		return NO_ENTRY;
	error = post_one(ep, rx);
	if (error == PTL_OK) {
		ep->posted += rx->landing == LANDS_POSTED;
		if (rx->landing == LANDS_MANY) {
			ep->posted_many++;
			ep->posted_most--;
		}
		return 0;
	}
	if (error == PTL_NO_SPACE || error == PTL_ME_LIST_TOO_LONG)
		return NO_ENTRY;
	return error == PTL_MD_NO_UPDATE ? LOOK_FIRST : mfi_error(error);
}

/* Tries again to post a receive that could not be posted at once. */
__attribute__((noinline))
static int post_again(struct endpoint *ep, struct rx *rx)
{
	return post(ep, rx);
}

void mfi_post_waiting(struct endpoint *ep)
{
	while (ep->waiting) {
		struct rx *rx = ep->waiting, *next = rx->next;
		int error = post_again(ep, rx);

		if (error == NO_ENTRY)
			return;
		if (error == LOOK_FIRST) {      /* an early message may take it */
			mfi_take_early(ep);
			continue;
		}
		if (error)
			mfi_rx_release(ep, rx, -error);
		ep->waiting = next;
		if (!next)
			ep->waiting_end = &ep->waiting;
	}
}

/* Removes the receive at this place of the list of those that wait. */
static void unlist(struct endpoint *ep, struct rx **at)
{
	struct rx *rx = *at;

	*at = rx->next;
	if (ep->waiting_end == &rx->next)
		ep->waiting_end = at;
}

/* The waiting FI_MULTI_RECV buffer at this place takes no more messages. */
static void release_waiting(struct endpoint *ep, struct rx **at)
{
	struct rx *rx = *at;

	unlist(ep, at);
	mfi_rx_release(ep, rx, 0);
}

/* A FI_MULTI_RECV buffer that is too small for the message is used up, and the next receive that
 * matches takes it. */
void mfi_serve_waiting(struct endpoint *ep, struct early *early)
{
	struct rx **at = &ep->waiting;

	while (*at) {
		struct rx *rx = *at;

		if (!mfi_matches(rx, early)) {
			at = &rx->next;
		} else if (rx->landing == LANDS_POSTED) {
			unlist(ep, at);
			mfi_early_deliver(ep, early, rx);
			return;
		} else if (mfi_many_is_used_up(ep, rx, early)) {
			release_waiting(ep, at);
		} else {
			mfi_many_deliver(ep, early, rx);
			if (mfi_many_is_used_up(ep, rx, 0))
				release_waiting(ep, at);
			return;
		}
	}
}

/* Handles a result of post() for a new receive: the receive is posted after all, waits, or
 * fails. The failure of a FI_MULTI_RECV buffer that has taken messages is a completion. */
__attribute__((noinline))
static ssize_t settle(struct endpoint *ep, struct rx *rx, int error)
{
	while (error == LOOK_FIRST) {
		mfi_take_early(ep);
		error = post_again(ep, rx);
	}
	if (error < 0 && rx->filled > 0) {
		mfi_rx_release(ep, rx, -error);
		return 0;
	}
	if (error < 0) {
		mfi_rx_give(ep, rx);
		return error;
	}
	if (error) {
		*ep->waiting_end = rx;
		ep->waiting_end = &rx->next;
	}
	return 0;
}

/* ---- receives of any kind ---- */

/* Sets where the message goes: the pieces, and their bytes in all. 0 or -FI_EAGAIN. */
__attribute__((noinline))
static int keep_pieces(struct rx *rx, const struct iovec *pieces, size_t count)
{
	/* With no room at all it gets one piece, so that its event has a long message's origin. */
	if (rx->buffer.bytes == 0) {
		rx->buffer.count = 1;
		return 0;
	}
	rx->buffer.pieces = malloc(count * sizeof(*pieces));
	if (!rx->buffer.pieces)
		return -FI_EAGAIN;
	memcpy(rx->buffer.pieces, pieces, count * sizeof(*pieces));
	return 0;
}

static inline int fill(struct rx *rx, const struct iovec *pieces, size_t count)
{
	rx->buffer.base = count ? pieces->iov_base : 0;
	rx->buffer.count = count;
	rx->buffer.bytes = 0;
	for (size_t i = 0; i < count; i++)
		rx->buffer.bytes += pieces[i].iov_len;
	return count > 1 ? keep_pieces(rx, pieces, count) : 0;
}

/* Sets which messages the receive matches. 0, or -FI_EADDRNOTAVAIL. */
static inline int choose(struct endpoint *ep, struct rx *rx, fi_addr_t source, uint64_t bits,
			 uint64_t ignore)
{
	rx->source = (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY };
	if (source != FI_ADDR_UNSPEC && ep->directed) {
		uint32_t rank = mfi_rank(ep, source);

		if (rank == UINT32_MAX)
			return -FI_EADDRNOTAVAIL;
		rx->source = ep->peers[rank].process;
	}
	rx->bits = bits;
	rx->ignore = ignore;
	return 0;
}

/* A new receive in *made: 0 or -FI_*. */
static inline __attribute__((always_inline)) int
begin(struct endpoint *ep, const struct iovec *pieces, size_t count, fi_addr_t source,
      uint64_t bits, uint64_t ignore, void *context, uint64_t flags, struct rx **made)
{
	struct rx *rx;
	int error;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (count > IOV_PIECES || ((flags & FI_MULTI_RECV) && count != 1))
		return -FI_EINVAL;
	rx = *made = take(ep);
	if (!rx)
		return -FI_EAGAIN;
	rx->context = context;
	rx->flags = flags;
	if (flags & FI_MULTI_RECV)
		rx->landing = LANDS_MANY;
	error = choose(ep, rx, source, bits, ignore);
	if (!error)
		error = fill(rx, pieces, count);
	if (error)
		mfi_rx_give(ep, rx);
	return error;
}

/* A receive while earlier ones wait for a match entry: it takes the early messages that it matches,
 * as those before it match none of them, or waits too. */
__attribute__((noinline))
static int queue_behind(struct endpoint *ep, struct rx *rx)
{
	return is_served(ep, rx) ? 0 : NO_ENTRY;
}

/* A receive without FI_PEEK and FI_CLAIM. */
static inline __attribute__((always_inline)) ssize_t
receive(struct endpoint *ep, const struct iovec *pieces, size_t count, fi_addr_t source,
	uint64_t bits, uint64_t ignore, void *context, uint64_t flags)
{
	struct rx *rx;
	int error = begin(ep, pieces, count, source, bits, ignore, context, flags, &rx);

	if (error)
		return error;
	error = ep->waiting ? queue_behind(ep, rx) : post(ep, rx);
	return error ? settle(ep, rx, error) : 0;
}

/* Whether an early message matches; claims it if asked. */
static ssize_t peek(struct endpoint *ep, fi_addr_t source, uint64_t bits, uint64_t ignore,
		    void *context, uint64_t flags)
{
	struct early *early;
	struct rx rx;
	int error;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	error = choose(ep, &rx, source, bits, ignore);
	if (error)
		return error;
	mfi_progress(ep);
	early = may_be_early(ep, &rx) ? mfi_early_find(ep, &rx) : 0;
	if (!early)
		return -FI_ENOMSG;
	if (flags & FI_CLAIM) {
		early->claimed = 1;
		early->claimer = context;
	}
	*mfi_cq_slot(ep->rx_cq) = (struct fi_cq_tagged_entry){
		.op_context = context, .flags = FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA,
		.len = early->length, .data = HEADER_DATA(early->header),
		.tag = early->bits & BITS_TAG,
	};
	return 0;
}

/* Takes the early message that a peek with this context has claimed. */
static ssize_t claim(struct endpoint *ep, struct rx *rx)
{
	struct early *early = ep->early.newer;

	while (early != &ep->early && !(early->claimed && early->claimer == rx->context))
		early = early->newer;
	if (early == &ep->early) {
		mfi_rx_give(ep, rx);
		return -FI_EINVAL;
	}
	mfi_early_deliver(ep, early, rx);
	return 0;
}

/* A receive with explicit flags. */
static ssize_t receive_with(struct endpoint *ep, const struct iovec *pieces, size_t count,
			    fi_addr_t source, uint64_t bits, uint64_t ignore, void *context,
			    uint64_t flags)
{
	struct rx *rx;
	int error;

	if (flags & FI_PEEK)
		return peek(ep, source, bits, ignore, context, flags);
	if (!ep->rx_selective)
		flags |= FI_COMPLETION;
	if (!(flags & FI_CLAIM))
		return receive(ep, pieces, count, source, bits, ignore, context, flags);
	error = begin(ep, pieces, count, source, bits, ignore, context, flags, &rx);
	return error ? error : claim(ep, rx);
}

/* ---- the calls ---- */

ssize_t mfi_msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~RECV_FLAGS)
		return -FI_EBADFLAGS;
	return receive_with(endpoint_of(fid), msg->msg_iov, msg->iov_count, msg->addr,
			    BITS_UNTAGGED, BITS_TAG, msg->context, flags);
}

ssize_t mfi_msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t src, void *context)
{
	struct endpoint *ep = endpoint_of(fid);

	(void)desc;
	return receive(ep, iov, count, src, BITS_UNTAGGED, BITS_TAG, context, ep->rx_flags);
}

ssize_t mfi_msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
		     void *context)
{
	const struct iovec iov = { buf, len };

	(void)desc;
	return mfi_msg_recvv(fid, &iov, 0, 1, src, context);
}

ssize_t mfi_tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	if (msg->tag & ~(BITS_TAG | msg->ignore))
		return -FI_EINVAL;
	/* Not FI_MULTI_RECV: acks of tagged messages return their credit. */
	if (flags & ~((RECV_FLAGS | PEEK_FLAGS) & ~FI_MULTI_RECV))
		return -FI_EBADFLAGS;
	return receive_with(endpoint_of(fid), msg->msg_iov, msg->iov_count, msg->addr,
			    msg->tag & BITS_TAG, msg->ignore & BITS_TAG, msg->context, flags);
}

static inline __attribute__((always_inline)) ssize_t
tagged(struct endpoint *ep, const struct iovec *iov, size_t count, fi_addr_t src, uint64_t tag,
       uint64_t ignore, void *context)
{
	if (tag & ~(BITS_TAG | ignore))
		return -FI_EINVAL;
	return receive(ep, iov, count, src, tag & BITS_TAG, ignore & BITS_TAG, context,
		       ep->rx_flags & ~(uint64_t)FI_MULTI_RECV);
}

ssize_t mfi_tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, uint64_t tag, uint64_t ignore, void *context)
{
	(void)desc;
	return tagged(endpoint_of(fid), iov, count, src, tag, ignore, context);
}

ssize_t mfi_tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			uint64_t tag, uint64_t ignore, void *context)
{
	const struct iovec iov = { buf, len };

	(void)desc;
	return tagged(endpoint_of(fid), &iov, 1, src, tag, ignore, context);
}

/* ---- cancelling ---- */

/* 1: the receive waited for an entry, and does not any more. */
static int stop_waiting(struct endpoint *ep, struct rx *rx)
{
	struct rx **at = &ep->waiting;

	while (*at && *at != rx)
		at = &(*at)->next;
	if (!*at)
		return 0;
	unlist(ep, at);
	return 1;
}

/* Unlinks the entry of a FI_MULTI_RECV buffer, and takes the messages in it. 0, or 1: the kernel
 * has filled it. */
static int withdraw(struct endpoint *ep, struct rx *rx)
{
	int error;

	while ((error = PtlMEUnlink(rx->entry)) == PTL_ME_IN_USE)
		mfi_make_room(ep);              /* until the message has landed */
	if (error != PTL_OK)
		return 1;
	rx->entry = PTL_INVALID_HANDLE;
	mfi_many_unlinked(ep);
	mfi_take_early(ep);
	return 0;
}

/* Ends an open receive with `failure`, unless its message has arrived or begun to arrive. A
 * FI_MULTI_RECV buffer ends when the messages in it are complete. */
static void end(struct endpoint *ep, struct rx *rx, int failure)
{
	if (rx->entry == PTL_INVALID_HANDLE) {
		if (!stop_waiting(ep, rx))
			return;
	} else if (rx->landing == LANDS_MANY) {
		if (withdraw(ep, rx))
			return;
	} else {
		if (PtlMEUnlink(rx->entry) != PTL_OK)
			return;
		ep->posted--;
	}
	mfi_rx_release(ep, rx, failure);
}

ssize_t mfi_cancel(struct fid *fid, void *context)
{
	struct endpoint *ep = (struct endpoint *)fid;
	struct rx *rx = find_open(ep, context);

	if (!rx)
		return -FI_ENOENT;
	end(ep, rx, FI_ECANCELED);
	return 0;
}

void mfi_rx_await(struct endpoint *ep)
{
	for (struct rx *batch = ep->rx_batches; batch; batch = batch->next)
		for (unsigned int i = 1; i < BATCH; i++) {
			struct rx *rx = &batch[i];

			if (rx->landing == LANDS_NOWHERE || rx->parent ||
			    rx->source.nid == PTL_NID_ANY)
				continue;
			if (mfi_await(ep, rank_of(rx->source)))
				end(ep, rx, FI_EIO);
		}
}
