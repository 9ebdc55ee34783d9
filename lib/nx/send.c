/*
 * Messages out. A short one is one put into slots that this rank owns at the receiver. A long one
 * is one put as well: if its receive is posted all of it lands there; otherwise only its header is
 * recorded, and the receiver gets the bytes when the receive is posted. A send without a free slot
 * waits here, and later ones to that rank behind it. Owns the counts of slots at other ranks.
 */
#include "core.h"
#include <string.h>

#define TYPE_MOST   999999999L   /* largest ordinary type, and force type: nx.h */
#define FORCE_MOST  1999999999L
#define AGAIN       (-1)         /* there is no slot, or no room in Portals */

int nx_type_bits(long type, uint64_t *bits)
{
	if (type < 0 || type > FORCE_MOST || (type > TYPE_MOST && type < NX_FORCE_TYPE))
		return EQTYPE;
	*bits = (uint64_t)type;
	if (type < NX_FORCE_TYPE)
		*bits |= 1ULL << (BITS_CLASS + (type < 30 ? (unsigned int)type : CLASSES - 1));
	return 0;
}

static inline uint32_t slots_of(size_t bytes)
{
	return bytes <= SLOT_BYTES ? 1 : (uint32_t)((bytes + SLOT_BYTES - 1) / SLOT_BYTES);
}

/* ---- slots ---- */

/* The counts of slots at a rank. */
static inline size_t row_of(uint32_t rank)
{
	return (size_t)rank * nx.window;
}

static int is_free(size_t row, uint32_t slot)
{
	return nx.sent[row + slot] == __atomic_load_n(&nx.given[row + slot], __ATOMIC_ACQUIRE);
}

/* The first of `count` consecutive free slots, or NO_SLOT. Those after the ones last used are most
 * likely free. */
static uint32_t find_slots(uint32_t rank, uint32_t count)
{
	size_t row = row_of(rank);
	uint32_t at = nx.peers[rank].next, run = 0;

	for (uint32_t looked = 0; looked < nx.window + count; looked++, at++) {
		if (at == nx.window)
			at = run = 0;
		run = is_free(row, at) ? run + 1 : 0;
		if (run == count)
			return at + 1 - count;
	}
	return NO_SLOT;
}

/* More than half of the slots are in use: a message should have its slots returned by an ack. */
static int is_scarce(uint32_t rank)
{
	struct peer *peer = &nx.peers[rank];
	size_t row = row_of(rank);

	if (peer->used < nx.window / 2)
		return 0;
	peer->used = 0;
	for (uint32_t i = 0; i < nx.window; i++)
		peer->used += !is_free(row, i);
	return peer->used >= nx.window / 2;
}

/* By first slot: 1 if the message there asked for an ack that has not come. An early message gets
 * none. */
static uint8_t asked[SLOTS];

static void settle(size_t at)
{
	nx.acks -= asked[at];
	asked[at] = 0;
}

static void use_slots(uint32_t rank, uint32_t first, uint32_t count)
{
	struct peer *peer = &nx.peers[rank];

	for (uint32_t i = 0; i < count; i++) {
		settle(row_of(rank) + first + i);
		nx.sent[row_of(rank) + first + i]++;
	}
	peer->used += count;
	peer->next = (uint16_t)(first + count < nx.window ? first + count : 0);
}

static void return_slots(uint32_t rank, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		nx.sent[row_of(rank) + first + i]--;
	nx.peers[rank].used -= count < nx.peers[rank].used ? count : nx.peers[rank].used;
}

/* ---- puts ---- */

static int put(ptl_handle_md_t md, const void *at, size_t bytes, ptl_ack_req_t ack, uint32_t rank,
	       uint64_t bits, uint64_t offset, uint64_t header)
{
	int rc = PtlPutRegion(md, (uintptr_t)at, bytes, ack, nx.peers[rank].process,
			      PORTAL_MESSAGE, 0, bits, offset, header);

	if (rc == PTL_NO_SPACE) {
		nx.short_of_room = 1;
		return AGAIN;
	}
	return nx_error(rc);
}

static uint64_t origin_of(const struct request *r)
{
	return (uint64_t)nx_index(r) << ORIGIN_SHIFT | (r->hand ? ORIGIN_HAND : 0);
}

/* Sends a long message. Its ack from a posted receive, or the end of a get, completes the
 * request. */
static int send_long(struct request *r, uint64_t header)
{
	uint64_t origin = origin_of(r) | (uintptr_t)r->base;

	return put(r->hand ? nx.asked_hand : nx.asked, r->base, r->bytes, PTL_ACK_REQ,
		   (uint32_t)r->peer, r->bits | BITS_LONG, origin, header);
}

/* Sends into slots from `first` on. If the link reads the bytes after the call, they are copied to
 * a buffer that is free whenever the slots are. */
static int send_short(struct request *r, uint32_t first, uint64_t header)
{
	uint64_t offset = (row_of((uint32_t)nx.rank) + first) * SLOT_BYTES;
	int asks = !!(header & HEADER_ACKED), error;
	const char *from = r->base;

	if (r->bytes > nx.inline_bytes)
		from = memcpy(nx.stage + (row_of((uint32_t)r->peer) + first) * SLOT_BYTES, from,
			      r->bytes);
	error = put(asks ? nx.asked : nx.plain, from, r->bytes,
		    asks ? PTL_ACK_REQ : PTL_NO_ACK_REQ, (uint32_t)r->peer, r->bits, offset,
		    header);
	if (!error) {
		nx.acks += (uint32_t)asks;
		asked[row_of((uint32_t)r->peer) + first] = (uint8_t)asks;
		nx_complete(r, 0);
	}
	return error;
}

/* A force type needs no slot: only a posted receive takes it. */
static int send_force(struct request *r)
{
	int waits = r->bytes > nx.inline_bytes;
	ptl_handle_md_t md = !waits ? nx.plain : r->hand ? nx.reported_hand : nx.reported;
	int error = put(md, r->base, r->bytes, PTL_NO_ACK_REQ, (uint32_t)r->peer, r->bits,
			origin_of(r), (uint64_t)r->generation << 32 | NO_SLOT);

	if (!error && !waits)
		nx_complete(r, 0);
	return error;
}

/* A rank has one slot for global operations at each other rank. They do not use it again before it
 * is free (global.c). */
static int send_system(struct request *r)
{
	uint64_t at = row_of((uint32_t)nx.size) * SLOT_BYTES;
	uint64_t offset = at + (uint64_t)nx.rank * SYSTEM_BYTES;
	const char *from = r->base;
	int error;

	if (r->bytes > SYSTEM_BYTES)
		return send_long(r, NO_SLOT);
	if (r->bytes > nx.inline_bytes)
		from = memcpy(nx.stage + at + (uint64_t)r->peer * SYSTEM_BYTES, from, r->bytes);
	error = put(nx.plain, from, r->bytes, PTL_NO_ACK_REQ, (uint32_t)r->peer, r->bits, offset,
		    NO_SLOT);
	if (!error)
		nx_complete(r, 0);
	return error;
}

static int send_ordinary(struct request *r)
{
	uint32_t rank = (uint32_t)r->peer;
	int is_csend = !r->counted && !r->hand && !r->parent;
	int is_long = r->bytes > (is_csend ? nx.eager_csend : nx.eager), asks, error;
	uint32_t count = is_long ? 1 : slots_of(r->bytes);
	uint32_t first = find_slots(rank, count);

	if (first == NO_SLOT && count > 1 && !nx.in_handler) {
		is_long = 1;
		count = 1;
		first = find_slots(rank, 1);
	}
	if (first == NO_SLOT)
		return AGAIN;
	/* In a handler there must be room in Portals: a put that asks for no ack waits for it. */
	asks = !is_long && !nx.in_handler && nx.acks < ACKS_MOST && is_scarce(rank);
	use_slots(rank, first, count);
	if (is_long) {
		r->slot = (uint16_t)first;
		error = send_long(r, first);
	} else {
		error = send_short(r, first, first | (asks ? HEADER_ACKED : 0));
	}
	if (error)
		return_slots(rank, first, count);
	return error;
}

int nx_all_have_slots(size_t bytes)
{
	for (int rank = 0; rank < nx.size; rank++) {
		const struct peer *peer = &nx.peers[rank];

		if (rank != nx.rank && !peer->gone &&
		    (peer->queued.first || find_slots((uint32_t)rank, slots_of(bytes)) == NO_SLOT))
			return 0;
	}
	return 1;
}

/* ---- sends that wait ---- */

/* Whether a message uses ordinary slots. */
static int is_ordinary(const struct request *r)
{
	return !(r->bits & (BITS_SYSTEM | BITS_FORCE));
}

/* Sends a request: 0, AGAIN, or EQ*; a short one has then ended. */
static int try(struct request *r)
{
	if (nx.peers[r->peer].gone)
		return EQNOACT;
	if (r->bits & BITS_SYSTEM)
		return send_system(r);
	return r->bits & BITS_FORCE ? send_force(r) : send_ordinary(r);
}

static void queue(struct peer *peer, struct request *r, int first)
{
	if (!peer->listed) {
		peer->listed = 1;
		peer->next_queued = nx.queued;
		nx.queued = peer;
	}
	(first ? list_push : list_add)(&peer->queued, r);
	r->state = QUEUED;
}

void nx_send(struct request *r)
{
	struct peer *peer = &nx.peers[r->peer];
	int error;

	if (is_ordinary(r) && peer->queued.first) {
		queue(peer, r, 0);
		return;
	}
	error = try(r);
	if (error == AGAIN)
		queue(peer, r, !is_ordinary(r));
	else if (error)
		nx_complete(r, error);
}

/* Sends waiting messages to this rank as far as possible: 1 if none is left. */
static int send_queued_to(struct peer *peer)
{
	struct request *r;
	int error;

	while ((r = list_pop(&peer->queued))) {
		r->state = ACTIVE;
		error = try(r);
		if (error == AGAIN) {
			r->state = QUEUED;
			list_push(&peer->queued, r);
			return 0;
		}
		if (error)
			nx_complete(r, error);
	}
	return 1;
}

void nx_send_queued(void)
{
	struct peer **at = &nx.queued;

	while (*at) {
		struct peer *peer = *at;

		if (send_queued_to(peer)) {
			*at = peer->next_queued;
			peer->listed = 0;
		} else {
			at = &peer->next_queued;
		}
	}
}

int nx_unqueue(struct request *r)
{
	return nx_list_remove(&nx.peers[r->peer].queued, r);
}

/* ---- completion ---- */

/* The send that an event belongs to, or null. */
static struct request *sender_of(uint64_t index, const struct event *event)
{
	struct request *r = &nx.requests[index < REQUESTS ? index : 0];
	int is_its = r->kind == SEND && r->state == ACTIVE && r->peer == (int32_t)event->source;

	return is_its ? r : NULL;
}

static void acked(const struct event *event)
{
	size_t own = row_of((uint32_t)nx.rank);
	struct request *r;

	if (event->portal == PORTAL_CREDIT) {
		nx.peers[event->source].probed = 0;
		if (event->fail != PTL_NI_OK)
			nx_gone(event->source, event->fail);
		return;
	}
	if (!(event->bits & BITS_LONG)) {
		uint32_t slot = (uint32_t)(event->offset / SLOT_BYTES - own);

		settle(row_of(event->source) + slot);
		if (event->fail == PTL_NI_OK)
			return_slots(event->source, slot, slots_of(event->length));
	} else if ((r = sender_of(ORIGIN_INDEX(event->offset), event))) {
		if (r->slot != NO_SLOT)
			return_slots(event->source, r->slot, 1);
		nx_complete(r, event->fail == PTL_NI_OK ? 0 : EQNOACT);
	}
	if (event->fail != PTL_NI_OK)
		nx_gone(event->source, event->fail);
}

void nx_tx_event(const struct event *event)
{
	struct request *r;

	switch (event->type) {
	case PTL_EVENT_ACK:
		acked(event);
		return;
	case PTL_EVENT_SEND_END:        /* perhaps of a request that a rank's end has ended */
		r = &nx.requests[ORIGIN_INDEX(event->offset) % REQUESTS];
		if (r->kind == SEND && r->state == ACTIVE &&
		    r->generation == HEADER_GENERATION(event->header))
			nx_complete(r, event->fail == PTL_NI_OK ? 0 : EQNOACT);
		return;
	case PTL_EVENT_GET_END:
		r = sender_of(event->bits & (PULL_HAND - 1), event);
		if (r)
			nx_complete(r, event->fail == PTL_NI_OK ? 0 : EQNOACT);
		return;
	default:
		return;
	}
}

/* A rank has ended: operations with it fail. Over cards its kernel goes on sending if the rank has
 * ended by itself, and lost frames let the news of it come first. */
void nx_gone(uint32_t rank, ptl_ni_fail_t fail)
{
	if (nx.peers[rank].gone)
		return;
	nx.peers[rank].gone = 1;
	nx.peers[rank].lost_at = dclock() + (nx.stage && fail == PTL_NI_DROPPED ? ENDED_MS * 1e-3 : 0);
	for (struct request *r = nx.requests; r < nx.requests + REQUESTS; r++)
		if (r->kind == SEND && r->state == ACTIVE && r->peer == (int32_t)rank)
			nx_complete(r, EQNOACT);
	nx.lost = 1;
	nx_send_queued();
}

static void probe(struct peer *peer)
{
	if (!peer->probed && !peer->gone)
		peer->probed = PtlPutRegion(nx.asked, 0, 0, PTL_ACK_REQ, peer->process,
					    PORTAL_CREDIT, 0, 0, 0, 0) == PTL_OK;
}

void nx_probe(void)
{
	for (struct request *r = nx.requests; r < nx.requests + REQUESTS; r++)
		if ((r->state == ACTIVE || r->state == QUEUED) &&
		    (r->kind == SEND || nx_is_named(r)))
			probe(&nx.peers[r->peer]);
	if (nx.awaited >= 0)
		probe(&nx.peers[nx.awaited]);
}
