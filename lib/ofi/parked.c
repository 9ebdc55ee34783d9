/*
 * Long sends for which no slot is left. A parked send holds no event slot once its header has
 * arrived, so later sends go out, and a receive for a later message is served. The receiver fetches
 * the payload through an entry without events, and then sets the send's byte in `drained`. The
 * sender reads these bytes when it makes a call. Memory for this is allocated at the first parked
 * send. Called by the application's one thread.
 */
#include "provider.h"
#include <stdlib.h>
#include <string.h>

#define FIRST   256u        /* entries of the table at first; then it doubles */

_Static_assert(PARKED_MOST + TX_SLOTS <= 1u << (64 - ORIGIN_SLOT_SHIFT), "numbers fit");
_Static_assert(PARKED_MOST % (FIRST * sizeof(uint64_t)) == 0, "the bytes are whole words");

/* Attaches an entry of PORTAL_PULL before the one that matches all fetches. */
static int attach(struct endpoint *ep, uint32_t bits, ptl_md_t md)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_md_t handle;
	ptl_handle_me_t entry;
	int error = PtlMEInsert(ep->pull, any_process, bits, 0xffffffffULL << PULL_SLOT_SHIFT,
				PTL_UNLINK, PTL_INS_BEFORE, &entry);

	md.threshold = PTL_MD_THRESH_INF;
	md.options |= PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	if (error == PTL_OK)
		error = PtlMDAttach(entry, md, PTL_RETAIN, &handle);
	return error;
}

static int open_parked(struct endpoint *ep)
{
	const ptl_md_t fetched = {
		.length = UINT64_MAX, .eq_handle = PTL_EQ_NONE,
		.options = PTL_MD_OP_GET | PTL_MD_SPAN | PTL_MD_EVENT_END_DISABLE,
	};
	ptl_md_t drained = {
		.length = PARKED_MOST, .eq_handle = ep->queues[QUEUE_CREDIT],
		.options = PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE,
	};

	ep->drained = calloc(PARKED_MOST / sizeof(uint64_t), sizeof(uint64_t));
	if (!ep->drained)
		return 1;
	drained.start = ep->drained;
	if (attach(ep, PULL_PARKED, fetched) == PTL_OK &&
	    attach(ep, PULL_DRAINED, drained) == PTL_OK)
		return 0;
	ep->parked_refused = 1;
	return 1;
}

/* Adds entries, if there is memory for them. */
static void more(struct endpoint *ep)
{
	unsigned int room = ep->parked_room ? 2 * ep->parked_room : FIRST;
	struct tx *table;

	if (ep->parked_refused || room > PARKED_MOST || (!ep->drained && open_parked(ep)))
		return;
	table = realloc(ep->parked, room * sizeof(*table));
	if (!table)
		return;
	for (unsigned int i = ep->parked_room; i < room; i++)
		table[i] = (struct tx){ .kind = TX_FREE, .next = (uint16_t)(i + 1) };
	ep->parked = table;
	ep->parked_free = ep->parked_room;
	ep->parked_room = room;
}

int mfi_parked_is_full(struct endpoint *ep)
{
	if (ep->parked_unacked == PARKED_UNACKED)
		return 1;
	if (ep->parked_free == ep->parked_room)
		more(ep);
	return ep->parked_free == ep->parked_room;
}

struct tx *mfi_parked_take(struct endpoint *ep, unsigned int *number)
{
	struct tx *tx = &ep->parked[ep->parked_free];

	*number = ep->parked_free;
	ep->parked_free = tx->next;
	ep->parked_unacked++;
	ep->parked_work++;
	*tx = (struct tx){ .kind = TX_LONG };
	return tx;
}

static void give(struct endpoint *ep, unsigned int number)
{
	struct tx *tx = &ep->parked[number];

	free(tx->copy);
	tx->copy = 0;
	tx->kind = TX_FREE;
	tx->acked = 0;
	tx->next = (uint16_t)ep->parked_free;
	ep->parked_free = number;
	ep->parked_work--;
}

void mfi_parked_forget(struct endpoint *ep, unsigned int number)
{
	ep->parked_unacked--;
	give(ep, number);
}

void mfi_parked_acked(struct endpoint *ep, uint64_t number, size_t landed, int error)
{
	struct tx *tx;

	if (number >= ep->parked_room || ep->parked[number].kind != TX_LONG)
		return;
	tx = &ep->parked[number];
	ep->parked_unacked--;
	tx->acked = 1;
	tx->error = error;
	if (error || landed || tx->fetched) {   /* it has landed in a posted receive, or is empty */
		mfi_complete(tx);
		give(ep, (unsigned int)number);
	}
}

/* ---- the receivers' bytes ---- */

/* Completes the sends that were fetched. A byte may be set before the send's ack has been read; then
 * a later call completes the send. */
static void look(struct endpoint *ep)
{
	for (unsigned int i = 0; i < ep->parked_room; i++) {
		uint64_t eight;

		if (i % sizeof(eight) == 0) {
			memcpy(&eight, ep->drained + i, sizeof(eight));
			if (!eight) {
				i += sizeof(eight) - 1;
				continue;
			}
		}
		if (!ep->drained[i] || !ep->parked[i].acked)
			continue;
		ep->drained[i] = 0;
		mfi_complete(&ep->parked[i]);
		give(ep, i);
	}
}

void mfi_parked_tell(struct endpoint *ep)
{
	static const uint8_t one = 1;

	while (ep->telling != TX_SLOTS) {
		uint16_t slot = ep->telling;
		const struct tx *tx = &ep->tx[slot];

		ep->telling = tx->next;         /* mfi_make_room may add others */
		/* Portals reads one byte before the call returns. An error is ignored: the peer has
		 * died. */
		while (PtlPutRegion(ep->plain, (uintptr_t)&one, 1, PTL_NO_ACK_REQ,
				    margay_process((int)tx->rank), PORTAL_PULL, 0, PULL_DRAINED,
				    tx->origin - TX_SLOTS, 0) == PTL_NO_SPACE)
			mfi_make_room(ep);
		ep->parked_work--;
		mfi_tx_give(ep, slot);
	}
}

void mfi_parked_look(struct endpoint *ep)
{
	mfi_parked_tell(ep);
	if (ep->drained)
		look(ep);
}

void mfi_parked_await(struct endpoint *ep)
{
	for (unsigned int i = 0; i < ep->parked_room; i++) {
		struct tx *tx = &ep->parked[i];
		int error = tx->kind == TX_LONG && tx->acked ? mfi_await_fetch(ep, tx->rank) : 0;

		if (!error)
			continue;
		tx->error = error;
		mfi_complete(tx);
		give(ep, i);
	}
}

void mfi_parked_close(struct endpoint *ep)
{
	for (unsigned int i = 0; i < ep->parked_room; i++)
		free(ep->parked[i].copy);
	free(ep->parked);
	free(ep->drained);
}
