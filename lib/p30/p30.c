/*
 * Portals 3.0 (<p30.h>) on the calls of 3.3 (<portals3.h>): processes, the
 * interface, entries, descriptors and messages; p30_eq.c has the queues. Both
 * headers are included here, 3.3's first: p30_calls.h keeps its functions under other names before
 * those of 3.0 hide them. Owns a table that says on which portal each match entry lies. Called by
 * the application's one thread.
 */
#include "p30_calls.h"
#include <stdlib.h>

/* The portal of each match entry, by the handle's index: PtlMEAttach must refuse a portal that has
 * a list. The entries may have gone since. */
static struct place {
	ptl_handle_me_t me;         /* 0: none */
	ptl_pt_index_t portal;
} *places;
static unsigned int place_count;

static int initialised;             /* PtlNIInit was called */
static ptl33_jid_t own_job;         /* the group of this process */

const char *const ptl_err_str[] = {
#define NAME(name) [name] = #name
	NAME(PTL_OK), NAME(PTL_FAIL), NAME(PTL_NOINIT), NAME(PTL_NOSPACE), NAME(PTL_SEGV),
	NAME(PTL_AC_INV_INDEX), NAME(PTL_INV_EQ), NAME(PTL_INV_HANDLE), NAME(PTL_INIT_INV),
	NAME(PTL_INV_MD), NAME(PTL_INV_ME), NAME(PTL_INV_NI), [12] = "", NAME(PTL_INV_PROC),
	NAME(PTL_INV_PTINDEX), NAME(PTL_INV_SR_INDX), NAME(PTL_ILL_MD), NAME(PTL_INUSE),
	NAME(PTL_NOUPDATE), [17] = "PTL_INUSE", NAME(PTL_ML_TOOLONG), [21] = "",
	NAME(PTL_EQ_EMPTY), NAME(PTL_EQ_DROPPED), [24 ... 31] = "", NAME(PTL_INIT_DUP),
	NAME(PTL_INV_PSIZE), NAME(PTL_INV_ASIZE), NAME(PTL_ADDR_UNKNOWN),
#undef NAME
};

/* ---- processes ---- */

ptl_process_id_t p30_process(ptl33_process_id_t process, ptl33_jid_t job)
{
	ptl33_nid_t first = margay_process(0).nid;
	int rank = job == own_job ? (int)(process.nid - first) : -1;

	return (ptl_process_id_t){
		.addr_kind = PTL_ADDR_BOTH, .nid = (ptl_id_t)process.nid,
		.pid = (ptl_id_t)process.pid, .gid = (ptl_id_t)job,
		.rid = rank >= 0 && rank < margay_size() ? rank : -1,
	};
}

/* The process that an argument names; 0 if there can be no such process. */
static int process33(ptl_process_id_t id, ptl33_process_id_t *process)
{
	*process = (ptl33_process_id_t){ (ptl33_nid_t)id.nid, (ptl33_nid_t)id.pid };
	if (id.addr_kind == PTL_ADDR_NID || id.addr_kind == PTL_ADDR_BOTH)
		return 1;
	if (id.addr_kind != PTL_ADDR_GID || (id.gid != PTL_ID_ANY && id.gid != (int)own_job))
		return 0;
	*process = (ptl33_process_id_t){ ANY33, ANY33 };
	if (id.rid == PTL_ID_ANY)
		return 1;
	*process = margay_process(id.rid);
	return id.rid >= 0 && id.rid < margay_size();
}

int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id, ptl_id_t *gsize)
{
	ptl33_process_id_t self;
	int result = ptl33_GetId(ni, &self);

	if (result != PTL_OK)
		return result;
	*id = p30_process(self, own_job);
	*gsize = margay_size();
	return PTL_OK;
}

int PtlTransId(ptl_handle_ni_t ni, ptl_process_id_t old_id, ptl_process_id_t *new_id)
{
	ptl33_process_id_t process;
	ptl_process_id_t both;
	int result = ptl33_GetId(ni, &process);

	if (result != PTL_OK)
		return result;
	if (!process33(old_id, &process))
		return PTL_ADDR_UNKNOWN;
	both = p30_process(process, own_job);
	if (both.rid < 0 || margay_process(both.rid).pid != process.pid)
		return PTL_ADDR_UNKNOWN;
	*new_id = both;
	return PTL_OK;
}

/* ---- the interface ---- */

int PtlInit(void)
{
	int interfaces;

	return ptl33_Init(&interfaces);
}

/* The interface has gone: clears what this file keeps about it. */
static void forget(void)
{
	p30_forget();
	free(places);
	places = NULL;
	place_count = 0;
	initialised = 0;
}

void PtlFini(void)
{
	if (initialised)
		forget();
	ptl33_Fini();
}

int PtlNIInit(ptl_interface_t interface, ptl_pt_index_t ptl_size, ptl_ac_index_t acl_size,
	      ptl_handle_ni_t *ni)
{
	/* the interface needs at least two access control entries */
	ptl33_ni_limits_t wanted = { .max_pt_index = (int)(ptl_size - 1),
				     .max_ac_index = acl_size < 2 ? 1 : (int)(acl_size - 1) };
	ptl33_ni_limits_t granted;
	int result;

	if (initialised)
		return PTL_INIT_DUP;
	if (ptl_size < 1 || ptl_size > INT32_MAX)
		return PTL_INV_PSIZE;
	if (acl_size > INT32_MAX)
		return PTL_INV_ASIZE;
	result = ptl33_NIInit(interface, ANY33, &wanted, &granted, ni);
	if (result != PTL_OK)
		return result;
	if (granted.max_pt_index < wanted.max_pt_index)
		result = PTL_INV_PSIZE;
	else if (granted.max_ac_index < wanted.max_ac_index)
		result = PTL_INV_ASIZE;
	else
		result = ptl33_GetJid(*ni, &own_job);
	places = result == PTL_OK ? calloc((size_t)granted.max_mes, sizeof *places) : NULL;
	if (result == PTL_OK && !places)
		result = PTL_NOSPACE;
	if (result != PTL_OK) {
		ptl33_NIFini(*ni);
		return result;
	}
	place_count = (unsigned int)granted.max_mes;
	initialised = 1;
	return PTL_OK;
}

int PtlNIFini(ptl_handle_ni_t ni)
{
	int result = ptl33_NIFini(ni);

	if (result == PTL_OK)
		forget();
	return result;
}

int PtlNIBarrier(ptl_handle_ni_t ni)
{
	return ptl33_NIBarrier(ni);
}

int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t status_register, ptl_sr_value_t *value)
{
	return ptl33_NIStatus(ni, status_register, (ptl33_sr_value_t *)value);
}

int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni)
{
	return ptl33_NIHandle(handle, ni);
}

int p30_NIDistLong(ptl_handle_ni_t ni, ptl_process_id_t id, unsigned long *distance)
{
	ptl33_process_id_t process;

	return process33(id, &process) ? ptl33_NIDist(ni, process, distance) : PTL_INV_PROC;
}

int p30_NIDist(ptl_handle_ni_t ni, ptl_process_id_t id, double *distance)
{
	unsigned long hops;
	int result = p30_NIDistLong(ni, id, &hops);

	if (result == PTL_OK)
		*distance = (double)hops;
	return result;
}

int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t index, ptl_process_id_t matchid,
	       ptl_pt_index_t portal)
{
	ptl33_process_id_t process;
	ptl33_jid_t job = matchid.addr_kind == PTL_ADDR_GID ? (ptl33_jid_t)matchid.gid : ANY33;

	if (!process33(matchid, &process))
		return PTL_INV_PROC;
	return ptl33_ACEntry(ni, index, process, ANY33, job, portal);
}

/* ---- match entries ---- */

static struct place *place_of(ptl_handle_me_t me)
{
	static struct place nowhere;

	return HANDLE_INDEX(me) < place_count ? &places[HANDLE_INDEX(me)] : &nowhere;
}

static int has_list(ptl_pt_index_t portal)
{
	ptl_handle_ni_t ni;

	for (unsigned int i = 0; i < place_count; i++)
		if (places[i].me && places[i].portal == portal) {
			if (ptl33_NIHandle(places[i].me, &ni) == PTL_OK)
				return 1;
			places[i].me = 0;
		}
	return 0;
}

int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t index, ptl_process_id_t matchid,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignorebits, ptl_unlink_t unlink,
		ptl_handle_me_t *me)
{
	ptl33_process_id_t process;
	int result;

	if (!process33(matchid, &process))
		return PTL_INV_PROC;
	if (has_list(index))
		return PTL_INUSE;
	result = ptl33_MEAttach(ni, index, process, match_bits, ignorebits,
				(ptl33_unlink_t)unlink, (ptl33_ins_pos_t)PTL_INS_AFTER, me);
	if (result == PTL_OK)
		*place_of(*me) = (struct place){ *me, index };
	return result;
}

int PtlMEInsert(ptl_handle_me_t current, ptl_process_id_t matchid, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignorebits, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_me_t *me)
{
	ptl33_process_id_t process;
	struct place *base = place_of(current);
	int result;

	if (!process33(matchid, &process))
		return PTL_INV_PROC;
	result = ptl33_MEInsert(current, process, match_bits, ignorebits,
				(ptl33_unlink_t)unlink, (ptl33_ins_pos_t)position, me);
	if (result == PTL_OK && base->me == current)
		*place_of(*me) = (struct place){ *me, base->portal };
	return result;
}

int PtlMEUnlink(ptl_handle_me_t me)
{
	return ptl33_MEUnlink(me);
}

/* ---- memory descriptors ---- */

enum { OPTIONS = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE |
		 PTL_MD_ACK_DISABLE };

/* 3.3's max_size is the space that must remain; 3.0's max_offset is the largest offset allowed. */
static ptl33_md_t md33(const ptl_md_t *md, int with_max)
{
	unsigned int options = md->options | START_DISABLE33;
	ptl_size_t max_size = 0;

	if (with_max && md->max_offset < md->length) {
		options |= MAX_SIZE33;
		max_size = md->length - md->max_offset;
	}
	return (ptl33_md_t){
		.start = md->start, .length = md->length, .threshold = md->threshold,
		.max_size = max_size, .options = options, .user_ptr = md->user_ptr,
		.eq_handle = md->eventq,
	};
}

ptl_md_t p30_md(const ptl33_md_t *md)
{
	return (ptl_md_t){
		.start = md->start, .length = md->length, .threshold = md->threshold,
		.options = md->options & OPTIONS, .user_ptr = md->user_ptr,
		.eventq = md->eq_handle,
		.max_offset = md->length - (md->options & MAX_SIZE33 ? md->max_size : 0),
	};
}

static int in_use(int result)
{
	return result == MD_IN_USE33 ? PTL_INUSE : result;
}

static int attach(ptl_handle_me_t match, const ptl_md_t *md, int with_max, ptl_unlink_t unlink,
		  ptl_handle_md_t *handle)
{
	ptl_handle_md_t unwanted;

	if (md->options & ~OPTIONS)
		return PTL_ILL_MD;
	return ptl33_MDAttach(match, md33(md, with_max), (ptl33_unlink_t)unlink,
			      handle ? handle : &unwanted);
}

static int insert(ptl_handle_md_t current, const ptl_md_t *md, int with_max, ptl_unlink_t unlink,
		  ptl_ins_pos_t position, ptl_handle_md_t *handle)
{
	ptl_handle_md_t unwanted;

	if (md->options & ~OPTIONS)
		return PTL_ILL_MD;
	return ptl33_MDInsert(current, md33(md, with_max), (ptl33_unlink_t)unlink,
			      (ptl33_ins_pos_t)position, handle ? handle : &unwanted);
}

static int bind(ptl_handle_ni_t ni, const ptl_md_t *md, int with_max, ptl_handle_md_t *handle)
{
	if (md->options & ~OPTIONS)
		return PTL_ILL_MD;
	return ptl33_MDBind(ni, md33(md, with_max), (ptl33_unlink_t)PTL_RETAIN, handle);
}

static int update(ptl_handle_md_t md, ptl_md_t *old_md, const ptl_md_t *new_md, int with_max,
		  ptl_handle_eq_t testq)
{
	ptl33_md_t before, after;
	int result;

	if (new_md && (new_md->options & ~OPTIONS))
		return PTL_ILL_MD;
	if (new_md)
		after = md33(new_md, with_max);
	result = p30_update(md, &before, new_md ? &after : NULL, testq);
	if (old_md && (result == PTL_OK || result == PTL_NOUPDATE))
		*old_md = p30_md(&before);
	return result;
}

int p30_MDAttach(ptl_handle_me_t match, ptl_md_t mem_desc, ptl_unlink_t unlink,
		 ptl_handle_md_t *handle)
{
	return attach(match, &mem_desc, 0, unlink, handle);
}

int p30_MDAttachMax(ptl_handle_me_t match, ptl_md_t mem_desc, ptl_unlink_t unlink,
		    ptl_handle_md_t *handle)
{
	return attach(match, &mem_desc, 1, unlink, handle);
}

int p30_MDInsert(ptl_handle_md_t current, ptl_md_t mem_desc, ptl_unlink_t unlink,
		 ptl_ins_pos_t position, ptl_handle_md_t *handle)
{
	return insert(current, &mem_desc, 0, unlink, position, handle);
}

int p30_MDInsertMax(ptl_handle_md_t current, ptl_md_t mem_desc, ptl_unlink_t unlink,
		    ptl_ins_pos_t position, ptl_handle_md_t *handle)
{
	return insert(current, &mem_desc, 1, unlink, position, handle);
}

int p30_MDBind(ptl_handle_ni_t ni, ptl_md_t mem_desc, ptl_handle_md_t *handle)
{
	return bind(ni, &mem_desc, 0, handle);
}

int p30_MDBindMax(ptl_handle_ni_t ni, ptl_md_t mem_desc, ptl_handle_md_t *handle)
{
	return bind(ni, &mem_desc, 1, handle);
}

int p30_MDUpdate(ptl_handle_md_t mem_desc, ptl_md_t *old_md, ptl_md_t *new_md,
		 ptl_handle_eq_t testq)
{
	return update(mem_desc, old_md, new_md, 0, testq);
}

int p30_MDUpdateMax(ptl_handle_md_t mem_desc, ptl_md_t *old_md, ptl_md_t *new_md,
		    ptl_handle_eq_t testq)
{
	return update(mem_desc, old_md, new_md, 1, testq);
}

int PtlMDUnlink(ptl_handle_md_t mem_desc)
{
	return in_use(ptl33_MDUnlink(mem_desc));
}

/* ---- operations ---- */

int PtlPut(ptl_handle_md_t mem_desc, ptl_ack_req_t ack_req, ptl_process_id_t target,
	   ptl_pt_index_t portal, ptl_ac_index_t cookie, ptl_match_bits_t match_bits,
	   ptl_size_t offset, ptl_hdr_data_t hdr_data)
{
	ptl33_ack_req_t ack = (ptl33_ack_req_t)(ack_req == PTL_ACK_REQ ? ACK33 : NO_ACK33);
	ptl33_process_id_t process;

	return process33(target, &process) ? ptl33_Put(mem_desc, ack, process, portal, cookie,
						       match_bits, offset, hdr_data)
					   : PTL_INV_PROC;
}

int p30_Get(ptl_handle_md_t mem_desc, ptl_process_id_t target, ptl_pt_index_t portal,
	    ptl_ac_index_t cookie, ptl_match_bits_t match_bits, ptl_size_t offset)
{
	ptl33_process_id_t process;

	return process33(target, &process) ? ptl33_Get(mem_desc, process, portal, cookie,
						       match_bits, offset) : PTL_INV_PROC;
}

/* The kernel has no SENT event for gets: it is made here. */
int p30_GetSent(ptl_handle_md_t mem_desc, ptl_process_id_t target, ptl_pt_index_t portal,
		ptl_ac_index_t cookie, ptl_match_bits_t match_bits, ptl_size_t offset)
{
	ptl33_md_t state;
	int result = ptl33_MDUpdate(mem_desc, &state, NULL, PTL_EQ_NONE);

	if (result != PTL_OK)
		return result;
	p30_gather(state.eq_handle);       /* earlier events go first */
	result = p30_Get(mem_desc, target, portal, cookie, match_bits, offset);
	if (result == PTL_OK)
		p30_record(state.eq_handle, &(ptl_event_t){
			.type = PTL_EVENT_SENT, .portal = portal, .match_bits = match_bits,
			.initiator = p30_process(margay_process(margay_rank()), own_job),
			.rlength = state.length, .offset = offset, .mem_desc = p30_md(&state),
		});
	return result;
}
