/*
 * Reads and writes of peers' regions, and the code that atomic operations (atomic.c) share with
 * them. An operation is split into stretches that are contiguous on both sides, with one Portals
 * operation each. It ends when the last of them has been acknowledged, so every write is
 * FI_DELIVERY_COMPLETE. The target's library takes no part. Called by the application's one thread.
 */
#include "access.h"
#include <stdlib.h>
#include <string.h>

static size_t side_left(struct side *side)
{
	while (side->count && side->at == side->pieces->iov_len) {
		side->pieces++;
		side->count--;
		side->at = 0;
	}
	return side->count ? side->pieces->iov_len - side->at : 0;
}

static size_t remote_left(struct remote *remote)
{
	while (remote->count && remote->at == remote->pieces->len) {
		remote->pieces++;
		remote->count--;
		remote->at = 0;
	}
	return remote->count ? remote->pieces->len - remote->at : 0;
}

static uint64_t side_address(const struct side *side)
{
	return side->count ? (uintptr_t)side->pieces->iov_base + side->at : 0;
}

size_t mfi_total(const struct side *side)
{
	size_t bytes = 0;

	for (size_t i = 0; i < side->count; i++)
		bytes += side->pieces[i].iov_len;
	return bytes;
}

static size_t remote_total(const struct remote *remote)
{
	size_t bytes = 0;

	for (size_t i = 0; i < remote->count; i++)
		bytes += remote->pieces[i].len;
	return bytes;
}

static int start_one(struct endpoint *ep, const struct access *access, ptl_process_id_t target,
		     uint16_t slot, size_t bytes)
{
	uint64_t bits = (uint64_t)slot << KEY_SLOT_SHIFT |
			mfi_key_bits(access->remote.pieces->key);
	uint64_t offset = access->remote.pieces->addr + access->remote.at;
	uint64_t local = side_address(&access->local);

	ep->active = 1;
	switch (access->action) {
	case READ:
		return PtlGetRegion(ep->fetched, local, bytes, target, PORTAL_REGION, 0, bits,
				    offset);
	case WRITE:
		return PtlPutRegion(ep->asked, local, bytes, PTL_ACK_REQ, target, PORTAL_REGION, 0,
				    bits, offset, 0);
	case ATOMIC:
		return PtlAtomic(ep->asked, local, bytes, PTL_ACK_REQ, target, PORTAL_REGION, 0,
				 bits, offset, 0, access->operation, access->datatype);
	default:
		return PtlFetchAtomic(ep->fetched, side_address(&access->result), ep->plain, local,
				      bytes, target, PORTAL_REGION, 0, bits, offset, 0,
				      access->operation, access->datatype);
	}
}

/* Length of the next stretch: within one piece of each side, and no more than one Portals operation
 * does. */
static size_t stretch(struct access *access, size_t left)
{
	size_t bytes = left, most = access->action == FETCH ? FETCH_BYTES : SIZE_MAX;
	size_t local, remote, result;

	if (left == 0)
		return 0;
	local = access->compared ? SIZE_MAX : side_left(&access->local);
	remote = remote_left(&access->remote);
	result = access->action == FETCH ? side_left(&access->result) : SIZE_MAX;
	if (access->compared)           /* staged, stretch by stretch */
		most = access->compared;
	if (bytes > local)
		bytes = local;
	if (bytes > remote)
		bytes = remote;
	if (bytes > result)
		bytes = result;
	return bytes < most ? bytes : most;
}

/* Starts the stretches of an operation of `left` bytes. If one fails after the first was started,
 * the operation fails once the others have ended. */
static int start_all(struct endpoint *ep, struct access *access, uint32_t rank, uint16_t slot,
		     size_t left)
{
	const ptl_process_id_t target = margay_process((int)rank);
	struct tx *tx = &ep->tx[slot];
	int started = 0;

	do {
		size_t bytes = stretch(access, left);
		int error;

		while (ep->tx_parts == TX_PARTS)
			mfi_make_room(ep);
		while ((error = start_one(ep, access, target, slot, bytes)) == PTL_NO_SPACE)
			mfi_make_room(ep);
		if (error != PTL_OK && !started)
			return mfi_error(error);
		if (error != PTL_OK) {
			tx->error = -mfi_error(error);
			break;
		}
		started = 1;
		tx->parts++;
		ep->tx_parts++;
		access->local.at += access->compared ? 2 * bytes : bytes;
		access->result.at += bytes;
		access->remote.at += bytes;
		left -= bytes;
	} while (left);
	return 0;
}

/* Copies what an injected operation sends, if the link reads it after the call. */
static int copy_local(struct access *access, struct tx *tx, struct iovec *piece, size_t bytes)
{
	char *copy = malloc(bytes);

	if (!copy)
		return -FI_EAGAIN;
	tx->copy = copy;
	*piece = (struct iovec){ copy, bytes };
	for (size_t i = 0; i < access->local.count; i++) {
		memcpy(copy, access->local.pieces[i].iov_base, access->local.pieces[i].iov_len);
		copy += access->local.pieces[i].iov_len;
	}
	access->local = (struct side){ .pieces = piece, .count = 1 };
	return 0;
}

ssize_t mfi_access(struct fid_ep *fid, struct access *access, void *copy)
{
	struct endpoint *ep = endpoint_of(fid);
	int reads = access->action == READ || access->action == FETCH;
	uint32_t rank = ep->enabled ? mfi_rank(ep, access->address) : UINT32_MAX;
	size_t bytes = remote_total(&access->remote);
	struct iovec piece;
	uint16_t slot;
	struct tx *tx;
	int error;

	if (rank == UINT32_MAX || access->remote.count == 0) {
		free(copy);
		return !ep->enabled ? -FI_EOPBADSTATE :
		       rank == UINT32_MAX ? -FI_EADDRNOTAVAIL : -FI_EINVAL;
	}
	slot = mfi_tx_take(ep, TX_RMA);
	tx = &ep->tx[slot];
	tx->copy = copy;
	tx->context = access->context;
	error = 0;
	if ((access->flags & FI_INJECT) && !copy && bytes > ep->inline_bytes)
		error = copy_local(access, tx, &piece, bytes);
	if (!error)
		error = start_all(ep, access, rank, slot, bytes);
	if (error) {
		mfi_tx_end(ep, slot);   /* it has not been reported yet */
		return error;
	}
	tx->counter = reads ? ep->read_counter : ep->write_counter;
	tx->cq = ep->tx_cq;
	tx->flags = (access->action == READ ? FI_RMA | FI_READ :
		     access->action == WRITE ? FI_RMA | FI_WRITE :
		     FI_ATOMIC | (reads ? FI_READ : FI_WRITE)) | (access->flags & FI_COMPLETION);
	mfi_tx_part(ep, slot, 0, 0);
	return 0;
}

uint64_t mfi_access_flags(const struct endpoint *ep)
{
	return (ep->tx_flags & FI_INJECT) |
	       (ep->tx_selective ? ep->tx_flags & FI_COMPLETION : FI_COMPLETION);
}

/* ---- reads and writes ---- */

static ssize_t access_msg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
			  enum action action)
{
	struct access access = {
		.action = action, .local = { .pieces = msg->msg_iov, .count = msg->iov_count },
		.remote = { .pieces = msg->rma_iov, .count = msg->rma_iov_count },
		.address = msg->addr, .context = msg->context, .flags = flags,
	};

	if (msg->iov_count > IOV_PIECES || msg->rma_iov_count > IOV_PIECES ||
	    mfi_total(&access.local) != remote_total(&access.remote))
		return -FI_EINVAL;
	if (flags & ~ACCESS_FLAGS)
		return -FI_EBADFLAGS;
	for (size_t i = 0; i < msg->rma_iov_count; i++)
		if (!mfi_key_fits(msg->rma_iov[i].key))
			return -FI_EINVAL;
	return mfi_access(ep, &access, 0);
}

static ssize_t access_pieces(struct fid_ep *ep, const struct iovec *iov, size_t count,
			     fi_addr_t address, uint64_t addr, uint64_t key, void *context,
			     uint64_t flags, enum action action)
{
	const struct side side = { .pieces = iov, .count = count };
	const struct fi_rma_iov remote = { .addr = addr, .len = mfi_total(&side), .key = key };
	const struct fi_msg_rma msg = {
		.msg_iov = iov, .iov_count = count, .addr = address, .rma_iov = &remote,
		.rma_iov_count = 1, .context = context,
	};

	return access_msg(ep, &msg, flags, action);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return access_msg(ep, msg, mfi_flags(endpoint_of(ep), flags) & ~(uint64_t)FI_INJECT, READ);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	return access_pieces(ep, iov, count, src, addr, key, context,
			     mfi_access_flags(endpoint_of(ep)) & ~(uint64_t)FI_INJECT, READ);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src,
			uint64_t addr, uint64_t key, void *context)
{
	const struct iovec iov = { buf, len };

	(void)desc;
	return rma_readv(ep, &iov, 0, 1, src, addr, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return access_msg(ep, msg, mfi_flags(endpoint_of(ep), flags), WRITE);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	return access_pieces(ep, iov, count, dest, addr, key, context,
			     mfi_access_flags(endpoint_of(ep)), WRITE);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			 fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	const struct iovec iov = { (void *)buf, len };

	(void)desc;
	return rma_writev(ep, &iov, 0, 1, dest, addr, key, context);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
			  uint64_t addr, uint64_t key)
{
	const struct iovec iov = { (void *)buf, len };

	if (len > EAGER_BYTES)
		return -FI_EMSGSIZE;
	return access_pieces(ep, &iov, 1, dest, addr, key, 0, FI_INJECT, WRITE);
}

/* Data for the target's completion queue would need the target's library, so it is not offered. */
static ssize_t rma_no_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
				uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
				void *context)
{
	(void)ep, (void)buf, (void)len, (void)desc, (void)data, (void)dest, (void)addr, (void)key;
	(void)context;
	return -FI_ENOSYS;
}

static ssize_t rma_no_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest, uint64_t addr, uint64_t key)
{
	(void)ep, (void)buf, (void)len, (void)data, (void)dest, (void)addr, (void)key;
	return -FI_ENOSYS;
}

struct fi_ops_rma mfi_ops_rma = {
	.size = sizeof(struct fi_ops_rma), .read = rma_read, .readv = rma_readv,
	.readmsg = rma_readmsg, .write = rma_write, .writev = rma_writev,
	.writemsg = rma_writemsg, .inject = rma_inject, .writedata = rma_no_writedata,
	.injectdata = rma_no_injectdata,
};
