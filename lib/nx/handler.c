/*
 * Handlers: hsend, hrecv, hsendrecv and masktrap. Only programs that call one of them link this
 * file; in these, events of early messages and of operations with handlers come by upcalls.
 *
 * An upcall that interrupts a call of the library puts its event aside; the call handles it before
 * it returns. An upcall that interrupts the program itself handles its event at once. Either then
 * calls the program's handlers, one at a time. If a handler posts a receive while upcalls for early
 * messages are still pending, the receive waits in the library until those upcalls have come. No
 * message is lost: each puts at most one event aside, and there is room for all.
 */
#include "core.h"
#include <errno.h>

#define NOTES   (EARLY_SLOTS + HAND_SLOTS)      /* a power of two */

_Static_assert((NOTES & (NOTES - 1)) == 0, "numbers wrap");

/* An event that was put aside. */
static struct note {
	int queue;
	struct event event;
} notes[NOTES];
static volatile unsigned int written, read_up_to;
static struct list ready;               /* ended; their handlers will be called */
static long masked;

static void drain(void)
{
	while (read_up_to != written) {
		const struct note note = notes[read_up_to % NOTES];

		read_up_to++;
		nx_event(note.queue, &note.event);
	}
}

static void is_ready(struct request *r)
{
	list_add(&ready, r);
}

static void call_handler(struct request *r)
{
	nx_handler_t handler = r->handler;
	long type = r->type, count = (long)r->length, node = r->node;
	/* What the info calls return to the program stays. */
	uint64_t info_length = nx.info_length;
	long info_type = nx.info_type, info_node = nx.info_node, info_ptype = nx.info_ptype;

	if (r->error)
		nx_fatal("a call with a handler", r->error);
	nx_free(r);
	nx.in_handler = 1;
	handler(type, count, node, 0);
	nx.in_handler = 0;
	nx.info_length = info_length;
	nx.info_type = info_type;
	nx.info_node = info_node;
	nx.info_ptype = info_ptype;
}

static void call_handlers(void)
{
	while (ready.first && !masked && !nx.in_handler)
		call_handler(list_pop(&ready));
}

/* The end of a call, or of an upcall. An upcall that comes after the last check finds the program
 * outside of the library. */
static void leave(void)
{
	if (nx.depth > 1) {
		nx.depth--;
		return;
	}
	do {
		nx.depth = 1;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		nx_take_early();
		call_handlers();
		nx.depth = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (read_up_to != written);
}

static void arrived(int queue, const ptl_event_t *event)
{
	const struct event copy = nx_copy(event);

	if (nx.depth > 0) {
		notes[written % NOTES] = (struct note){ queue, copy };
		written++;
		return;
	}
	nx.depth = 1;
	nx.in_upcall = 1;
	drain();        /* between leave()'s last check and its end: events put aside are older */
	nx_event(queue, &copy);
	leave();
	nx.in_upcall = 0;
}

static void early_arrived(ptl_event_t *event)
{
	arrived(QUEUE_EARLY, event);
}

static void ended(ptl_event_t *event)
{
	arrived(QUEUE_HAND, event);
}

const struct hand nx_hand = {
	.early = early_arrived, .ended = ended, .drain = drain, .ready = is_ready,
	.call = call_handlers, .leave = leave,
};

long masktrap(long state)
{
	long before = masked;

	nx_enter();
	masked = state != 0;
	nx_leave();
	return before;
}

/* ---- the calls ---- */

static int result(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

int _hsend(long type, const void *buf, long count, long node, long ptype, nx_handler_t handler)
{
	struct request *r;
	int error;

	if (!handler)
		return result(EQPARAM);
	nx_enter();
	error = nx_begin_send(type, buf, count, node, ptype, handler, 0, &r);
	nx_leave();
	return result(error);
}

int _hrecv(long typesel, void *buf, long count, nx_handler_t handler)
{
	struct request *r;
	int error;

	if (!handler)
		return result(EQPARAM);
	nx_enter();
	error = nx_begin_receive(typesel, buf, count, -1, -1, handler, 0, &r);
	nx_leave();
	return result(error);
}

int _hsendrecv(long type, const void *sbuf, long scount, long node, long ptype,
	       long typesel, void *rbuf, long rcount, nx_handler_t handler)
{
	struct request *r;
	int error;

	if (!handler)
		return result(EQPARAM);
	nx_enter();
	error = nx_begin_both(type, sbuf, scount, node, ptype, typesel, rbuf, rcount, handler, 0,
			      &r);
	nx_leave();
	return result(error);
}

void hsend(long type, const void *buf, long count, long node, long ptype, nx_handler_t handler)
{
	if (_hsend(type, buf, count, node, ptype, handler) < 0)
		nx_fatal("hsend", errno);
}

void hrecv(long typesel, void *buf, long count, nx_handler_t handler)
{
	if (_hrecv(typesel, buf, count, handler) < 0)
		nx_fatal("hrecv", errno);
}

void hsendrecv(long type, const void *sbuf, long scount, long node, long ptype,
	       long typesel, void *rbuf, long rcount, nx_handler_t handler)
{
	if (_hsendrecv(type, sbuf, scount, node, ptype, typesel, rbuf, rcount, handler) < 0)
		nx_fatal("hsendrecv", errno);
}
