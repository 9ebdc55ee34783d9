/*
 * Calls of an endpoint that are not offered, where libfabric's headers do not check for a
 * null pointer: connections and collectives. Each returns -FI_ENOSYS.
 */
#include "provider.h"
#include <rdma/fi_collective.h>

/* ---- connections ---- */

static int no_setname(fid_t, void *, size_t)
{
	return -FI_ENOSYS;
}

static int no_getpeer(struct fid_ep *, void *, size_t *)
{
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *, const void *, const void *, size_t)
{
	return -FI_ENOSYS;
}

static int no_listen(struct fid_pep *)
{
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *, const void *, size_t)
{
	return -FI_ENOSYS;
}

static int no_reject(struct fid_pep *, fid_t, const void *, size_t)
{
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *, uint64_t)
{
	return -FI_ENOSYS;
}

static int no_join(struct fid_ep *, const void *, uint64_t, struct fid_mc **, void *)
{
	return -FI_ENOSYS;
}

struct fi_ops_cm mfi_ops_cm = {
	.size = sizeof(struct fi_ops_cm), .setname = no_setname, .getname = mfi_getname,
	.getpeer = no_getpeer, .connect = no_connect, .listen = no_listen, .accept = no_accept,
	.reject = no_reject, .shutdown = no_shutdown, .join = no_join,
};

/* ---- collectives ---- */

static ssize_t no_barrier(struct fid_ep *, fi_addr_t, void *)
{
	return -FI_ENOSYS;
}

static ssize_t no_barrier2(struct fid_ep *, fi_addr_t, uint64_t, void *)
{
	return -FI_ENOSYS;
}

static ssize_t no_broadcast(struct fid_ep *, void *, size_t, void *, fi_addr_t, fi_addr_t,
			    enum fi_datatype, uint64_t, void *)
{
	return -FI_ENOSYS;
}

/* allgather as well */
static ssize_t no_alltoall(struct fid_ep *, const void *, size_t, void *, void *, void *,
			   fi_addr_t, enum fi_datatype, uint64_t, void *)
{
	return -FI_ENOSYS;
}

/* reduce_scatter as well */
static ssize_t no_allreduce(struct fid_ep *, const void *, size_t, void *, void *, void *,
			    fi_addr_t, enum fi_datatype, enum fi_op, uint64_t, void *)
{
	return -FI_ENOSYS;
}

static ssize_t no_reduce(struct fid_ep *, const void *, size_t, void *, void *, void *, fi_addr_t,
			 fi_addr_t, enum fi_datatype, enum fi_op, uint64_t, void *)
{
	return -FI_ENOSYS;
}

/* gather as well */
static ssize_t no_scatter(struct fid_ep *, const void *, size_t, void *, void *, void *, fi_addr_t,
			  fi_addr_t, enum fi_datatype, uint64_t, void *)
{
	return -FI_ENOSYS;
}

static ssize_t no_msg(struct fid_ep *, const struct fi_msg_collective *, struct fi_ioc *, void **,
		      size_t, uint64_t)
{
	return -FI_ENOSYS;
}

struct fi_ops_collective mfi_ops_collective = {
	.size = sizeof(struct fi_ops_collective), .barrier = no_barrier, .broadcast = no_broadcast,
	.alltoall = no_alltoall, .allreduce = no_allreduce, .allgather = no_alltoall,
	.reduce_scatter = no_allreduce, .reduce = no_reduce, .scatter = no_scatter,
	.gather = no_scatter, .msg = no_msg, .barrier2 = no_barrier2,
};
