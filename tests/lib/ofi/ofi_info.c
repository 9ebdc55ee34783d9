/*
 * ofi_info: the offered attributes, refused hints, copies of fi_info, objects, address vectors,
 * event queues, and unsupported calls. On one node.
 */
#include "ofi.h"
#include <rdma/fi_collective.h>

#define ATOMIC_ORDER    (FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | \
			 FI_ORDER_ATOMIC_WAW)

/* fi_getinfo's result with one hint changed by `set`. */
#define WITH(set, result) do { \
	struct fi_info *hints = fi_allocinfo(), *found = 0; \
	set; \
	EQUAL(fi_getinfo(API, 0, 0, 0, hints, &found), (result)); \
	if (found) \
		fi_freeinfo(found); \
	free_hints(hints); \
} while (0)

/* Names in hints are constants here, so they must not be freed. */
static void free_hints(struct fi_info *hints)
{
	hints->fabric_attr->name = hints->fabric_attr->prov_name = hints->domain_attr->name = 0;
	fi_freeinfo(hints);
}

static void offered(struct ofi *o)
{
	struct fi_info *info, *copy;
	uint64_t caps = FI_MSG;
	char text[32];

	(void)o;
	OK(fi_getinfo(API, 0, 0, 0, 0, &info));
	CHECK(!info->next);
	EQUAL(info->ep_attr->type, FI_EP_RDM);
	EQUAL(info->caps & (FI_MSG | FI_TAGGED | FI_RMA | FI_MULTI_RECV | FI_DIRECTED_RECV),
	      FI_MSG | FI_TAGGED | FI_RMA | FI_MULTI_RECV | FI_DIRECTED_RECV);
	EQUAL(info->tx_attr->caps & ~info->caps, 0);
	EQUAL(info->rx_attr->caps & ~info->caps, 0);
	EQUAL(info->domain_attr->resource_mgmt, FI_RM_ENABLED);
	EQUAL(info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	EQUAL(info->domain_attr->cq_data_size, 4);
	EQUAL(info->domain_attr->threading, FI_THREAD_DOMAIN);
	EQUAL(info->tx_attr->msg_order & (FI_ORDER_SAS | ATOMIC_ORDER), FI_ORDER_SAS | ATOMIC_ORDER);
	EQUAL(info->rx_attr->msg_order & ATOMIC_ORDER, ATOMIC_ORDER);
	CHECK(!strcmp(info->fabric_attr->prov_name, "margay"));
	EQUAL(info->src_addrlen, strlen(info->src_addr) + 1);
	copy = fi_dupinfo(info);
	CHECK(copy && copy != info && copy->domain_attr != info->domain_attr);
	CHECK(copy->src_addr != info->src_addr && !strcmp(copy->src_addr, info->src_addr));
	CHECK(copy->fabric_attr->name != info->fabric_attr->name);
	CHECK(!strcmp(copy->fabric_attr->name, info->fabric_attr->name));
	EQUAL(copy->caps, info->caps);
	fi_freeinfo(info);
	CHECK(!strcmp(copy->domain_attr->name, "margay"));
	fi_freeinfo(copy);
	fi_freeinfo(0);
	CHECK(!strcmp(fi_strerror(FI_ETRUNC), fi_strerror(-FI_ETRUNC)));
	CHECK(strstr(fi_strerror(FI_EREMOTEIO), "region"));
	CHECK(strstr(fi_strerror(-FI_EIO), "a rank has died"));
	CHECK(strstr(fi_strerror(FI_ECONNRESET), "closed its endpoint"));
	CHECK(strlen(fi_strerror(FI_EAGAIN)) > 0 && strlen(fi_strerror(1 << 20)) > 0);
	CHECK(fi_tostr_r(text, sizeof(text), &caps, FI_TYPE_CAPS) == text);
	CHECK(!strcmp(text, "0x2") && !strcmp(fi_tostr(&caps, FI_TYPE_CAPS), text));
	EQUAL(fi_version(), FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION));
}

static void hinted(struct ofi *o)
{
	struct fi_info *info, *hints = fi_allocinfo();

	(void)o;
	hints->caps = FI_TAGGED;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	OK(fi_getinfo(API, 0, 0, 0, hints, &info));
	CHECK((info->caps & FI_TAGGED) && !(info->caps & (FI_RMA | FI_ATOMIC | FI_MSG)));
	EQUAL(info->tx_attr->caps & ~info->caps, 0);
	EQUAL(info->rx_attr->caps & ~info->caps, 0);
	EQUAL(info->domain_attr->threading, FI_THREAD_SAFE);
	EQUAL(info->tx_attr->op_flags, FI_DELIVERY_COMPLETE);
	fi_freeinfo(info);
	fi_freeinfo(hints);
	WITH(hints->caps = FI_MSG | FI_SEND, 0);
	WITH(hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR, 0);
	WITH(hints->domain_attr->resource_mgmt = FI_RM_ENABLED, 0);
	WITH(hints->fabric_attr->prov_name = "margay", 0);
	WITH(hints->domain_attr->data_progress = FI_PROGRESS_MANUAL, 0);
	WITH(hints->domain_attr->mr_mode = FI_MR_SCALABLE, 0);
	WITH(hints->addr_format = FI_ADDR_STR, 0);
	WITH(hints->tx_attr->inject_size = 4096, 0);
	WITH(hints->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_RAW | FI_ORDER_WAW, 0);
	WITH(hints->tx_attr->msg_order = ATOMIC_ORDER, 0);
	WITH(hints->rx_attr->msg_order = ATOMIC_ORDER, 0);
	WITH(hints->ep_attr->max_msg_size = 1 << 30, 0);
	/* Unknown names */
	WITH(hints->caps = FI_SOURCE, -FI_ENODATA);
	WITH(hints->caps = FI_RMA | FI_RMA_EVENT, -FI_ENODATA);
	WITH(hints->caps = FI_MULTICAST, -FI_ENODATA);
	WITH(hints->caps = FI_COLLECTIVE, -FI_ENODATA);
	WITH(hints->ep_attr->type = FI_EP_MSG, -FI_ENODATA);
	WITH(hints->ep_attr->type = FI_EP_DGRAM, -FI_ENODATA);
	WITH(hints->ep_attr->protocol = FI_PROTO_RXM, -FI_ENODATA);
	WITH(hints->ep_attr->tx_ctx_cnt = 2, -FI_ENODATA);
	WITH(hints->ep_attr->max_msg_size = SIZE_MAX, -FI_ENODATA);
	WITH(hints->fabric_attr->prov_name = "tcp", -FI_ENODATA);
	WITH(hints->fabric_attr->name = "ib0", -FI_ENODATA);
	WITH(hints->domain_attr->name = "mlx5_0", -FI_ENODATA);
	WITH(hints->domain_attr->mr_mode = FI_MR_BASIC, -FI_ENODATA);
	WITH(hints->domain_attr->cq_data_size = 8, -FI_ENODATA);
	WITH(hints->domain_attr->caps = FI_SHARED_AV, -FI_ENODATA);
	WITH(hints->domain_attr->mr_key_size = 9, -FI_ENODATA);
	WITH(hints->addr_format = FI_SOCKADDR_IN, -FI_ENODATA);
	WITH(hints->tx_attr->inject_size = 1 << 20, -FI_ENODATA);
	WITH(hints->tx_attr->msg_order = FI_ORDER_RAR, -FI_ENODATA);
	WITH(hints->tx_attr->comp_order = FI_ORDER_STRICT, -FI_ENODATA);
	WITH(hints->tx_attr->op_flags = FI_MULTICAST, -FI_ENODATA);
	WITH(hints->rx_attr->size = 1 << 30, -FI_ENODATA);
	WITH(hints->rx_attr->iov_limit = 1000, -FI_ENODATA);
	EQUAL(fi_getinfo(FI_VERSION(FI_MAJOR_VERSION + 1, 0), 0, 0, 0, 0, &info), -FI_ENOSYS);
}

/* A hint that asks for more than is offered is refused, whatever attribute it is about. */
static void more_than_offered(struct ofi *o)
{
	struct fi_info *info, *same;

	(void)o;
	WITH((hints->caps = FI_TAGGED, hints->ep_attr->mem_tag_format = UINT64_MAX), -FI_ENODATA);
	WITH((hints->caps = FI_TAGGED, hints->ep_attr->mem_tag_format = (1ULL << 56) - 1), 0);
	WITH(hints->ep_attr->max_order_war_size = 4096, 0);     /* of atomic operations */
	WITH(hints->ep_attr->max_order_war_size = 4097, -FI_ENODATA);
	WITH(hints->ep_attr->max_order_raw_size = SIZE_MAX, -FI_ENODATA);
	WITH(hints->ep_attr->max_order_waw_size = SIZE_MAX, -FI_ENODATA);
	WITH(hints->ep_attr->protocol_version = 2, -FI_ENODATA);
	WITH(hints->ep_attr->msg_prefix_size = 8, -FI_ENODATA);
	WITH(hints->domain_attr->cq_cnt = 1 << 20, -FI_ENODATA);
	WITH(hints->domain_attr->cntr_cnt = 1 << 20, -FI_ENODATA);
	WITH(hints->domain_attr->mr_cnt = 1 << 20, -FI_ENODATA);
	WITH(hints->domain_attr->mr_iov_limit = 2, -FI_ENODATA);
	WITH(hints->domain_attr->ep_cnt = 2, -FI_ENODATA);
	WITH(hints->domain_attr->tx_ctx_cnt = 2, -FI_ENODATA);
	WITH(hints->domain_attr->rx_ctx_cnt = 2, -FI_ENODATA);
	WITH(hints->domain_attr->max_ep_tx_ctx = 2, -FI_ENODATA);
	WITH(hints->domain_attr->max_ep_rx_ctx = 2, -FI_ENODATA);
	WITH(hints->domain_attr->max_ep_stx_ctx = 1, -FI_ENODATA);
	WITH(hints->domain_attr->max_ep_srx_ctx = 1, -FI_ENODATA);
	WITH(hints->domain_attr->threading = 99, -FI_ENODATA);
	WITH(hints->domain_attr->control_progress = 99, -FI_ENODATA);
	WITH(hints->domain_attr->data_progress = 99, -FI_ENODATA);
	WITH(hints->domain_attr->resource_mgmt = 99, -FI_ENODATA);
	WITH(hints->domain_attr->av_type = 99, -FI_ENODATA);
	WITH((hints->caps = FI_MSG, hints->tx_attr->caps = FI_TAGGED), -FI_ENODATA);
	WITH((hints->caps = FI_MSG, hints->rx_attr->caps = FI_RMA), -FI_ENODATA);
	WITH((hints->caps = FI_MSG, hints->tx_attr->caps = FI_MSG | FI_SEND), 0);
	/* What was offered may be asked for. */
	OK(fi_getinfo(API, 0, 0, 0, 0, &info));
	OK(fi_getinfo(API, 0, 0, 0, info, &same));
	fi_freeinfo(same);
	fi_freeinfo(info);
}

/* Flags without effect are refused. */
static void flags(struct ofi *o)
{
	const uint64_t wrong[] = { FI_FENCE, FI_MULTICAST, FI_COMMIT_COMPLETE, 1ULL << 60 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct fi_ioc ioc = { &byte, 1 };
	struct fi_rma_iov there = { 0, 1, 1 };
	struct fi_rma_ioc elements = { 0, 1, 1 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct fi_msg_tagged tagged = { .msg_iov = &iov, .iov_count = 1 };
	struct fi_msg_rma rma = { .msg_iov = &iov, .iov_count = 1, .rma_iov = &there,
				  .rma_iov_count = 1 };
	struct fi_msg_atomic atomic = { .msg_iov = &ioc, .iov_count = 1, .rma_iov = &elements,
					.rma_iov_count = 1, .datatype = FI_INT8, .op = FI_SUM };

	for (int i = 0; i < 4; i++) {
		EQUAL(fi_sendmsg(o->ep, &msg, wrong[i]), -FI_EBADFLAGS);
		EQUAL(fi_recvmsg(o->ep, &msg, wrong[i]), -FI_EBADFLAGS);
		EQUAL(fi_tsendmsg(o->ep, &tagged, wrong[i]), -FI_EBADFLAGS);
		EQUAL(fi_trecvmsg(o->ep, &tagged, wrong[i]), -FI_EBADFLAGS);
		EQUAL(fi_writemsg(o->ep, &rma, wrong[i]), -FI_EBADFLAGS);
		EQUAL(fi_readmsg(o->ep, &rma, wrong[i]), -FI_EBADFLAGS);
		EQUAL(fi_atomicmsg(o->ep, &atomic, wrong[i]), -FI_EBADFLAGS);
	}
	EQUAL(fi_recvmsg(o->ep, &msg, FI_PEEK), -FI_EBADFLAGS);
	EQUAL(fi_trecvmsg(o->ep, &tagged, FI_MULTI_RECV), -FI_EBADFLAGS);
}

static void vectors(struct ofi *o)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	const char *names[] = { "margay://0", "margay://999999", "elsewhere", "margay://0x",
				"margay://" };
	fi_addr_t found[5], again;
	char text[64], cut[9] = "--------";
	size_t length = sizeof(text);
	struct fid_av *av;

	attr.name = "unknown";
	EQUAL(fi_av_open(o->domain, &attr, &av, 0), -FI_EOPNOTSUPP);
	attr.name = 0;
	attr.flags = FI_EVENT;
	CHECK(fi_av_open(o->domain, &attr, &av, 0) < 0);
	attr.flags = 0;
	OK(fi_av_open(o->domain, &attr, &av, 0));
	EQUAL(fi_av_insert(av, names, 5, found, 0, 0), 1);
	EQUAL(found[0], 0);
	for (int i = 1; i < 5; i++)
		EQUAL(found[i], FI_ADDR_NOTAVAIL);
	EQUAL(fi_av_insert(av, names, 1, 0, 0, 0), 1);
	CHECK(fi_av_insert(av, names, 1, found, FI_EVENT, 0) < 0);
	OK(fi_av_lookup(av, 0, text, &length));
	EQUAL(length, strlen("margay://0") + 1);
	CHECK(!strcmp(text, "margay://0"));
	length = 4;
	OK(fi_av_lookup(av, 1, cut, &length));
	EQUAL(length, strlen("margay://0") + 1);
	CHECK(!memcmp(cut, "marg----", 8));
	EQUAL(fi_av_lookup(av, 77, text, &length), -FI_EINVAL);
	length = sizeof(text);
	CHECK(!strcmp(fi_av_straddr(av, names[0], text, &length), "margay://0"));
	again = 0;
	OK(fi_av_remove(av, &again, 1, 0));
	EQUAL(fi_av_lookup(av, 0, text, &length), -FI_EINVAL);
	EQUAL(fi_av_insertsvc(av, "node", "service", &again, 0, 0), -FI_ENOSYS);
	EQUAL(fi_av_insertsym(av, "node", 1, "service", 1, &again, 0, 0), -FI_ENOSYS);
	/* a named address vector is complete */
	CHECK(fi_av_insert(o->av, names, 1, found, 0, 0) < 0);
	length = sizeof(text);
	OK(fi_av_lookup(o->av, 0, text, &length));
	EQUAL(fi_av_lookup(o->av, 1, text, &length), -FI_EINVAL);
	OK(fi_close(&av->fid));
}

static void names(struct ofi *o)
{
	char text[32], cut[8] = "-------";
	size_t length = sizeof(text);

	OK(fi_getname(&o->ep->fid, text, &length));
	CHECK(!strcmp(text, "margay://0"));
	length = 3;
	EQUAL(fi_getname(&o->ep->fid, cut, &length), -FI_ETOOSMALL);
	EQUAL(length, strlen(text) + 1);
	CHECK(!strcmp(cut, "mar----"));
}

static void busy(struct ofi *o)
{
	struct fid_domain *second;
	struct fid_ep *ep = 0;
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fid_cq *cq;
	struct fi_av_attr table = { .type = FI_AV_TABLE };
	struct fid_av *av;

	EQUAL(fi_close(&o->cq->fid), -FI_EBUSY);
	EQUAL(fi_close(&o->av->fid), -FI_EBUSY);
	EQUAL(fi_close(&o->domain->fid), -FI_EBUSY);
	EQUAL(fi_close(&o->fabric->fid), -FI_EBUSY);
	EQUAL(fi_endpoint(o->domain, o->info, &ep, 0), -FI_EBUSY);
	OK(fi_enable(o->ep));                          /* already enabled: no effect */
	CHECK(fi_ep_bind(o->ep, &o->av->fid, 0) < 0);
	/* A second domain would use the same portals. */
	EQUAL(fi_domain(o->fabric, o->info, &second, 0), -FI_EBUSY);
	OK(fi_cq_open(o->domain, &attr, &cq, 0));
	OK(fi_av_open(o->domain, &table, &av, 0));
	OK(fi_close(&cq->fid));
	OK(fi_close(&av->fid));
}

/* An incomplete endpoint cannot be enabled, and sends nothing. */
static void incomplete(struct ofi *o)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fid_cq *cq;
	struct fi_cq_tagged_entry entry;
	char byte = 1;
	uint64_t word = 1;

	ofi_close_ep(o);
	OK(fi_cq_open(o->domain, &attr, &cq, 0));
	EQUAL(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	EQUAL(fi_cq_sread(cq, &entry, 1, 0, 1), -FI_EAGAIN);
	OK(fi_endpoint(o->domain, o->info, &o->ep, 0));
	EQUAL(fi_enable(o->ep), -FI_ENOAV);
	EQUAL(fi_tsend(o->ep, &byte, 1, 0, 0, 1, 0), -FI_EOPBADSTATE);
	EQUAL(fi_tinject(o->ep, &byte, 1, 0, 1), -FI_EOPBADSTATE);
	EQUAL(fi_trecv(o->ep, &byte, 1, 0, 0, 1, 0, 0), -FI_EOPBADSTATE);
	EQUAL(fi_write(o->ep, &byte, 1, 0, 0, 0, 1, 0), -FI_EOPBADSTATE);
	EQUAL(fi_read(o->ep, &byte, 1, 0, 0, 0, 1, 0), -FI_EOPBADSTATE);
	EQUAL(fi_atomic(o->ep, &word, 1, 0, 0, 0, 1, FI_UINT64, FI_SUM, 0), -FI_EOPBADSTATE);
	EQUAL(fi_compare_atomic(o->ep, &word, 1, 0, &word, 0, &word, 0, 0, 0, 1, FI_UINT64,
				FI_CSWAP, 0), -FI_EOPBADSTATE);
	OK(fi_ep_bind(o->ep, &o->av->fid, 0));
	EQUAL(fi_enable(o->ep), -FI_ENOCQ);
	OK(fi_ep_bind(o->ep, &cq->fid, FI_SEND));
	EQUAL(fi_ep_bind(o->ep, &cq->fid, FI_SEND), -FI_EINVAL);
	EQUAL(fi_enable(o->ep), -FI_ENOCQ);            /* its receives have none */
	EQUAL(fi_tsend(o->ep, &byte, 1, 0, 0, 1, 0), -FI_EOPBADSTATE);
	EQUAL(fi_trecv(o->ep, &byte, 1, 0, 0, 1, 0, 0), -FI_EOPBADSTATE);
	EQUAL(fi_write(o->ep, &byte, 1, 0, 0, 0, 1, 0), -FI_EOPBADSTATE);
	EQUAL(fi_cq_sread(cq, &entry, 1, 0, 1), -FI_EAGAIN);
	OK(fi_close(&o->ep->fid));
	OK(fi_close(&cq->fid));
	ofi_open_ep(o, FI_CQ_FORMAT_TAGGED, 0);
	OK(fi_enable(o->ep));
}

static void options(struct ofi *o)
{
	size_t value = 0, length = sizeof(value);
	int small = 5;

	OK(fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &(size_t){ 100 },
		     sizeof(size_t)));
	OK(fi_getopt(&o->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &length));
	EQUAL(value, 100);
	EQUAL(length, sizeof(size_t));
	EQUAL(fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &small,
			sizeof(small)), -FI_EINVAL);
	EQUAL(fi_setopt(&o->ep->fid, FI_OPT_ENDPOINT, 999, &value, sizeof(value)),
	      -FI_ENOPROTOOPT);
	EQUAL(fi_getopt(&o->ep->fid, FI_OPT_ENDPOINT, 999, &value, &length), -FI_ENOPROTOOPT);
	CHECK(o->ep->ops->rx_size_left(o->ep) > 0 && o->ep->ops->tx_size_left(o->ep) > 0);
}

static void peers(struct ofi *o)
{
	struct fi_info *info, *hints = fi_allocinfo();

	(void)o;
	OK(fi_getinfo(API, "margay://0", "7471", 0, 0, &info));
	CHECK(!strcmp(info->dest_addr, "margay://0"));
	EQUAL(info->dest_addrlen, sizeof("margay://0"));
	fi_freeinfo(info);
	OK(fi_getinfo(API, "margay://0", 0, FI_SOURCE, 0, &info));
	CHECK(!info->dest_addr && !strcmp(info->src_addr, "margay://0"));
	fi_freeinfo(info);
	hints->dest_addr = strdup("margay://0");
	hints->dest_addrlen = sizeof("margay://0");
	OK(fi_getinfo(API, 0, 0, 0, hints, &info));
	CHECK(!strcmp(info->dest_addr, "margay://0"));
	fi_freeinfo(info);
	fi_freeinfo(hints);
	EQUAL(fi_getinfo(API, "margay://1", 0, 0, 0, &info), -FI_ENODATA);
	EQUAL(fi_getinfo(API, "localhost", 0, 0, 0, &info), -FI_ENODATA);
	EQUAL(fi_getinfo(API, "margay://1", 0, FI_SOURCE, 0, &info), -FI_ENODATA);
	EQUAL(fi_getinfo(API, "elsewhere", 0, FI_SOURCE, 0, &info), -FI_ENODATA);
	OK(fi_getinfo(API, "localhost", 0, FI_SOURCE, 0, &info));
	fi_freeinfo(info);
	WITH((hints->src_addr = strdup("margay://0"), hints->src_addrlen = 11), 0);
	WITH((hints->src_addr = strdup("margay://1"), hints->src_addrlen = 11), -FI_ENODATA);
}

/* Entries that the application writes are read in order; peeking removes nothing. */
static void events(struct ofi *o)
{
	struct fi_eq_attr attr = { .flags = FI_WRITE }, fd = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_entry entry = { .fid = &o->fabric->fid }, got;
	struct fi_eq_err_entry error;
	struct fid_eq *eq, *plain;
	uint32_t event;

	EQUAL(fi_eq_open(o->fabric, &fd, &eq, 0), -FI_ENOSYS);
	OK(fi_eq_open(o->fabric, 0, &plain, 0));
	EQUAL(fi_eq_write(plain, FI_NOTIFY, &entry, sizeof(entry), 0), -FI_EINVAL);
	OK(fi_close(&plain->fid));
	OK(fi_eq_open(o->fabric, &attr, &eq, 0));
	EQUAL(fi_eq_read(eq, &event, &got, sizeof(got), 0), -FI_EAGAIN);
	EQUAL(fi_eq_sread(eq, &event, &got, sizeof(got), 1, 0), -FI_EAGAIN);
	EQUAL(fi_eq_sread(eq, &event, &got, sizeof(got), -1, 0), -FI_EAGAIN);
	EQUAL(fi_eq_readerr(eq, &error, 0), -FI_EAGAIN);
	for (uintptr_t i = 0; i < 100; i++) {
		entry.context = (void *)i;
		EQUAL(fi_eq_write(eq, FI_NOTIFY + (i & 1), &entry, sizeof(entry), 0), sizeof(entry));
	}
	EQUAL(fi_eq_read(eq, &event, &got, sizeof(got) - 1, 0), -FI_ETOOSMALL);
	for (uintptr_t i = 0; i < 100; i++) {
		EQUAL(fi_eq_read(eq, &event, &got, sizeof(got), FI_PEEK), sizeof(got));
		CHECK(got.context == (void *)i);
		EQUAL(fi_eq_sread(eq, &event, &got, sizeof(got), -1, 0), sizeof(got));
		CHECK(got.context == (void *)i && got.fid == &o->fabric->fid);
		EQUAL(event, FI_NOTIFY + (i & 1));
	}
	EQUAL(fi_eq_read(eq, &event, &got, sizeof(got), 0), -FI_EAGAIN);
	EQUAL(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
	EQUAL(fi_close(&o->fabric->fid), -FI_EBUSY);
	OK(fi_close(&eq->fid));         /* with an event left in it */
}

/* Unsupported calls return an error, and the node goes on. */
static void not_offered(struct ofi *o)
{
	struct fi_cq_attr fd = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr wait = { .wait_obj = FI_WAIT_FD };
	struct fi_wait_attr wait_attr = { 0 };
	struct fi_poll_attr poll_attr = { 0 };
	struct fid_stx *stx;
	struct fid_ep *ep;
	struct fid_pep *pep;
	struct fid_wait *set;
	struct fid_poll *poll;
	struct fid_cq *cq;
	struct fid_cntr *counter;
	struct fid_mc *group;
	struct fid *alias;
	void *ops;
	char text[32] = "margay://0";
	size_t length = sizeof(text);

	EQUAL(fi_cq_open(o->domain, &fd, &cq, 0), -FI_ENOSYS);
	EQUAL(fi_cntr_open(o->domain, &wait, &counter, 0), -FI_ENOSYS);
	EQUAL(fi_wait_open(o->fabric, &wait_attr, &set), -FI_ENOSYS);
	EQUAL(fi_trywait(o->fabric, 0, 0), -FI_ENOSYS);
	EQUAL(fi_poll_open(o->domain, &poll_attr, &poll), -FI_ENOSYS);
	EQUAL(fi_passive_ep(o->fabric, o->info, &pep, 0), -FI_ENOSYS);
	EQUAL(fi_scalable_ep(o->domain, o->info, &ep, 0), -FI_ENOSYS);
	EQUAL(fi_stx_context(o->domain, 0, &stx, 0), -FI_ENOSYS);
	EQUAL(fi_srx_context(o->domain, 0, &ep, 0), -FI_ENOSYS);
	EQUAL(fi_tx_context(o->ep, 0, 0, &ep, 0), -FI_ENOSYS);
	EQUAL(fi_rx_context(o->ep, 0, 0, &ep, 0), -FI_ENOSYS);
	EQUAL(fi_ep_alias(o->ep, &ep, 0), -FI_ENOSYS);
	EQUAL(fi_setname(&o->ep->fid, text, length), -FI_ENOSYS);
	EQUAL(fi_getpeer(o->ep, text, &length), -FI_ENOSYS);
	EQUAL(fi_connect(o->ep, text, 0, 0), -FI_ENOSYS);
	EQUAL(fi_accept(o->ep, 0, 0), -FI_ENOSYS);
	EQUAL(fi_shutdown(o->ep, 0), -FI_ENOSYS);
	EQUAL(fi_join(o->ep, text, 0, &group, 0), -FI_ENOSYS);
	EQUAL(fi_barrier(o->ep, 0, 0), -FI_ENOSYS);
	EQUAL(fi_barrier2(o->ep, 0, 0, 0), -FI_ENOSYS);
	EQUAL(fi_broadcast(o->ep, text, 1, 0, 0, 0, FI_INT8, 0, 0), -FI_ENOSYS);
	EQUAL(fi_allreduce(o->ep, text, 1, 0, text, 0, 0, FI_INT8, FI_SUM, 0, 0), -FI_ENOSYS);
	EQUAL(fi_cq_signal(o->cq), -FI_ENOSYS);
	EQUAL(fi_alias(&o->ep->fid, &alias, 0), -FI_ENOSYS);
	EQUAL(fi_control(&o->domain->fid, FI_GETOPSFLAG, 0), -FI_ENOSYS);
	EQUAL(fi_domain_bind(o->domain, &o->cq->fid, 0), -FI_ENOSYS);
	EQUAL(fi_av_bind(o->av, &o->cq->fid, 0), -FI_ENOSYS);
	EQUAL(fi_open_ops(&o->ep->fid, "ops", 0, &ops, 0), -FI_ENOSYS);
	EQUAL(fi_writedata(o->ep, text, 1, 0, 1, 0, 0, 1, 0), -FI_ENOSYS);
	EQUAL(fi_inject_writedata(o->ep, text, 1, 1, 0, 0, 1), -FI_ENOSYS);
	EQUAL(fi_open(API, "monitor", 0, 0, 0, &alias, 0), -FI_ENOSYS);
}

int main(void)
{
	static const struct ofi_case cases[] = {
		{ "offered", offered }, { "hinted", hinted },
		{ "more_than_offered", more_than_offered }, { "flags", flags },
		{ "vectors", vectors },
		{ "names", names }, { "busy", busy }, { "incomplete", incomplete },
		{ "options", options }, { "peers", peers }, { "events", events },
		{ "not_offered", not_offered },
	};
	struct ofi o;

	ofi_open(&o);
	RUN_CASES(&o, cases);
	ofi_close(&o);
	return 0;
}
