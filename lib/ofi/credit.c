/*
 * Flow control of messages. Each rank grants each other rank a window of credit units: event slots
 * and overflow memory that are reserved for it. A message uses up units at its sender. They come
 * back in one of two ways:
 *   by an ack of the receiver's kernel, if the message matched a posted receive and asked for the
 *   ack: the receiver need not make a call. Messages ask when less than half of the window's
 *   least size is left;
 *   otherwise as a new limit from the receiver's library, when it has read the message's event: in
 *   hdr_data of its next message to the sender, or, when half of the window is used up, written
 *   into the sender's `limits`.
 * Counts wrap; hdr_data has 31 bits of a limit.
 *
 * All windows together never exceed what the endpoint has, so no event and no message is ever lost.
 * Each peer has a least window. The window of a peer that runs short is doubled, with at most half
 * of what is unassigned. A peer with units to spare gives them back, message by message, while few
 * are left for others. Called by the application's one thread.
 */
#include "provider.h"
#include <stdlib.h>

#define WINDOW_LEAST   2u
#define WINDOW_FIRST   256u     /* least window in a small job */
#define WINDOW_POSTED  (UNITS / 2)  /* one as large as this grows no more if messages meet posted
                                       receives */

/* a - b, of counts that wrap */
static int32_t ahead(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

int mfi_credit_open(struct endpoint *ep)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	uint32_t ranks = ep->domain->ranks;
	uint32_t window = UNITS / 2 / ranks;
	ptl_md_t md = {
		.length = ranks * sizeof(*ep->limits), .threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE |
			   PTL_MD_ACK_DISABLE,
		.eq_handle = ep->queues[QUEUE_CREDIT],
	};
	ptl_handle_md_t handle;
	ptl_handle_me_t entry;
	int error;

	if (window > WINDOW_FIRST)
		window = WINDOW_FIRST;
	if (window < WINDOW_LEAST)
		return -FI_ENOMEM;
	ep->window_least = window;
	ep->units_free = UNITS - window * ranks;
	ep->peers = calloc(ranks, sizeof(*ep->peers));
	ep->limits = malloc(md.length);
	if (!ep->peers || !ep->limits)
		return -FI_ENOMEM;
	for (uint32_t i = 0; i < ranks; i++) {
		struct peer *peer = &ep->peers[i];

		peer->process = margay_process((int)i);
		peer->deferred_end = &peer->deferred;
		peer->limit = peer->granted = peer->told = peer->window = window;
		ep->limits[i] = window;
	}
	md.start = ep->limits;
	error = PtlMEAttach(ep->domain->ni, PORTAL_CREDIT, any_process, 0, ~0ULL, PTL_UNLINK,
			    PTL_INS_AFTER, &entry);
	if (error == PTL_OK)
		error = PtlMDAttach(entry, md, PTL_RETAIN, &handle);
	return error == PTL_OK ? mfi_early_provide(ep, window * ranks) : mfi_error(error);
}

void mfi_credit_close(struct endpoint *ep)
{
	for (uint32_t i = 0; ep->peers && i < ep->domain->ranks; i++) {
		struct deferred *next = ep->peers[i].deferred;

		while (next) {
			struct deferred *this = next;

			next = this->next;
			free(this);
		}
	}
	free(ep->peers);
	free(ep->limits);
}

/* ---- as the sender ---- */

/* Updates a limit of which the message carries the lower 31 bits. */
static void learn(struct peer *peer, uint32_t limit)
{
	int32_t more = (int32_t)((limit - peer->limit) << 1) >> 1;

	if (more > 0)
		peer->limit += (uint32_t)more;
}

static int has_credit(const struct endpoint *ep, uint32_t rank, uint32_t units)
{
	struct peer *peer = &ep->peers[rank];

	if (ahead(peer->limit, peer->sent + units) >= 0)
		return 1;
	learn(peer, __atomic_load_n(&ep->limits[rank], __ATOMIC_RELAXED));
	return ahead(peer->limit, peer->sent + units) >= 0;
}

int mfi_credit_use(struct endpoint *ep, uint32_t rank, uint32_t units)
{
	if (!has_credit(ep, rank, units))
		return 1;
	ep->peers[rank].sent += units;
	return 0;
}

void mfi_credit_acked(struct endpoint *ep, uint32_t rank, uint32_t units)
{
	ep->peers[rank].sent -= units;
}

void mfi_credit_look(struct endpoint *ep)
{
	for (struct peer *peer = ep->deferred, *next; peer; peer = next) {
		next = peer->next_deferred;
		mfi_send_deferred(ep, peer);
	}
}

uint64_t mfi_credit_header(struct endpoint *ep, uint32_t rank, uint64_t data, uint64_t bits)
{
	struct peer *peer = &ep->peers[rank];
	uint64_t header = data << 32 | (peer->granted & 0x7fffffffu);

	peer->told = peer->granted;
	if (!(bits & (BITS_LONG | BITS_UNTAGGED)) &&
	    ahead(peer->limit, peer->sent) < (int32_t)(ep->window_least / 2))
		header |= HEADER_ACKED;
	return header;
}

/* ---- as the receiver ---- */

/* Doubles the window, if there are enough units, and memory for them. */
__attribute__((noinline))
static void grow(struct endpoint *ep, struct peer *peer)
{
	uint32_t more = peer->window < ep->units_free / 2 ? peer->window : ep->units_free / 2;

	if (more == 0 || mfi_early_provide(ep, UNITS - ep->units_free + more))
		return;
	peer->window += more;
	ep->units_free -= more;
}

/* Takes back a message's units, which are free again, if others need some and this peer does
 * not. */
static void shrink(struct endpoint *ep, struct peer *peer, uint32_t units)
{
	if (ep->units_free > UNITS / 16 || peer->window - units < ep->window_least)
		return;
	ep->units_free += units;
	peer->window -= units;
}

/* Writes the peer's new limit into its `limits`. */
__attribute__((noinline))
static void tell(struct endpoint *ep, struct peer *peer)
{
	peer->told = peer->granted;
	/* Portals reads four bytes before the call returns. A dead peer needs no credit. */
	while (PtlPutRegion(ep->plain, (uintptr_t)&peer->told, sizeof(peer->told), PTL_NO_ACK_REQ,
			    peer->process, PORTAL_CREDIT, 0, 0,
			    (uint64_t)margay_rank() * sizeof(*ep->limits), 0) == PTL_NO_SPACE)
		mfi_make_room(ep);
}

void mfi_credit_taken(struct endpoint *ep, uint32_t rank, uint32_t units, uint64_t header,
		      int returned)
{
	struct peer *peer = &ep->peers[rank];

	learn(peer, HEADER_LIMIT(header));
	/* A peer that asks for acks is short of units, even if an ack has returned these. */
	if ((header & HEADER_ACKED) && !(returned && peer->window >= WINDOW_POSTED))
		grow(ep, peer);
	if (!returned) {
		if (!(header & HEADER_ACKED))
			shrink(ep, peer, units);
		peer->taken += units;
	}
	if (ahead(peer->taken + peer->window, peer->granted) > 0)
		peer->granted = peer->taken + peer->window;
	if (ahead(peer->granted, peer->told) >= (int32_t)(peer->window / 2))
		tell(ep, peer);
}
