/*
 * The calls of nx.h except those with handlers, global operations, names and clocks. Each checks
 * its arguments and makes a request. The calls with an underscore return the result and set errno;
 * those without end the job on an error.
 */
#include "core.h"
#include <errno.h>

static int result(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

static int check(const void *buf, long count, long node, long ptype)
{
	if (count < 0)
		return EQLEN;
	if (!buf && count > 0)
		return EQPBUF;
	if (node < -1 || node >= nx.size)
		return EQNODE;
	return ptype == 0 || ptype == -1 ? 0 : EQPID;
}

/* ---- requests ---- */

/* The request ends with its parent's handler, or with its own. */
static void belongs_to(struct request *r, struct request *parent)
{
	r->parent = parent;
	r->hand = parent->handler != NULL;
	parent->parts++;
}

static void begin_one(struct request *r, uint64_t bits, const void *buf, long count, long node)
{
	r->bits = bits;
	r->base = (char *)buf;
	r->bytes = (size_t)count;
	r->peer = (int32_t)node;
	r->type = nx_type_of(bits);
	r->length = (uint64_t)count;
	r->node = nx.rank;
}

/* Begins a send to all other ranks, for which there are parts. */
static void begin_all(struct request *whole, uint64_t bits, const void *buf, long count)
{
	whole->parts = 1;               /* until all have begun */
	for (int rank = 0; rank < nx.size; rank++) {
		struct request *r;

		if (rank == nx.rank)
			continue;
		r = nx_take(SEND, 0);
		begin_one(r, bits, buf, count, rank);
		belongs_to(r, whole);
		nx_send(r);
	}
	if (--whole->parts == 0)
		nx_complete(whole, whole->error);
}

int nx_begin_send(long type, const void *buf, long count, long node, long ptype,
		  nx_handler_t handler, int counted, struct request **begun)
{
	uint64_t bits;
	int error = check(buf, count, node, ptype);
	struct request *r;

	if (!error)
		error = nx_type_bits(type, &bits);
	if (error)
		return error;
	r = nx_take(node < 0 ? PAIR : SEND, counted);
	if (!r)
		return EQNOMID;
	if (node < 0 && nx.parts_left < (uint32_t)nx.size - 1) {
		nx_free(r);
		return EQNOMID;
	}
	*begun = r;
	begin_one(r, bits, buf, count, node);
	r->handler = handler;
	r->hand = handler != NULL;
	if (node < 0)
		begin_all(r, bits, buf, count);
	else
		nx_send(r);
	return 0;
}

static int take_receive(long typesel, void *buf, long count, long nodesel, long ptypesel,
			int counted, struct request **taken)
{
	uint64_t bits, ignore;
	int error = check(buf, count, nodesel, ptypesel);
	struct request *r;

	if (!error)
		error = nx_selector(typesel, &bits, &ignore);
	if (error)
		return error;
	r = nx_take(RECEIVE, counted);
	if (!r)
		return EQNOMID;
	begin_one(r, bits, buf, count, nodesel);
	r->ignore = ignore;
	*taken = r;
	return 0;
}

int nx_begin_receive(long typesel, void *buf, long count, long nodesel, long ptypesel,
		     nx_handler_t handler, int counted, struct request **begun)
{
	int error = take_receive(typesel, buf, count, nodesel, ptypesel, counted, begun);

	if (error)
		return error;
	(*begun)->handler = handler;
	(*begun)->hand = handler != NULL;
	nx_receive(*begun);
	return 0;
}

int nx_begin_both(long type, const void *sbuf, long scount, long node, long ptype,
		  long typesel, void *rbuf, long rcount, nx_handler_t handler, int counted,
		  struct request **begun)
{
	int error = check(sbuf, scount, node, ptype);
	struct request *receive, *send, *whole;
	uint64_t bits;

	if (!error && node < 0)
		error = EQNODE;
	if (!error)
		error = nx_type_bits(type, &bits);
	if (!error)
		error = take_receive(typesel, rbuf, rcount, -1, -1, 0, &receive);
	if (error)
		return error;
	send = nx_take(SEND, 0);
	whole = nx_take(PAIR, counted);
	if (!whole || !send) {
		if (send)
			nx_drop(send);
		if (whole)
			nx_free(whole);
		nx_free(receive);
		return EQNOMID;
	}
	*begun = whole;
	whole->handler = handler;
	begin_one(send, bits, sbuf, scount, node);
	belongs_to(receive, whole);
	belongs_to(send, whole);
	nx_receive(receive);
	nx_send(send);
	return 0;
}

/* Waits for a request and frees it. Without a message, what the info calls return stays. */
static int finish(struct request *r)
{
	int error = nx_wait(r);

	if (r->tells && (!error || error == EQMSGLONG))
		nx_tell(r);
	nx_free(r);
	return error;
}

/* ---- sends ---- */

/* A send in a handler: it ends at once, or it is not begun. One to all others is begun only if all
 * parts have slots: none may wait, as the buffer may be changed afterwards. */
static int send_at_once(long type, const void *buf, long count, long node, long ptype)
{
	size_t most = type >= NX_FORCE_TYPE ? nx.inline_bytes : nx.eager;
	struct request *r;
	int error;

	if (count >= 0 && ((size_t)count > most ||
			   (node == -1 && type < NX_FORCE_TYPE && !nx_all_have_slots((size_t)count))))
		return EQHAND;
	error = nx_begin_send(type, buf, count, node, ptype, NULL, 0, &r);
	if (error)
		return error;
	if (r->state == DONE) {
		error = r->error;
		nx_free(r);
	} else if (r->state == QUEUED && nx_unqueue(r)) {
		nx_drop(r);
		error = EQHAND;
	}
	return error;
}

int _csend(long type, const void *buf, long count, long node, long ptype)
{
	struct request *r;
	int error;

	nx_enter();
	if (nx.in_handler) {
		error = send_at_once(type, buf, count, node, ptype);
	} else {
		error = nx_begin_send(type, buf, count, node, ptype, NULL, 0, &r);
		if (!error)
			error = finish(r);
	}
	nx_leave();
	return result(error);
}

/* The result of a call that begins an operation with an id. */
static long id_or_error(int error, const struct request *r)
{
	long id = error ? -1 : nx_id(r);

	nx_leave();
	if (error)
		errno = error;
	return id;
}

long _isend(long type, const void *buf, long count, long node, long ptype)
{
	struct request *r = NULL;
	int error;

	nx_enter();
	error = nx_begin_send(type, buf, count, node, ptype, NULL, 1, &r);
	return id_or_error(error, r);
}

/* ---- receives ---- */

int _crecvx(long typesel, void *buf, long count, long nodesel, long ptypesel, long info[8])
{
	struct request *r;
	int error;

	if (nx.in_handler)
		return result(EQHAND);
	nx_enter();
	error = nx_begin_receive(typesel, buf, count, nodesel, ptypesel, NULL, 0, &r);
	if (!error) {
		r->info = info;
		error = finish(r);
	}
	nx_leave();
	return result(error);
}

int _crecv(long typesel, void *buf, long count)
{
	return _crecvx(typesel, buf, count, -1, -1, NULL);
}

long _irecvx(long typesel, void *buf, long count, long nodesel, long ptypesel, long info[8])
{
	struct request *r;
	int error;

	nx_enter();
	error = nx_begin_receive(typesel, buf, count, nodesel, ptypesel, NULL, 1, &r);
	if (!error)
		r->info = info;
	return id_or_error(error, r);
}

long _irecv(long typesel, void *buf, long count)
{
	return _irecvx(typesel, buf, count, -1, -1, NULL);
}

long _csendrecv(long type, const void *sbuf, long scount, long node, long ptype,
		long typesel, void *rbuf, long rcount)
{
	struct request *r;
	int error;

	if (nx.in_handler)
		return result(EQHAND);
	nx_enter();
	error = nx_begin_both(type, sbuf, scount, node, ptype, typesel, rbuf, rcount, NULL, 0, &r);
	if (!error)
		error = finish(r);
	nx_leave();
	return error ? result(error) : (long)nx.info_length;
}

long _isendrecv(long type, const void *sbuf, long scount, long node, long ptype,
		long typesel, void *rbuf, long rcount)
{
	struct request *r = NULL;
	int error;

	nx_enter();
	error = nx_begin_both(type, sbuf, scount, node, ptype, typesel, rbuf, rcount, NULL, 1, &r);
	return id_or_error(error, r);
}

/* ---- message ids ---- */

int _msgwait(long mid)
{
	struct request *r = nx_of_id(mid);
	int error;

	if (!r || nx.in_handler)
		return result(r ? EQHAND : EQMID);
	nx_enter();
	error = finish(r);
	nx_leave();
	return result(error);
}

long _msgdone(long mid)
{
	struct request *r = nx_of_id(mid);
	int error = 0, done;

	if (!r)
		return result(EQMID);
	nx_enter();
	if (r->state != DONE)
		nx_progress();
	done = r->state == DONE;
	if (done)
		error = finish(r);
	nx_leave();
	return error ? result(error) : done;
}

int _msgignore(long mid)
{
	struct request *r = nx_of_id(mid);
	int error = 0;

	if (!r)
		return result(EQMID);
	nx_enter();
	if (r->state == DONE) {
		error = r->error;
		nx_free(r);
	} else {
		r->ignored = 1;
	}
	nx_leave();
	return result(error);
}

/* Takes an operation back: 1 if it has not begun, and will not. */
static int take_back(struct request *r)
{
	int is_back = r->state == QUEUED ? nx_unqueue(r) :
		r->kind == RECEIVE && r->state == ACTIVE && nx_withdraw(r);

	if (is_back)
		nx_drop(r);
	return is_back;
}

/* Takes back the parts of an operation, which ends with those that have begun. */
static void take_back_parts(struct request *whole)
{
	for (struct request *r = nx.requests; r < nx.requests + REQUESTS; r++)
		if (r->parent == whole && take_back(r))
			whole->parts--;
	if (whole->state == ACTIVE && whole->parts == 0)
		nx_complete(whole, whole->error);
}

int _msgcancel(long mid)
{
	struct request *r = nx_of_id(mid);
	int error = 0;

	if (!r || nx.in_handler)
		return result(r ? EQHAND : EQMID);
	nx_enter();
	nx_progress();
	if (r->kind == PAIR)
		take_back_parts(r);
	if (!take_back(r))
		error = finish(r);
	nx_leave();
	return result(error);
}

/* ---- probes ---- */

/* Whether the rank that a probe waits for is gone. */
static int is_lost(void)
{
	return nx.broken || (nx.awaited >= 0 && nx_is_lost(nx.awaited));
}

/* Looks for a message, or waits for one. While the program waits in one, handlers look in others:
 * what it waits for stays. */
static long probe(long typesel, long nodesel, long ptypesel, long info[8], int waits)
{
	struct request told = { .info = info };
	const struct early *early;
	uint64_t bits, ignore;
	int error = check(NULL, 0, nodesel, ptypesel), awaits = waits && nodesel >= 0;

	if (!error)
		error = nx_selector(typesel, &bits, &ignore);
	if (!error && waits && (bits & BITS_FORCE))
		error = EQTYPE;         /* no message of a force type waits for a receive */
	if (!error && waits && nx.in_handler)
		error = EQHAND;
	if (error)
		return result(error);
	nx_enter();
	nx_progress();
	if (awaits) {
		nx.awaited = (int)nodesel;
		nx.named++;
	}
	while (!(early = nx_find(bits, ignore, (int32_t)nodesel)) && waits && !is_lost()) {
		nx_block();
		nx_progress();
	}
	error = !early && waits && is_lost() ? EQNOACT : 0;
	if (awaits) {
		nx.named--;
		nx.awaited = -1;
	}
	if (early) {
		told.type = nx_type_of(early->bits);
		told.length = early->length;
		told.node = (long)early->source;
		nx_tell(&told);
	}
	nx_leave();
	return error ? result(error) : early != NULL;
}

long _iprobe(long typesel)
{
	return probe(typesel, -1, -1, NULL, 0);
}

int _cprobe(long typesel)
{
	return probe(typesel, -1, -1, NULL, 1) < 0 ? -1 : 0;
}

long _iprobex(long typesel, long nodesel, long ptypesel, long info[8])
{
	return probe(typesel, nodesel, ptypesel, info, 0);
}

int _cprobex(long typesel, long nodesel, long ptypesel, long info[8])
{
	return probe(typesel, nodesel, ptypesel, info, 1) < 0 ? -1 : 0;
}

long infocount(void)
{
	return (long)nx.info_length;
}

long infonode(void)
{
	return nx.info_node;
}

long infotype(void)
{
	return nx.info_type;
}

long infoptype(void)
{
	return nx.info_ptype;
}

/* ---- the same calls; an error ends the job ---- */

static long good(long value, const char *call)
{
	if (value < 0)
		nx_fatal(call, errno);
	return value;
}

void csend(long type, const void *buf, long count, long node, long ptype)
{
	good(_csend(type, buf, count, node, ptype), "csend");
}

long isend(long type, const void *buf, long count, long node, long ptype)
{
	return good(_isend(type, buf, count, node, ptype), "isend");
}

void crecv(long typesel, void *buf, long count)
{
	good(_crecv(typesel, buf, count), "crecv");
}

void crecvx(long typesel, void *buf, long count, long nodesel, long ptypesel, long info[8])
{
	good(_crecvx(typesel, buf, count, nodesel, ptypesel, info), "crecvx");
}

long irecv(long typesel, void *buf, long count)
{
	return good(_irecv(typesel, buf, count), "irecv");
}

long irecvx(long typesel, void *buf, long count, long nodesel, long ptypesel, long info[8])
{
	return good(_irecvx(typesel, buf, count, nodesel, ptypesel, info), "irecvx");
}

long csendrecv(long type, const void *sbuf, long scount, long node, long ptype,
	       long typesel, void *rbuf, long rcount)
{
	return good(_csendrecv(type, sbuf, scount, node, ptype, typesel, rbuf, rcount),
		    "csendrecv");
}

long isendrecv(long type, const void *sbuf, long scount, long node, long ptype,
	       long typesel, void *rbuf, long rcount)
{
	return good(_isendrecv(type, sbuf, scount, node, ptype, typesel, rbuf, rcount),
		    "isendrecv");
}

void msgwait(long mid)
{
	good(_msgwait(mid), "msgwait");
}

long msgdone(long mid)
{
	return good(_msgdone(mid), "msgdone");
}

void msgignore(long mid)
{
	good(_msgignore(mid), "msgignore");
}

void msgcancel(long mid)
{
	good(_msgcancel(mid), "msgcancel");
}

void cprobe(long typesel)
{
	good(_cprobe(typesel), "cprobe");
}

long iprobe(long typesel)
{
	return good(_iprobe(typesel), "iprobe");
}

void cprobex(long typesel, long nodesel, long ptypesel, long info[8])
{
	good(_cprobex(typesel, nodesel, ptypesel, info), "cprobex");
}

long iprobex(long typesel, long nodesel, long ptypesel, long info[8])
{
	return good(_iprobex(typesel, nodesel, ptypesel, info), "iprobex");
}
