/*
 * nx_messages: NX's calls for messages, around the ring of ranks; rank 0 prints a line for each
 * case that all ranks have passed.
 */
#include "nx_test.h"

enum { MOST = 300000, TYPE = 100 };

int nx = 77;                            /* a name that programs may use */

static char out[MOST], in[MOST];
static long me, ranks, left, right;

static const long sizes[] = { 0, 1, 63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 65536,
	                     MOST };

#define SIZES   (sizeof(sizes) / sizeof(*sizes))

/* csend before its receive, and after it. */
static void blocking(void)
{
	for (size_t i = 0; i < SIZES; i++) {
		long bytes = sizes[i], id;

		fill(out, (size_t)bytes, (uint32_t)(me + bytes));
		memset(in, 0, sizeof(in));
		if (ranks > 1 && me % 2) {
			csend(TYPE, out, bytes, right, 0);
			crecv(TYPE, in, MOST);
		} else if (ranks > 1 && (me != ranks - 1 || me == 0)) {
			crecv(TYPE, in, MOST);
			csend(TYPE, out, bytes, right, 0);
		} else {        /* with an odd number of ranks both neighbours may be even */
			id = irecv(TYPE, in, MOST);
			csend(TYPE, out, bytes, right, 0);
			msgwait(id);
		}
		EQUAL(infocount(), bytes);
		EQUAL(infonode(), left);
		EQUAL(infotype(), TYPE);
		EQUAL(infoptype(), 0);
		CHECK(is_filled(in, (size_t)bytes, (uint32_t)(left + bytes)));
	}
	passed("blocking");
}

static void posted(void)
{
	long ids[SIZES], sends[SIZES], done;
	const size_t part = MOST / SIZES;

	memset(in, 0, sizeof(in));
	for (size_t i = 0; i < SIZES; i++)
		ids[i] = irecv(TYPE + (long)i, in + i * part, part);
	gsync();
	for (size_t i = 0; i < SIZES; i++) {
		fill(out + i * part, part, (uint32_t)me + (uint32_t)i);
		sends[i] = isend(TYPE + (long)i, out + i * part, part, right, 0);
	}
	for (size_t i = SIZES; i-- > 0;) {
		while (!(done = msgdone(ids[i])))
			flick();
		EQUAL(infotype(), TYPE + (long)i);
		EQUAL(infocount(), part);
		CHECK(is_filled(in + i * part, part, (uint32_t)left + (uint32_t)i));
		FAILS(_msgdone(ids[i]), EQMID);
	}
	for (size_t i = 0; i < SIZES; i++)
		msgwait(sends[i]);
	passed("posted");
}

/* Messages of one pair that match the same receive stay in order, early or not. */
static void ordered(void)
{
	enum { COUNT = 40 };            /* three quarters of a sender's slots with 64 ranks */
	static long ids[COUNT];
	static int got[COUNT];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < COUNT && round; i++)
			ids[i] = irecv(i % 3 ? TYPE : -1, &got[i], sizeof(got[i]));
		gsync();
		for (int i = 0; i < COUNT; i++)
			csend(TYPE, &i, sizeof(i), right, 0);
		gsync();
		for (int i = 0; i < COUNT && !round; i++)
			crecv(i % 3 ? TYPE : -1, &got[i], sizeof(got[i]));
		for (int i = 0; i < COUNT; i++) {
			if (round)
				msgwait(ids[i]);
			EQUAL(got[i], i);
		}
	}
	passed("ordered");
}

static void selectors(void)
{
	static const long types[] = { 0, 5, 29, 30, 77, 999999999 };
	long any = (long)(int32_t)0x80000021, high = (long)(int32_t)0xc0000000;
	char byte;

	for (size_t i = 0; i < 6; i++) {
		byte = (char)types[i];
		csend(types[i], &byte, 1, right, 0);
	}
	for (int i = 0; i < 6; i++)             /* all have arrived */
		cprobe(types[i]);
	EQUAL(iprobe(1), 0);
	EQUAL(iprobe(NX_FORCE_TYPE), 0);
	EQUAL(iprobe(any), 1);                  /* types 0 and 5 */
	EQUAL(infotype(), 0);
	crecv(0x80000020L, &byte, 1);           /* a mask as in programs for 32 bits */
	EQUAL(infotype(), 5);
	EQUAL(byte, 5);
	crecv(any, &byte, 1);
	EQUAL(infotype(), 0);
	EQUAL(iprobe(any), 0);
	crecv(high, &byte, 1);                  /* types from 30 on */
	EQUAL(infotype(), 30);
	crecv(999999999, &byte, 1);
	EQUAL(infotype(), 999999999);
	crecv(-1, &byte, 1);
	EQUAL(infotype(), 29);
	crecv(-1, &byte, 1);
	EQUAL(infotype(), 77);
	EQUAL(iprobe(-1), 0);
	passed("selectors");
}

/* A message of a force type goes to a receive posted for it, or is dropped. */
static void forced(void)
{
	char any = 1, byte = 2;
	long id;

	csend(NX_FORCE_TYPE + 7, &byte, 1, right, 0);
	csend(TYPE, &byte, 1, right, 0);
	crecv(TYPE, &byte, 1);                  /* it arrived after the other */
	EQUAL(iprobe(-1), 0);
	EQUAL(iprobe(NX_FORCE_TYPE + 7), 0);
	for (size_t i = 0; i < SIZES; i++) {
		memset(in, 0, sizeof(in));
		id = irecv(NX_FORCE_TYPE + 7, in, MOST);
		fill(out, (size_t)sizes[i], (uint32_t)(me + sizes[i]));
		gsync();
		csend(NX_FORCE_TYPE + 7, out, sizes[i], right, 0);
		msgwait(id);
		EQUAL(infotype(), NX_FORCE_TYPE + 7);
		EQUAL(infocount(), sizes[i]);
		CHECK(is_filled(in, (size_t)sizes[i], (uint32_t)(left + sizes[i])));
	}
	id = irecv(-1, &any, 1);
	gsync();
	csend(NX_FORCE_TYPE, &byte, 1, right, 0);
	csend(3, &byte, 1, right, 0);
	msgwait(id);
	EQUAL(infotype(), 3);
	passed("forced");
}

static void exchanged(void)
{
	for (size_t i = 0; i < SIZES; i++) {
		long id, seed = (long)i;

		fill(out, (size_t)sizes[i], (uint32_t)(me + seed));
		memset(in, 0, sizeof(in));
		EQUAL(csendrecv(TYPE, out, sizes[i], right, 0, TYPE, in, MOST), sizes[i]);
		CHECK(is_filled(in, (size_t)sizes[i], (uint32_t)(left + seed)));
		seed += 100;
		fill(out, (size_t)sizes[i], (uint32_t)(me + seed));
		memset(in, 0, sizeof(in));
		id = isendrecv(TYPE + 1, out, sizes[i], left, 0, TYPE + 1, in, MOST);
		msgwait(id);
		EQUAL(infocount(), sizes[i]);
		EQUAL(infonode(), right);
		CHECK(is_filled(in, (size_t)sizes[i], (uint32_t)(right + seed)));
	}
	passed("exchanged");
}

/* Each rank sends to all others at once; of long messages, its part of `in`. */
static void broadcast(void)
{
	const long part = MOST / ranks;

	for (size_t i = 0; i < SIZES; i++) {
		long bytes = sizes[i] < part ? sizes[i] : part, seed = (long)i, id, info[8];
		static long ids[64];

		fill(out, (size_t)bytes, (uint32_t)(me + seed));
		memset(in, 0, sizeof(in));
		for (long rank = 0; rank < ranks; rank++)
			if (rank != me)
				ids[rank] = irecvx(TYPE, in + rank * part, bytes, rank, -1, info);
		id = isend(TYPE, out, bytes, -1, 0);
		for (long rank = 0; rank < ranks; rank++) {
			if (rank == me)
				continue;
			msgwait(ids[rank]);
			EQUAL(info[0], TYPE);
			EQUAL(info[1], bytes);
			EQUAL(info[2], rank);
			CHECK(is_filled(in + rank * part, (size_t)bytes, (uint32_t)(rank + seed)));
		}
		msgwait(id);
		gsync();
		fill(out, (size_t)bytes, (uint32_t)(seed + 100));
		memset(in, 0, sizeof(in));
		if (me == 0)
			csend(TYPE, out, bytes, -1, 0);
		else
			crecvx(TYPE, in, bytes, 0, 0, info);
		CHECK(me == 0 || (info[2] == 0 &&
				  is_filled(in, (size_t)bytes, (uint32_t)(seed + 100))));
	}
	passed("broadcast");
}

/* Receives messages of one rank among those of others. */
static void from_one(void)
{
	long info[8], number = me;

	csend(TYPE, &number, sizeof(number), -1, 0);
	for (long rank = ranks; rank-- > 0;) {
		if (rank == me)
			continue;
		cprobex(-1, rank, -1, info);
		EQUAL(info[2], rank);
		crecvx(-1, &number, sizeof(number), rank, -1, info);
		EQUAL(number, rank);
		EQUAL(iprobex(-1, rank, -1, info), 0);
	}
	passed("from_one");
}

static void ignored(void)
{
	char byte = 7;
	long id;

	in[0] = 0;
	msgignore(irecv(TYPE, in, 1));
	id = isend(TYPE, &byte, 1, right, 0);
	msgignore(id);
	FAILS(_msgwait(id), EQMID);
	csend(TYPE + 1, &byte, 1, right, 0);
	crecv(TYPE + 1, in + 1, 1);                    /* sent after the other */
	EQUAL(in[0], 7);
	id = irecv(TYPE, in, 1);
	msgcancel(id);
	FAILS(_msgwait(id), EQMID);
	gsync();
	csend(TYPE, &byte, 1, right, 0);
	gsync();
	cprobe(TYPE);                           /* it was not received */
	crecv(-1, in, 1);
	for (int i = 0; i < 5000; i++) {        /* ids are reused */
		id = irecv(TYPE, in, 1);
		csend(TYPE, &byte, 1, me, 0);
		if (i % 2)
			msgcancel(id);
		else
			msgwait(id);
	}
	EQUAL(iprobe(-1), 0);
	passed("ignored");
}

/* A send that waits for slots is cancelled; the next one waits, too, and arrives. */
static void cancelled(void)
{
	long number = 0, last = -1, value, id;

	for (id = isend(TYPE, &number, sizeof(number), right, 0); msgdone(id);
	     id = isend(TYPE, &number, sizeof(number), right, 0))
		number++;
	msgcancel(id);
	id = isend(TYPE, &last, sizeof(last), right, 0);
	EQUAL(msgdone(id), 0);
	gsync();
	for (number = 0;; number++) {
		crecv(TYPE, &value, sizeof(value));
		if (value == last)
			break;
		EQUAL(value, number);
	}
	msgwait(id);
	EQUAL(iprobe(-1), 0);
	passed("cancelled");
}

/* Receives and sends that are parts of an operation: msgcancel takes back those that wait. */
static void parts_cancelled(void)
{
	long number = 0, last = -1, value, id, info[8];

	in[0] = 0;
	id = isendrecv(TYPE, &number, sizeof(number), right, 0, TYPE + 1, in, 1);
	msgcancel(id);                          /* its message has left */
	FAILS(_msgwait(id), EQMID);
	crecv(TYPE, &value, sizeof(value));
	gsync();
	csend(TYPE + 1, "x", 1, right, 0);
	crecv(TYPE + 1, &in[1], 1);             /* not the first receive */
	EQUAL(in[0], 0);
	gsync();
	for (id = 0; ranks > 1 && number < 5000; number++) {
		id = isend(TYPE, &number, sizeof(number), -1, 0);
		if (!msgdone(id))
			break;
	}
	if (ranks > 1)
		msgcancel(id);
	id = isend(TYPE, &last, sizeof(last), -1, 0);
	gsync();
	for (long rank = 0; rank < ranks; rank++)
		for (number = 0; rank != me; number++) {
			crecvx(TYPE, &value, sizeof(value), rank, -1, info);
			if (value == last)
				break;
			EQUAL(value, number);
		}
	msgwait(id);
	EQUAL(iprobe(-1), 0);
	passed("parts cancelled");
}

static void arguments(void)
{
	static long ids[NX_IDS];
	char byte = 1;

	FAILS(_csend(-1, &byte, 1, right, 0), EQTYPE);
	FAILS(_csend(1000000000L, &byte, 1, right, 0), EQTYPE);
	FAILS(_csend(2000000000L, &byte, 1, right, 0), EQTYPE);
	FAILS(_csend(0, &byte, -1, right, 0), EQLEN);
	FAILS(_csend(0, NULL, 1, right, 0), EQPBUF);
	FAILS(_csend(0, &byte, 1, ranks, 0), EQNODE);
	FAILS(_csend(0, &byte, 1, -2, 0), EQNODE);
	FAILS(_csend(0, &byte, 1, right, 1), EQPID);
	FAILS(_isend(0, &byte, 1, ranks, 0), EQNODE);
	ids[0] = _isend(0, (char *)8, MOST, right, 0);
	FAILS(_msgwait(ids[0]), EQPBUF);
	FAILS(_crecv(1000000000L, &byte, 1), EQTYPE);
	FAILS(_crecv(-0x100000000L, &byte, 1), EQTYPE);
	FAILS(_crecv(0, NULL, 1), EQPBUF);
	FAILS(_crecv(0, &byte, -1), EQLEN);
	FAILS(_crecv(0, (char *)8, 100), EQPBUF);
	FAILS(_crecvx(0, &byte, 1, ranks, -1, NULL), EQNODE);
	FAILS(_crecvx(0, &byte, 1, 0, 3, NULL), EQPID);
	FAILS(_iprobe(1500000000L - 450000000L), EQTYPE);
	FAILS(_cprobe(NX_FORCE_TYPE), EQTYPE);
	FAILS(_cprobex(NX_FORCE_TYPE + 7, right, 0, NULL), EQTYPE);
	FAILS(_msgwait(-1), EQMID);
	FAILS(_msgwait(123456789), EQMID);
	FAILS(_msgdone(NX_IDS + 100), EQMID);
	FAILS(_msgcancel(0x7fffffffffffL), EQMID);
	FAILS(_msgignore(4095), EQMID);
	FAILS(_csendrecv(0, &byte, 1, -1, 0, 0, &byte, 1), EQNODE);
	for (int i = 0; i < NX_IDS; i++)        /* parts need none */
		ids[i] = i < 800 ? isendrecv(NX_FORCE_TYPE, &byte, 1, me, 0, 5, &byte, 1) :
			 irecv(5, &byte, 1);
	FAILS(_irecv(5, &byte, 1), EQNOMID);
	FAILS(_isendrecv(NX_FORCE_TYPE, &byte, 1, me, 0, 5, &byte, 1), EQNOMID);
	csend(6, &byte, 1, me, 0);              /* blocking calls need no id */
	crecv(6, &byte, 1);
	for (int i = 0; i < NX_IDS; i++)
		msgcancel(ids[i]);
	for (int i = 0; i < NX_IDS - 1; i++)    /* each keeps one part; the send ends at once */
		ids[i] = isendrecv(NX_FORCE_TYPE, &byte, 1, me, 0, 5, &byte, 1);
	FAILS(_isendrecv(NX_FORCE_TYPE, &byte, 1, me, 0, 5, &byte, 1), EQNOMID);
	if (ranks > 2)                          /* one part is left: nothing is sent */
		FAILS(_isend(7, out, MOST, -1, 0), EQNOMID);
	ids[NX_IDS - 1] = irecv(5, &byte, 1);   /* these have taken no id */
	for (int i = 0; i < NX_IDS; i++)
		msgcancel(ids[i]);
	gsync();
	EQUAL(iprobe(7), 0);
	csend(4, out, 2, me, 0);
	FAILS(_crecv(4, &byte, 1), EQMSGLONG);
	EQUAL(infocount(), 2);
	ids[0] = irecv(4, in, MOST - 1);
	ids[1] = isend(4, out, MOST, me, 0);
	FAILS(_msgwait(ids[0]), EQMSGLONG);
	msgwait(ids[1]);
	EQUAL(iprobe(-1), 0);
	passed("arguments");
}

int main(void)
{
	me = mynode();
	ranks = numnodes();
	left = (me + ranks - 1) % ranks;
	right = (me + 1) % ranks;
	EQUAL(infocount(), -1);
	EQUAL(myptype(), 0);
	blocking();
	posted();
	ordered();
	selectors();
	forced();
	exchanged();
	broadcast();
	from_one();
	ignored();
	cancelled();
	parts_cancelled();
	arguments();
	EQUAL(nx, 77);
	return 0;
}
