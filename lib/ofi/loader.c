/*
 * The functions of libfabric that a program calls by name; all others go through the operations of
 * its objects. On a host, libfabric's core does this for many providers; here there is one. Called
 * by the application's one thread.
 */
#include "provider.h"
#include <rdma/providers/fi_prov.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fi_provider *fi_margay_ini(void);

uint32_t fi_version(void)
{
	return FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	       const struct fi_info *hints, struct fi_info **info)
{
	return fi_margay_ini()->getinfo(version, node, service, flags, hints, info);
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return fi_margay_ini()->fabric(attr, fabric, context);
}

/* There are no named objects to open. */
int fi_open(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags,
	    struct fid **fid, void *context)
{
	(void)version, (void)name, (void)attr, (void)attr_len, (void)flags, (void)fid, (void)context;
	return -FI_ENOSYS;
}

/* ---- fi_info ---- */

static void *copy(const void *from, size_t bytes)
{
	void *to = from ? malloc(bytes) : 0;

	return to ? memcpy(to, from, bytes) : 0;
}

static char *copy_text(const char *text)
{
	return text ? strdup(text) : 0;
}

static void free_one(struct fi_info *info)
{
	if (info->fabric_attr) {
		free(info->fabric_attr->name);
		free(info->fabric_attr->prov_name);
	}
	if (info->domain_attr) {
		free(info->domain_attr->name);
		free(info->domain_attr->auth_key);
	}
	if (info->ep_attr)
		free(info->ep_attr->auth_key);
	free(info->fabric_attr);
	free(info->domain_attr);
	free(info->ep_attr);
	free(info->tx_attr);
	free(info->rx_attr);
	free(info->src_addr);
	free(info->dest_addr);
	free(info);
}

void fi_freeinfo(struct fi_info *info)
{
	while (info) {
		struct fi_info *next = info->next;

		free_one(info);
		info = next;
	}
}

/* Copies the strings that the attributes point to. 0, or 1: no memory. */
static int copy_names(struct fi_info *to, const struct fi_info *from)
{
	to->fabric_attr->name = copy_text(from->fabric_attr->name);
	to->fabric_attr->prov_name = copy_text(from->fabric_attr->prov_name);
	to->domain_attr->name = copy_text(from->domain_attr->name);
	to->domain_attr->auth_key = copy(from->domain_attr->auth_key,
					 from->domain_attr->auth_key_size);
	to->ep_attr->auth_key = copy(from->ep_attr->auth_key, from->ep_attr->auth_key_size);
	to->src_addr = copy(from->src_addr, from->src_addrlen);
	to->dest_addr = copy(from->dest_addr, from->dest_addrlen);
	return (from->fabric_attr->name && !to->fabric_attr->name) ||
	       (from->fabric_attr->prov_name && !to->fabric_attr->prov_name) ||
	       (from->domain_attr->name && !to->domain_attr->name) ||
	       (from->src_addr && !to->src_addr) || (from->dest_addr && !to->dest_addr);
}

/* A copy of one fi_info; of null, an empty one with all its attributes. */
struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	static const struct fi_fabric_attr fabric;
	static const struct fi_domain_attr domain;
	static const struct fi_ep_attr endpoint;
	static const struct fi_tx_attr tx;
	static const struct fi_rx_attr rx;
	struct fi_info from = info ? *info : (struct fi_info){ 0 };
	struct fi_info *to = malloc(sizeof(*to));

	if (!to)
		return 0;
	if (!from.fabric_attr)
		from.fabric_attr = (struct fi_fabric_attr *)&fabric;
	if (!from.domain_attr)
		from.domain_attr = (struct fi_domain_attr *)&domain;
	if (!from.ep_attr)
		from.ep_attr = (struct fi_ep_attr *)&endpoint;
	if (!from.tx_attr)
		from.tx_attr = (struct fi_tx_attr *)&tx;
	if (!from.rx_attr)
		from.rx_attr = (struct fi_rx_attr *)&rx;
	*to = from;
	to->next = 0;
	to->src_addr = to->dest_addr = 0;
	to->fabric_attr = copy(from.fabric_attr, sizeof(*from.fabric_attr));
	to->domain_attr = copy(from.domain_attr, sizeof(*from.domain_attr));
	to->ep_attr = copy(from.ep_attr, sizeof(*from.ep_attr));
	to->tx_attr = copy(from.tx_attr, sizeof(*from.tx_attr));
	to->rx_attr = copy(from.rx_attr, sizeof(*from.rx_attr));
	if (to->fabric_attr)
		to->fabric_attr->name = to->fabric_attr->prov_name = 0;
	if (to->domain_attr)
		to->domain_attr->name = 0, to->domain_attr->auth_key = 0;
	if (to->ep_attr)
		to->ep_attr->auth_key = 0;
	if (!to->fabric_attr || !to->domain_attr || !to->ep_attr || !to->tx_attr || !to->rx_attr ||
	    copy_names(to, &from)) {
		free_one(to);
		return 0;
	}
	return to;
}

/* ---- texts ---- */

/* MPICH's errors say about a cause only what fi_strerror does: so this one names a rank. */
static const char *death(void)
{
	static char text[48];

	if (mfi_last_death() < 0)
		return "I/O error: a rank has died";
	snprintf(text, sizeof(text), "I/O error: rank %d of the job has died", mfi_last_death());
	return text;
}

const char *fi_strerror(int errnum)
{
	static const char *const texts[] = {
		[FI_EOTHER - FI_ERRNO_OFFSET] = "unspecified error",
		[FI_ETOOSMALL - FI_ERRNO_OFFSET] = "the buffer is too small",
		[FI_EOPBADSTATE - FI_ERRNO_OFFSET] = "not permitted in this state",
		[FI_EAVAIL - FI_ERRNO_OFFSET] = "an error is available",
		[FI_EBADFLAGS - FI_ERRNO_OFFSET] = "unsupported flags",
		[FI_ENOEQ - FI_ERRNO_OFFSET] = "no event queue",
		[FI_EDOMAIN - FI_ERRNO_OFFSET] = "objects of different domains",
		[FI_ENOCQ - FI_ERRNO_OFFSET] = "no completion queue",
		[FI_ECRC - FI_ERRNO_OFFSET] = "CRC error",
		[FI_ETRUNC - FI_ERRNO_OFFSET] = "the message was longer than the buffer",
		[FI_ENOKEY - FI_ERRNO_OFFSET] = "no such key",
		[FI_ENOAV - FI_ERRNO_OFFSET] = "no address vector",
		[FI_EOVERRUN - FI_ERRNO_OFFSET] = "the queue has overflowed",
		[FI_ENORX - FI_ERRNO_OFFSET] = "the receiver has no buffer",
	};
	static const char *const causes[] = {
		[FI_EREMOTEIO] = "Remote I/O error: no region of the target grants this range and access",
		[FI_ECONNRESET] = "Connection reset by peer: it has ended, or has closed its endpoint",
	};
	unsigned int number = errnum < 0 ? -(unsigned int)errnum : (unsigned int)errnum;
	unsigned int index = number - FI_ERRNO_OFFSET;

	if (number == FI_EIO)
		return death();
	if (number < sizeof(causes) / sizeof(causes[0]) && causes[number])
		return causes[number];
	if (number < FI_ERRNO_OFFSET)
		return strerror((int)number);
	if (index < sizeof(texts) / sizeof(texts[0]) && texts[index])
		return texts[index];
	return "unknown error";
}

/* Formats the kinds of data that programs print: flags and numbers, without names. */
char *fi_tostr_r(char *text, size_t len, const void *data, enum fi_type datatype)
{
	switch (datatype) {
	case FI_TYPE_VERSION:
		snprintf(text, len, "%d.%d", FI_MAJOR_VERSION, FI_MINOR_VERSION);
		break;
	case FI_TYPE_CAPS: case FI_TYPE_OP_FLAGS: case FI_TYPE_MSG_ORDER: case FI_TYPE_MODE:
	case FI_TYPE_CQ_EVENT_FLAGS:
		snprintf(text, len, "%#llx", (unsigned long long)*(const uint64_t *)data);
		break;
	default:
		snprintf(text, len, "?");
	}
	return text;
}

char *fi_tostr(const void *data, enum fi_type datatype)
{
	static char text[64];

	return fi_tostr_r(text, sizeof(text), data, datatype);
}
