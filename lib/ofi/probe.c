/*
 * Peers that have died or closed their endpoint. The kernel reports that only for operations under
 * way. So a rank that waits while nothing comes probes the peers that it waits for. A probe is an empty
 * put to the peer's credit limits that asks for an ack. An endpoint sends none for its limits. If the
 * peer has no endpoint any more or has died, an ack with that failure comes (progress.c).
 * Then sends that wait for credit fail (send.c), and long sends whose headers the peer has. If the peer
 * has died, receives that name it fail too. Called by the application's one thread, when it waits.
 */
#include "provider.h"

/* Without room the next probe is soon enough. */
static void probe(const struct endpoint *ep, const struct peer *peer)
{
	PtlPutRegion(ep->asked, 0, 0, PTL_ACK_REQ, peer->process, PORTAL_CREDIT, 0, 0, 0, 0);
}

/* For long sends with an acknowledged header: awaits their receivers, and fails those to receivers
 * that are gone. */
static void await_receivers(struct endpoint *ep)
{
	for (uint16_t slot = 0; slot < TX_SLOTS; slot++) {
		struct tx *tx = &ep->tx[slot];
		int error = tx->kind == TX_LONG && tx->acked ? mfi_await_fetch(ep, tx->rank) : 0;

		if (!error)
			continue;
		tx->error = error;
		mfi_tx_end(ep, slot);
	}
}

/* Probes the next one of the awaited peers: with all of them in one go, many idle ranks would keep each
 * other busy. */
static void probe_next(struct endpoint *ep)
{
	int probed = 0;

	for (uint32_t i = 0; i < ep->domain->ranks; i++) {
		uint32_t rank = (ep->probed + 1) % ep->domain->ranks;
		struct peer *peer = &ep->peers[rank];

		if (!probed) {
			ep->probed = rank;
			probed = peer->awaited && peer->gone != FI_EIO;
			if (probed)
				probe(ep, peer);
		}
		peer->awaited = 0;
	}
}

void mfi_probe(struct endpoint *ep)
{
	int64_t now = mfi_now_ms();

	if (now - ep->probed_ms < PROBE_MS)
		return;
	ep->probed_ms = now;
	for (const struct peer *peer = ep->deferred; peer; peer = peer->next_deferred)
		probe(ep, peer);
	mfi_rx_await(ep);
	mfi_parked_await(ep);
	await_receivers(ep);
	probe_next(ep);
}
