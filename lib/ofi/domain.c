/*
 * The domain, address vectors and memory regions. A domain is the Portals
 * interface; an address is a rank; a region is a match entry whose bits are its
 * key. Called by the application's one thread.
 */
#include "provider.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int mfi_no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void)fid, (void)other, (void)flags;
	return -FI_ENOSYS;
}

int mfi_no_control(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)command, (void)arg;
	return -FI_ENOSYS;
}

int mfi_no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -FI_ENOSYS;
}

/* ---- address vectors ---- */

static const char scheme[] = "margay://";

size_t mfi_address_text(uint32_t rank, char *text, size_t room)
{
	return (size_t)snprintf(text, room, "%s%u", scheme, rank) + 1;
}

static int av_close(struct fid *fid)
{
	struct av *av = (struct av *)fid;

	if (av->domain->endpoint && av->domain->endpoint->av == av)
		return -FI_EBUSY;
	av->domain->users--;
	free(av->ranks);
	free(av->map);
	free(av);
	return 0;
}

uint32_t mfi_address_rank(const char *text)
{
	unsigned long rank;
	char *end;

	if (strncmp(text, scheme, sizeof(scheme) - 1) || text[sizeof(scheme) - 1] < '0' ||
	    text[sizeof(scheme) - 1] > '9')
		return UINT32_MAX;
	rank = strtoul(text + sizeof(scheme) - 1, &end, 10);
	return *end == 0 && rank < (unsigned long)margay_size() ? (uint32_t)rank : UINT32_MAX;
}

/* A new entry: its number, or SIZE_MAX: no memory. */
static size_t av_room(struct av *av)
{
	size_t room = av->room ? 2 * av->room : 16;
	uint32_t *more;

	if (av->count == av->room) {
		more = realloc(av->ranks, room * sizeof(*more));
		if (!more)
			return SIZE_MAX;
		av->ranks = more;
		av->room = room;
	}
	return av->count++;
}

/* `addr` is an array of `count` strings, char * each, as FI_ADDR_STR has it. */
static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	struct av *av = (struct av *)fid;
	const char *const *texts = addr;
	int good = 0;

	(void)context;
	if ((flags & ~(uint64_t)FI_MORE) || av->map)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		uint32_t rank = mfi_address_rank(texts[i]);
		size_t at = rank == UINT32_MAX ? SIZE_MAX : av_room(av);

		if (at != SIZE_MAX) {
			av->ranks[at] = rank;
			good++;
		}
		if (fi_addr)
			fi_addr[i] = at == SIZE_MAX ? FI_ADDR_NOTAVAIL : at;
	}
	return good;
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct av *av = (struct av *)fid;

	if (flags || av->map)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++)
		if (fi_addr[i] < av->count)
			av->ranks[fi_addr[i]] = UINT32_MAX;
	return 0;
}

uint32_t mfi_look_up(const struct av *av, fi_addr_t address)
{
	if (av->map)
		return address < av->domain->ranks ? (uint32_t)address : UINT32_MAX;
	return address < av->count ? av->ranks[address] : UINT32_MAX;
}

static int av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	uint32_t rank = mfi_look_up((struct av *)fid, fi_addr);
	char text[32];
	size_t bytes;

	if (rank == UINT32_MAX)
		return -FI_EINVAL;
	bytes = mfi_address_text(rank, text, sizeof(text));
	memcpy(addr, text, bytes < *addrlen ? bytes : *addrlen);
	*addrlen = bytes;
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	size_t bytes = strlen(addr) + 1;

	(void)fid;
	snprintf(buf, *len, "%s", (const char *)addr);
	*len = bytes;
	return buf;
}

static int av_no_service(struct fid_av *av, const char *node, const char *service,
			 fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	(void)av, (void)node, (void)service, (void)fi_addr, (void)flags, (void)context;
	return -FI_ENOSYS;
}

static int av_no_symmetry(struct fid_av *av, const char *node, size_t nodecnt,
			  const char *service, size_t svccnt, fi_addr_t *fi_addr,
			  uint64_t flags, void *context)
{
	(void)av, (void)node, (void)nodecnt, (void)service, (void)svccnt, (void)fi_addr;
	(void)flags, (void)context;
	return -FI_ENOSYS;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(struct fi_ops), .close = av_close, .bind = mfi_no_bind,
	.control = mfi_no_control, .ops_open = mfi_no_ops,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av), .insert = av_insert, .insertsvc = av_no_service,
	.insertsym = av_no_symmetry, .remove = av_remove, .lookup = av_lookup,
	.straddr = av_straddr,
};

/*
 * A vector with a name, opened with FI_READ, is one that all ranks share. It is filled already:
 * address number r is rank r, so no addresses are exchanged. Its table lies at attr->map_addr.
 */
static int av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **av,
		   void *context)
{
	struct domain *domain = (struct domain *)fid;
	struct av *made;

	if (attr->name && !(attr->flags & FI_READ))
		return -FI_EOPNOTSUPP;
	if (attr->flags & ~(uint64_t)(FI_READ | FI_SYMMETRIC))
		return -FI_ENOSYS;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	if (attr->name) {
		made->map = malloc(domain->ranks * sizeof(*made->map));
		if (!made->map) {
			free(made);
			return -FI_ENOMEM;
		}
		for (uint32_t i = 0; i < domain->ranks; i++)
			made->map[i] = i;
		attr->map_addr = made->map;
	}
	made->fid.fid.fclass = FI_CLASS_AV;
	made->fid.fid.context = context;
	made->fid.fid.ops = &av_fid_ops;
	made->fid.ops = &av_ops;
	made->domain = domain;
	domain->users++;
	*av = &made->fid;
	return 0;
}

/* ---- memory regions ---- */

#define CLOSE_LOOK_NS  100000   /* between two attempts to unlink a region in use */
#define CLOSE_LOOKS    100000   /* 10 s: operations under way end sooner, or their peer is lost */

/* A peer may know that its operation is complete before this kernel's card has reported it. */
static int region_close(struct fid *fid)
{
	struct region *region = (struct region *)fid;
	struct region **at = &region->domain->regions;

	for (int looks = 0; PtlMEUnlink(region->entry) == PTL_ME_IN_USE; looks++) {
		if (looks == CLOSE_LOOKS)
			return -FI_EBUSY;
		nanosleep(&(struct timespec){ .tv_nsec = CLOSE_LOOK_NS }, 0);
	}
	while (*at != region)
		at = &(*at)->next;
	*at = region->next;
	if (region->domain->endpoint)
		mfi_entry_give(region->domain->endpoint);
	free(region);
	return 0;
}

static struct fi_ops region_fid_ops = {
	.size = sizeof(struct fi_ops), .close = region_close, .bind = mfi_no_bind,
	.control = mfi_no_control, .ops_open = mfi_no_ops,
};

static int region_attach(struct region *region)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_md_t handle;
	int error = PtlMEAttach(region->domain->ni, PORTAL_REGION, any_process,
				mfi_key_bits(region->fid.key), ~KEY_MASK, PTL_UNLINK,
				PTL_INS_AFTER, &region->entry);

	if (error != PTL_OK)
		return error;
	error = PtlMDAttach(region->entry, region->md, PTL_RETAIN, &handle);
	if (error != PTL_OK)
		PtlMEUnlink(region->entry);
	return error;
}

int mfi_regions_attach(struct domain *domain)
{
	int first = PTL_OK;

	for (struct region *region = domain->regions; region; region = region->next) {
		int error = region_attach(region);

		if (first == PTL_OK)
			first = error;
	}
	return first;
}

static int key_is_used(const struct domain *domain, uint64_t key)
{
	const struct region *region = domain->regions;

	while (region && region->fid.key != key)
		region = region->next;
	return region != 0;
}

/*
 * A region of `len` bytes at buf that peers name by key and offset. A region that begins at null is
 * all of the application's memory: there offsets are addresses. A region records no events, so no
 * peer can fill a queue.
 */
static int region_open(struct domain *domain, const void *buf, size_t len, uint64_t access,
		       uint64_t key, struct region **region, void *context)
{
	struct endpoint *ep = domain->endpoint;
	struct region *made;
	int error;

	if (!mfi_key_fits(key))
		return -FI_EKEYREJECTED;
	if (key_is_used(domain, key))
		return -FI_ENOKEY;
	if (ep && ep->enabled && mfi_entry_take(ep))
		return -FI_ENOMEM;
	made = calloc(1, sizeof(*made));
	if (!made) {
		error = -FI_ENOMEM;
		goto give_back;
	}
	made->md = (ptl_md_t){
		.start = (void *)buf, .length = len, .threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_MANAGE_REMOTE, .eq_handle = PTL_EQ_NONE,
	};
	if (access & FI_REMOTE_READ)
		made->md.options |= PTL_MD_OP_GET;
	if (access & FI_REMOTE_WRITE)
		made->md.options |= PTL_MD_OP_PUT;
	if (!buf)
		made->md.options |= PTL_MD_SPAN;
	made->fid.fid.fclass = FI_CLASS_MR;
	made->fid.fid.context = context;
	made->fid.fid.ops = &region_fid_ops;
	made->fid.key = key;
	made->domain = domain;
	error = mfi_error(region_attach(made));
	if (error)
		goto give_back;
	made->next = domain->regions;
	domain->regions = made;
	*region = made;
	return 0;

give_back:
	free(made);
	if (ep && ep->enabled)
		mfi_entry_give(ep);
	return error;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr)
{
	struct region *region = 0;
	int error;

	if (flags || attr->iov_count != 1 || attr->offset || attr->iface != FI_HMEM_SYSTEM)
		return -FI_EINVAL;
	error = region_open((struct domain *)fid, attr->mr_iov->iov_base, attr->mr_iov->iov_len,
			    attr->access, attr->requested_key, &region, attr->context);
	if (!error)
		*mr = &region->fid;
	return error;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	struct fi_mr_attr attr = {
		.mr_iov = iov, .iov_count = count, .access = access, .offset = offset,
		.requested_key = requested_key, .context = context,
	};

	return mr_regattr(fid, &attr, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	const struct iovec iov = { (void *)buf, len };

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

static struct fi_ops_mr mr_ops = {
	.size = sizeof(struct fi_ops_mr), .reg = mr_reg, .regv = mr_regv, .regattr = mr_regattr,
};

/* ---- the domain ---- */

static const struct domain *opened;     /* or null */

/*
 * Open regions end with their domain. This differs from fi_close(3): MPICH leaves the regions of
 * windows that a program has not freed, and MPI_Finalize must not fail because of them.
 */
static int domain_close(struct fid *fid)
{
	struct domain *domain = (struct domain *)fid;

	if (domain->users)
		return -FI_EBUSY;
	PtlNIFini(domain->ni);
	for (struct region *region = domain->regions, *next; region; region = next) {
		next = region->next;
		free(region);
	}
	domain->fabric->users--;
	opened = 0;
	free(domain);
	return 0;
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops), .close = domain_close, .bind = mfi_no_bind,
	.control = mfi_no_control, .ops_open = mfi_no_ops,
};

static int no_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
			  void *context)
{
	(void)domain, (void)info, (void)sep, (void)context;
	return -FI_ENOSYS;
}

static int no_poll(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **set)
{
	(void)domain, (void)attr, (void)set;
	return -FI_ENOSYS;
}

static int no_stx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		  void *context)
{
	(void)domain, (void)attr, (void)stx, (void)context;
	return -FI_ENOSYS;
}

static int no_srx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx,
		  void *context)
{
	(void)domain, (void)attr, (void)rx, (void)context;
	return -FI_ENOSYS;
}

static int query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
			struct fi_atomic_attr *attr, uint64_t flags)
{
	size_t count;
	int error;

	(void)domain;
	if (flags & FI_COMPARE_ATOMIC)
		error = mfi_ops_atomic.compwritevalid(0, datatype, op, &count);
	else if (flags & FI_FETCH_ATOMIC)
		error = mfi_ops_atomic.readwritevalid(0, datatype, op, &count);
	else
		error = mfi_ops_atomic.writevalid(0, datatype, op, &count);
	if (!error) {
		attr->count = count;
		attr->size = ATOMIC_MOST / count;
	}
	return error;
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain), .av_open = av_open, .cq_open = mfi_cq_open,
	.endpoint = mfi_endpoint, .scalable_ep = no_scalable_ep, .cntr_open = mfi_counter_open,
	.poll_open = no_poll, .stx_ctx = no_stx, .srx_ctx = no_srx,
	.query_atomic = query_atomic,
};

/* There is only one domain, as a process has one interface. */
int mfi_domain(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **domain,
	       void *context)
{
	struct fabric *fabric = (struct fabric *)fid;
	struct domain *made;
	ptl_ni_limits_t limits;
	int interfaces, error;

	(void)info;
	if (opened)
		return -FI_EBUSY;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	error = PtlInit(&interfaces);
	if (error == PTL_OK)
		error = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, &limits, &made->ni);
	if (error != PTL_OK) {
		free(made);
		return mfi_error(error);
	}
	made->fid.fid.fclass = FI_CLASS_DOMAIN;
	made->fid.fid.context = context;
	made->fid.fid.ops = &domain_fid_ops;
	made->fid.ops = &domain_ops;
	made->fid.mr = &mr_ops;
	made->fabric = fabric;
	fabric->users++;
	opened = made;
	made->ranks = (uint32_t)margay_size();
	made->entries = (uint32_t)(limits.max_mes < limits.max_mds ? limits.max_mes :
				   limits.max_mds);
	*domain = &made->fid;
	return 0;
}
