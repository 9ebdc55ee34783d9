/*
 * Pieces that land at their final address. When FM_receive waits for a long piece, it posts a match
 * entry over the missing bytes, under a unique key, and tells the sender (a grant). The sender puts
 * what remains of these bytes there, in one packet for each piece that it sends. Packets that were
 * under way into the ring are copied, as their offset in the piece is known. A grant that comes too
 * late names a message that has ended, and is ignored.
 */
#include "inner.h"

/* Key: the thread's index, and the number of its grants so far. */
#define KEY(in)        ((uint32_t)(in)->index | (in)->generation << 16)
#define INDEX_OF(key)  ((unsigned)(key) & 0xffffu)

void fm_grant(struct incoming *in)
{
	const ptl_md_t md = {
		.start = in->to, .length = in->wanted, .threshold = PTL_MD_THRESH_INF,
		.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE |
			   PTL_MD_ACK_DISABLE,
		.eq_handle = fm.queues[QUEUE_ARRIVALS],
	};
	ptl_handle_md_t handle;
	uint32_t key;

	in->generation++;
	key = KEY(in);
	if (PtlMEAttach(fm.ni, PORTAL_DIRECT, in->from->process, key, 0, PTL_RETAIN,
			PTL_INS_AFTER, &in->entry) != PTL_OK)
		return;                 /* no entry is left: the piece is copied */
	if (PtlMDAttach(in->entry, md, PTL_RETAIN, &handle) != PTL_OK) {
		PtlMEUnlink(in->entry);
		return;
	}
	in->direct = 1;
	fm_tell(in->from, CONTROL_GRANT | GRANT_ID(in->id) | GRANT_SERIAL(in->serial) |
		GRANT_KEY(key), in->arrived | (in->arrived + in->wanted) << 32);
}

/* A put of a sender that has died may still be under way. The kernel ends it. */
void fm_ungrant(struct incoming *in)
{
	while (PtlMEUnlink(in->entry) == PTL_ME_IN_USE)
		fm_sleep(1);
	in->direct = 0;
}

struct incoming *fm_granted(uint64_t key)
{
	unsigned index = INDEX_OF(key);
	struct incoming *in = &fm.threads[index];

	if (index >= fm.thread_count || !in->direct || in->state != IN_WAITS_DATA ||
	    KEY(in) != (uint32_t)key)
		return 0;
	return in;
}

void fm_hear_grant(struct peer *peer, const ptl_event_t *event)
{
	uint64_t bits = event->match_bits;
	struct outgoing *out = peer->out[(unsigned)(bits >> 4) % FM_STREAMS];

	if (!out || out->serial != ((uint32_t)(bits >> 8) & SERIAL_MASK))
		return;
	out->grant_key = (uint32_t)(bits >> 32);
	out->grant_from = (uint32_t)event->hdr_data;
	out->grant_end = (uint32_t)(event->hdr_data >> 32);
}
