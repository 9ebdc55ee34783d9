/*
 * Atomic operations on peers' regions. One Portals operation changes all that a call may change
 * (ATOMIC_MOST bytes), or changes and fetches FETCH_BYTES; each element changes atomically, which is
 * what libfabric and MPI promise. The target's kernel computes the result when it delivers the
 * message, without the target's library.
 * Called by the application's one thread.
 */
#include "access.h"
#include <stdlib.h>
#include <string.h>

_Static_assert(ATOMIC_MOST <= PTL_ATOMIC_LONGEST, "one operation changes all of a call's bytes");

/* The Portals operation; -1: there is none. */
static int operation_of(enum fi_op op)
{
	static const int operations[] = {
		[FI_MIN] = PTL_MIN, [FI_MAX] = PTL_MAX, [FI_SUM] = PTL_SUM, [FI_PROD] = PTL_PROD,
		[FI_LOR] = PTL_LOR, [FI_LAND] = PTL_LAND, [FI_BOR] = PTL_BOR,
		[FI_BAND] = PTL_BAND, [FI_LXOR] = PTL_LXOR, [FI_BXOR] = PTL_BXOR,
		[FI_ATOMIC_READ] = PTL_NOOP, [FI_ATOMIC_WRITE] = PTL_SWAP, [FI_CSWAP] = PTL_CSWAP,
	};

	return (unsigned int)op <= FI_CSWAP ? operations[op] : -1;
}

static size_t datatype_bytes(enum fi_datatype datatype)
{
	static const unsigned char bytes[] = {
		[FI_INT8] = 1, [FI_UINT8] = 1, [FI_INT16] = 2, [FI_UINT16] = 2, [FI_INT32] = 4,
		[FI_UINT32] = 4, [FI_INT64] = 8, [FI_UINT64] = 8, [FI_FLOAT] = 4, [FI_DOUBLE] = 8,
	};

	return (unsigned int)datatype <= FI_DOUBLE ? bytes[datatype] : 0;
}

_Static_assert((int)FI_INT8 == PTL_INT8_T && (int)FI_UINT64 == PTL_UINT64_T &&
	       (int)FI_FLOAT == PTL_FLOAT && (int)FI_DOUBLE == PTL_DOUBLE,
	       "datatypes have the same numbers");

/* 0, and in *count the most elements that one call changes; or -FI_EOPNOTSUPP. */
static int valid(enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	size_t bytes = datatype_bytes(datatype);
	int bitwise = op == FI_BOR || op == FI_BAND || op == FI_BXOR;

	if (bytes == 0 || operation_of(op) < 0 || (bitwise && datatype >= FI_FLOAT))
		return -FI_EOPNOTSUPP;
	if (count)
		*count = ATOMIC_MOST / bytes;
	return 0;
}

static int writevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	(void)ep;
	return op == FI_ATOMIC_READ || op == FI_CSWAP ? -FI_EOPNOTSUPP : valid(datatype, op, count);
}

static int readwritevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			  size_t *count)
{
	(void)ep;
	return op == FI_CSWAP ? -FI_EOPNOTSUPP : valid(datatype, op, count);
}

static int compwritevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			  size_t *count)
{
	(void)ep;
	return op == FI_CSWAP ? valid(datatype, op, count) : -FI_EOPNOTSUPP;
}

/* Converts counts of elements to bytes. */
static void to_bytes(const struct fi_ioc *from, size_t count, size_t bytes, struct iovec *to)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (struct iovec){ from[i].addr, from[i].count * bytes };
}

/* Lays out the compare values and then the new ones, for each stretch. */
static char *stage(const struct side *compare, const struct side *operand, size_t bytes,
		   size_t each)
{
	char *staged = malloc(2 * bytes), *flat = malloc(2 * bytes), *to = flat;

	if (!staged || !flat) {
		free(staged);
		free(flat);
		return 0;
	}
	for (size_t i = 0; i < compare->count; i++) {
		memcpy(to, compare->pieces[i].iov_base, compare->pieces[i].iov_len);
		to += compare->pieces[i].iov_len;
	}
	for (size_t i = 0; i < operand->count; i++) {
		memcpy(to, operand->pieces[i].iov_base, operand->pieces[i].iov_len);
		to += operand->pieces[i].iov_len;
	}
	for (size_t at = 0; at < bytes; at += each) {
		memcpy(staged + 2 * at, flat + at, each);
		memcpy(staged + 2 * at + each, flat + bytes + at, each);
	}
	free(flat);
	return staged;
}

/* All three kinds; without a compare or a result the pointer is null. */
static ssize_t atomic(struct fid_ep *ep, const struct fi_msg_atomic *msg,
		      const struct fi_ioc *comparev, size_t compares, const struct fi_ioc *resultv,
		      size_t results, uint64_t flags)
{
	size_t operands = msg->op == FI_ATOMIC_READ ? 0 : msg->iov_count;    /* a read ignores them */
	size_t bytes = datatype_bytes(msg->datatype), sum = 0;
	struct iovec local[IOV_PIECES], result[IOV_PIECES], compare[IOV_PIECES], staged;
	struct fi_rma_iov remote[IOV_PIECES];
	struct access access = {
		.action = resultv ? FETCH : ATOMIC, .address = msg->addr, .context = msg->context,
		.flags = flags, .operation = (ptl_op_t)operation_of(msg->op),
		.datatype = (ptl_datatype_t)msg->datatype,
		.local = { .pieces = local, .count = operands },
		.result = { .pieces = result, .count = results },
		.remote = { .pieces = remote, .count = msg->rma_iov_count },
	};
	const struct side compared = { .pieces = compare, .count = compares };
	void *copy = 0;

	if (operands > IOV_PIECES || msg->rma_iov_count > IOV_PIECES ||
	    results > IOV_PIECES || compares > IOV_PIECES)
		return -FI_EINVAL;
	if (flags & ~ACCESS_FLAGS)
		return -FI_EBADFLAGS;
	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		remote[i] = (struct fi_rma_iov){ msg->rma_iov[i].addr,
						 msg->rma_iov[i].count * bytes,
						 msg->rma_iov[i].key };
		sum += remote[i].len;
		if (!mfi_key_fits(remote[i].key))
			return -FI_EINVAL;
	}
	to_bytes(msg->msg_iov, operands, bytes, local);
	to_bytes(resultv, results, bytes, result);
	to_bytes(comparev, compares, bytes, compare);
	if (msg->op == FI_ATOMIC_READ)
		access.local = access.result;   /* no operand: any valid memory */
	if (sum == 0 || sum > ATOMIC_MOST || mfi_total(&access.local) != sum ||
	    (resultv && mfi_total(&access.result) != sum) || (comparev && mfi_total(&compared) != sum))
		return -FI_EINVAL;
	if (comparev) {
		access.compared = bytes;
		copy = stage(&compared, &access.local, sum, bytes);
		if (!copy)
			return -FI_EAGAIN;
		staged = (struct iovec){ copy, 2 * sum };
		access.local = (struct side){ .pieces = &staged, .count = 1 };
	}
	return mfi_access(ep, &access, copy);
}

static ssize_t atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	int error = writevalid(ep, msg->datatype, msg->op, 0);

	return error ? error : atomic(ep, msg, 0, 0, 0, 0, mfi_flags(endpoint_of(ep), flags));
}

static ssize_t atomic_readwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
				   struct fi_ioc *resultv, void **result_desc,
				   size_t result_count, uint64_t flags)
{
	int error = readwritevalid(ep, msg->datatype, msg->op, 0);

	(void)result_desc;
	return error ? error : atomic(ep, msg, 0, 0, resultv, result_count,
				      mfi_flags(endpoint_of(ep), flags));
}

static ssize_t atomic_compwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
				   const struct fi_ioc *comparev, void **compare_desc,
				   size_t compare_count, struct fi_ioc *resultv,
				   void **result_desc, size_t result_count, uint64_t flags)
{
	int error = compwritevalid(ep, msg->datatype, msg->op, 0);

	(void)compare_desc, (void)result_desc;
	return error ? error : atomic(ep, msg, comparev, compare_count, resultv, result_count,
				      mfi_flags(endpoint_of(ep), flags));
}

/* A message of one remote piece, for the calls without `msg`. */
#define ONE_REMOTE(elements) \
	const struct fi_rma_ioc remote = { .addr = addr, .count = (elements), .key = key }; \
	const struct fi_msg_atomic msg = { \
		.msg_iov = iov, .iov_count = count, .addr = dest, .rma_iov = &remote, \
		.rma_iov_count = 1, .datatype = datatype, .op = op, .context = context, \
	}

static size_t elements_of(const struct fi_ioc *iov, size_t count)
{
	size_t elements = 0;

	for (size_t i = 0; i < count; i++)
		elements += iov[i].count;
	return elements;
}

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
			     size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
			     enum fi_datatype datatype, enum fi_op op, void *context)
{
	ONE_REMOTE(elements_of(iov, count));

	(void)desc;
	return atomic_writemsg(ep, &msg, mfi_access_flags(endpoint_of(ep)));
}

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			    fi_addr_t dest, uint64_t addr, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc iov = { (void *)buf, count };

	(void)desc;
	return atomic_writev(ep, &iov, 0, 1, dest, addr, key, datatype, op, context);
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t elements, fi_addr_t dest,
			     uint64_t addr, uint64_t key, enum fi_datatype datatype,
			     enum fi_op op)
{
	const struct fi_ioc one = { (void *)buf, elements }, *iov = &one;
	const size_t count = 1;
	void *const context = 0;
	ONE_REMOTE(elements);
	int error = writevalid(ep, datatype, op, 0);

	return error ? error : atomic(ep, &msg, 0, 0, 0, 0, FI_INJECT);
}

static ssize_t atomic_readwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
				 size_t count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest, uint64_t addr, uint64_t key,
				 enum fi_datatype datatype, enum fi_op op, void *context)
{
	ONE_REMOTE(elements_of(resultv, result_count));

	(void)desc;
	return atomic_readwritemsg(ep, &msg, resultv, result_desc, result_count,
				   mfi_access_flags(endpoint_of(ep)));
}

static ssize_t atomic_readwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				void *result, void *result_desc, fi_addr_t dest, uint64_t addr,
				uint64_t key, enum fi_datatype datatype, enum fi_op op,
				void *context)
{
	const struct fi_ioc iov = { (void *)buf, count };
	struct fi_ioc resultv = { result, count };

	(void)desc, (void)result_desc;
	return atomic_readwritev(ep, &iov, 0, 1, &resultv, 0, 1, dest, addr, key, datatype, op,
				 context);
}

static ssize_t atomic_compwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
				 size_t count, const struct fi_ioc *comparev,
				 void **compare_desc, size_t compare_count,
				 struct fi_ioc *resultv, void **result_desc, size_t result_count,
				 fi_addr_t dest, uint64_t addr, uint64_t key,
				 enum fi_datatype datatype, enum fi_op op, void *context)
{
	ONE_REMOTE(elements_of(iov, count));

	(void)desc;
	return atomic_compwritemsg(ep, &msg, comparev, compare_desc, compare_count, resultv,
				   result_desc, result_count, mfi_access_flags(endpoint_of(ep)));
}

static ssize_t atomic_compwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				const void *compare, void *compare_desc, void *result,
				void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key,
				enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc iov = { (void *)buf, count }, comparev = { (void *)compare, count };
	struct fi_ioc resultv = { result, count };

	(void)desc, (void)compare_desc, (void)result_desc;
	return atomic_compwritev(ep, &iov, 0, 1, &comparev, 0, 1, &resultv, 0, 1, dest, addr, key,
				 datatype, op, context);
}

struct fi_ops_atomic mfi_ops_atomic = {
	.size = sizeof(struct fi_ops_atomic), .write = atomic_write, .writev = atomic_writev,
	.writemsg = atomic_writemsg, .inject = atomic_inject, .readwrite = atomic_readwrite,
	.readwritev = atomic_readwritev, .readwritemsg = atomic_readwritemsg,
	.compwrite = atomic_compwrite, .compwritev = atomic_compwritev,
	.compwritemsg = atomic_compwritemsg, .writevalid = writevalid,
	.readwritevalid = readwritevalid, .compwritevalid = compwritevalid,
};
