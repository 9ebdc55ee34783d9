/*
 * Exports, and the requests of other ranks: imports and unimports, which handlers answer while the
 * program computes. Owns vmmc.exports, vmmc.slots and vmmc.asked.
 *
 * The kernel keeps others out: a grant's entries name the importer, and their descriptor is just
 * the area. So a message from another rank, with other match bits, or with bytes outside of the
 * area, matches nothing and is discarded.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

struct export *vmmc_find_export(uint64_t bits)
{
	struct export *export = &vmmc.exports[bits & 0xffff];

	return (bits & 0xffff) < VMMC_EXPORTS && bits && export->bits == bits ? export : NULL;
}

static struct export *named(const char *name)
{
	for (int i = 0; i < VMMC_EXPORTS; i++)
		if (vmmc.exports[i].bits && !strcmp(vmmc.exports[i].name, name))
			return &vmmc.exports[i];
	return NULL;
}

/* ---- grants ---- */

static ptl_md_t area(const struct export *export, ptl_handle_eq_t eq)
{
	unsigned options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_ACK_DISABLE;

	if (eq == PTL_EQ_NONE)
		options |= PTL_MD_EVENT_END_DISABLE;
	return memory(export->start, export->bytes, options, eq);
}

/* Ends a grant. Its credits are free once its entries are gone, as nothing comes through it any
 * more; those of pending notifications when these are handled. 0: a message is being delivered
 * through an entry, so the grant keeps its credits until the next try. */
static int take_back(struct grant *grant)
{
	if (grant->imported)
		grant->credits -= grant->pending < grant->credits ? grant->pending : grant->credits;
	grant->imported = 0;
	grant->pending = 0;
	if (!(vmmc_try_detach(&grant->data) & vmmc_try_detach(&grant->notify)))
		return 0;
	__atomic_fetch_add(&vmmc.credits_left, (int32_t)grant->credits, __ATOMIC_RELAXED);
	grant->credits = 0;
	return 1;
}

static int give(struct export *export, int rank, struct grant *grant, uint32_t number)
{
	ptl_process_id_t importer = margay_process(rank);
	ptl_handle_eq_t eq = export->flags & VMMC_SPIN ? PTL_EQ_NONE : vmmc.arrivals;
	int32_t credits = 0;
	ptl_md_t noticed;
	int result;

	if (export->handler) {
		credits = vmmc.credits_left < VMMC_CREDITS ? vmmc.credits_left : VMMC_CREDITS;
		if (credits <= 0)
			return VMMC_ENOSPACE;
	}
	result = vmmc_attach(PORTAL_DATA, importer, export->bits, area(export, eq), PTL_RETAIN,
	                     &grant->data);
	if (!result && export->handler) {
		noticed = area(export, vmmc.notices);
		noticed.user_ptr = (void *)((uintptr_t)number << 32 | (uintptr_t)rank);
		result = vmmc_attach(PORTAL_DATA, importer, export->bits | BITS_NOTIFY, noticed,
		                     PTL_RETAIN, &grant->notify);
	}
	if (result) {
		take_back(grant);
		return result;
	}
	__atomic_fetch_sub(&vmmc.credits_left, credits, __ATOMIC_RELAXED);
	grant->credits = (uint32_t)credits;
	grant->mailbox = number;
	grant->handled = grant->told = grant->answers = grant->refused = grant->pending = 0;
	grant->imported = 1;
	return VMMC_OK;
}

/* ---- requests: handlers ---- */

static struct answer admit(int rank, const char *name, uint32_t number)
{
	struct answer answer = { .name = vmmc_name_hash(name) };
	struct export *export = named(name);
	struct grant *grant;

	if (!export) {
		answer.result = VMMC_ENOENT;
		return answer;
	}
	grant = &export->grants[rank];
	answer.bits = export->bits;
	if (grant->imported && grant->mailbox == number)
		answer.result = VMMC_OK;        /* the request was repeated */
	else if (export->admitted && !export->admitted[rank])
		answer.result = VMMC_EACCES;
	else if (!take_back(grant))     /* of an earlier import, which its owner has dropped */
		answer.result = VMMC_ENOSPACE;
	else
		answer.result = give(export, rank, grant, number);
	if (answer.result)
		return answer;
	grant->answers++;
	answer.credits = grant->credits;
	answer.bytes = export->bytes;
	return answer;
}

/* 0: a message is still being delivered. */
static int unimport(int rank, uint64_t bits)
{
	struct export *export = vmmc_find_export(bits);

	return !export || take_back(&export->grants[rank]);
}

/* hdr_data of an answer: export and rank, needed if it is not accepted. */
static uint64_t answer_header(uint64_t bits, int rank)
{
	return bits | (uint64_t)rank << 48;
}

/* The rank that sent a request, or -1: each slot has one owner. */
static int sender(const ptl_event_t *event)
{
	uint64_t rank = event->offset / VMMC_NAME_BYTES;
	ptl_process_id_t process;

	if (rank >= (uint64_t)vmmc.size || event->offset % VMMC_NAME_BYTES ||
	    event->mlength > VMMC_NAME_BYTES)
		return -1;
	process = margay_process((int)rank);
	return process.nid == event->initiator.nid && process.pid == event->initiator.pid ?
		(int)rank : -1;
}

/* If an answer came too late for its import, this counts as an unimport. */
static void not_taken(const ptl_event_t *event)
{
	int rank = (int)(event->hdr_data >> 48);
	struct export *export = vmmc_find_export(event->hdr_data & ((1ULL << 48) - 1));

	if (export && rank < vmmc.size && export->grants[rank].imported &&
	    export->grants[rank].mailbox == event->match_bits &&
	    ++export->grants[rank].refused == export->grants[rank].answers)
		take_back(&export->grants[rank]);
}

/* A turn's hdr_data: the rank, the kind of its request, and the request's number. */
enum { TURN_RANK_SHIFT = 48 };

/*
 * A request is served out of the queue of notifications, behind all that its rank has sent before.
 * Otherwise an unimport would give back the credits of notifications that have arrived and are not
 * counted. While a request waits, others of its rank are ignored for VMMC_PING_MS, so that turns
 * need few slots. A turn that is lost does no harm: the importer asks again.
 */
void vmmc_on_request(ptl_event_t *event)
{
	uint64_t kind = event->hdr_data >> 32;
	struct asked *asked;
	int64_t now;
	int rank;

	if (event->type == PTL_EVENT_ACK && event->ni_fail_type != PTL_NI_OK)
		not_taken(event);
	if (event->type != PTL_EVENT_PUT_END || event->ni_fail_type != PTL_NI_OK)
		return;
	rank = sender(event);
	if (rank < 0 || (kind != KIND_IMPORT && kind != KIND_UNIMPORT))
		return;
	asked = &vmmc.asked[rank];
	now = vmmc_now();
	if (asked->header && now - asked->at < VMMC_PING_MS)
		return;
	vmmc.lives[rank] = LIFE_SEEN;
	*asked = (struct asked){ .header = event->hdr_data, .bits = event->match_bits, .at = now };
	if (vmmc_put(vmmc.quiet, NULL, 0, PTL_NO_ACK_REQ, margay_process(vmmc.rank), PORTAL_TURN, 0,
	             0, (uint64_t)rank << TURN_RANK_SHIFT | event->hdr_data) != PTL_OK)
		asked->header = 0;
}

void vmmc_on_turn(uint64_t hdr_data)
{
	static struct answer answer;    /* read by the put at once, or before the next request */
	uint64_t rank = hdr_data >> TURN_RANK_SHIFT;
	uint64_t header = hdr_data & ((1ULL << TURN_RANK_SHIFT) - 1);
	char name[VMMC_NAME_BYTES];
	struct asked asked;
	uint32_t number = (uint32_t)header;

	if (rank >= (uint64_t)vmmc.size || vmmc.asked[rank].header != header)
		return;                         /* it has been served, or is not waited for */
	asked = vmmc.asked[rank];
	vmmc.asked[rank].header = 0;
	/* Where this returns, the request comes again. */
	if (vmmc.counting)
		return;
	if (header >> 32 == KIND_IMPORT) {
		memcpy(name, &vmmc.slots[rank * VMMC_NAME_BYTES], sizeof(name));
		name[sizeof(name) - 1] = 0;
		answer = admit((int)rank, name, number);
	} else {
		if (!unimport((int)rank, asked.bits))
			return;
		answer = (struct answer){ .result = VMMC_OK };
	}
	vmmc_put(vmmc.answering, &answer, sizeof(answer), PTL_ACK_REQ, margay_process((int)rank),
	         PORTAL_ANSWER, number, 0, answer_header(answer.bits, (int)rank));
}

/* ---- calls ---- */

/* The flags that admit ranks, or null: all. VMMC_OK or an error. */
static int admit_ranks(const int *importers, int count, uint8_t **admitted)
{
	*admitted = NULL;
	if (!importers)
		return VMMC_OK;
	*admitted = calloc((size_t)vmmc.size, 1);
	if (!*admitted)
		return VMMC_ENOSPACE;
	for (int i = 0; i < count; i++) {
		if (importers[i] < 0 || importers[i] >= vmmc.size) {
			free(*admitted);
			return VMMC_EINVAL;
		}
		(*admitted)[importers[i]] = 1;
	}
	return VMMC_OK;
}

/* Whether the kernel accepts this memory for writes by others. */
static int writable(void *start, size_t bytes)
{
	ptl_handle_md_t md;
	int result = PtlMDBind(vmmc.ni, memory(start, bytes, PTL_MD_OP_PUT, PTL_EQ_NONE),
	                       PTL_RETAIN, &md);

	if (result == PTL_OK)
		result = PtlMDUnlink(md);
	return vmmc_error_of(result);
}

static int free_slot(void)
{
	for (int i = 0; i < VMMC_EXPORTS; i++)
		if (!vmmc.exports[i].bits)
			return i;
	return -1;
}

/* Of the last export. Every export of the process has its own match bits. */
static uint32_t generation;

int vmmc_export(const char *name, void *start, size_t bytes, const int *importers, int count,
                int flags, vmmc_handler_t handler, void *argument, vmmc_export_t *exported)
{
	struct export *export, made = { .start = start, .bytes = bytes, .flags = flags,
	                                .handler = handler, .argument = argument };
	int result, slot;

	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	if (!name || !*name || strnlen(name, VMMC_NAME_BYTES) == VMMC_NAME_BYTES || !exported ||
	    !bytes || bytes > PROXY_OFFSETS || (flags & ~VMMC_SPIN) || (importers && count < 0))
		return VMMC_EINVAL;
	if (named(name))
		return VMMC_EEXIST;
	result = writable(start, bytes);
	if (result)
		return result;
	slot = free_slot();
	if (slot < 0)
		return VMMC_ENOSPACE;
	result = admit_ranks(importers, count, &made.admitted);
	if (result)
		return result;
	made.grants = malloc((size_t)vmmc.size * sizeof(*made.grants));
	if (!made.grants) {
		free(made.admitted);
		return VMMC_ENOSPACE;
	}
	for (int rank = 0; rank < vmmc.size; rank++)
		made.grants[rank] = (struct grant){ .data = PTL_INVALID_HANDLE,
		                                    .notify = PTL_INVALID_HANDLE };
	strcpy(made.name, name);
	export = &vmmc.exports[slot];
	*export = made;
	/* From here on requests find it. */
	__atomic_store_n(&export->bits,
	                 (uint64_t)vmmc_next_number(&generation) << 16 | (uint64_t)slot,
	                 __ATOMIC_RELEASE);
	*exported = export->bits;
	return VMMC_OK;
}

static void unexport(struct export *export)
{
	static const int32_t revoked = VMMC_EREVOKED;

	/* From here on neither requests nor notifications find it. */
	__atomic_store_n(&export->bits, 0, __ATOMIC_RELEASE);
	for (int rank = 0; rank < vmmc.size; rank++) {
		struct grant *grant = &export->grants[rank];
		int imported = grant->imported;

		vmmc_detach(&grant->data);
		vmmc_detach(&grant->notify);
		take_back(grant);
		if (imported)
			vmmc_put(vmmc.quiet, &revoked, sizeof(revoked), PTL_NO_ACK_REQ,
			         margay_process(rank), PORTAL_ANSWER, BITS_MAILBOX | grant->mailbox,
			         offsetof(struct mailbox, state), 0);
	}
	free(export->admitted);
	free(export->grants);
}

int vmmc_unexport(vmmc_export_t exported)
{
	struct export *export;

	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	export = vmmc_find_export(exported);
	if (!export)
		return VMMC_EINVAL;
	unexport(export);
	return VMMC_OK;
}

void vmmc_unexport_all(void)
{
	for (int i = 0; i < VMMC_EXPORTS; i++)
		if (vmmc.exports[i].bits)
			unexport(&vmmc.exports[i]);
}
