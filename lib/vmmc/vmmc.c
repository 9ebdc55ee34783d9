/*
 * Opening and closing the library, and common functions: see state.h. Owns `vmmc`.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DETACH_LOOK_NS 50000    /* between two attempts to unlink an entry in use */

enum { ARRIVALS = 64, CALLS = 64, REFUSALS = 64, COPIED = 4 * VMMC_COPIES };

struct vmmc vmmc;

const char *vmmc_error(int result)
{
	static const char *const texts[] = {
		"success", "invalid argument", "bad address", "not an imported proxy address",
		"the area is not exported any more", "the other process has died or left",
		"the exporter does not admit this process", "the exporter has no area of this name",
		"the name is in use", "no space left in a table", "timed out",
		"not possible in this context", "refused by the kernel",
	};

	if (result == VMMC_PENDING)
		return "pending";
	if (result > 0 || result < VMMC_EFAIL)
		return "unknown result";
	return texts[-result];
}

int vmmc_error_of(int result)
{
	switch (result) {
	case PTL_OK:
		return VMMC_OK;
	case PTL_SEGV:
	case PTL_MD_ILLEGAL:
		return VMMC_EFAULT;
	case PTL_NO_SPACE:
	case PTL_ME_LIST_TOO_LONG:
		return VMMC_ENOSPACE;
	default:
		return VMMC_EFAIL;
	}
}

int64_t vmmc_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* The first one is the wall clock's time in units of 16 us. No life counts as fast as that for
 * long, as nodes are restarted over cards only, and there a request takes more time. */
uint32_t vmmc_next_number(uint32_t *last)
{
	struct timespec now;

	if (!*last) {
		clock_gettime(CLOCK_REALTIME, &now);
		*last = (uint32_t)(now.tv_sec * 62500 + now.tv_nsec / 16000);
	}
	if (++*last == 0)
		*last = 1;
	return *last;
}

uint32_t vmmc_session(void)
{
	return vmmc.open ? vmmc.session : 0;
}

/* FNV-1a, 64 bits. */
uint64_t vmmc_name_hash(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ULL;
	return hash;
}

int vmmc_attach(unsigned portal, ptl_process_id_t source, uint64_t bits, ptl_md_t md,
                ptl_unlink_t unlink, ptl_handle_me_t *me)
{
	/* Control and ping take any match bits; their data is in the header. */
	uint64_t ignore = portal == PORTAL_CONTROL || portal == PORTAL_PING ? ~0ULL : 0;
	ptl_handle_me_t entry;
	ptl_handle_md_t handle;
	int result = PtlMEAttach(vmmc.ni, portal, source, bits, ignore, unlink, PTL_INS_AFTER,
	                         &entry);

	if (result != PTL_OK)
		return vmmc_error_of(result);
	result = PtlMDAttach(entry, md, unlink, &handle);
	if (result != PTL_OK) {
		PtlMEUnlink(entry);
		return vmmc_error_of(result);
	}
	*me = entry;
	return VMMC_OK;
}

int vmmc_try_detach(ptl_handle_me_t *me)
{
	if (*me != PTL_INVALID_HANDLE && PtlMEUnlink(*me) == PTL_ME_IN_USE)
		return 0;
	*me = PTL_INVALID_HANDLE;
	return 1;
}

void vmmc_detach(ptl_handle_me_t *me)
{
	while (!vmmc_try_detach(me))
		nanosleep(&(struct timespec){ .tv_nsec = DETACH_LOOK_NS }, NULL);
}

static int queues(void)
{
	const struct {
		ptl_handle_eq_t *eq;
		ptl_size_t slots;
		ptl_eq_handler_t handler;
	} all[] = {
		{ &vmmc.arrivals, ARRIVALS, PTL_EQ_HANDLER_NONE },
		{ &vmmc.calls, CALLS, PTL_EQ_HANDLER_NONE },
		/* of each rank a request, and the ack of the answer before it */
		{ &vmmc.requests, 2 * (ptl_size_t)vmmc.size + 4, vmmc_on_request },
		{ &vmmc.notices, VMMC_NOTIFICATIONS + (ptl_size_t)vmmc.size, vmmc_on_notice },
		{ &vmmc.sent, 2 * VMMC_SENDS, vmmc_on_sent },
		{ &vmmc.refused, REFUSALS, vmmc_on_refused },
		{ &vmmc.copied, COPIED, PTL_EQ_HANDLER_NONE },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int result = PtlEQAlloc(vmmc.ni, all[i].slots, all[i].handler, all[i].eq);

		if (result != PTL_OK)
			return vmmc_error_of(result);
	}
	return VMMC_OK;
}

/* A descriptor of all of memory. */
static int bind(unsigned options, ptl_handle_eq_t eq, ptl_handle_md_t *md)
{
	ptl_md_t all = memory(NULL, 0, options | PTL_MD_SPAN | PTL_MD_EVENT_DROPPED, eq);

	all.length = UINT64_MAX;
	return vmmc_error_of(PtlMDBind(vmmc.ni, all, PTL_RETAIN, md));
}

static int descriptors(void)
{
	const struct {
		ptl_handle_md_t *md;
		unsigned options;
		ptl_handle_eq_t eq;
	} all[] = {
		{ &vmmc.quiet, PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE },
		{ &vmmc.asking, PTL_MD_EVENT_END_DISABLE, vmmc.refused },
		{ &vmmc.told, 0, vmmc.sent },
		{ &vmmc.from_copy, 0, vmmc.copied },
		{ &vmmc.requesting, PTL_MD_EVENT_END_DISABLE, vmmc.calls },
		{ &vmmc.answering, PTL_MD_EVENT_END_DISABLE, vmmc.requests },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int result = bind(all[i].options, all[i].eq, all[i].md);

		if (result)
			return result;
	}
	return VMMC_OK;
}

/* Attaches the entries that other ranks use from the start. */
static int entries(void)
{
	ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;
	int result = vmmc_attach(PORTAL_PING, any_process, 0, memory(NULL, 0, options |
	                         PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE), PTL_RETAIN, &vmmc.ping);

	if (!result)            /* before the first request comes */
		result = vmmc_attach(PORTAL_TURN, margay_process(vmmc.rank), 0,
		                     memory(NULL, 0, options, vmmc.notices), PTL_RETAIN,
		                     &vmmc.turn);
	if (!result)
		result = vmmc_attach(PORTAL_CONTROL, any_process, 0,
		                     memory(vmmc.slots, (size_t)vmmc.size * VMMC_NAME_BYTES,
		                            options, vmmc.requests), PTL_RETAIN, &vmmc.control);
	if (!result && vmmc.copies)
		result = vmmc_attach(PORTAL_COPY, margay_process(vmmc.rank), 0,
		                     memory(vmmc.copies, VMMC_COPIES * VMMC_COPY_BYTES, options |
		                            PTL_MD_EVENT_END_DISABLE, PTL_EQ_NONE), PTL_RETAIN,
		                     &vmmc.copy);
	return result;
}

static int tables(void)
{
	vmmc.exports = calloc(VMMC_EXPORTS, sizeof(*vmmc.exports));
	vmmc.imports = calloc(VMMC_IMPORTS, sizeof(*vmmc.imports));
	vmmc.waiting = calloc(VMMC_NOTIFICATIONS, sizeof(*vmmc.waiting));
	vmmc.slots = calloc((size_t)vmmc.size, VMMC_NAME_BYTES);
	vmmc.asked = calloc((size_t)vmmc.size, sizeof(*vmmc.asked));
	vmmc.lives = calloc((size_t)vmmc.size, 1);
	if (!vmmc.exports || !vmmc.imports || !vmmc.waiting || !vmmc.slots || !vmmc.asked ||
	    !vmmc.lives)
		return VMMC_ENOSPACE;
	vmmc.credits_left = VMMC_NOTIFICATIONS;
	while (vmmc.copies_left < VMMC_COPIES) {
		vmmc.free_copies[vmmc.copies_left] = vmmc.copies_left;
		vmmc.copies_left++;
	}
	if (vmmc.inline_bytes < VMMC_COPY_BYTES) {
		vmmc.copies = malloc(VMMC_COPIES * VMMC_COPY_BYTES);
		if (!vmmc.copies)
			return VMMC_ENOSPACE;
	}
	return VMMC_OK;
}

/* The interface first: nothing arrives any more when memory is freed. Each descriptor is unlinked
 * when its operations have ended, and then the handler of `sent` has run for them. */
static void close_all(void)
{
	ptl_handle_md_t mds[] = { vmmc.quiet, vmmc.asking, vmmc.told, vmmc.from_copy,
	                          vmmc.requesting, vmmc.answering };
	ptl_handle_eq_t eqs[] = { vmmc.arrivals, vmmc.calls, vmmc.requests, vmmc.notices,
	                          vmmc.sent, vmmc.refused, vmmc.copied };

	vmmc_detach(&vmmc.control);
	vmmc_detach(&vmmc.ping);
	vmmc_detach(&vmmc.turn);
	vmmc_detach(&vmmc.copy);
	for (size_t i = 0; i < sizeof(mds) / sizeof(mds[0]); i++)
		if (mds[i] != PTL_INVALID_HANDLE)
			PtlMDUnlink(mds[i]);
	for (size_t i = 0; i < sizeof(eqs) / sizeof(eqs[0]); i++)
		if (eqs[i] != PTL_EQ_NONE)
			PtlEQFree(eqs[i]);
	PtlNIFini(vmmc.ni);
	free(vmmc.exports);
	free(vmmc.imports);
	free(vmmc.waiting);
	free(vmmc.slots);
	free(vmmc.asked);
	free(vmmc.lives);
	free(vmmc.copies);
	vmmc.open = 0;
}

int vmmc_init(void)
{
	static uint32_t last;
	ptl_sr_value_t inline_bytes;
	int result;

	if (vmmc.open)
		return VMMC_OK;
	vmmc = (struct vmmc){ .rank = margay_rank(), .size = margay_size(),
	                      .session = vmmc_next_number(&last), .pinging = -1 };
	vmmc.quiet = vmmc.asking = vmmc.told = vmmc.from_copy = vmmc.requesting =
		vmmc.answering = vmmc.control = vmmc.ping = vmmc.turn = vmmc.copy = PTL_INVALID_HANDLE;
	vmmc.arrivals = vmmc.calls = vmmc.requests = vmmc.notices = vmmc.sent = vmmc.refused =
		vmmc.copied = PTL_EQ_NONE;
	if (PtlInit(NULL) != PTL_OK ||
	    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &vmmc.ni) != PTL_OK)
		return VMMC_EFAIL;
	result = vmmc_error_of(PtlNIStatus(vmmc.ni, PTL_SR_INLINE, &inline_bytes));
	vmmc.inline_bytes = inline_bytes;
	if (!result)
		result = tables();
	if (!result)
		result = queues();
	if (!result)
		result = descriptors();
	if (!result)
		result = entries();
	if (result)
		close_all();
	else
		vmmc.open = 1;
	return result;
}

int vmmc_fini(void)
{
	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	vmmc_unimport_all();
	vmmc_unexport_all();
	vmmc_end_copies();
	close_all();
	return VMMC_OK;
}

int vmmc_barrier(void)
{
	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	return PtlNIBarrier(vmmc.ni) == PTL_OK ? VMMC_OK : VMMC_EDEAD;
}
