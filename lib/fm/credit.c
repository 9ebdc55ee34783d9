/*
 * Credits, and the control messages between ranks. A rank's ring at its receiver has fm.units
 * units; `sent` and `taken` count them, and `sent` may not pass `limit`. The receiver puts a new
 * limit into the sender's control queue when an eighth of the ring is free again. So a packet
 * always has its place in the ring and in the queue of arrivals. Also owns waiting: a wait ends with
 * a packet, a control message, the link, or the death of the peer.
 *
 * The program leaves fm.kept units of a ring to handlers, and sends nothing while a handler waits for
 * credit of that ring. So ranks that flood each other with requests do not deadlock, if each request
 * and each answer is one packet and no answer is longer than its request. Suppose that they did. Of
 * the ranks that wait for each other, consider the last one in which the program sent. From then on
 * its handlers only answer requests that were in its rings: at most fm.units - fm.kept units from each
 * rank. The answers fit into fm.kept units, with what they skip once at the ring's end. So these
 * handlers do not wait, and the rank takes all packets.
 */
#include "inner.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void fm_tell(struct peer *peer, uint64_t bits, uint64_t data)
{
	/* A dead peer needs no message. */
	while (PtlPutRegion(fm.plain, 0, 0, PTL_NOACK_REQ, peer->process, PORTAL_CONTROL, 0, bits,
			    0, data) == PTL_NO_SPACE)
		fm_sleep(1);
}

void fm_release(struct peer *peer, uint32_t units)
{
	uint32_t limit;

	peer->taken += units;
	limit = peer->taken + fm.units;
	if (fm_ahead(limit, peer->told) < (int32_t)(fm.units / TELL_PARTS))
		return;
	peer->told = limit;
	fm_tell(peer, CONTROL_CREDIT, limit);
	fm_look();                      /* handlers may have sent as much, and got credits */
}

/* ---- arrivals ---- */

static void hear(const ptl_event_t *event)
{
	struct peer *peer = &fm.peers[event->initiator.nid];

	switch (CONTROL_KIND(event->match_bits)) {
	case CONTROL_CREDIT:
		if (fm_ahead((uint32_t)event->hdr_data, peer->limit) > 0)
			peer->limit = (uint32_t)event->hdr_data;
		break;
	case CONTROL_GRANT:
		fm_hear_grant(peer, event);
		break;
	case CONTROL_BARRIER:
		fm.signals[(event->match_bits >> 8) % BARRIER_ROUNDS]++;
		break;
	}
}

void fm_sent(const ptl_event_t *event)
{
	struct peer *peer = &fm.peers[event->initiator.nid];

	if (event->type == PTL_EVENT_ACK) {
		peer->asked = 0;
		if (event->ni_fail_type != PTL_NI_OK)
			fm_dead(peer, event->ni_fail_type == PTL_NI_FAIL);
	} else if (event->type == PTL_EVENT_SEND_END && event->md.user_ptr) {
		struct stage *stage = event->md.user_ptr;

		stage->next = *stage->free;
		*stage->free = stage;
	} else if (event->type == PTL_EVENT_SEND_END) {
		fm.reading--;
	}
}

__attribute__((noinline, cold))
static void lost_control(void)
{
	fprintf(stderr, "fm: rank %u: more credits and grants came than its queue holds; call "
		"FM_extract or FM_wait more often\n", fm.rank);
	fflush(0);
	_Exit(1);
}

void fm_look(void)
{
	ptl_event_t event;
	int found;

	while ((found = PtlEQGet(fm.queues[QUEUE_CONTROL], &event)) != PTL_EQ_EMPTY) {
		if (found == PTL_EQ_DROPPED)
			lost_control();
		hear(&event);
	}
	while (PtlEQGet(fm.queues[QUEUE_SENDS], &event) != PTL_EQ_EMPTY)
		fm_sent(&event);
}

/* A peer died over shared memory while it wrote into this rank's structures: nothing more comes. */
__attribute__((noinline, cold))
static void all_dead(void)
{
	fm.broken = 1;
	for (unsigned rank = 0; rank < fm.ranks; rank++)
		fm_dead(&fm.peers[rank], 1);
}

int fm_sleep(unsigned ms)
{
	int first = fm.pending ? QUEUE_CONTROL : QUEUE_ARRIVALS, which, found;
	ptl_event_t event;

	found = PtlEQPoll(fm.queues + first, QUEUES - first, ms, &event, &which);
	if (found == PTL_FAIL)
		all_dead();
	if (found != PTL_OK && found != PTL_EQ_DROPPED)
		return 0;
	switch (first + which) {
	case QUEUE_ARRIVALS:
		fm.event = event;
		fm.pending = 1;
		break;
	case QUEUE_CONTROL:
		if (found == PTL_EQ_DROPPED)
			lost_control();
		hear(&event);
		break;
	default:
		fm_sent(&event);
	}
	return 1;
}

/* ---- death ---- */

/* What a dead peer has sent is in the queue of arrivals, which has UNITS_OF_ALL slots. */
void fm_dead(struct peer *peer, int died)
{
	peer->died |= died != 0;
	if (!peer->dead) {
		peer->dead = 1;
		peer->dead_at = fm_now();
		fm.deaths++;
		fm.serve_at = fm.counters.packets_taken + UNITS_OF_ALL;
	}
}

int fm_is_due(void)
{
	int64_t now = fm_now();

	if (now < fm.probe_at)
		return 0;
	fm.probe_at = now + PROBE_MS;
	return 1;
}

int fm_ask(struct peer *peer)
{
	int error;

	if (peer->dead || peer->asked)
		return 1;
	error = PtlPutRegion(fm.asked, 0, 0, PTL_ACK_REQ, peer->process, PORTAL_PROBE, 0, 0, 0, 0);
	if (error == PTL_NO_SPACE)
		return 0;
	if (error == PTL_OK)
		peer->asked = 1;
	else
		fm_dead(peer, 1);
	return 1;
}

void fm_await_answer(const struct peer *peer)
{
	while (peer->asked && !peer->dead)
		fm_sleep(PROBE_MS);
}

int fm_may_come(const struct peer *peer)
{
	return fm.stage_pool && !peer->died && fm_now() < peer->dead_at + ENDED_MS;
}

/* FM_check, or without waiting FM_ask. */
static int check(unsigned rank, int waits)
{
	struct peer *peer;

	if (!fm.opens || rank >= fm.ranks) {
		errno = EINVAL;
		return -1;
	}
	peer = &fm.peers[rank];
	if (waits)
		fm_await_answer(peer);  /* it may be older than this call */
	else
		fm_look();
	while (!fm_ask(peer) && waits)
		fm_sleep(1);
	if (waits)
		fm_await_answer(peer);
	if (!peer->dead)
		return 0;
	errno = fm_may_come(peer) ? ESHUTDOWN : EHOSTDOWN;
	return -1;
}

int FM_check(unsigned rank)
{
	return check(rank, 1);
}

int FM_ask(unsigned rank)
{
	return check(rank, 0);
}

/* ---- waiting ---- */

static int has_credit(const struct peer *peer, uint32_t units)
{
	return fm_ahead(peer->limit, peer->sent + units) >= 0;
}

int fm_has(const struct peer *peer, uint32_t units)
{
	if (peer->dead)
		return 1;
	return units == WANTS_STREAM ? fm_has_stream(peer) : has_credit(peer, units);
}

/* Waits until credit may have come: a handler is descheduled; the program takes one packet, or
 * sleeps, and probes the peer from time to time. */
static void wait_for(struct peer *peer, uint32_t units)
{
	struct incoming *in = fm.current;

	if (in) {
		in->credit_of = peer;
		in->credit_units = units;
		in->next = 0;
		*fm.credit_end = in;
		fm.credit_end = &in->next;
		peer->waiting++;
		fm_deschedule(IN_WAITS_CREDIT);
		peer->waiting--;
	} else {
		if (!fm_serve() && !fm_take_packet())
			fm_sleep(PROBE_MS);
		if (fm_is_due()) {
			fm_probe_waits();
			fm_ask(peer);
		}
	}
}

void fm_wait_for_stream(struct peer *peer)
{
	wait_for(peer, WANTS_STREAM);
}

size_t FM_room(unsigned rank)
{
	const struct peer *peer;
	int32_t free, to_end;

	if (!fm.opens || rank >= fm.ranks)
		return 0;
	fm_look();
	peer = &fm.peers[rank];
	if (peer->dead)
		return fm.packet_bytes;
	if (!fm_has_stream(peer) || (peer->waiting && !fm.current) ||
	    (fm.stage_pool && !(fm.stages && fm.long_stages)))
		return 0;
	free = fm_ahead(peer->limit, peer->sent) - (int32_t)(fm.current ? 0 : fm.kept);
	to_end = (int32_t)(fm.units - (peer->sent & (fm.units - 1)));
	if (free > to_end)              /* a packet does not wrap; it may skip the ring's end */
		free = to_end > free - to_end ? to_end : free - to_end;
	if (free <= 0)
		return 0;
	return (uint32_t)free > fm.packet_bytes >> fm.unit_shift ? fm.packet_bytes :
	       (size_t)free << fm.unit_shift;
}

static int may_send(const struct peer *peer, uint32_t units)
{
	return fm.current ? has_credit(peer, units) :
	       !peer->waiting && has_credit(peer, units + fm.kept);
}

__attribute__((noinline))
int64_t fm_wait_credit(struct peer *peer, size_t bytes, int direct, uint32_t *before)
{
	uint32_t units = direct ? 1 : fm_units(bytes);

	while (!peer->dead) {
		uint32_t at = peer->sent & (fm.units - 1), skipped = 0;

		if (!direct && at + units > fm.units)
			skipped = fm.units - at;
		if (!may_send(peer, skipped + units)) {
			fm_look();
			if (!may_send(peer, skipped + units)) {
				fm.counters.credit_waits++;
				wait_for(peer, skipped + units);
				continue;
			}
		}
		*before = peer->sent;
		peer->sent += skipped + units;
		return (at + skipped) & (fm.units - 1);
	}
	return -1;
}
