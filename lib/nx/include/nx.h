/*
 * NX: the message calls of Intel's iPSC and Paragon, over Portals. The Portals paper
 * (Brightwell et al., section 2) names NX as one of the interfaces that were built on Portals in
 * Puma; names, arguments and errors here are those of the C calls of Paragon OSF/1.
 *
 * General rules
 * - Context: the application's one thread, from main on. No call opens the library: main starts
 *   once all ranks of the job have opened it.
 * - A call that fails prints a line on standard error and ends the job with status 1. The same call
 *   with an underscore before its name returns -1 instead and sets errno to one of EQ*
 *   below. Calls that return void return 0 then when they succeed.
 * - Blocking: csend, crecv, crecvx, csendrecv, msgwait, msgcancel, cprobe, cprobex and the
 *   global operations wait; meanwhile the node is halted. Each call says what ends its wait.
 *   If the process that a call waits for has ended or died, the call ends with EQNOACT once that is
 *   known: each waiting call probes it every second, and what it had sent is received first. If a
 *   node dies the launcher ends the job as well, unless it runs with --on-death continue. A receive
 *   or probe from any node does not notice a death. A rank notices a death in a global operation
 *   when one of its neighbours in the tree has died, or has ended for that reason.
 * - Bad memory gives EQPBUF where Portals reads or writes it. Where the library copies (early
 *   messages, and short ones over cards) it is a page fault of the program.
 * - A node has one process, whose ptype is 0: `ptype` is 0, or -1 where any is meant.
 * - Units: bytes, except where elements are named. long has 64 bits here; on the Paragon it had 32.
 * - A message moves without calls of either side once its receive is posted (crecv, irecv, hrecv):
 *   it lands in the receive's buffer. If a message of up to 4 KB (less in jobs of more than 15 ranks)
 *   comes before its receive, the library keeps it, and csend does not wait for the receive. A longer
 *   one stays at the sender until the receive is posted; so a csend of it to the own node, without
 *   a posted receive, waits for ever. Over cards csend to one node (not in a handler) copies
 *   messages of up to a quarter of its slots at the receiver, at most 64 KB, and does not wait for
 *   the receive either.
 * - Each rank has 4,096 slots of 256 bytes for early messages, divided equally among all senders,
 *   at most 1,024 each. A sender whose share is used up waits in csend (up to a quarter of it may
 *   be free without the sender knowing). isend returns, and the message leaves later, in order,
 *   during some call of the sender. Only force types are ever lost.
 * - Order: two messages from one process to another that match the same receive are received in the
 *   order in which they were sent.
 *
 * Types and type selectors
 *   0 .. 999,999,999               ordinary types
 *   1,073,741,824 .. 1,999,999,999 force types: the message goes straight into a receive that is
 *                                  already posted for exactly this type, and is discarded if there
 *                                  is none. It uses none of the slots above
 *   Other types are reserved: EQTYPE. A selector of a receive or probe is a type; or -1: any
 *   ordinary type; or another negative number: a mask in whose lower 31 bits bit t stands for type
 *   t (0 to 29), and bit 30 for all ordinary types from 30 on.
 */
#ifndef NX_H
#define NX_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NX_FORCE_TYPE   1073741824L     /* the first force type */
#define NX_IDS          2048            /* message ids in use at one time, at most */
#define NX_PARTS        2048            /* under way at one time without an id of their own, at
					 * most: calls that wait or have a handler; and parts, two
					 * of each isendrecv, csendrecv and hsendrecv, one for each
					 * node of a send to node -1 */

/* errno values of the calls with an underscore. */
enum {
	EQNODE = 1001,          /* no such node */
	EQPID,                  /* no such ptype */
	EQTYPE,                 /* a type or selector that is not allowed */
	EQLEN,                  /* negative length */
	EQPBUF,                 /* memory that is not the application's, or not writable */
	EQMSGLONG,              /* the message was longer than the buffer and is truncated */
	EQNOMID,                /* too many operations are under way (NX_IDS, NX_PARTS) */
	EQMID,                  /* no such message id */
	EQNOACT,                /* the other process has ended or died */
	EQHAND,                 /* the call would wait, inside a handler */
	EQPARAM                 /* another argument is not allowed */
};

/* Prints the text, a colon and what errno means (one of EQ* or of the C library). */
void nx_perror(const char *text);

/* ---- names and clocks ---- */

long mynode(void);              /* 0 to numnodes() - 1 */
long numnodes(void);            /* ranks of the job */
long myptype(void);             /* 0 */
unsigned long mclock(void);     /* milliseconds since the node has started */
double dclock(void);            /* seconds since the node has started */
void led(long state);           /* switched a light of the node on (1) or off (0); nothing here */
void flick(void);               /* handles what has arrived, once */

/* ---- sends ---- */

/*
 * Send `count` bytes to `node`; -1: to all others. csend returns when the buffer may be used again:
 * at once for up to 4 KB (over cards 64 KB, see above) while there are slots; otherwise when the
 * receiver has taken the message.
 * isend returns a message id at once. hsend calls `handler` when the buffer may be used again.
 * EQTYPE, EQLEN, EQNODE, EQPID, EQPBUF, EQNOMID, EQNOACT; csend in a handler: EQHAND.
 */
typedef void (*nx_handler_t)(long type, long count, long node, long ptype);
void csend(long type, const void *buf, long count, long node, long ptype);
long isend(long type, const void *buf, long count, long node, long ptype);
void hsend(long type, const void *buf, long count, long node, long ptype, nx_handler_t handler);

/* ---- receives ---- */

/*
 * Receive the first message that the selector matches (with x also node and ptype; -1 for any) into
 * at most `count` bytes. crecv waits for it; irecv returns a message id; hrecv calls the handler
 * when the message has arrived. The x calls store type, length, node and ptype in info[0] to
 * info[3] (irecvx: when msgwait or msgdone ends it; until then `info` stays in use). Without x, the
 * info calls return them. EQTYPE, EQLEN, EQNODE, EQPID, EQPBUF, EQNOMID; EQMSGLONG, EQNOACT when the
 * receive ends (if it has a handler, the program ends instead); EQHAND.
 */
void crecv(long typesel, void *buf, long count);
long irecv(long typesel, void *buf, long count);
void hrecv(long typesel, void *buf, long count, nx_handler_t handler);
void crecvx(long typesel, void *buf, long count, long nodesel, long ptypesel, long info[8]);
long irecvx(long typesel, void *buf, long count, long nodesel, long ptypesel, long info[8]);

/* Post the receive, send, and wait for both (csendrecv, which returns the length received) or not
 * (isendrecv: one id for both; hsendrecv: the handler is called for the receive when both have
 * ended). Errors of both. */
long csendrecv(long type, const void *sbuf, long scount, long node, long ptype,
	       long typesel, void *rbuf, long rcount);
long isendrecv(long type, const void *sbuf, long scount, long node, long ptype,
	       long typesel, void *rbuf, long rcount);
void hsendrecv(long type, const void *sbuf, long scount, long node, long ptype,
	       long typesel, void *rbuf, long rcount, nx_handler_t handler);

/*
 * Handlers are called one at a time, once each, while the program computes or waits, like the
 * handlers of event queues of <portals3.h>, with the same restrictions. They may call isend, irecv,
 * hsend, hrecv, isendrecv, hsendrecv, msgdone, msgignore, iprobe, and csend as long as it need not
 * wait; a call that would wait fails with EQHAND. masktrap(1) defers handlers, masktrap(0) allows
 * them; it returns the old state. NX's handlers with a parameter (hsendx, hrecvx) are not offered.
 */
long masktrap(long state);

/* ---- message ids ---- */

/*
 * msgwait waits until the operation has ended, and frees the id. msgdone returns 0 if it has not
 * ended; otherwise it frees the id and returns 1. msgignore frees the id once the operation has
 * ended; its errors end the program. msgcancel takes back a receive before its message has come, and
 * a send that waits for slots; of isendrecv and of a send to node -1, all parts of these two kinds.
 * Messages that have left arrive. It waits for what it cannot take back: a message that is arriving
 * here, and a long one that the receiver knows of, until it has taken it: two ranks that both cancel
 * such a send to each other wait for ever. Then the id is free, and the buffers may be used again.
 * EQMID; EQMSGLONG, EQNOACT, EQPBUF of the operation; msgwait, msgcancel: EQHAND.
 */
void msgwait(long mid);
long msgdone(long mid);
void msgignore(long mid);
void msgcancel(long mid);

/* ---- probes and information ---- */

/* Whether a message that the selector matches has come and no receive has taken it: iprobe returns
 * 1 or 0, cprobe waits for one. EQTYPE, EQNODE, EQPID; cprobe: EQHAND, EQNOACT. No message of a
 * force type is ever kept: for such a type iprobe returns 0, and cprobe and cprobex, which would
 * wait for ever, fail with EQTYPE. */
void cprobe(long typesel);
long iprobe(long typesel);
void cprobex(long typesel, long nodesel, long ptypesel, long info[8]);
long iprobex(long typesel, long nodesel, long ptypesel, long info[8]);

/* Bytes (of a message that was truncated: all of its bytes), sender and type of the last crecv,
 * csendrecv, cprobe, successful iprobe, msgwait, or successful msgdone of a receive; -1 if there was
 * none. A call that ends without a message does not change them. What a handler's calls set holds
 * in that handler only. */
long infocount(void);
long infonode(void);
long infotype(void);
long infoptype(void);

/* ---- global operations ---- */

/*
 * All ranks call the same one, in the same order, with equal n. Each waits until the others have
 * called it too. Results are the same on all ranks to the last bit, and the same in every run with
 * as many ranks: partial results are combined in a tree whose shape depends only on the ranks. x: n
 * elements, replaced by the result; work: n more, overwritten. high: the largest, low: the smallest.
 * EQLEN, EQPBUF, EQHAND, EQNOACT; EQMSGLONG, EQPARAM: another rank has called it with a larger, a
 * smaller n. Only a neighbour in the tree notices that: the others wait until it has ended.
 */
void gsync(void);
void gdsum(double x[], long n, double work[]);
void gdprod(double x[], long n, double work[]);
void gdhigh(double x[], long n, double work[]);
void gdlow(double x[], long n, double work[]);
void gssum(float x[], long n, float work[]);
void gsprod(float x[], long n, float work[]);
void gshigh(float x[], long n, float work[]);
void gslow(float x[], long n, float work[]);
void gisum(long x[], long n, long work[]);      /* sums and products wrap around */
void giprod(long x[], long n, long work[]);
void gihigh(long x[], long n, long work[]);
void gilow(long x[], long n, long work[]);

/* Concatenates the contributions of all ranks in rank order in y, which has room for ylen bytes;
 * *ncnt is their total (ncnt may be null). xlen may differ from rank to rank. Errors as above;
 * EQMSGLONG: they do not fit. */
void gcol(const void *x, long xlen, void *y, long ylen, long *ncnt);

/* Like gdsum, with a function of the program: function(x, work) combines xlen bytes at work into
 * those at x. It must be associative and commutative. */
void gopf(void *x, long xlen, void *work, long (*function)(void *x, const void *work));

/* ---- the same calls with errors as results ---- */

int _csend(long type, const void *buf, long count, long node, long ptype);
long _isend(long type, const void *buf, long count, long node, long ptype);
int _hsend(long type, const void *buf, long count, long node, long ptype, nx_handler_t handler);
int _crecv(long typesel, void *buf, long count);
long _irecv(long typesel, void *buf, long count);
int _hrecv(long typesel, void *buf, long count, nx_handler_t handler);
int _crecvx(long typesel, void *buf, long count, long nodesel, long ptypesel, long info[8]);
long _irecvx(long typesel, void *buf, long count, long nodesel, long ptypesel, long info[8]);
long _csendrecv(long type, const void *sbuf, long scount, long node, long ptype,
		long typesel, void *rbuf, long rcount);
long _isendrecv(long type, const void *sbuf, long scount, long node, long ptype,
		long typesel, void *rbuf, long rcount);
int _hsendrecv(long type, const void *sbuf, long scount, long node, long ptype,
	       long typesel, void *rbuf, long rcount, nx_handler_t handler);
int _msgwait(long mid);
long _msgdone(long mid);
int _msgignore(long mid);
int _msgcancel(long mid);
int _cprobe(long typesel);
long _iprobe(long typesel);
int _cprobex(long typesel, long nodesel, long ptypesel, long info[8]);
long _iprobex(long typesel, long nodesel, long ptypesel, long info[8]);
int _gsync(void);
int _gdsum(double x[], long n, double work[]);
int _gdprod(double x[], long n, double work[]);
int _gdhigh(double x[], long n, double work[]);
int _gdlow(double x[], long n, double work[]);
int _gssum(float x[], long n, float work[]);
int _gsprod(float x[], long n, float work[]);
int _gshigh(float x[], long n, float work[]);
int _gslow(float x[], long n, float work[]);
int _gisum(long x[], long n, long work[]);
int _giprod(long x[], long n, long work[]);
int _gihigh(long x[], long n, long work[]);
int _gilow(long x[], long n, long work[]);
int _gcol(const void *x, long xlen, void *y, long ylen, long *ncnt);
int _gopf(void *x, long xlen, void *work, long (*function)(void *x, const void *work));

#ifdef __cplusplus
}
#endif
#endif
