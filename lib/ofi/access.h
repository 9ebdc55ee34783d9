/*
 * Operations on a peer's region: what reads, writes (rma.c) and atomic operations
 * (atomic.c) have in common.
 */
#ifndef OFI_ACCESS_H
#define OFI_ACCESS_H
#include "provider.h"

/* One side of an operation: pieces, and how far it has come. */
struct side {
	const struct iovec *pieces;
	size_t count;
	size_t at;              /* bytes of the first piece that are done */
};

/* The remote side, likewise. */
struct remote {
	const struct fi_rma_iov *pieces;
	size_t count;
	size_t at;
};

/* The action of an operation on each stretch. */
enum action { READ, WRITE, ATOMIC, FETCH };

/* An operation of any kind: what its calls have in common. */
struct access {
	enum action action;
	struct side local;              /* memory to send; with READ, memory to fetch into */
	struct side result;             /* FETCH */
	struct remote remote;
	fi_addr_t address;
	void *context;
	uint64_t flags;
	ptl_op_t operation;
	ptl_datatype_t datatype;
	size_t compared;                /* bytes of the compare values in each stretch's operands;
	                                   the new values follow them */
};

size_t mfi_total(const struct side *side);

/*
 * Starts the operation. 0, or -FI_* and nothing has happened. On success a completion or a counter
 * reports its end. `copy` is memory that is freed at the end, or on an error.
 */
ssize_t mfi_access(struct fid_ep *ep, struct access *access, void *copy);

/* Default flags, for calls without a flags argument. */
uint64_t mfi_access_flags(const struct endpoint *ep);

#endif
