/*
 * Shared by the provider's test programs: one rank's libfabric objects, completions with a
 * deadline, and a barrier that sends no message through the provider. Included by tests/lib/ofi/ only.
 */
#ifndef TESTS_OFI_OFI_H
#define TESTS_OFI_OFI_H
#include "check.h"
#include "pattern.h"
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <string.h>
#include <unistd.h>

#define API         FI_VERSION(1, 14)
#define HANG_MS     40000           /* deadline for a completion */
#define OK(call)    EQUAL((call), 0)

struct ofi {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	int rank, size;
	int left, right;                /* neighbours in the ring of ranks */
};

/* Waits for all ranks. The second PtlNIInit only returns the handle of the provider's interface. */
static inline void ofi_barrier(void)
{
	ptl_handle_ni_t ni;

	OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ni));
	OK(PtlNIFini(ni));
	OK(PtlNIBarrier(ni));
}

/* Opens everything but an endpoint. */
static inline void ofi_open_domain(struct ofi *o, uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_av_attr av = { .type = FI_AV_TABLE, .name = "ranks", .flags = FI_READ };

	o->rank = margay_rank();
	o->size = margay_size();
	o->left = (o->rank + o->size - 1) % o->size;
	o->right = (o->rank + 1) % o->size;
	hints->caps = caps;
	OK(fi_getinfo(API, 0, 0, 0, hints, &o->info));
	fi_freeinfo(hints);
	OK(fi_fabric(o->info->fabric_attr, &o->fabric, 0));
	OK(fi_domain(o->fabric, o->info, &o->domain, 0));
	OK(fi_av_open(o->domain, &av, &o->av, 0));
}

/* Opens the endpoint with one queue for all completions; `flags` are those of the binding. */
static inline void ofi_open_ep(struct ofi *o, enum fi_cq_format format, uint64_t flags)
{
	struct fi_cq_attr cq = { .format = format };

	OK(fi_cq_open(o->domain, &cq, &o->cq, 0));
	OK(fi_endpoint(o->domain, o->info, &o->ep, 0));
	OK(fi_ep_bind(o->ep, &o->cq->fid, FI_SEND | FI_RECV | flags));
	OK(fi_ep_bind(o->ep, &o->av->fid, 0));
}

static inline void ofi_open(struct ofi *o)
{
	ofi_open_domain(o, 0);
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
	ofi_barrier();
}

static inline void ofi_close_ep(struct ofi *o)
{
	ofi_barrier();
	OK(fi_close(&o->ep->fid));
	OK(fi_close(&o->cq->fid));
}

static inline void ofi_close(struct ofi *o)
{
	ofi_close_ep(o);
	OK(fi_close(&o->av->fid));
	OK(fi_close(&o->domain->fid));
	OK(fi_close(&o->fabric->fid));
	fi_freeinfo(o->info);
}

/* The next completion of a queue in tagged format: 1, or -FI_EAVAIL. */
static inline ssize_t next_at(const char *file, int line, struct fid_cq *cq,
			      struct fi_cq_tagged_entry *entry)
{
	ssize_t found = fi_cq_sread(cq, entry, 1, 0, HANG_MS);

	if (found == 1 || found == -FI_EAVAIL)
		return found;
	fprintf(stderr, "%s:%d: rank %d: fi_cq_sread gave %zd\n", file, line, margay_rank(), found);
	exit(1);
}
#define next(cq, entry) next_at(__FILE__, __LINE__, (cq), (entry))

/* The next completion must be this operation's. */
static inline struct fi_cq_tagged_entry done_at(const char *file, int line, struct ofi *o,
						void *context, uint64_t flags)
{
	struct fi_cq_tagged_entry entry = { 0 };
	struct fi_cq_err_entry error = { 0 };

	if (next_at(file, line, o->cq, &entry) < 0) {
		fi_cq_readerr(o->cq, &error, 0);
		fprintf(stderr, "%s:%d: rank %d: failed: %s\n", file, line, margay_rank(),
			fi_strerror(error.err));
		exit(1);
	}
	if (entry.op_context == context && (entry.flags & ~FI_REMOTE_CQ_DATA) == flags)
		return entry;
	fprintf(stderr, "%s:%d: rank %d: context %p, wanted %p; flags %#llx, wanted %#llx\n", file,
		line, margay_rank(), entry.op_context, context, (unsigned long long)entry.flags,
		(unsigned long long)flags);
	exit(1);
}
#define done(o, context, flags) done_at(__FILE__, __LINE__, (o), (context), (flags))

/* The next completion must be this operation's failure. */
static inline struct fi_cq_err_entry failed_at(const char *file, int line, struct ofi *o,
					       void *context, int error)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry failure = { 0 };

	if (next_at(file, line, o->cq, &entry) != -FI_EAVAIL ||
	    fi_cq_readerr(o->cq, &failure, 0) != 1 || failure.op_context != context ||
	    failure.err != error) {
		fprintf(stderr, "%s:%d: rank %d: error %d of %p, wanted %d of %p\n", file, line,
			margay_rank(), failure.err, failure.op_context, error, context);
		exit(1);
	}
	return failure;
}
#define failed(o, context, error) failed_at(__FILE__, __LINE__, (o), (context), (error))

/* Takes a send's and a receive's completion, in either order. */
static inline struct fi_cq_tagged_entry both(struct ofi *o, void *send, uint64_t send_flags,
					     void *receive, uint64_t receive_flags)
{
	struct fi_cq_tagged_entry entry, received = { 0 };

	for (int i = 0; i < 2; i++) {
		EQUAL(next(o->cq, &entry), 1);
		if (entry.op_context == send) {
			EQUAL(entry.flags, send_flags);
		} else {
			CHECK(entry.op_context == receive);
			EQUAL(entry.flags & ~FI_REMOTE_CQ_DATA, receive_flags);
			received = entry;
		}
	}
	return received;
}

/* No completion may be left. */
static inline void quiet(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;

	EQUAL(fi_cq_read(o->cq, &entry, 1), -FI_EAGAIN);
}

struct ofi_case {
	const char *name;
	void (*run)(struct ofi *o);
};

/* Runs each case by itself; rank 0 prints those that all ranks have passed. */
static inline void run_cases(struct ofi *o, const struct ofi_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cases[i].run(o);
		quiet(o);
		ofi_barrier();
		if (o->rank == 0)
			printf("ok %s\n", cases[i].name);
	}
}
#define RUN_CASES(o, cases) run_cases((o), (cases), sizeof(cases) / sizeof((cases)[0]))

/* Random numbers from a seed. */
static inline uint32_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}
#endif
