/*
 * Receives, and early messages. A receive is a match entry in front of those for early messages; if
 * its message has already come, it takes that instead. A receive that cannot be posted waits in the
 * library, in order. Owns the list of early messages.
 */
#include "core.h"
#include <string.h>

#define ANY_TYPE    (BITS_TYPE & ~BITS_FORCE)

int nx_selector(long typesel, uint64_t *bits, uint64_t *ignore)
{
	*ignore = BITS_LONG;
	if (typesel > 0x7fffffffL && typesel <= 0xffffffffL)    /* a mask of 32 bits */
		typesel = (int32_t)typesel;
	if (typesel >= 0)
		return nx_type_bits(typesel, bits);
	if (typesel < INT32_MIN)
		return EQTYPE;
	*bits = 0;
	*ignore |= ANY_TYPE | ((uint64_t)typesel & BITS_TYPE) << BITS_CLASS;
	return 0;
}

/* ---- early messages ---- */

static inline int matches(const struct early *early, uint64_t bits, uint64_t ignore, int32_t peer)
{
	return ((early->bits ^ bits) & ~(ignore | BITS_LONG)) == 0 &&
	       (peer < 0 || (uint32_t)peer == early->source);
}

const struct early *nx_find(uint64_t bits, uint64_t ignore, int32_t peer)
{
	const struct early *early = nx.early.newer;

	while (early != &nx.early && !matches(early, bits, ignore, peer))
		early = early->newer;
	return early == &nx.early ? NULL : early;
}

/* Writes this rank's row of counts into a sender's memory: which of its slots are free. */
static void tell(uint32_t rank)
{
	uint64_t row = (uint64_t)rank * nx.window;

	if (PtlPutRegion(nx.plain, (uintptr_t)(nx.freed + row), nx.window, PTL_NO_ACK_REQ,
			 nx.peers[rank].process, PORTAL_CREDIT, 0, 0,
			 (uint64_t)nx.rank * nx.window, 0) != PTL_NO_SPACE)
		nx.peers[rank].unreported = 0;
}

/* Returns the slots of a message. */
static void give_back(uint32_t rank, unsigned int slot, uint64_t length, int is_long)
{
	uint8_t *freed = nx.freed + (size_t)rank * nx.window + slot;
	uint32_t count = is_long || length <= SLOT_BYTES ? 1 :
			 (uint32_t)((length + SLOT_BYTES - 1) / SLOT_BYTES);

	if (slot == NO_SLOT)
		return;
	if (rank == (uint32_t)nx.rank)
		freed = nx.given + (size_t)rank * nx.window + slot;
	for (uint32_t i = 0; i < count; i++)
		__atomic_store_n(&freed[i], (uint8_t)(freed[i] + 1), __ATOMIC_RELEASE);
	if (rank == (uint32_t)nx.rank)
		return;
	nx.peers[rank].unreported = (uint16_t)(nx.peers[rank].unreported + count);
	if (nx.peers[rank].unreported >= (nx.window + 3) / 4)
		tell(rank);
}

/* ---- what a message does to a receive ---- */

static void header_is(struct request *r, uint64_t bits, uint32_t source, uint64_t length)
{
	r->type = nx_type_of(bits);
	r->node = (long)source;
	r->length = length;
}

static int length_error(const struct request *r)
{
	return r->length > r->bytes ? EQMSGLONG : 0;
}

/* Gets a long message, whose header has come, from its sender: 0, or there was no room. */
static int fetch(struct request *r, uint64_t origin)
{
	uint64_t bits = (uint64_t)nx_index(r) << PULL_SHIFT | origin >> ORIGIN_SHIFT;
	size_t bytes = r->length < r->bytes ? r->length : r->bytes;
	int rc = PtlGetRegion(r->hand ? nx.fetched_hand : nx.fetched, (uintptr_t)r->base, bytes,
			      margay_process((int)r->node), PORTAL_PULL, 0, bits,
			      origin & ORIGIN_ADDRESS);

	if (rc == PTL_NO_SPACE)
		return 1;
	if (rc != PTL_OK)
		nx_complete(r, nx_error(rc));
	return 0;
}

static void forget(struct early *early)
{
	early->newer->older = early->older;
	early->older->newer = early->newer;
	give_back(early->source, early->slot, early->length, !!(early->bits & BITS_LONG));
}

static void deliver(struct early *early, struct request *r)
{
	header_is(r, early->bits, early->source, early->length);
	if (early->bits & BITS_LONG) {
		r->origin = early->origin;
		forget(early);
		if (fetch(r, r->origin))
			list_add(&nx.unfetched, r);
		return;
	}
	memcpy(r->base, early->bytes, early->length < r->bytes ? early->length : r->bytes);
	forget(early);
	nx_complete(r, length_error(r));
}

/* Removes and returns the first receive that waits in the library and matches, or null. */
static struct request *waiting_for(const struct early *early)
{
	struct request *r = nx.waiting.first;

	while (r && !matches(early, r->bits, r->ignore, r->peer))
		r = r->next;
	if (r)
		nx_list_remove(&nx.waiting, r);
	return r;
}

void nx_early_event(const struct event *event)
{
	unsigned int slot = HEADER_SLOT(event->header);
	uint64_t system = (uint64_t)nx.window * (uint64_t)nx.size;
	struct early *early = &nx.earlies[slot == NO_SLOT ? system + event->source :
					  (uint64_t)event->source * nx.window + slot];
	struct request *r;

	if (event->fail != PTL_NI_OK)
		return;                 /* the sender died while it was arriving */
	early->bits = event->bits;
	early->source = event->source;
	early->slot = (uint16_t)slot;
	early->length = event->length;
	early->origin = event->offset;
	early->bytes = nx.slots + event->offset;
	early->newer = &nx.early;
	early->older = nx.early.older;
	early->older->newer = early;
	nx.early.older = early;
	r = nx.waiting.first ? waiting_for(early) : NULL;
	if (r)
		deliver(early, r);
}

void nx_rx_event(const struct event *event)
{
	struct request *r = event->user;

	if (event->type == PTL_EVENT_REPLY_END) {
		r = &nx.requests[(event->bits >> PULL_SHIFT) % REQUESTS];
		if (r->kind == RECEIVE && r->state == ACTIVE)
			nx_complete(r, event->fail == PTL_NI_OK ? length_error(r) : EQNOACT);
		return;
	}
	r->entry = PTL_INVALID_HANDLE;
	header_is(r, event->bits, event->source, event->length);
	if (!(event->bits & BITS_LONG) && !(event->header & HEADER_ACKED))
		give_back(event->source, HEADER_SLOT(event->header), event->length, 0);
	nx_complete(r, event->fail == PTL_NI_OK ? length_error(r) : EQNOACT);
}

/* ---- posting ---- */

static int post(struct request *r)
{
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	const ptl_md_t md = {
		.start = r->base, .length = r->bytes, .threshold = 1,
		.options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE |
			   PTL_MD_EVENT_UNLINK_DISABLE,
		.user_ptr = r, .eq_handle = nx.queues[r->hand ? QUEUE_HAND : QUEUE_RX],
	};
	/* No early message matches a receive of force types. */
	ptl_handle_eq_t test = r->bits & BITS_FORCE ? PTL_EQ_NONE : nx.queues[QUEUE_EARLY];
	ptl_handle_md_t handle;

	return PtlMEMDPost(nx.ni, nx.behind, r->peer < 0 ? any_process : nx.peers[r->peer].process,
			   r->bits, r->ignore, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK,
			   &r->entry, &handle, test);
}

/* Gives a receive the early message that it matches, if there is one. */
static int take(struct request *r)
{
	struct early *early = (struct early *)nx_find(r->bits, r->ignore, r->peer);

	if (early)
		deliver(early, r);
	return early != NULL;
}

/* Posts a receive, or gives it the early message that it matches: 0. 1: it must wait. */
static int post_or_take(struct request *r)
{
	int rc;

	do {
		nx_take_early();
		if (take(r))
			return 0;
		rc = post(r);
		if (rc == PTL_MD_NO_UPDATE && nx.in_upcall)
			return 1;       /* a pending upcall will bring the message */
	} while (rc == PTL_MD_NO_UPDATE);
	if (rc == PTL_NO_SPACE || rc == PTL_ME_LIST_TOO_LONG)
		return 1;
	if (rc != PTL_OK)
		nx_complete(r, nx_error(rc));
	return 0;
}

/* Whether a receive has to wait behind others. Until one of a force type is posted, its messages
 * are lost, and no other receives take them: it waits only behind those of its type. */
static int is_behind(const struct request *r)
{
	const struct request *other = nx.waiting.first;

	while (other && (r->bits & BITS_FORCE) && other->bits != r->bits)
		other = other->next;
	return other != NULL;
}

static int must_wait(struct request *r)
{
	return is_behind(r) ? !take(r) : post_or_take(r);
}

void nx_receive(struct request *r)
{
	nx.named += (uint32_t)nx_is_named(r);
	nx.lost |= nx.broken || (nx_is_named(r) && nx.peers[r->peer].gone);
	if (must_wait(r))
		list_add(&nx.waiting, r);
}

/* Posts waiting receives in the order of their calls, so that no later one takes an earlier one's
 * message. No message in the list of early ones matches them: it would have been given to them. */
static void post_waiting(void)
{
	struct request *r;
	int rc;

	while ((r = nx.waiting.first)) {
		nx_take_early();        /* this may give it its message */
		if (nx.waiting.first != r)
			continue;
		rc = post(r);
		if (rc == PTL_NO_SPACE || rc == PTL_ME_LIST_TOO_LONG)
			return;
		if (rc == PTL_MD_NO_UPDATE)
			continue;
		list_pop(&nx.waiting);
		if (rc != PTL_OK)
			nx_complete(r, nx_error(rc));
	}
}

void nx_post_waiting(void)
{
	struct request *r;

	while ((r = list_pop(&nx.unfetched)) && fetch(r, r->origin) == 0)
		;
	if (r)
		list_push(&nx.unfetched, r);
	if (!nx.in_upcall)
		post_waiting();
}

/* A rank that is gone sends nothing more, and what it has sent has come: in the queues, or here. A
 * receive that is ignored stays. */
void nx_end_lost(void)
{
	nx.lost = 0;
	nx_take_early();
	for (struct request *r = nx.requests; r < nx.requests + REQUESTS; r++) {
		if (r->kind != RECEIVE || r->state != ACTIVE || r->ignored ||
		    !(nx.broken || (nx_is_named(r) && nx.peers[r->peer].gone)))
			continue;
		if (!nx.broken && !nx_is_lost(r->peer))
			nx.lost = 1;
		else if (nx_withdraw(r) || nx.broken) {
			nx_list_remove(&nx.unfetched, r);
			nx_complete(r, EQNOACT);
		}
	}
}

int nx_withdraw(struct request *r)
{
	if (nx_list_remove(&nx.waiting, r))
		return 1;
	return r->entry != PTL_INVALID_HANDLE && PtlMEUnlink(r->entry) == PTL_OK;
}
