/*
 * Packets in: which message each belongs to, and which handler runs next. A packet stays in the
 * ring while its handler reads it. Its slot is freed when the handler waits for more or has
 * returned. So a rank holds at most one packet, for a handler that waits for credit. Owns the
 * messages that are being received. FM_extract runs in the program; everything else in the program
 * or in handlers.
 */
#include "inner.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t fm_take_bytes(struct incoming *in, char *to, size_t bytes)
{
	size_t head = 0, body;

	if (in->head_left) {
		head = least(bytes, in->head_left);
		if (head == sizeof(in->head))   /* all of it: one store */
			memcpy(to, &in->head, sizeof(in->head));
		else
			memcpy(to, (char *)&in->head + in->head_bytes - in->head_left, head);
		in->head_left -= (unsigned)head;
	}
	body = least(bytes - head, in->left);
	if (body) {
		memcpy(to + head, in->at, body);
		in->at += body;
		in->left -= body;
		fm.counters.bytes_copied += body;
	}
	return head + body;
}

/* ---- in handlers ---- */

/* Waits for the rest of a piece. */
static int wait_for_rest(struct incoming *in, char *to, size_t wanted)
{
	in->to = to;
	in->wanted = wanted;
	if (!in->cut) {
		fm.counters.handlers_waited++;
		if (in->from->dead)     /* but packets of it may still be in the ring */
			fm.deaths++;
		else if (wanted >= FM_DIRECT_LEAST)
			fm_grant(in);
		fm_deschedule(IN_WAITS_DATA);
		if (in->direct)
			fm_ungrant(in);
	}
	if (in->wanted == 0)
		return 0;
	errno = in->cut ? ECANCELED : EHOSTDOWN;
	return -1;
}

static inline const char *stack_pointer(void)
{
	const char *sp;

	__asm__("movq %%rsp, %0" : "=r"(sp));
	return sp;
}

int FM_receive(FM_stream *stream, void *buf, size_t bytes)
{
	struct incoming *in = (struct incoming *)stream;
	size_t got;

	if (!in || in != fm.current || (!buf && bytes)) {
		errno = EINVAL;
		return -1;
	}
	if (bytes > in->size - in->received) {
		errno = EMSGSIZE;
		return -1;
	}
	if (stack_pointer() < in->stack)        /* a long array may leave the canary as it is */
		fm_overflowed(in);
	got = fm_take_bytes(in, buf, bytes);
	in->received += bytes;
	return got == bytes ? 0 : wait_for_rest(in, (char *)buf + got, bytes - got);
}

/* ---- packets ---- */

/* After a thread has stopped: frees its packet, and the message if it has ended. */
static void settle(struct incoming *in)
{
	struct peer *peer = in->from;
	uint32_t units = in->units;

	if (in->state == IN_DISCARDS)
		in->left = in->head_left = 0;
	if (in->state == IN_WAITS_CREDIT && in->left + in->head_left > 0) {
		peer->held = in;
		return;
	}
	if (peer->held == in)
		peer->held = 0;
	in->units = 0;
	if (in->state == IN_DISCARDS && (in->arrived == in->size || in->cut || peer->dead)) {
		/* While it waited for credit, another message may have taken its id. */
		if (peer->in[in->id] == in)
			peer->in[in->id] = 0;
		fm_thread_give(in);
	}
	if (units)
		fm_release(peer, units);
}

static void go_on(struct incoming *in)
{
	fm_run(in);
	settle(in);
}

/* The message that begins with this packet. must_wait has seen that a thread is free. */
static struct incoming *begin(struct peer *peer, uint64_t bits)
{
	struct incoming *in = fm_thread_take();

	in->kind = STREAM_IN;
	in->state = IN_RUNS;
	in->id = (uint8_t)(ID_OF(bits) % FM_STREAMS);
	in->serial = (uint16_t)SERIAL_OF(bits);
	in->handler = HANDLER_OF(bits);
	in->from = peer;
	in->size = SIZE_OF(bits);
	in->arrived = in->received = 0;
	in->units = 0;
	in->cut = 0;
	peer->in[in->id] = in;
	return in;
}

/* Units of the ring that a packet used, including those skipped at the ring's end before it. */
static inline uint32_t units_of(const struct peer *peer, const ptl_event_t *event)
{
	uint32_t at = (uint32_t)(event->offset >> fm.unit_shift);

	return ((at - peer->taken) & (fm.units - 1)) +
	       fm_units(event->mlength + INLINE_OF(event->match_bits));
}

/* A packet in the ring must wait until a handler that waits for credit has gone on. */
static int must_wait(const struct peer *peer, const ptl_event_t *event)
{
	const struct incoming *in = peer->in[ID_OF(event->match_bits) % FM_STREAMS];

	if (peer->held)
		return 1;
	return event->match_bits & BITS_FIRST ? !fm.thread_free :
	       in && in->state == IN_WAITS_CREDIT;
}

/* A packet in the ring. */
static void take_ring(struct peer *peer, const ptl_event_t *event)
{
	uint64_t bits = event->match_bits;
	struct incoming *in = bits & BITS_FIRST ? begin(peer, bits) :
			      peer->in[ID_OF(bits) % FM_STREAMS];

	if (!in) {                      /* the sender has died, so its message was given up */
		fm_release(peer, units_of(peer, event));
		return;
	}
	in->units = units_of(peer, event);
	in->head = event->hdr_data;
	in->head_left = in->head_bytes = INLINE_OF(bits);
	in->at = fm.rings + event->offset;
	in->left = event->mlength;
	in->arrived += in->head_bytes + event->mlength;
	if (in->state == IN_WAITS_DATA) {
		size_t got = fm_take_bytes(in, in->to, in->wanted);

		in->to += got;
		in->wanted -= got;
	}
	in->cut = (bits & (BITS_FIRST | BITS_CUT)) == BITS_CUT;
	if (in->state == IN_RUNS || (in->state == IN_WAITS_DATA && (in->wanted == 0 || in->cut)))
		fm_run(in);
	settle(in);
}

/* A packet that has landed at the address that a handler had named. */
static void take_direct(struct peer *peer, const ptl_event_t *event)
{
	struct incoming *in = fm_granted(event->match_bits);

	if (peer->held)                 /* that packet comes before, and is still in the ring */
		peer->held->units++;
	else
		fm_release(peer, 1);
	if (!in || in->from != peer || event->mlength > in->wanted)
		return;
	in->to += event->mlength;
	in->wanted -= event->mlength;
	in->arrived += event->mlength;
	fm.counters.bytes_direct += event->mlength;
	if (in->wanted == 0)
		go_on(in);
}

__attribute__((noinline, cold))
static void lost_events(void)
{
	fprintf(stderr, "fm: rank %u: packets came without credit: another part of the program "
		"uses the portals of Fast Messages\n", fm.rank);
	fflush(0);
	_Exit(1);
}

/* Whether there is a packet that can be taken; it is then in fm.event. */
static int is_there(void)
{
	const ptl_event_t *event = &fm.event;

	if (!fm.pending) {
		int found = PtlEQGet(fm.queues[QUEUE_ARRIVALS], &fm.event);

		if (found == PTL_EQ_EMPTY)
			return 0;
		if (found != PTL_OK)
			lost_events();
		fm.pending = 1;
	}
	return event->pt_index == PORTAL_DIRECT || event->ni_fail_type != PTL_NI_OK ||
	       !must_wait(&fm.peers[event->initiator.nid], event);
}

size_t fm_take_packet(void)
{
	const ptl_event_t *event = &fm.event;
	struct peer *peer;
	size_t bytes;

	if (!is_there())
		return 0;
	peer = &fm.peers[event->initiator.nid];
	bytes = event->mlength;
	if (event->pt_index == PORTAL_PACKETS)
		bytes += INLINE_OF(event->match_bits);
	if (event->ni_fail_type != PTL_NI_OK)
		fm_dead(peer, 0);
	else if (event->pt_index == PORTAL_DIRECT)
		take_direct(peer, event);
	else
		take_ring(peer, event);
	fm.pending = 0;
	fm.counters.packets_taken++;
	return bytes ? bytes : 1;
}

/* ---- other reasons for handlers to go on ---- */

/* The rest of a dead rank's messages will not come: all its packets were taken. Returns how many
 * handlers went on. */
static int serve_dead(struct peer *peer)
{
	int served = 0;

	for (int id = 0; id < FM_STREAMS; id++) {
		struct incoming *in = peer->in[id];

		if (in && in->state == IN_WAITS_DATA) {
			go_on(in);
			served++;
		} else if (in && in->state == IN_DISCARDS) {
			settle(in);
		}
	}
	return served;
}

static int serve_credit(void)
{
	struct incoming *in, *waiting = fm.credit_first;
	int served = 0;

	fm.credit_first = 0;
	fm.credit_end = &fm.credit_first;
	while ((in = waiting)) {
		waiting = in->next;
		if (fm_has(in->credit_of, in->credit_units)) {
			go_on(in);
			served++;
		} else {
			in->next = 0;
			*fm.credit_end = in;
			fm.credit_end = &in->next;
		}
	}
	return served;
}

int fm_serve(void)
{
	int served = 0;

	if (!fm.credit_first && !fm.deaths)
		return 0;
	fm_look();
	/* A packet that cannot be taken yet (fm.pending) may have some of the dead rank behind it. */
	if (fm.deaths && ((!is_there() && !fm.pending) ||
			  fm.counters.packets_taken >= fm.serve_at)) {
		fm.deaths = 0;
		for (unsigned rank = 0; rank < fm.ranks; rank++) {
			if (!fm.peers[rank].dead)
				continue;
			if (fm_may_come(&fm.peers[rank]))
				fm.deaths++;
			else
				served += serve_dead(&fm.peers[rank]);
		}
	}
	if (fm.credit_first)
		served += serve_credit();
	return served;
}

static int is_usable(void)
{
	if (fm.opens && !fm.current)
		return 1;
	errno = fm.opens ? EBUSY : EINVAL;
	return 0;
}

int FM_extract(size_t bytes)
{
	size_t taken = 0, more;
	int served;

	if (!is_usable())
		return -1;
	if (!bytes)
		return 0;
	if (fm.busy && fm_is_due()) {   /* a program need not call FM_wait */
		fm_look();
		fm_probe_waits();
	}
	served = fm_serve();
	while (taken < bytes && (more = fm_take_packet()))
		taken += more;
	if (!taken && served)           /* the program may have waited for that handler */
		return 1;
	return taken > INT_MAX ? INT_MAX : (int)taken;
}

void fm_probe_waits(void)
{
	for (unsigned rank = 0; rank < fm.ranks; rank++) {
		struct peer *peer = &fm.peers[rank];
		int open = 0;

		for (int id = 0; id < FM_STREAMS; id++)
			open |= peer->in[id] != 0;
		if (open)
			fm_ask(peer);
	}
	for (const struct incoming *in = fm.credit_first; in; in = in->next)
		fm_ask(in->credit_of);
}

int FM_wait(int ms)
{
	int64_t end;

	if (!is_usable())
		return -1;
	for (end = ms < 0 ? INT64_MAX : fm_now() + ms;;) {
		int64_t left;

		fm_look();
		if (fm.busy && fm_is_due())     /* handlers wait, and others may send all the time */
			fm_probe_waits();
		if (fm_serve() || is_there())
			return 1;
		if (fm.broken) {
			errno = EHOSTDOWN;
			return -1;
		}
		left = ms < 0 ? PROBE_MS : end - fm_now();
		if (left <= 0)
			return 0;
		fm_sleep(left < PROBE_MS ? (unsigned)left : PROBE_MS);
	}
}
