/*
 * Counters: how many operations have ended, and how many of them failed. Reading
 * one takes events first. Called by the application's one thread.
 */
#include "provider.h"
#include <stdlib.h>

static struct counter *counter_of(struct fid_cntr *fid)
{
	return (struct counter *)fid;
}

/* The domain's endpoint, which changes its counters; null if it is not enabled. */
static struct endpoint *enabled(const struct counter *counter)
{
	struct endpoint *ep = counter->domain->endpoint;

	return ep && ep->enabled ? ep : 0;
}

static void look(struct counter *counter)
{
	if (enabled(counter))
		mfi_progress(enabled(counter));
}

static uint64_t counter_read(struct fid_cntr *fid)
{
	look(counter_of(fid));
	return counter_of(fid)->value;
}

static uint64_t counter_read_errors(struct fid_cntr *fid)
{
	look(counter_of(fid));
	return counter_of(fid)->errors;
}

static int counter_add(struct fid_cntr *fid, uint64_t value)
{
	counter_of(fid)->value += value;
	return 0;
}

static int counter_add_errors(struct fid_cntr *fid, uint64_t value)
{
	counter_of(fid)->errors += value;
	return 0;
}

static int counter_set(struct fid_cntr *fid, uint64_t value)
{
	counter_of(fid)->value = value;
	return 0;
}

static int counter_set_errors(struct fid_cntr *fid, uint64_t value)
{
	counter_of(fid)->errors = value;
	return 0;
}

/* Waits, halted, until the counter has reached the threshold, at most `timeout` ms (negative:
 * without limit). -FI_EAVAIL if an operation fails meanwhile; -FI_EOPBADSTATE if no endpoint is
 * enabled, which could change it. */
static int counter_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct counter *counter = counter_of(fid);
	int64_t end = timeout < 0 ? 0 : mfi_now_ms() + timeout;
	uint64_t errors = counter->errors;

	for (;;) {
		int64_t left;

		look(counter);
		if (counter->value >= threshold)
			return 0;
		if (counter->errors != errors)
			return -FI_EAVAIL;
		left = timeout < 0 ? -1 : end - mfi_now_ms();
		if (timeout >= 0 && left <= 0)
			return -FI_ETIMEDOUT;
		if (!enabled(counter))
			return -FI_EOPBADSTATE;
		mfi_wait(enabled(counter), (int)left);
	}
}

static int counter_close(struct fid *fid)
{
	struct counter *counter = (struct counter *)fid;

	if (counter->users)
		return -FI_EBUSY;
	counter->domain->users--;
	free(counter);
	return 0;
}

static struct fi_ops counter_fid_ops = {
	.size = sizeof(struct fi_ops), .close = counter_close, .bind = mfi_no_bind,
	.control = mfi_no_control, .ops_open = mfi_no_ops,
};

static struct fi_ops_cntr counter_ops = {
	.size = sizeof(struct fi_ops_cntr), .read = counter_read, .readerr = counter_read_errors,
	.add = counter_add, .set = counter_set, .wait = counter_wait,
	.adderr = counter_add_errors, .seterr = counter_set_errors,
};

int mfi_counter_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		     struct fid_cntr **counter, void *context)
{
	struct counter *made;

	if (attr && (attr->events != FI_CNTR_EVENTS_COMP || attr->flags ||
		     (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC)))
		return -FI_ENOSYS;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	made->fid.fid.fclass = FI_CLASS_CNTR;
	made->fid.fid.context = context;
	made->fid.fid.ops = &counter_fid_ops;
	made->fid.ops = &counter_ops;
	made->domain = (struct domain *)domain;
	made->domain->users++;
	*counter = &made->fid;
	return 0;
}
