/*
 * Messages that came before their receive. A short one lies in overflow memory; of a long one only
 * the header has come. They are kept in order of arrival, for all sources and for each source.
 * Credit guarantees an event slot and overflow memory for each. Called by the application's one
 * thread.
 */
#include "provider.h"
#include <stdlib.h>

#define BATCH   64u         /* allocated at a time */

static const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
static enum landing header_only = LANDS_NOWHERE;

/* ---- overflow memory ---- */

static int attach(struct endpoint *ep, struct overflow *overflow)
{
	const ptl_md_t md = {
		.start = overflow->bytes, .length = OVERFLOW_BYTES, .max_size = EAGER_BYTES,
		.threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_ACK_DISABLE |
			   PTL_MD_EVENT_START_DISABLE,
		.user_ptr = overflow, .eq_handle = ep->queues[QUEUE_EARLY],
	};
	ptl_handle_md_t handle;
	ptl_handle_me_t entry;
	int error;

	overflow->full = 0;
	error = PtlMEAttach(ep->domain->ni, PORTAL_MESSAGE, any_process, 0, ~BITS_LONG, PTL_UNLINK,
			    PTL_INS_AFTER, &entry);
	if (error != PTL_OK)
		return mfi_error(error);
	error = PtlMDAttach(entry, md, PTL_UNLINK, &handle);
	if (error == PTL_OK)
		ep->overflow_posted++;
	else
		PtlMEUnlink(entry);
	return mfi_error(error);
}

static int attach_new(struct endpoint *ep)
{
	struct overflow *made = malloc(sizeof(*made) + OVERFLOW_BYTES);
	int error;

	if (!made)
		return -FI_ENOMEM;
	*made = (struct overflow){ .landing = LANDS_OVERFLOW };
	error = attach(ep, made);
	if (error) {
		free(made);
		return error;
	}
	made->next = ep->overflows;
	if (made->next)
		made->next->prev = made;
	ep->overflows = made;
	return 0;
}

int mfi_early_provide(struct endpoint *ep, uint32_t units)
{
	unsigned int buffers = units * UNIT_BYTES / (OVERFLOW_BYTES - EAGER_BYTES) + 2;

	while (ep->overflow_posted < buffers) {
		int error = attach_new(ep);

		if (error)
			return error;
	}
	return 0;
}

/* The kernel has filled this buffer: another one takes its place, or the same one if it is
 * empty. */
static void replace(struct endpoint *ep, struct overflow *overflow)
{
	overflow->full = 1;
	ep->overflow_posted--;
	if ((overflow->used ? attach_new(ep) : attach(ep, overflow)) != 0)
		mfi_no_memory("messages that came before their receive", ep->early_count);
}

static void free_overflow(struct endpoint *ep, struct overflow *overflow)
{
	if (overflow->next)
		overflow->next->prev = overflow->prev;
	if (overflow->prev)
		overflow->prev->next = overflow->next;
	else
		ep->overflows = overflow->next;
	free(overflow);
}

/* A message in this buffer has been received. */
static void leave(struct endpoint *ep, struct overflow *overflow)
{
	if (--overflow->used == 0 && overflow->full)
		free_overflow(ep, overflow);
}

/* ---- the list ---- */

static struct early *take(struct endpoint *ep)
{
	struct early *early = ep->early_free;

	if (!early) {
		struct early *batch = calloc(BATCH, sizeof(*batch));

		if (!batch)
			mfi_no_memory("messages that came before their receive", ep->early_count);
		batch[0].newer = ep->early_batches;     /* keeps the batch, to free it at the end */
		ep->early_batches = batch;
		for (unsigned int i = 1; i < BATCH; i++) {
			batch[i].newer = ep->early_free;
			ep->early_free = &batch[i];
		}
		early = ep->early_free;
	}
	ep->early_free = early->newer;
	return early;
}

static void keep(struct endpoint *ep, struct early *early)
{
	struct peer *peer = &ep->peers[early->source];

	early->newer = &ep->early;
	early->older = ep->early.older;
	early->older->newer = early;
	ep->early.older = early;
	early->peer_newer = 0;
	early->peer_older = peer->last;
	if (peer->last)
		peer->last->peer_newer = early;
	else
		peer->first = early;
	peer->last = early;
	ep->early_count++;
}

/* Removes an early message from both lists, and frees it. */
void mfi_early_forget(struct endpoint *ep, struct early *early)
{
	struct peer *peer = &ep->peers[early->source];

	early->newer->older = early->older;
	early->older->newer = early->newer;
	if (early->peer_newer)
		early->peer_newer->peer_older = early->peer_older;
	else
		peer->last = early->peer_older;
	if (early->peer_older)
		early->peer_older->peer_newer = early->peer_newer;
	else
		peer->first = early->peer_newer;
	ep->early_count--;
	if (early->overflow)
		leave(ep, early->overflow);
	early->newer = ep->early_free;
	ep->early_free = early;
}

struct early *mfi_early_find(struct endpoint *ep, const struct rx *rx)
{
	struct early *early;

	if (rx->source.nid != PTL_NID_ANY) {
		early = ep->peers[rank_of(rx->source)].first;
		while (early && (early->claimed || !mfi_matches(rx, early)))
			early = early->peer_newer;
		return early;
	}
	early = ep->early.newer;
	while (early != &ep->early && (early->claimed || !mfi_matches(rx, early)))
		early = early->newer;
	return early == &ep->early ? 0 : early;
}

void mfi_early_deliver(struct endpoint *ep, struct early *early, struct rx *rx)
{
	uint32_t source = early->source;
	uint64_t origin = early->origin;
	size_t bytes = 0;

	rx->arrived_bits = early->bits;
	rx->header = early->header;
	rx->arrived = early->length;
	if (!(early->bits & BITS_LONG))
		bytes = mfi_scatter(&rx->buffer, early->bytes, early->length);
	mfi_early_forget(ep, early);
	if ((rx->arrived_bits & BITS_LONG) && rx->arrived > 0)
		mfi_fetch(ep, rx, source, origin);
	else
		mfi_received(ep, rx, bytes, 0);
}

void mfi_early_event(struct endpoint *ep, const ptl_event_t *event)
{
	enum landing landing = *(const enum landing *)event->md.user_ptr;
	struct overflow *overflow = event->md.user_ptr;
	struct early *early;

	if (landing == LANDS_MANY) {
		mfi_many_arrived(ep, event->md.user_ptr, event);
		return;
	}
	if (event->type == PTL_EVENT_UNLINK) {
		replace(ep, overflow);
		return;
	}
	if (event->ni_fail_type != PTL_NI_OK)
		return;                 /* the sender died while it was arriving */
	early = take(ep);
	early->source = rank_of(event->initiator);
	early->claimed = 0;
	early->bits = event->match_bits;
	early->header = event->hdr_data;
	early->length = event->rlength;
	early->origin = event->offset;
	early->overflow = landing == LANDS_OVERFLOW ? overflow : 0;
	early->bytes = landing == LANDS_OVERFLOW ? overflow->bytes + event->offset : 0;
	if (early->overflow)
		overflow->used++;
	mfi_credit_taken(ep, early->source, mfi_units(early->length, early->bits), early->header,
			 0);
	keep(ep, early);
	if (ep->waiting)
		mfi_serve_waiting(ep, early);
}

/* Attaches the entry after all posted receives, which takes the headers of long messages. */
int mfi_early_open(struct endpoint *ep)
{
	const ptl_md_t md = {
		.threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_MANAGE_REMOTE |
			   PTL_MD_EVENT_START_DISABLE,
		.user_ptr = &header_only, .eq_handle = ep->queues[QUEUE_EARLY],
	};
	ptl_handle_md_t handle;
	int error = PtlMEAttach(ep->domain->ni, PORTAL_MESSAGE, any_process, BITS_LONG, ~BITS_LONG,
				PTL_UNLINK, PTL_INS_AFTER, &ep->behind);

	if (error == PTL_OK)
		error = PtlMDAttach(ep->behind, md, PTL_RETAIN, &handle);
	return mfi_error(error);
}

void mfi_early_close(struct endpoint *ep)
{
	while (ep->overflows)
		free_overflow(ep, ep->overflows);
	while (ep->early_batches) {
		struct early *next = ep->early_batches->newer;

		free(ep->early_batches);
		ep->early_batches = next;
	}
}
