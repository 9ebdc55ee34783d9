/*
 * Events of Portals become completions. Owns the slots of operations under way, and the dead
 * rank that was noticed last. Called by the application's one thread, whenever it looks for completions
 * or needs room.
 */
#include "provider.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int last_death = -1;

int mfi_death(ptl_process_id_t process)
{
	last_death = (int)rank_of(process);
	return FI_EIO;
}

int mfi_last_death(void)
{
	return last_death;
}

int mfi_error(int portals)
{
	switch (portals) {
	case PTL_OK:
		return 0;
	case PTL_NO_SPACE:
	case PTL_ME_LIST_TOO_LONG:
		return -FI_ENOMEM;
	case PTL_SEGV:
		return -FI_EFAULT;
	case PTL_PROCESS_INVALID:
		return -FI_EADDRNOTAVAIL;
	case PTL_ATOMIC_INVALID:
		return -FI_EOPNOTSUPP;
	case PTL_FAIL:                  /* always because of a death */
		return -FI_EIO;
	default:
		return -FI_EINVAL;
	}
}

const char *mfi_error_text(int portals, char *buf, size_t len)
{
	const char *text = PtlErrorStr(portals);

	if (!buf || !len)
		return text;
	strncpy(buf, text, len - 1);
	buf[len - 1] = 0;
	return buf;
}

int64_t mfi_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

_Noreturn void mfi_no_memory(const char *what, size_t count)
{
	fprintf(stderr, "margay: rank %d: out of memory with %zu %s; give nodes more: --mem\n", margay_rank(),
		count, what);
	_Exit(1);
}

/* ---- slots ---- */

uint16_t mfi_tx_take(struct endpoint *ep, enum tx_kind kind)
{
	uint16_t slot;
	struct tx *tx;

	while (ep->tx_free == TX_SLOTS) {
		mfi_parked_tell(ep);
		if (ep->tx_free == TX_SLOTS)
			mfi_make_room(ep);
	}
	slot = ep->tx_free;
	tx = &ep->tx[slot];
	ep->tx_free = tx->next;
	ep->tx_used++;
	if (kind == TX_LONG)
		ep->tx_long++;
	*tx = (struct tx){ .kind = (uint8_t)kind, .parts = 1, .md = PTL_INVALID_HANDLE };
	return slot;
}

int mfi_tx_is_full(const struct endpoint *ep)
{
	return ep->tx_long >= TX_SLOTS - TX_RESERVE;
}

void mfi_tx_give(struct endpoint *ep, uint16_t slot)
{
	struct tx *tx = &ep->tx[slot];

	free(tx->copy);
	if (tx->md != PTL_INVALID_HANDLE) {
		PtlMDUnlink(tx->md);
		mfi_entry_give(ep);
	}
	if (tx->kind == TX_LONG)
		ep->tx_long--;
	tx->copy = 0;
	tx->kind = TX_FREE;
	tx->next = ep->tx_free;
	ep->tx_free = slot;
	ep->tx_used--;
}

void mfi_complete(const struct tx *tx)
{
	if (tx->counter && tx->error)
		tx->counter->errors++;
	else if (tx->counter)
		tx->counter->value++;
	if (!tx->cq)
		return;
	if (tx->error) {
		const struct fi_cq_err_entry entry = {
			.op_context = tx->context, .flags = tx->flags & ~(uint64_t)FI_COMPLETION,
			.err = tx->error, .prov_errno = PTL_FAIL,
		};

		mfi_cq_fail(tx->cq, &entry);
	} else if (tx->flags & FI_COMPLETION) {
		*mfi_cq_slot(tx->cq) = (struct fi_cq_tagged_entry){
			.op_context = tx->context, .flags = tx->flags & ~(uint64_t)FI_COMPLETION,
		};
	}
}

void mfi_tx_end(struct endpoint *ep, uint16_t slot)
{
	struct tx *tx = &ep->tx[slot];

	if (tx->kind == TX_PULL && tx->copy && !tx->error)
		mfi_scatter(&tx->rx->buffer, tx->copy, tx->length);
	if (tx->kind == TX_PULL)
		mfi_received(ep, tx->rx, tx->length, tx->error);
	else
		mfi_complete(tx);
	if (tx->origin < TX_SLOTS) {
		mfi_tx_give(ep, slot);
		return;
	}
	tx->next = ep->telling;
	ep->telling = slot;
	ep->parked_work++;
}

/* ---- events ---- */

/* The slot that an event belongs to, or null: no such operation is under way. */
static struct tx *slot_of(struct endpoint *ep, uint64_t slot, uint16_t *number)
{
	if (slot >= TX_SLOTS || ep->tx[slot].kind == TX_FREE)
		return 0;
	*number = (uint16_t)slot;
	return &ep->tx[slot];
}

/* A target that discards: a region was refused, or the peer has no endpoint any more, as messages
 * always match. */
static int error_of(const ptl_event_t *event, ptl_process_id_t peer)
{
	if (event->ni_fail_type != PTL_NI_DROPPED)
		return event->ni_fail_type == PTL_NI_OK ? 0 : mfi_death(peer);
	return event->pt_index == PORTAL_REGION ? FI_EREMOTEIO : FI_ECONNRESET;
}

void mfi_tx_part(struct endpoint *ep, uint16_t slot, size_t bytes, int error)
{
	struct tx *tx = &ep->tx[slot];

	if (!tx->error)
		tx->error = error;
	tx->length += bytes;
	if (--tx->parts == 0)
		mfi_tx_end(ep, slot);
}

/* A short message has been sent. A long one in pieces records this event too, and does not end by
 * it. */
static void send_event(struct endpoint *ep, uint64_t number, const ptl_event_t *event)
{
	uint16_t slot;
	const struct tx *tx = slot_of(ep, number, &slot);

	if (tx && tx->kind == TX_SEND)
		mfi_tx_part(ep, slot, event->mlength,
			    error_of(event, ep->peers[tx->rank].process));
}

/* One of a slot's events has come. */
static void part_ended(struct endpoint *ep, uint64_t number, const ptl_event_t *event)
{
	uint16_t slot;
	struct tx *tx = slot_of(ep, number, &slot);

	if (!tx)
		return;
	if (tx->kind == TX_RMA)
		ep->tx_parts--;
	mfi_tx_part(ep, slot, event->mlength, error_of(event, event->initiator));
}

/* A long message ends when its ack says that it has landed in a posted receive, or when its
 * receiver has fetched it. The ack of a message of which only the header was taken says 0 bytes. */
static void long_event(struct endpoint *ep, uint64_t number, const ptl_event_t *event)
{
	uint16_t slot;
	struct tx *tx = slot_of(ep, number, &slot);
	int acked = event->type == PTL_EVENT_ACK;

	if (acked && event->mlength > 0 && !(event->match_bits & BITS_UNTAGGED))
		mfi_credit_acked(ep, rank_of(event->initiator), 1);
	if (acked && number >= TX_SLOTS)
		mfi_parked_acked(ep, number - TX_SLOTS, event->mlength,
				 error_of(event, event->initiator));
	if (!tx || tx->kind != TX_LONG)
		return;
	if (!tx->error)
		tx->error = error_of(event, event->initiator);
	if (!acked) {
		tx->fetched = 1;
	} else {
		tx->acked = 1;
		if (event->mlength > 0)
			tx->fetched = 1;
	}
	if (tx->acked && (tx->fetched || tx->error))
		mfi_tx_end(ep, slot);
}

static void tx_event(struct endpoint *ep, const ptl_event_t *event)
{
	switch (event->type) {
	case PTL_EVENT_SEND_END:
		send_event(ep, event->offset >> ORIGIN_SLOT_SHIFT, event);
		break;
	case PTL_EVENT_ACK:
		if (event->pt_index == PORTAL_CREDIT)
			ep->peers[rank_of(event->initiator)].gone = error_of(event, event->initiator);
		else if (event->pt_index == PORTAL_REGION)
			part_ended(ep, event->match_bits >> KEY_SLOT_SHIFT, event);
		else if (event->match_bits & BITS_LONG)
			long_event(ep, event->offset >> ORIGIN_SLOT_SHIFT, event);
		else if (event->ni_fail_type == PTL_NI_OK)
			mfi_credit_acked(ep, rank_of(event->initiator),
					 mfi_units(event->rlength, 0));
		break;
	case PTL_EVENT_REPLY_END:
		part_ended(ep, event->pt_index == PORTAL_PULL ?
			   event->match_bits >> PULL_SLOT_SHIFT :
			   event->match_bits >> KEY_SLOT_SHIFT, event);
		break;
	case PTL_EVENT_GET_END:
		long_event(ep, (uint32_t)event->match_bits, event);
		break;
	default:
		break;
	}
}

static inline void dispatch(struct endpoint *ep, unsigned int queue, const ptl_event_t *event)
{
	ep->active = 1;
	switch (queue) {
	case QUEUE_RX:
		mfi_arrived(ep, event->md.user_ptr, event);
		break;
	case QUEUE_EARLY:
		mfi_early_event(ep, event);
		break;
	case QUEUE_TX:
		tx_event(ep, event);
		break;
	default:                        /* credit: mfi_credit_look reads it */
		break;
	}
}

/* Whether the array of fi_cq_read has no room for one more completion. */
static int is_full(const struct endpoint *ep)
{
	return ep->rx_cq->out && ep->rx_cq->out_left == 0;
}

/* Takes a queue's events: 0, none is left; 1, fi_cq_read has as many as it asked for. */
static inline __attribute__((always_inline)) int take(struct endpoint *ep, unsigned int queue,
						      ptl_event_t *event)
{
	while (PtlEQGet(ep->queues[queue], event) != PTL_EQ_EMPTY) {
		dispatch(ep, queue, event);
		if (is_full(ep))
			return 1;
	}
	return 0;
}

void mfi_progress(struct endpoint *ep)
{
	ptl_event_t event;

	if (!take(ep, QUEUE_RX, &event) && !take(ep, QUEUE_EARLY, &event))
		take(ep, QUEUE_TX, &event);
	if (ep->waiting)
		mfi_post_waiting(ep);
	if (ep->parked_work)
		mfi_parked_look(ep);
	if (ep->deferred)
		mfi_credit_look(ep);
}

void mfi_take_sent(struct endpoint *ep)
{
	ptl_event_t event;

	while (PtlEQGet(ep->queues[QUEUE_TX], &event) != PTL_EQ_EMPTY)
		dispatch(ep, QUEUE_TX, &event);
}

void mfi_take_early(struct endpoint *ep)
{
	ptl_event_t event;

	while (PtlEQGet(ep->queues[QUEUE_EARLY], &event) != PTL_EQ_EMPTY)
		mfi_early_event(ep, &event);
}

/* Waits for an event of `count` queues. If a node died while its kernel changed this rank's queues,
 * they are damaged, and no event can come any more. So the program ends here, with a line that says
 * why. */
static int poll_queues(ptl_handle_eq_t *queues, int count, int ms, ptl_event_t *event, int *queue)
{
	int found = PtlEQPoll(queues, count, (ptl_time_t)ms, event, queue);

	if (found == PTL_FAIL) {
		fprintf(stderr, "margay: rank %d: another rank died while it changed this one's queues; no"
			" message can come or go any more\n", margay_rank());
		_Exit(1);
	}
	return found;
}

void mfi_wait(struct endpoint *ep, int ms)
{
	ptl_event_t event;
	int queue, found;

	if (ms < 0 || ms > PROBE_MS)
		ms = PROBE_MS;
	found = poll_queues(ep->queues, QUEUES, ms, &event, &queue);
	if (found == PTL_OK || found == PTL_EQ_DROPPED)
		dispatch(ep, (unsigned int)queue, &event);
	else
		mfi_probe(ep);
	if (ep->waiting)
		mfi_post_waiting(ep);
	if (ep->parked_work)
		mfi_parked_look(ep);
	if (ep->deferred)
		mfi_credit_look(ep);
}

/* Waits only for operations that have been started. Handling these events starts no more, so this
 * may be called in the middle of any operation. */
void mfi_make_room(struct endpoint *ep)
{
	ptl_event_t event;
	int queue, found;

	found = poll_queues(&ep->queues[QUEUE_TX], 1, 1, &event, &queue);
	if (found == PTL_OK || found == PTL_EQ_DROPPED)
		tx_event(ep, &event);
}
