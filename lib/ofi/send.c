/*
 * Messages out. A short one is one put. A long one is one put as well: if its receive is posted,
 * all of it lands there. Otherwise only its header is recorded, and the receiver fetches the rest
 * when the receive is posted (rendezvous). A message without credit waits here, and later ones to
 * the same peer behind it. Called by the application's one thread.
 */
#include "provider.h"
#include <stdlib.h>
#include <string.h>

/* Most bytes of injected sends that wait for credit: about half of a processor's second-level cache,
 * as each is copied twice. Without a bound they would fill the program's memory. */
#define INJECTED_BYTES  (512u << 10)

/* A message to send: destination and flags. */
struct send {
	struct buffer buffer;
	uint64_t bits, data, flags;     /* flags: FI_INJECT, FI_COMPLETION, FI_DELIVERY_COMPLETE */
	void *context;
};

/* Completion flags of a message with these match bits. */
static uint64_t kind_of(uint64_t bits)
{
	return FI_SEND | (bits & BITS_UNTAGGED ? FI_MSG : FI_TAGGED);
}

static void complete_at_once(struct endpoint *ep, const struct send *send)
{
	if (ep->send_counter)
		ep->send_counter->value++;
	if (send->flags & FI_COMPLETION)
		*mfi_cq_slot(ep->tx_cq) = (struct fi_cq_tagged_entry){
			.op_context = send->context, .flags = kind_of(send->bits),
		};
}

static void gather(const struct buffer *from, char *to)
{
	if (from->count <= 1) {
		memcpy(to, from->base, from->bytes);
		return;
	}
	for (size_t i = 0; i < from->count; i++) {
		memcpy(to, from->pieces[i].iov_base, from->pieces[i].iov_len);
		to += from->pieces[i].iov_len;
	}
}

static int put(struct endpoint *ep, ptl_handle_md_t md, uint64_t at, size_t bytes,
	       ptl_ack_req_t ack, uint32_t rank, uint64_t match, uint64_t offset, uint64_t header)
{
	int error;

	ep->active = 1;
	while ((error = PtlPutRegion(md, at, bytes, ack, ep->peers[rank].process, PORTAL_MESSAGE,
				     0, match, offset, header)) == PTL_NO_SPACE)
		mfi_make_room(ep);
	return mfi_error(error);
}

/* Sets the receiver, and what the end of the send reports. */
static void fill_in(struct endpoint *ep, struct tx *tx, uint32_t rank, const struct send *send)
{
	tx->rank = rank;
	tx->context = send->context;
	tx->cq = ep->tx_cq;
	tx->counter = ep->send_counter;
	tx->flags = kind_of(send->bits) | (send->flags & FI_COMPLETION);
}

/* Takes a slot for a send and fills it in. */
static uint16_t take_slot(struct endpoint *ep, enum tx_kind kind, uint32_t rank,
			  const struct send *send)
{
	uint16_t slot = mfi_tx_take(ep, kind);

	fill_in(ep, &ep->tx[slot], rank, send);
	return slot;
}

/* The put failed before it started: frees the slot and returns the error. */
static int give_up(struct endpoint *ep, uint16_t slot, int error)
{
	struct tx *tx = &ep->tx[slot];

	tx->cq = 0;
	tx->counter = 0;
	mfi_tx_end(ep, slot);
	return error;
}

/* A message asks for an ack. A program that injects and never looks at completions must not fill the
 * queue with acks, so now and then they are read. */
static void ask_for_ack(struct endpoint *ep)
{
	if (ep->acks_asked == ACKS_ASKED) {
		mfi_take_sent(ep);
		ep->acks_asked = 0;
	}
	ep->acks_asked++;
}

/* Sends at most EAGER_BYTES. If the link reads the bytes after the call, a slot waits until they
 * have been sent; it holds a copy if the caller may change them. */
static int send_short(struct endpoint *ep, uint32_t rank, const struct send *send)
{
	uint64_t header = mfi_credit_header(ep, rank, send->data, send->bits);
	ptl_ack_req_t ack = header & HEADER_ACKED ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
	const struct buffer *buffer = &send->buffer;
	char gathered[EAGER_BYTES];
	char *at = buffer->base;
	uint16_t slot;
	int error;

	if (ack == PTL_ACK_REQ)
		ask_for_ack(ep);
	if (buffer->count > 1) {
		gather(buffer, gathered);
		at = gathered;
	}
	if (buffer->bytes <= ep->inline_bytes) {
		error = put(ep, ack == PTL_ACK_REQ ? ep->asked : ep->plain, (uintptr_t)at,
			    buffer->bytes, ack, rank, send->bits, 0, header);
		if (!error)
			complete_at_once(ep, send);
		return error;
	}
	slot = take_slot(ep, TX_SEND, rank, send);
	if (at == gathered || (send->flags & FI_INJECT)) {
		ep->tx[slot].copy = malloc(buffer->bytes);
		if (!ep->tx[slot].copy)
			return give_up(ep, slot, -FI_EAGAIN);
		memcpy(ep->tx[slot].copy, at, buffer->bytes);
		at = ep->tx[slot].copy;
	}
	error = put(ep, ep->reported, (uintptr_t)at, buffer->bytes, ack, rank, send->bits,
		    (uint64_t)slot << ORIGIN_SLOT_SHIFT, header);
	return error ? give_up(ep, slot, error) : 0;
}

/* Makes a descriptor for a message in pieces, from which it is sent and fetched. -FI_ENOMEM: the
 * kernel has no entry or no pieces left. Messages that wait for their receives may hold all of them,
 * so waiting for some might never end. */
static int expose_pieces(struct endpoint *ep, uint16_t slot, const struct buffer *buffer)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	const ptl_md_t md = {
		.start = buffer->pieces, .length = buffer->count, .threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_IOVEC |
			   PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_DROPPED,
		.eq_handle = ep->queues[QUEUE_TX],
	};
	ptl_handle_me_t entry;
	int error;

	if (mfi_entry_take(ep))
		return -FI_ENOMEM;
	error = PtlMEMDPost(ep->domain->ni, ep->pull, any_process, slot, 0xffffffffULL << 32,
			    PTL_UNLINK, PTL_INS_BEFORE, md, PTL_RETAIN, &entry, &ep->tx[slot].md,
			    PTL_EQ_NONE);
	if (error != PTL_OK)
		mfi_entry_give(ep);
	return mfi_error(error);
}

/* Sends without a slot; pieces are copied. */
static int send_parked(struct endpoint *ep, uint32_t rank, const struct send *send)
{
	uint64_t bits = send->bits | BITS_LONG, origin;
	uint64_t header = mfi_credit_header(ep, rank, send->data, bits);
	const struct buffer *buffer = &send->buffer;
	char *base = buffer->base;
	unsigned int number;
	struct tx *tx = mfi_parked_take(ep, &number);
	int error;

	tx->fetched = buffer->bytes == 0;
	if (!tx->fetched && (buffer->count > 1 || (send->flags & FI_INJECT))) {
		tx->copy = base = malloc(buffer->bytes);
		if (!base) {
			mfi_parked_forget(ep, number);
			return -FI_EAGAIN;
		}
		gather(buffer, base);
	}
	fill_in(ep, tx, rank, send);
	origin = (uint64_t)(TX_SLOTS + number) << ORIGIN_SLOT_SHIFT | (uintptr_t)base;
	error = put(ep, ep->asked, (uintptr_t)base, buffer->bytes, PTL_ACK_REQ, rank, bits, origin,
		    header);
	if (error)
		mfi_parked_forget(ep, number);
	return error;
}

static int send_long(struct endpoint *ep, uint32_t rank, const struct send *send)
{
	uint64_t bits = send->bits | BITS_LONG;
	uint64_t header = mfi_credit_header(ep, rank, send->data, bits);
	const struct buffer *buffer = &send->buffer;
	uint16_t slot = take_slot(ep, TX_LONG, rank, send);
	uint64_t origin = (uint64_t)slot << ORIGIN_SLOT_SHIFT;
	char *base = buffer->base;
	int copied = !!(send->flags & FI_INJECT), error = 0;

	if (buffer->bytes == 0) {
		ep->tx[slot].fetched = 1;       /* no receiver fetches it */
	} else if (buffer->count > 1 && !copied) {
		error = expose_pieces(ep, slot, buffer);
		copied = error == -FI_ENOMEM;
	}
	if (buffer->bytes && copied) {
		base = ep->tx[slot].copy = malloc(buffer->bytes);
		if (!base)
			return give_up(ep, slot, -FI_EAGAIN);
		gather(buffer, base);
	} else if (error) {
		return give_up(ep, slot, error);
	}
	if (ep->tx[slot].md != PTL_INVALID_HANDLE)
		error = put(ep, ep->tx[slot].md, 0, buffer->bytes, PTL_ACK_REQ, rank, bits, origin,
			    header);
	else
		error = put(ep, ep->asked, (uintptr_t)base, buffer->bytes, PTL_ACK_REQ,
			    rank, bits, origin | (uintptr_t)base, header);
	return error ? give_up(ep, slot, error) : 0;
}

/* Whether it is sent as a long message. A message that needs more than half of the least window is,
 * because the receiver may keep back that much credit. A send that must end only on delivery is
 * too, where a short put may end before. */
static int is_long(const struct endpoint *ep, const struct send *send)
{
	size_t bytes = send->buffer.bytes;

	if (bytes > EAGER_BYTES || mfi_units(bytes, 0) > ep->window_least / 2)
		return 1;
	return (send->flags & FI_DELIVERY_COMPLETE) && ep->inline_bytes != SIZE_MAX;
}

/* Sends it if there is credit and a slot: 0, 1 if there is no credit or slot, or an error. */
static int try(struct endpoint *ep, uint32_t rank, const struct send *send)
{
	int asked_for = is_long(ep, send);
	uint32_t units = mfi_units(send->buffer.bytes, asked_for ? BITS_LONG : 0);
	struct peer *peer = &ep->peers[rank];
	int parks = asked_for && mfi_tx_is_full(ep);
	uint32_t told = peer->told;
	int error;

	if ((parks && mfi_parked_is_full(ep)) || mfi_credit_use(ep, rank, units))
		return 1;
	error = parks ? send_parked(ep, rank, send) :
		asked_for ? send_long(ep, rank, send) : send_short(ep, rank, send);
	if (error) {                    /* nothing was sent */
		mfi_credit_acked(ep, rank, units);
		peer->told = told;
	}
	return error;
}

/* ---- sends that wait for credit ---- */

/* What an injected send takes of INJECTED_BYTES. */
static size_t injected_bytes(uint64_t flags, size_t bytes)
{
	return flags & FI_INJECT ? sizeof(struct deferred) + bytes : 0;
}

static int defer(struct endpoint *ep, uint32_t rank, const struct send *send)
{
	struct peer *peer = &ep->peers[rank];
	size_t pieces = send->buffer.count > 1 ? send->buffer.count * sizeof(struct iovec) : 0;
	size_t copied = send->flags & FI_INJECT ? send->buffer.bytes : 0;
	size_t injected = injected_bytes(send->flags, send->buffer.bytes);
	struct deferred *made;

	/* After this error the caller takes completions and tries again. */
	if (injected && ep->injected_bytes + injected > INJECTED_BYTES)
		return -FI_EAGAIN;
	made = malloc(sizeof(*made) + pieces + copied);
	if (!made)
		return -FI_EAGAIN;
	ep->injected_bytes += injected;
	*made = (struct deferred){
		.buffer = send->buffer, .bits = send->bits, .data = send->data,
		.flags = send->flags, .context = send->context,
	};
	if (copied) {
		made->buffer.base = (char *)(made + 1);
		made->buffer.count = 1;
		gather(&send->buffer, made->buffer.base);
	} else if (pieces) {
		made->buffer.pieces = (struct iovec *)(made + 1);
		memcpy(made->buffer.pieces, send->buffer.pieces, pieces);
	}
	if (!peer->deferred) {
		peer->next_deferred = ep->deferred;
		ep->deferred = peer;
	}
	*peer->deferred_end = made;
	peer->deferred_end = &made->next;
	return 0;
}

/* Reports the failure of a send that had been accepted. */
static void fail(struct endpoint *ep, const struct deferred *deferred, int error)
{
	const struct fi_cq_err_entry entry = {
		.op_context = deferred->context, .flags = kind_of(deferred->bits), .err = -error,
		.prov_errno = PTL_FAIL,
	};

	if (ep->send_counter)
		ep->send_counter->errors++;
	mfi_cq_fail(ep->tx_cq, &entry);
}

static void leave(struct endpoint *ep, struct peer *peer)
{
	struct peer **at = &ep->deferred;

	while (*at != peer)
		at = &(*at)->next_deferred;
	*at = peer->next_deferred;
}

void mfi_send_deferred(struct endpoint *ep, struct peer *peer)
{
	uint32_t rank = (uint32_t)(peer - ep->peers);

	while (peer->deferred) {
		struct deferred *first = peer->deferred;
		const struct send send = {
			.buffer = first->buffer, .bits = first->bits, .data = first->data,
			.flags = first->flags, .context = first->context,
		};
		int error = peer->gone ? -peer->gone : try(ep, rank, &send);

		if (error > 0 || error == -FI_EAGAIN)
			return;
		if (error)
			fail(ep, first, error);
		peer->deferred = first->next;
		ep->injected_bytes -= injected_bytes(first->flags, first->buffer.bytes);
		free(first);
	}
	peer->deferred_end = &peer->deferred;
	leave(ep, peer);
}

/* Sends what waits for this peer, as far as credit has come: 1 if some still waits. A program may
 * inject for ever and never look at completions. */
static int still_waits(struct endpoint *ep, struct peer *peer)
{
	mfi_take_sent(ep);
	mfi_send_deferred(ep, peer);
	return peer->deferred != 0;
}

/* ---- the calls ---- */

static ssize_t start(struct endpoint *ep, const struct send *send, fi_addr_t dest)
{
	uint32_t rank;
	int error;

	if (!ep->enabled)               /* it may have no address vector yet */
		return -FI_EOPBADSTATE;
	rank = mfi_rank(ep, dest);
	if (rank == UINT32_MAX)
		return -FI_EADDRNOTAVAIL;
	if (ep->peers[rank].deferred && still_waits(ep, &ep->peers[rank]))
		return defer(ep, rank, send);
	error = try(ep, rank, send);
	return error > 0 ? defer(ep, rank, send) : error;
}

/* Default flags. */
static uint64_t own_flags(const struct endpoint *ep)
{
	return (ep->tx_flags & (FI_DELIVERY_COMPLETE | FI_INJECT)) |
	       (ep->tx_selective ? ep->tx_flags & FI_COMPLETION : FI_COMPLETION);
}

static ssize_t send_one(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest,
			uint64_t bits, uint64_t data, void *context, uint64_t flags)
{
	const struct send send = {
		.buffer = { .base = (char *)buf, .bytes = len, .count = 1 },
		.bits = bits, .data = data & 0xffffffff, .flags = flags, .context = context,
	};

	if ((flags & FI_INJECT) && len > EAGER_BYTES)
		return -FI_EMSGSIZE;
	return start(endpoint_of(fid), &send, dest);
}

static ssize_t send_pieces(struct fid_ep *fid, const struct iovec *iov, size_t count,
			   fi_addr_t dest, uint64_t bits, uint64_t data, void *context,
			   uint64_t flags)
{
	struct send send = {
		.buffer = { .pieces = (struct iovec *)iov, .count = count },
		.bits = bits, .data = data & 0xffffffff, .flags = flags, .context = context,
	};

	if (count > IOV_PIECES)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++)
		send.buffer.bytes += iov[i].iov_len;
	if (count == 1)
		send.buffer.base = iov->iov_base;
	if ((flags & FI_INJECT) && send.buffer.bytes > EAGER_BYTES)
		return -FI_EMSGSIZE;
	return start(endpoint_of(fid), &send, dest);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			fi_addr_t dest, void *context)
{
	(void)desc;
	return send_one(ep, buf, len, dest, BITS_UNTAGGED, 0, context, own_flags(endpoint_of(ep)));
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest, void *context)
{
	(void)desc;
	return send_pieces(ep, iov, count, dest, BITS_UNTAGGED, 0, context,
			   own_flags(endpoint_of(ep)));
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~SEND_FLAGS)
		return -FI_EBADFLAGS;
	return send_pieces(ep, msg->msg_iov, msg->iov_count, msg->addr, BITS_UNTAGGED,
			   flags & FI_REMOTE_CQ_DATA ? msg->data : 0, msg->context,
			   mfi_flags(endpoint_of(ep), flags));
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest, void *context)
{
	(void)desc;
	return send_one(ep, buf, len, dest, BITS_UNTAGGED, data, context,
			own_flags(endpoint_of(ep)));
}

/* The slow path of an injected message. */
__attribute__((noinline))
static ssize_t inject_any(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			  fi_addr_t dest, uint64_t bits)
{
	return send_one(ep, buf, len, dest, bits, data, 0, FI_INJECT);
}

/*
 * The fast path of an injected message: the rank has credit to spare, and the put reads the bytes
 * before it returns. Inlined: passing its arguments on would take a third of its instructions.
 */
static inline __attribute__((always_inline)) ssize_t
inject(struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
       uint64_t bits)
{
	struct endpoint *ep = endpoint_of(fid);
	uint32_t units = mfi_units(len, 0);
	struct peer *peer = &ep->peers[dest];
	int error;

	if (len >= ep->at_once || dest >= ep->ranks || peer->deferred ||
	    (int32_t)(peer->limit - peer->sent - units) < (int32_t)(ep->window_least / 2))
		return inject_any(fid, buf, len, data, dest, bits);
	ep->active = 1;
	error = PtlPutRegion(ep->plain, (uintptr_t)buf, len, PTL_NO_ACK_REQ, peer->process,
			     PORTAL_MESSAGE, 0, bits, 0,
			     data << 32 | (peer->granted & 0x7fffffffu));
	if (error != PTL_OK)
		return error == PTL_NO_SPACE ? -FI_EAGAIN : mfi_error(error);
	peer->sent += units;
	peer->told = peer->granted;
	return 0;
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest)
{
	return inject(ep, buf, len, data, dest, BITS_UNTAGGED);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	return msg_injectdata(ep, buf, len, 0, dest);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	(void)desc;
	if (tag & ~BITS_TAG)
		return -FI_EINVAL;
	return send_one(ep, buf, len, dest, tag, data, context, own_flags(endpoint_of(ep)));
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			   fi_addr_t dest, uint64_t tag, void *context)
{
	return tagged_senddata(ep, buf, len, desc, 0, dest, tag, context);
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t dest, uint64_t tag, void *context)
{
	(void)desc;
	if (tag & ~BITS_TAG)
		return -FI_EINVAL;
	return send_pieces(ep, iov, count, dest, tag, 0, context, own_flags(endpoint_of(ep)));
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	if (flags & ~SEND_FLAGS)
		return -FI_EBADFLAGS;
	if (msg->tag & ~BITS_TAG)
		return -FI_EINVAL;
	return send_pieces(ep, msg->msg_iov, msg->iov_count, msg->addr, msg->tag,
			   flags & FI_REMOTE_CQ_DATA ? msg->data : 0, msg->context,
			   mfi_flags(endpoint_of(ep), flags));
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest, uint64_t tag)
{
	if (tag & ~BITS_TAG)
		return -FI_EINVAL;
	return inject(ep, buf, len, data, dest, tag);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
			     uint64_t tag)
{
	return tagged_injectdata(ep, buf, len, 0, dest, tag);
}

/* ---- the tables: receives are in post.c ---- */

struct fi_ops_msg mfi_ops_msg = {
	.size = sizeof(struct fi_ops_msg), .recv = mfi_msg_recv, .recvv = mfi_msg_recvv,
	.recvmsg = mfi_msg_recvmsg, .send = msg_send, .sendv = msg_sendv, .sendmsg = msg_sendmsg,
	.inject = msg_inject, .senddata = msg_senddata, .injectdata = msg_injectdata,
};

struct fi_ops_tagged mfi_ops_tagged = {
	.size = sizeof(struct fi_ops_tagged), .recv = mfi_tagged_recv, .recvv = mfi_tagged_recvv,
	.recvmsg = mfi_tagged_recvmsg, .send = tagged_send, .sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg, .inject = tagged_inject, .senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};
