/*
 * Completion queues. fi_cq_read writes completions straight into the caller's array while it takes
 * Portals events. Completions at other times wait in a ring, errors in a list. A caller that only
 * polls is halted until there is an event. Called by the application's one thread.
 */
#include "provider.h"
#include <stdlib.h>
#include <string.h>

#define RING_LEAST   64u

/*
 * A library that waits calls fi_cq_read in a loop. Nodes share their host's processors, so a node
 * that only polls keeps its peer from answering. After some polls without result, each less than
 * IDLE_TICKS of rdtsc after the one before, a poll waits for an event, IDLE_MS at most. A program
 * that computes or starts operations between its polls never waits.
 *
 * After several waits in a row that ended with an event, waits begin after fewer polls and last
 * longer, as a timer that wakes the node for nothing costs more than a message does. This ends when
 * the program computes after a poll without result. The first poll after a wait always comes late, as
 * the node had to be woken, so it does not count.
 */
#define LOOKS_MOST    32u
#define LOOKS_LEAST   4u
#define LOOKS_HALVED  4u                /* after so many successful waits */
#define TRUSTED       16u               /* waits */
#define IDLE_TICKS    (1UL << 13)       /* 2 to 4 us */
#define IDLE_MS       1
#define TRUSTED_MS    30

static struct cq *cq_of(struct fid_cq *fid)
{
	return (struct cq *)fid;
}

static unsigned long ticks(void)
{
	unsigned int low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (unsigned long)high << 32 | low;
}

/* ---- what waits to be read ---- */

static int ring_grow(struct cq *cq)
{
	size_t size = cq->ring_size ? 2 * cq->ring_size : RING_LEAST;
	struct fi_cq_tagged_entry *ring = malloc(size * sizeof(*ring));

	if (!ring)
		return -FI_ENOMEM;
	for (size_t i = cq->ring_head; i != cq->ring_tail; i++)
		ring[i & (size - 1)] = cq->ring[i & (cq->ring_size - 1)];
	free(cq->ring);
	cq->ring = ring;
	cq->ring_size = size;
	return 0;
}

/* Without memory a completion would be lost, and with it the program's request. So the program ends
 * here, with a line that says why. */
struct fi_cq_tagged_entry *mfi_cq_ring_slot(struct cq *cq)
{
	size_t used = cq->ring_tail - cq->ring_head;

	if (used == cq->ring_size && ring_grow(cq))
		mfi_no_memory("completions that were not read", used);
	return &cq->ring[cq->ring_tail++ & (cq->ring_size - 1)];
}

void mfi_cq_fail(struct cq *cq, const struct fi_cq_err_entry *entry)
{
	struct failure *failure = malloc(sizeof(*failure));

	if (!failure)
		mfi_no_memory("failed operations", 1);
	failure->entry = *entry;
	failure->place = cq->ring_tail;
	failure->next = 0;
	*cq->failures_end = failure;
	cq->failures_end = &failure->next;
	cq->out_left = 0;               /* later completions go into the ring */
}

/* Bytes of an entry: each format extends the one before. */
static size_t entry_bytes(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	default:
		return sizeof(struct fi_cq_tagged_entry);
	}
}

/* Takes completions up to the first failure. */
static ssize_t take_from_ring(struct cq *cq, char *buf, size_t count)
{
	size_t bytes = entry_bytes(cq->format), taken;
	size_t end = cq->failures ? cq->failures->place : cq->ring_tail;

	for (taken = 0; taken < count && cq->ring_head != end; taken++)
		memcpy(buf + taken * bytes, &cq->ring[cq->ring_head++ & (cq->ring_size - 1)], bytes);
	return (ssize_t)taken;
}

/* ---- reading ---- */

/* Polls without a completion before a wait. */
static unsigned int looks_of(const struct cq *cq)
{
	unsigned int looks = LOOKS_MOST >> cq->waits / LOOKS_HALVED;

	return looks > LOOKS_LEAST ? looks : LOOKS_LEAST;
}

/* No completion was there: does the caller only poll? An event that changed a counter may be what
 * it waits for, so it returns once before it is halted. */
static int is_idle(struct cq *cq, struct endpoint *ep)
{
	unsigned long now = ticks();

	if (ep->active) {
		cq->idle = 0;
	} else if (now - cq->idle_since > IDLE_TICKS) {
		if (cq->idle)           /* it computes between polls */
			cq->waits = 0;
		cq->idle = 0;
	}
	ep->active = 0;
	cq->idle_since = now;
	return ++cq->idle > looks_of(cq);
}

/* Waits for an event. */
static void wait_idle(struct cq *cq, struct endpoint *ep)
{
	mfi_wait(ep, cq->waits == TRUSTED ? TRUSTED_MS : IDLE_MS);
	if (ep->active && cq->waits < TRUSTED)
		cq->waits++;
	cq->idle_since = ticks();
	cq->idle = 0;
}

/* Takes events. Their completions go into the ring, or straight into the caller's array. */
static ssize_t look(struct cq *cq, void *buf, size_t count)
{
	struct endpoint *ep = cq->domain->endpoint;
	ssize_t taken = 0;

	if (cq->failures || cq->ring_head != cq->ring_tail)
		return take_from_ring(cq, buf, count);
	if (cq->format == FI_CQ_FORMAT_TAGGED) {
		cq->out = buf;
		cq->out_left = count;
	}
	if (ep && ep->enabled)
		mfi_progress(ep);
	if (cq->out)
		taken = cq->out - (struct fi_cq_tagged_entry *)buf;
	cq->out = 0;
	cq->out_left = 0;
	return taken ? taken : take_from_ring(cq, buf, count);
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct cq *cq = cq_of(fid);
	struct endpoint *ep = cq->domain->endpoint;
	ssize_t taken = look(cq, buf, count);

	if (taken > 0)
		return taken;
	if (cq->failures)
		return -FI_EAVAIL;
	if (!ep || !ep->enabled || !is_idle(cq, ep))
		return -FI_EAGAIN;
	wait_idle(cq, ep);
	taken = take_from_ring(cq, buf, count);
	if (taken == 0)
		return cq->failures ? -FI_EAVAIL : -FI_EAGAIN;
	return taken;
}

/* The source of a message is not reported (there is no FI_SOURCE). */
static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr)
{
	ssize_t taken = cq_read(fid, buf, count);

	for (ssize_t i = 0; src_addr && i < taken; i++)
		src_addr[i] = FI_ADDR_NOTAVAIL;
	return taken;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct cq *cq = cq_of(fid);
	struct failure *failure = cq->failures;
	void *data = buf->err_data;

	(void)flags;
	if (!failure)
		return -FI_EAGAIN;
	*buf = failure->entry;
	buf->err_data = data;
	buf->err_data_size = 0;
	cq->failures = failure->next;
	if (!cq->failures)
		cq->failures_end = &cq->failures;
	free(failure);
	return 1;
}

/* Waits, halted, at most `timeout` ms (negative: without limit). */
static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	struct cq *cq = cq_of(fid);
	int64_t end = timeout < 0 ? 0 : mfi_now_ms() + timeout;

	(void)cond;
	for (;;) {
		ssize_t taken = look(cq, buf, count);
		int64_t left = timeout < 0 ? -1 : end - mfi_now_ms();

		if (taken > 0)
			return taken;
		if (cq->failures)
			return -FI_EAVAIL;
		if ((timeout >= 0 && left <= 0) || !cq->domain->endpoint ||
		    !cq->domain->endpoint->enabled)
			return -FI_EAGAIN;
		mfi_wait(cq->domain->endpoint, (int)left);
	}
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr,
			    const void *cond, int timeout)
{
	ssize_t taken = cq_sread(fid, buf, count, cond, timeout);

	for (ssize_t i = 0; src_addr && i < taken; i++)
		src_addr[i] = FI_ADDR_NOTAVAIL;
	return taken;
}

static int cq_no_signal(struct fid_cq *fid)
{
	(void)fid;
	return -FI_ENOSYS;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	(void)fid, (void)err_data;
	return mfi_error_text(prov_errno, buf, len);
}

static int cq_close(struct fid *fid)
{
	struct cq *cq = (struct cq *)fid;

	if (cq->users)
		return -FI_EBUSY;
	while (cq->failures) {
		struct failure *next = cq->failures->next;

		free(cq->failures);
		cq->failures = next;
	}
	cq->domain->users--;
	free(cq->ring);
	free(cq);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops), .close = cq_close, .bind = mfi_no_bind,
	.control = mfi_no_control, .ops_open = mfi_no_ops,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq), .read = cq_read, .readfrom = cq_readfrom,
	.readerr = cq_readerr, .sread = cq_sread, .sreadfrom = cq_sreadfrom,
	.signal = cq_no_signal, .strerror = cq_strerror,
};

/* The requested size is no limit: the ring grows. */
int mfi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		void *context)
{
	struct cq *made;

	if (attr && (attr->flags & ~(uint64_t)FI_AFFINITY || attr->format > FI_CQ_FORMAT_TAGGED ||
		     (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC)))
		return -FI_ENOSYS;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	made->fid.fid.fclass = FI_CLASS_CQ;
	made->fid.fid.context = context;
	made->fid.fid.ops = &cq_fid_ops;
	made->fid.ops = &cq_ops;
	made->domain = (struct domain *)domain;
	made->format = attr && attr->format != FI_CQ_FORMAT_UNSPEC ? attr->format :
		       FI_CQ_FORMAT_CONTEXT;
	made->failures_end = &made->failures;
	made->domain->users++;
	*cq = &made->fid;
	return 0;
}
