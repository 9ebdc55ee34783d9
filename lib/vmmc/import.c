/*
 * Imports: the request to the exporter, and the proxy addresses that its answer makes valid.
 * Owns vmmc.imports and vmmc.call. The exporter's kernel decides what a message may reach; the
 * checks here only report mistakes to an honest program.
 */
#include "state.h"

#include <string.h>
#include <time.h>

enum { PAUSE_FIRST_NS = 500000, PAUSE_MOST_NS = 16000000 };

/* ---- a request and its answer ---- */

static int over(void *argument)
{
	struct call *call = argument;

	return call->answered || (call->acked && call->fail != PTL_NI_OK);
}

static uint32_t next_number(void)
{
	static uint32_t last;

	return vmmc.call.number = vmmc_next_number(&last);
}

/*
 * Sends a request and waits for its answer, which is then in vmmc.call. A request may be lost when
 * its target leaves and comes back, or when others flood its queue: then it is sent again.
 * VMMC_ENOENT: the process has not started, or has left; VMMC_EDEAD.
 */
static int request(int rank, enum kind kind, uint64_t bits)
{
	struct call *call = &vmmc.call;
	ptl_process_id_t target = margay_process(rank);
	ptl_md_t md = memory(&call->answer, sizeof(call->answer), PTL_MD_OP_PUT |
	                     PTL_MD_MANAGE_REMOTE, vmmc.calls);
	ptl_handle_me_t me;
	int result, seen;

	call->answered = 0;
	result = vmmc_attach(PORTAL_ANSWER, target, call->number, md, PTL_RETAIN, &me);
	if (result)
		return result;
	do {
		call->acked = 0;
		seen = vmmc.lives[rank] == LIFE_SEEN;
		result = vmmc_error_of(vmmc_put(vmmc.requesting, call->name,
		                                kind == KIND_IMPORT ? VMMC_NAME_BYTES : 0,
		                                PTL_ACK_REQ, target, PORTAL_CONTROL, bits,
		                                (uint64_t)vmmc.rank * VMMC_NAME_BYTES,
		                                vmmc_header(kind, call->number)));
		if (!result)
			result = vmmc_wait_for(over, call, rank, 2 * VMMC_PING_MS);
	} while (result == VMMC_ETIMEDOUT);
	vmmc_detach(&me);
	if (call->answered || (result && result != VMMC_EDEAD))
		return result;
	if (!result)
		vmmc_learn(rank, call->fail, seen);
	return vmmc.lives[rank] == LIFE_DEAD ? VMMC_EDEAD : VMMC_ENOENT;
}

/* ---- import ---- */

static struct import *free_import(void)
{
	for (int i = 0; i < VMMC_IMPORTS; i++)
		if (!vmmc.imports[i].tag)
			return &vmmc.imports[i];
	return NULL;
}

/* 1 if the process has imported the area, and has not heard that it was revoked. */
static int is_imported(int rank, const char *name)
{
	for (int i = 0; i < VMMC_IMPORTS; i++) {
		const struct import *import = &vmmc.imports[i];

		if (import->tag && import->rank == rank && !import->mailbox.state &&
		    !strcmp(import->name, name))
			return 1;
	}
	return 0;
}

static void pause_for(long *ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = *ns }, NULL);
	if (*ns < PAUSE_MOST_NS)
		*ns *= 2;
}

/* Repeats the request until the exporter answers anything but that there is no such area. */
static int ask(int rank, int timeout)
{
	int64_t end = vmmc_now() + timeout;
	long pause = PAUSE_FIRST_NS;

	for (;;) {
		int result, absent;

		if (vmmc.lives[rank] >= LIFE_LEFT)      /* it may have been started again */
			vmmc.lives[rank] = LIFE_UNKNOWN;
		result = request(rank, KIND_IMPORT, 0);
		absent = result == VMMC_ENOENT;
		if (!result)
			result = vmmc.call.answer.result;
		if (result != VMMC_ENOENT)
			return result;
		if (timeout >= 0 && vmmc_now() >= end)
			return absent ? VMMC_ETIMEDOUT : VMMC_ENOENT;
		pause_for(&pause);
	}
}

/* Of each import's proxy addresses. They differ also from those before vmmc_fini. */
static uint16_t generations[VMMC_IMPORTS];

/* Makes proxy addresses from the answer. */
static vmmc_proxy_t map(struct import *import)
{
	uint64_t slot = (uint64_t)(import - vmmc.imports);
	const struct answer *answer = &vmmc.call.answer;
	uint64_t generation = (generations[slot] + 1u) & ((1u << PROXY_GENERATION_BITS) - 1);

	generations[slot] = (uint16_t)generation;
	import->bytes = answer->bytes;
	import->bits = answer->bits;
	import->credits = answer->credits;
	import->sent = import->notified = 0;
	import->tag = generation << (PROXY_IMPORT_BITS + 1) | PROXY_SPACE | slot;
	return import->tag << PROXY_OFFSET_BITS;
}

int vmmc_import(int rank, const char *name, int timeout, vmmc_proxy_t *proxy, size_t *bytes)
{
	struct import *import;
	int result;

	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	if (rank < 0 || rank >= vmmc.size || !name || !*name || !proxy ||
	    strnlen(name, VMMC_NAME_BYTES) == VMMC_NAME_BYTES)
		return VMMC_EINVAL;
	if (is_imported(rank, name))
		return VMMC_EEXIST;
	import = free_import();
	if (!import)
		return VMMC_ENOSPACE;
	next_number();
	memset(vmmc.call.name, 0, sizeof(vmmc.call.name));
	strcpy(vmmc.call.name, name);
	memcpy(import->name, vmmc.call.name, sizeof(import->name));
	import->rank = rank;
	import->target = margay_process(rank);
	import->mailbox = (struct mailbox){ .state = VMMC_OK };
	result = vmmc_attach(PORTAL_ANSWER, import->target, BITS_MAILBOX | vmmc.call.number,
	                     memory(&import->mailbox, sizeof(import->mailbox), PTL_MD_OP_PUT |
	                            PTL_MD_MANAGE_REMOTE | PTL_MD_ACK_DISABLE, vmmc.arrivals),
	                     PTL_RETAIN, &import->mailbox_me);
	if (result)
		return result;
	result = ask(rank, timeout);
	if (!result && vmmc.call.answer.name != vmmc_name_hash(name)) {
		/* Another process has written another name into this one's slot. */
		next_number();
		request(rank, KIND_UNIMPORT, vmmc.call.answer.bits);
		result = VMMC_EFAIL;
	}
	if (result) {
		vmmc_detach(&import->mailbox_me);
		return result;
	}
	vmmc.lives[rank] = LIFE_SEEN;
	*proxy = map(import);
	if (bytes)
		*bytes = import->bytes;
	return VMMC_OK;
}

static void unimport(struct import *import)
{
	uint64_t bits = import->bits;
	int rank = import->rank;

	import->tag = 0;
	if (import->mailbox.state == VMMC_OK) {
		next_number();
		request(rank, KIND_UNIMPORT, bits);
	}
	vmmc_detach(&import->mailbox_me);
}

int vmmc_unimport(vmmc_proxy_t proxy)
{
	struct import *import;

	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	import = vmmc_find_byte(proxy);
	if (!import)
		return VMMC_EPROXY;
	unimport(import);
	return VMMC_OK;
}

void vmmc_unimport_all(void)
{
	for (int i = 0; i < VMMC_IMPORTS; i++)
		if (vmmc.imports[i].tag)
			unimport(&vmmc.imports[i]);
}

void vmmc_bury(int rank, enum life life)
{
	vmmc.lives[rank] = life;
	for (int i = 0; i < VMMC_IMPORTS; i++)
		if (vmmc.imports[i].tag && vmmc.imports[i].rank == rank)
			vmmc.imports[i].mailbox.state = VMMC_EDEAD;
}

/* ---- fence ---- */

static int fenced(void *argument)
{
	struct call *call = argument;

	return call->acked;
}

/*
 * Two messages, which arrive after all others to that process: one of no bytes to the area, which
 * is answered only if it is refused, and one that is always acknowledged.
 */
int vmmc_fence(vmmc_proxy_t proxy)
{
	struct import *import;
	struct call *call = &vmmc.call;
	uint64_t header;
	int result;

	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	import = vmmc_find_byte(proxy);
	if (!import)
		return VMMC_EPROXY;
	if (import->mailbox.state)
		return import->mailbox.state;
	header = vmmc_header(KIND_FENCE, next_number());
	call->acked = 0;
	call->fail = call->refused = PTL_NI_OK;
	result = vmmc_error_of(vmmc_put(vmmc.requesting, NULL, 0, PTL_ACK_REQ, import->target,
	                                PORTAL_DATA, import->bits, 0, header));
	if (!result)
		result = vmmc_error_of(vmmc_ping(import->rank, header));
	if (!result)
		result = vmmc_wait_for(fenced, call, import->rank, -1);
	if (!result && call->refused == PTL_NI_DROPPED)
		result = VMMC_EREVOKED;
	if (!result && (call->refused || call->fail))
		result = VMMC_EDEAD;
	if (result == VMMC_EREVOKED || result == VMMC_EDEAD)
		import->mailbox.state = result;
	return result;
}
