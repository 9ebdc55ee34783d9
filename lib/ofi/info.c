/*
 * What the provider offers, and the fabric object. A caller's hints are compared with it: either
 * the provider offers all that they ask for, or it returns no result.
 */
#include "provider.h"
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <string.h>

#define CAPS        (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ | \
		     FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MULTI_RECV | \
		     FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM)
#define TX_CAPS     (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS     (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ | \
		     FI_REMOTE_WRITE | FI_MULTI_RECV | FI_DIRECTED_RECV)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define TX_FLAGS    (FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
		     FI_DELIVERY_COMPLETE)
#define RX_FLAGS    (FI_COMPLETION | FI_MULTI_RECV)
/* Portals executes messages from one process to another in order. The bytes of a long read may be
 * fetched later, so there is no FI_ORDER_WAR but for atomic operations. */
#define ORDER       (FI_ORDER_SAS | FI_ORDER_RAW | FI_ORDER_WAW | FI_ORDER_ATOMIC_RAR | \
		     FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
#define LONGEST     (1UL << 40)     /* more than any memory segment has */

static const char name[] = "margay";

static int offers(uint64_t ours, uint64_t theirs)
{
	return (theirs & ~ours) == 0;
}

/* The requested capabilities, with both directions if the caller named none. */
static uint64_t chosen_caps(uint64_t caps)
{
	const uint64_t message = FI_SEND | FI_RECV;
	const uint64_t memory = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

	if ((caps & (FI_MSG | FI_TAGGED)) && !(caps & message))
		caps |= message;
	if ((caps & (FI_RMA | FI_ATOMIC)) && !(caps & memory))
		caps |= memory;
	return caps | FI_LOCAL_COMM | FI_REMOTE_COMM;
}

/* A hint of 0 asks for nothing. */
static int ep_fits(const struct fi_ep_attr *ours, const struct fi_ep_attr *hint)
{
	return !hint || ((hint->type == FI_EP_UNSPEC || hint->type == ours->type) &&
			 hint->protocol == ours->protocol &&
			 hint->protocol_version <= ours->protocol_version &&
			 hint->max_msg_size <= ours->max_msg_size &&
			 hint->max_order_raw_size <= ours->max_order_raw_size &&
			 hint->max_order_war_size <= ours->max_order_war_size &&
			 hint->max_order_waw_size <= ours->max_order_waw_size &&
			 hint->mem_tag_format <= ours->mem_tag_format && !hint->msg_prefix_size &&
			 hint->tx_ctx_cnt <= 1 && hint->rx_ctx_cnt <= 1 && !hint->auth_key_size);
}

/* How many objects of each kind. */
static int counts_fit(const struct fi_domain_attr *ours, const struct fi_domain_attr *hint)
{
	return hint->cq_cnt <= ours->cq_cnt && hint->cntr_cnt <= ours->cntr_cnt &&
	       hint->mr_cnt <= ours->mr_cnt && hint->mr_iov_limit <= ours->mr_iov_limit &&
	       hint->ep_cnt <= 1 && hint->tx_ctx_cnt <= 1 && hint->rx_ctx_cnt <= 1 &&
	       hint->max_ep_tx_ctx <= 1 && hint->max_ep_rx_ctx <= 1 &&
	       !hint->max_ep_stx_ctx && !hint->max_ep_srx_ctx;
}

static int domain_fits(const struct fi_domain_attr *ours, const struct fi_domain_attr *hint)
{
	return !hint || ((!hint->name || !strcmp(hint->name, name)) &&
			 hint->threading <= FI_THREAD_ENDPOINT &&
			 hint->control_progress <= FI_PROGRESS_MANUAL &&
			 hint->data_progress <= FI_PROGRESS_MANUAL &&
			 hint->resource_mgmt <= FI_RM_ENABLED && hint->av_type <= FI_AV_TABLE &&
			 hint->mr_key_size <= ours->mr_key_size &&
			 hint->cq_data_size <= ours->cq_data_size && !hint->auth_key_size &&
			 offers(ours->caps, hint->caps) && hint->mr_mode != FI_MR_BASIC &&
			 counts_fit(ours, hint));
}

/* Each side's capabilities are part of those of the endpoint, if these are named. */
static int queues_fit(const struct fi_info *hints)
{
	const uint64_t caps = hints->caps ? chosen_caps(hints->caps) : CAPS;
	const struct fi_tx_attr *tx = hints->tx_attr;
	const struct fi_rx_attr *rx = hints->rx_attr;

	return (!tx || (offers(TX_CAPS & caps, tx->caps) && offers(TX_FLAGS, tx->op_flags) &&
			offers(ORDER, tx->msg_order) && !tx->comp_order &&
			tx->inject_size <= EAGER_BYTES && tx->size <= TX_SLOTS &&
			tx->iov_limit <= IOV_PIECES && tx->rma_iov_limit <= IOV_PIECES)) &&
	       (!rx || (offers(RX_CAPS & caps, rx->caps) && offers(RX_FLAGS, rx->op_flags) &&
			offers(ORDER, rx->msg_order) && !rx->comp_order &&
			rx->size <= RX_SLOTS && rx->iov_limit <= IOV_PIECES));
}

static int fits(const struct fi_info *ours, const struct fi_info *hints)
{
	const struct fi_fabric_attr *fabric = hints->fabric_attr;

	return offers(CAPS, hints->caps) &&
	       (hints->addr_format == FI_FORMAT_UNSPEC || hints->addr_format == FI_ADDR_STR) &&
	       (!fabric || ((!fabric->name || !strcmp(fabric->name, name)) &&
			    (!fabric->prov_name || !strcmp(fabric->prov_name, name)))) &&
	       (!hints->src_addr || !strcmp(hints->src_addr, ours->src_addr)) &&
	       ep_fits(ours->ep_attr, hints->ep_attr) &&
	       domain_fits(ours->domain_attr, hints->domain_attr) && queues_fit(hints);
}

static void describe(struct fi_info *info, uint32_t version)
{
	char address[32];

	info->caps = CAPS;
	info->addr_format = FI_ADDR_STR;
	*info->tx_attr = (struct fi_tx_attr){
		.caps = TX_CAPS, .msg_order = ORDER, .comp_order = FI_ORDER_NONE,
		.inject_size = EAGER_BYTES, .size = TX_SLOTS, .iov_limit = IOV_PIECES,
		.rma_iov_limit = IOV_PIECES,
	};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = RX_CAPS, .msg_order = ORDER, .comp_order = FI_ORDER_NONE, .size = RX_SLOTS,
		.iov_limit = IOV_PIECES,
	};
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_RDM, .protocol = FI_PROTO_UNSPEC, .protocol_version = 1,
		.max_msg_size = LONGEST, .max_order_raw_size = LONGEST,
		.max_order_war_size = ATOMIC_MOST, .max_order_waw_size = LONGEST,
		.mem_tag_format = BITS_TAG, .tx_ctx_cnt = 1, .rx_ctx_cnt = 1,
	};
	*info->domain_attr = (struct fi_domain_attr){
		.name = strdup(name), .threading = FI_THREAD_DOMAIN,
		.control_progress = FI_PROGRESS_AUTO, .data_progress = FI_PROGRESS_AUTO,
		.resource_mgmt = FI_RM_ENABLED, .av_type = FI_AV_TABLE,
		.mr_mode = FI_VERSION_LT(version, FI_VERSION(1, 5)) ? FI_MR_SCALABLE : 0,
		.mr_key_size = sizeof(uint64_t), .cq_data_size = 4, .cq_cnt = 16, .ep_cnt = 1,
		.tx_ctx_cnt = 1, .rx_ctx_cnt = 1, .max_ep_tx_ctx = 1, .max_ep_rx_ctx = 1,
		.cntr_cnt = 1024, .mr_iov_limit = 1, .caps = DOMAIN_CAPS,
		.mr_cnt = 8192,
	};
	*info->fabric_attr = (struct fi_fabric_attr){
		.name = strdup(name), .prov_name = strdup(name), .prov_version = FI_VERSION(1, 0),
		.api_version = version,
	};
	info->src_addrlen = mfi_address_text((uint32_t)margay_rank(), address, sizeof(address));
	info->src_addr = strdup(address);
}

/* A node has one thread, so it keeps every threading promise. A kernel executes what has been
 * started, which is more than manual progress asks for. */
static void choose_domain(struct fi_domain_attr *ours, const struct fi_domain_attr *hint)
{
	if (hint->threading != FI_THREAD_UNSPEC)
		ours->threading = hint->threading;
	if (hint->av_type != FI_AV_UNSPEC)
		ours->av_type = hint->av_type;
	if (hint->control_progress != FI_PROGRESS_UNSPEC)
		ours->control_progress = hint->control_progress;
	if (hint->data_progress != FI_PROGRESS_UNSPEC)
		ours->data_progress = hint->data_progress;
	if (hint->mr_mode == FI_MR_SCALABLE)
		ours->mr_mode = FI_MR_SCALABLE;
}

/* Takes over what the caller may choose. */
static void choose(struct fi_info *info, const struct fi_info *hints)
{
	if (hints->caps)
		info->caps = chosen_caps(hints->caps);
	info->tx_attr->caps &= info->caps;
	info->rx_attr->caps &= info->caps;
	if (hints->tx_attr) {
		info->tx_attr->op_flags = hints->tx_attr->op_flags;
		if (hints->tx_attr->caps)
			info->tx_attr->caps = hints->tx_attr->caps;
	}
	if (hints->rx_attr) {
		info->rx_attr->op_flags = hints->rx_attr->op_flags;
		if (hints->rx_attr->caps)
			info->rx_attr->caps = hints->rx_attr->caps;
	}
	if (hints->domain_attr)
		choose_domain(info->domain_attr, hints->domain_attr);
	if (hints->handle)
		info->handle = hints->handle;
}

/* Checks that the source, if the caller names one, is this rank, or localhost. The destination is
 * the rank that it wants to reach, if it names one. 0, or an error. */
static int choose_peer(struct fi_info *info, const char *node, uint64_t flags,
		       const struct fi_info *hints)
{
	const char *peer = node && !(flags & FI_SOURCE) ? node : hints ? hints->dest_addr : 0;

	if (node && (flags & FI_SOURCE) && strcmp(node, info->src_addr) && strcmp(node, "localhost"))
		return -FI_ENODATA;
	if (!peer)
		return 0;
	if (mfi_address_rank(peer) == UINT32_MAX)
		return -FI_ENODATA;
	info->dest_addr = strdup(peer);
	info->dest_addrlen = strlen(peer) + 1;
	return info->dest_addr ? 0 : -FI_ENOMEM;
}

int mfi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	struct fi_info *made;
	int error;

	(void)service;
	if (FI_VERSION_LT(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), version))
		return -FI_ENOSYS;
	made = fi_dupinfo(0);
	if (!made)
		return -FI_ENOMEM;
	describe(made, version);
	if (!made->src_addr || !made->domain_attr->name || !made->fabric_attr->name ||
	    !made->fabric_attr->prov_name)
		error = -FI_ENOMEM;
	else if (hints && !fits(made, hints))
		error = -FI_ENODATA;
	else
		error = choose_peer(made, node, flags, hints);
	if (error) {
		fi_freeinfo(made);
		return error;
	}
	if (hints)
		choose(made, hints);
	*info = made;
	return 0;
}

/* ---- the fabric ---- */

static int fabric_close(struct fid *fid)
{
	struct fabric *fabric = (struct fabric *)fid;

	if (fabric->users)
		return -FI_EBUSY;
	free(fabric);
	return 0;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(struct fi_ops), .close = fabric_close, .bind = mfi_no_bind,
	.control = mfi_no_control, .ops_open = mfi_no_ops,
};

static int no_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
			 void *context)
{
	(void)fabric, (void)info, (void)pep, (void)context;
	return -FI_ENOSYS;
}

static int no_wait(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **wait)
{
	(void)fabric, (void)attr, (void)wait;
	return -FI_ENOSYS;
}

static int no_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	(void)fabric, (void)fids, (void)count;
	return -FI_ENOSYS;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric), .domain = mfi_domain, .passive_ep = no_passive_ep,
	.eq_open = mfi_event_queue_open, .wait_open = no_wait, .trywait = no_trywait,
};

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct fabric *made;

	if (attr->name && strcmp(attr->name, name))
		return -FI_ENODATA;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	made->fid.fid.fclass = FI_CLASS_FABRIC;
	made->fid.fid.context = context;
	made->fid.fid.ops = &fabric_fid_ops;
	made->fid.ops = &fabric_ops;
	made->fid.api_version = attr->api_version;
	*fabric = &made->fid;
	return 0;
}

static void cleanup(void)
{
}

struct fi_provider *fi_margay_ini(void);

struct fi_provider *fi_margay_ini(void)
{
	static struct fi_provider provider = {
		.version = FI_VERSION(1, 0),
		.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
		.name = name, .getinfo = mfi_getinfo, .fabric = open_fabric, .cleanup = cleanup,
	};

	return &provider;
}
