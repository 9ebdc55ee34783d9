/*
 * The endpoint: the portals of a rank. It owns the event queues, the descriptors that all
 * operations use, and the match entries between which receives are
 * posted. Called by the application's one thread.
 *
 * Four descriptors each span all of memory (PTL_MD_SPAN), so only operations with pieces make one of
 * their own. They differ in the events that they record:
 *   plain     none                    short messages that a put reads during the call, credit, bytes of
 *                                     parked sends, operands of atomic operations that fetch
 *   reported  SEND_END, ACK           short messages that the link reads after the call; the ack
 *                                     returns credit, if the message asks for it
 *   asked     ACK, also if discarded  other short messages, for the credit in their acks; long messages,
 *                                     writes, atomic operations, probes
 *   fetched   REPLY_END               reads, long messages that came early, atomic operations that fetch
 *
 * PORTAL_MESSAGE:  posted receives | header only | overflow buffers
 * PORTAL_PULL:     long messages in pieces | all of memory; parked.c adds two
 */
#include "provider.h"
#include <stdlib.h>
#include <string.h>

MARGAY_EVENT_SLOTS(RX_SLOTS + EARLY_SLOTS + TX_EVENTS + CREDIT_SLOTS);

_Static_assert(3 * (TX_SLOTS - TX_RESERVE) + TX_RESERVE + TX_PARTS + ACKS_ASKED + ACKS_STARTED +
	       PARKED_UNACKED <= TX_EVENTS, "no event of this side is lost");

static const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };

static int bind_memory(struct endpoint *ep, unsigned int options, ptl_handle_eq_t eq,
		       ptl_handle_md_t *handle)
{
	const ptl_md_t md = {
		.length = UINT64_MAX, .threshold = PTL_MD_THRESH_INF,
		.options = options | PTL_MD_SPAN | PTL_MD_EVENT_START_DISABLE, .eq_handle = eq,
	};

	return PtlMDBind(ep->domain->ni, md, PTL_RETAIN, handle);
}

_Static_assert(UNITS + OVERFLOW_MOST + MANY_MOST <= EARLY_SLOTS, "no early message is lost");

static int open_queues(struct endpoint *ep)
{
	static const unsigned int slots[QUEUES] = {
		[QUEUE_RX] = RX_SLOTS, [QUEUE_EARLY] = EARLY_SLOTS, [QUEUE_TX] = TX_EVENTS,
		[QUEUE_CREDIT] = CREDIT_SLOTS,
	};
	int error = PTL_OK;

	for (unsigned int i = 0; i < QUEUES && error == PTL_OK; i++)
		error = PtlEQAlloc(ep->domain->ni, slots[i], PTL_EQ_HANDLER_NONE, &ep->queues[i]);
	return error;
}

static int open_descriptors(struct endpoint *ep)
{
	ptl_handle_eq_t events = ep->queues[QUEUE_TX];
	int error = bind_memory(ep, PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE, &ep->plain);

	if (error == PTL_OK)
		error = bind_memory(ep, 0, events, &ep->reported);
	if (error == PTL_OK)
		error = bind_memory(ep, PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED, events,
				    &ep->asked);
	if (error == PTL_OK)
		error = bind_memory(ep, 0, events, &ep->fetched);
	return error;
}

/* Attaches the entry from which peers fetch long messages. */
static int open_pull(struct endpoint *ep)
{
	const ptl_md_t md = {
		.length = UINT64_MAX, .threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_SPAN |
			   PTL_MD_EVENT_START_DISABLE,
		.eq_handle = ep->queues[QUEUE_TX],
	};
	ptl_handle_md_t handle;
	int error = PtlMEAttach(ep->domain->ni, PORTAL_PULL, any_process, 0, ~0ULL, PTL_UNLINK,
				PTL_INS_AFTER, &ep->pull);

	return error == PTL_OK ? PtlMDAttach(ep->pull, md, PTL_RETAIN, &handle) : error;
}

static int open_slots(struct endpoint *ep)
{
	ep->tx = calloc(TX_SLOTS, sizeof(*ep->tx));
	if (!ep->tx)
		return -FI_ENOMEM;
	for (unsigned int i = 0; i < TX_SLOTS; i++)
		ep->tx[i].next = (uint16_t)(i + 1);
	ep->telling = TX_SLOTS;
	return 0;
}

/* How many receives may be posted, so that the endpoint never lacks entries of its own. 0 or
 * -FI_ENOMEM. */
static int share_entries(struct endpoint *ep)
{
	uint32_t all = ep->domain->entries < RX_SLOTS ? ep->domain->entries : RX_SLOTS;
	uint32_t taken = OWN_ENTRIES;

	for (const struct region *region = ep->domain->regions; region; region = region->next)
		taken++;
	if (taken >= all)
		return -FI_ENOMEM;
	ep->posted_most = all - taken;
	return 0;
}

static int enable(struct endpoint *ep)
{
	int error;

	if (ep->enabled)
		return 0;
	if (!ep->av)
		return -FI_ENOAV;
	if (!ep->tx_cq || !ep->rx_cq)
		return -FI_ENOCQ;
	error = open_queues(ep);
	if (error == PTL_OK)
		error = open_descriptors(ep);
	if (error == PTL_OK)
		error = open_pull(ep);
	if (error != PTL_OK)
		return mfi_error(error);
	error = PtlNIStatus(ep->domain->ni, PTL_SR_INLINE, &ep->inline_bytes);
	if (error != PTL_OK)
		return mfi_error(error);
	error = open_slots(ep);
	if (!error)
		error = share_entries(ep);
	if (!error)
		error = mfi_early_open(ep);
	if (!error)
		error = mfi_credit_open(ep);
	if (error)
		return error;
	ep->ranks = ep->av->map ? ep->domain->ranks : 0;
	if (!ep->rx_selective)
		ep->rx_flags |= FI_COMPLETION;
	if (!ep->send_counter)          /* only the slow path counts */
		ep->at_once = 1 + (ep->inline_bytes < EAGER_BYTES ? ep->inline_bytes : EAGER_BYTES);
	ep->enabled = 1;
	/* A message to a rank that is not ready would be discarded. */
	return mfi_error(PtlNIBarrier(ep->domain->ni));
}

/* ---- the calls ---- */

static int bind_cq(struct endpoint *ep, struct cq *cq, uint64_t flags)
{
	if (cq->domain != ep->domain)
		return -FI_EDOMAIN;
	if (flags & FI_TRANSMIT) {
		if (ep->tx_cq)
			return -FI_EINVAL;
		ep->tx_cq = cq;
		ep->tx_selective = !!(flags & FI_SELECTIVE_COMPLETION);
		cq->users++;
	}
	if (flags & FI_RECV) {
		if (ep->rx_cq)
			return -FI_EINVAL;
		ep->rx_cq = cq;
		ep->rx_selective = !!(flags & FI_SELECTIVE_COMPLETION);
		cq->users++;
	}
	return flags & (FI_TRANSMIT | FI_RECV) ? 0 : -FI_EBADFLAGS;
}

static void bind_counter(struct counter **at, struct counter *counter, int wanted)
{
	if (!wanted)
		return;
	if (*at)
		(*at)->users--;
	*at = counter;
	counter->users++;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct endpoint *ep = (struct endpoint *)fid;
	struct counter *counter;

	if (ep->enabled)
		return -FI_EOPBADSTATE;
	switch (other->fclass) {
	case FI_CLASS_AV:
		if (((struct av *)other)->domain != ep->domain)
			return -FI_EDOMAIN;
		ep->av = (struct av *)other;
		return 0;
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct cq *)other, flags);
	case FI_CLASS_CNTR:
		if (flags & ~(uint64_t)(FI_SEND | FI_RECV | FI_READ | FI_WRITE))
			return -FI_EBADFLAGS;
		counter = (struct counter *)other;
		bind_counter(&ep->send_counter, counter, !!(flags & FI_SEND));
		bind_counter(&ep->recv_counter, counter, !!(flags & FI_RECV));
		bind_counter(&ep->read_counter, counter, !!(flags & FI_READ));
		bind_counter(&ep->write_counter, counter, !!(flags & FI_WRITE));
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	(void)arg;
	return command == FI_ENABLE ? enable((struct endpoint *)fid) : -FI_ENOSYS;
}

#define CLOSE_LOOK_MS 100      /* ms of one wait for credit; then peers are probed */

/* Operations that have not completed are forgotten: when this returns, their memory is the
 * application's again. An error says that the interface or a region could not be opened again; the
 * endpoint is closed all the same. */
static int ep_close(struct fid *fid)
{
	struct endpoint *ep = (struct endpoint *)fid;
	int error = PTL_OK;

	if (ep->domain->endpoint == ep) {
		while (ep->injected_bytes)      /* their calls have already returned success */
			mfi_wait(ep, CLOSE_LOOK_MS);
		if (ep->enabled)
			mfi_parked_tell(ep);
		PtlNIFini(ep->domain->ni);
		error = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &ep->domain->ni);
		if (error == PTL_OK)
			error = mfi_regions_attach(ep->domain);
		ep->domain->endpoint = 0;
	}
	mfi_early_close(ep);
	mfi_credit_close(ep);
	mfi_rx_close(ep);
	for (unsigned int i = 0; ep->tx && i < TX_SLOTS; i++)
		free(ep->tx[i].copy);
	mfi_parked_close(ep);
	if (ep->tx_cq)
		ep->tx_cq->users--;
	if (ep->rx_cq)
		ep->rx_cq->users--;
	if (ep->send_counter)
		ep->send_counter->users--;
	if (ep->recv_counter)
		ep->recv_counter->users--;
	if (ep->read_counter)
		ep->read_counter->users--;
	if (ep->write_counter)
		ep->write_counter->users--;
	ep->domain->users--;
	free(ep->tx);
	free(ep);
	return mfi_error(error);
}

static int ep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	struct endpoint *ep = (struct endpoint *)fid;

	if (level != FI_OPT_ENDPOINT || optname != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (*optlen < sizeof(size_t))
		return -FI_ETOOSMALL;
	*(size_t *)optval = ep->multi_recv;
	*optlen = sizeof(size_t);
	return 0;
}

static int ep_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
{
	struct endpoint *ep = (struct endpoint *)fid;

	if (level != FI_OPT_ENDPOINT || optname != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (optlen != sizeof(size_t))
		return -FI_EINVAL;
	ep->multi_recv = *(const size_t *)optval;
	return 0;
}

static int no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
		     struct fid_ep **tx_ep, void *context)
{
	(void)sep, (void)index, (void)attr, (void)tx_ep, (void)context;
	return -FI_ENOSYS;
}

static int no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr,
		     struct fid_ep **rx_ep, void *context)
{
	(void)sep, (void)index, (void)attr, (void)rx_ep, (void)context;
	return -FI_ENOSYS;
}

static ssize_t rx_size_left(struct fid_ep *ep)
{
	return endpoint_of(ep)->posted_most - endpoint_of(ep)->posted;
}

static ssize_t tx_size_left(struct fid_ep *ep)
{
	return TX_SLOTS - endpoint_of(ep)->tx_used;
}

int mfi_getname(fid_t fid, void *addr, size_t *addrlen)
{
	char text[32];
	size_t room = *addrlen;

	(void)fid;
	*addrlen = mfi_address_text((uint32_t)margay_rank(), text, sizeof(text));
	memcpy(addr, text, *addrlen < room ? *addrlen : room);
	return *addrlen <= room ? 0 : -FI_ETOOSMALL;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops), .close = ep_close, .bind = ep_bind,
	.control = ep_control, .ops_open = mfi_no_ops,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep), .cancel = mfi_cancel, .getopt = ep_getopt,
	.setopt = ep_setopt, .tx_ctx = no_tx_ctx, .rx_ctx = no_rx_ctx,
	.rx_size_left = rx_size_left, .tx_size_left = tx_size_left,
};

/* A domain has one endpoint, as a process has one set of portals. */
int mfi_endpoint(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, void *context)
{
	struct domain *domain = (struct domain *)fid;
	struct endpoint *made;

	if (info->ep_attr && info->ep_attr->type != FI_EP_RDM)
		return -FI_EINVAL;
	if (info->ep_attr && info->ep_attr->tx_ctx_cnt > 1)
		return -FI_ENOSYS;
	if (domain->endpoint)
		return -FI_EBUSY;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	made->fid.fid.fclass = FI_CLASS_EP;
	made->fid.fid.context = context;
	made->fid.fid.ops = &ep_fid_ops;
	made->fid.ops = &ep_ops;
	made->fid.cm = &mfi_ops_cm;
	made->fid.collective = &mfi_ops_collective;
	made->fid.msg = &mfi_ops_msg;
	made->fid.tagged = &mfi_ops_tagged;
	made->fid.rma = &mfi_ops_rma;
	made->fid.atomic = &mfi_ops_atomic;
	made->domain = domain;
	made->directed = !!(info->caps & FI_DIRECTED_RECV);
	made->multi_recv = 64;
	made->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	made->rx_flags = info->rx_attr ?
			 info->rx_attr->op_flags & (FI_MULTI_RECV | FI_COMPLETION) : 0;
	made->waiting_end = &made->waiting;
	made->early.newer = made->early.older = &made->early;
	domain->endpoint = made;
	domain->users++;
	*ep = &made->fid;
	return 0;
}
