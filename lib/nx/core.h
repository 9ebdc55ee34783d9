/*
 * Internals of NX over Portals, shared by its files. README.md maps NX to Portals; include/nx.h is
 * the public side. One thread calls all of it, and so do upcalls if the program has handlers
 * (handler.c).
 *
 *   start.c     the process's portals; its name, and clocks; errors
 *   request.c   operations under way
 *   send.c      messages out, and the slots at their receivers
 *   receive.c   receives, and messages that came before them
 *   progress.c  events; waiting
 *   handler.c   hsend, hrecv: linked only into programs that call them
 *   calls.c     the other calls of nx.h;  global.c  global operations
 *
 * Slots. A rank keeps nx.window slots of 256 bytes for each rank, itself included. The sender
 * chooses slots and puts the message at their offset. A posted receive, which comes first in the
 * list, has its own offset, so the slots stay empty. The sender has two counts for each slot:
 * `sent`, how often it was used, and `given`, how often it was returned. If they are equal the slot
 * is free. The receiver counts what it returns in `freed`, and puts that row into the sender's
 * `given` once a quarter of the window has been returned. If a message landed in a posted receive
 * and asked for an ack, the sender itself subtracts it from `sent`: so sends into posted receives
 * go on while the receiver makes no calls. Counts have 8 bits: at most one use of a slot is under
 * way.
 */
#ifndef NX_CORE_H
#define NX_CORE_H
#include <margay.h>
#include <nx.h>
#include <portals3.h>
#include <stddef.h>
#include <stdint.h>

/* ---- limits ---- */

#define SLOT_BYTES      256u
#define SLOTS           4096u           /* of all senders together, with system slots */
#define WINDOW_MOST     1024u           /* slots of one sender */
#define EAGER_SLOTS     16u             /* most slots of one message; longer ones use rendezvous */
#define SYSTEM_BYTES    1024u           /* longest message in a system slot */
#define REQUESTS        (NX_IDS + NX_PARTS)     /* first those with ids */
#define ACKS_MOST       1024u           /* most short messages that wait for an ack */
#define PROBE_MS        1000u           /* after such a wait the peer is probed */
#define ENDED_MS        2000u           /* over cards, what an ended peer had sent comes so long */

/* Event queues: slots. EARLY_SLOTS holds a message for each slot. */
#define EARLY_SLOTS     4096u
#define RX_SLOTS        4096u           /* one of each request */
#define TX_SLOTS        8192u           /* one of each request, and acks */
#define CREDIT_SLOTS    64u
#define HAND_SLOTS      4096u           /* one of each request */

/* ---- what a message says ---- */

enum { PORTAL_MESSAGE, PORTAL_PULL, PORTAL_CREDIT };

/* Match bits of PORTAL_MESSAGE: LONG | SYSTEM | one of 31 class bits | type. A message has only one
 * class bit, so a mask of types is one entry that ignores the class bits of its types. */
#define BITS_LONG       (1ULL << 63)
#define BITS_SYSTEM     (1ULL << 62)    /* message of a global operation */
#define BITS_CLASS      31u             /* the lowest class bit; 30 more above it */
#define BITS_TYPE       0x7fffffffULL
#define BITS_FORCE      (1ULL << 30)    /* set in the types that are force types */
#define CLASSES         31u             /* types 0 to 29, and all others */

/* hdr_data: the first slot, or NO_SLOT; whether its ack returns it; its request's generation, if it
 * waits for SEND_END. */
#define NO_SLOT         0xffffU
#define HEADER_SLOT(h)  ((unsigned int)(h) & 0xffffU)
#define HEADER_ACKED    (1ULL << 16)
#define HEADER_GENERATION(h) ((uint32_t)((h) >> 32))

/* Remote offset of a long message, or of one that waits for SEND_END: whether it has a handler, its
 * request, and its address. The receiver fetches from that address in PORTAL_PULL; the match bits
 * of the fetch are the receiver's request and the upper 16 bits of the offset. */
#define ORIGIN_SHIFT    48
#define ORIGIN_ADDRESS  ((1ULL << ORIGIN_SHIFT) - 1)
#define ORIGIN_HAND     (1ULL << 63)
#define ORIGIN_INDEX(o) ((unsigned int)((o) >> ORIGIN_SHIFT) & 0x7fffU)
#define PULL_SHIFT      32
#define PULL_HAND       (1ULL << 15)

/* ---- objects ---- */

enum state { FREE, QUEUED, ACTIVE, DONE };
enum kind { SEND, RECEIVE, PAIR };      /* PAIR: parent of other requests */

/* An operation from its call to its end. */
struct request {
	uint8_t state, kind;
	uint8_t counted;                /* its id is the program's */
	uint8_t ignored;                /* msgignore: freed when it has ended */
	uint8_t hand;                   /* its events go to the handlers' queue */
	uint8_t tells;                  /* info... report it: it has received something */
	uint16_t slot;                  /* first slot of a send, or NO_SLOT */
	uint32_t generation;            /* of the id */
	int32_t peer;                   /* rank; -1: any, of a receive */
	uint32_t parts;                 /* PAIR: parts that have not ended */
	int error;                      /* EQ*, or 0 */
	uint64_t bits, ignore;
	char *base;
	size_t bytes;
	ptl_handle_me_t entry;          /* of a posted receive, or PTL_INVALID_HANDLE */
	struct request *parent;
	struct request *next;           /* in one of the lists */
	nx_handler_t handler;
	long *info;                     /* of irecvx, or null */
	uint64_t origin;                /* of a long message to be fetched */
	/* of the message that it received (or sent, with a handler) */
	uint64_t length;
	long type, node;
};

struct list {
	struct request *first, **end;
};

/* A message that came before its receive; one element for each slot. */
struct early {
	struct early *newer, *older;    /* in order of arrival */
	uint64_t bits, origin;          /* origin: origin: offset of a long one */
	uint64_t length;
	const char *bytes;              /* of a short one */
	uint32_t source;
	uint16_t slot;
};

/* The state of a peer. */
struct peer {
	ptl_process_id_t process;
	struct list queued;             /* sends that wait for slots */
	struct peer *next_queued;
	uint8_t listed;                 /* in nx.queued, perhaps without such sends */
	uint16_t next;                  /* first slot to try */
	uint16_t used;                  /* slots in use, as far as this rank knows */
	uint16_t unreported;                /* slots returned but not yet reported to it */
	uint8_t gone;                   /* it has ended or died */
	double lost_at;                 /* then: when nothing of it comes any more, by dclock */
	uint8_t probed;                 /* a probe is under way */
};

/* The part of an event that is kept. */
struct event {
	ptl_event_kind_t type;
	ptl_ni_fail_t fail;
	uint32_t source;
	ptl_pt_index_t portal;
	uint64_t bits, header, offset, length;
	void *user;
};

enum { QUEUE_RX, QUEUE_EARLY, QUEUE_TX, QUEUE_CREDIT, QUEUE_HAND, QUEUES };

/* handler.c, if it is linked. */
struct hand {
	ptl_eq_handler_t early, ended;  /* upcalls of QUEUE_EARLY and QUEUE_HAND */
	void (*drain)(void);            /* handles events that upcalls have put aside */
	void (*ready)(struct request *r);
	void (*call)(void);             /* the handlers of what has ended */
	void (*leave)(void);
};

struct nx {
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queues[QUEUES];
	int queue_count;
	ptl_handle_md_t plain, reported, asked, fetched;    /* start.c */
	ptl_handle_md_t asked_hand, fetched_hand, reported_hand;
	ptl_handle_me_t behind;         /* posted receives lie before it */
	uint64_t inline_bytes;
	int rank, size;
	uint32_t window;                /* slots of each sender */
	uint32_t eager, eager_csend;    /* longest short message; the same of csend to one rank */
	char *slots;                    /* window * size, then a system slot for each rank */
	char *stage;                    /* copies of what this rank has in others' slots, or null */
	uint8_t *sent, *given, *freed;  /* window * size counts each */
	struct early *earlies;          /* by slot, then by rank */
	struct early early;             /* list head: its `newer` is the oldest message */
	struct peer *peers;
	struct peer *queued;            /* peers with sends that wait, or that were withdrawn */
	uint32_t acks;                  /* asked for by short messages */
	uint32_t sends;                 /* sends that have not ended */
	uint32_t named;                 /* receives, and a probe that waits, from one other rank */
	int awaited;                    /* the rank that a probe waits for, or -1 */
	int lost;                       /* receives from ranks that are gone are to end */
	int broken;                     /* Portals has failed: no operation ends any more */
	double probe_at;                /* when the peers of all these are probed next, by dclock */
	int short_of_room;              /* Portals had no room for an operation: try again */
	struct list waiting;            /* receives that could not be posted, in order */
	struct list unfetched;          /* receives whose get could not be started */
	struct request requests[REQUESTS];
	struct request *free[2];        /* without ids; with */
	uint32_t parts_left;            /* requests in free[0] */
	uint64_t info_length;
	long info_type, info_node, info_ptype;
	const struct hand *hand;        /* or null */
	int depth;                      /* calls of the library in progress, if there is `hand` */
	int in_upcall, in_handler;
};

/* Programs have variables of this name, so the linker knows it by another. */
extern struct nx nx __asm__("nx.state");

/* Around every call: meanwhile upcalls put their events aside. */
static inline void nx_enter(void)
{
	if (nx.hand) {
		nx.depth++;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
}

static inline void nx_leave(void)
{
	if (nx.hand)
		nx.hand->leave();
}

static inline uint32_t nx_rank_of(ptl_process_id_t process)
{
	return process.nid;
}

static inline unsigned int nx_index(const struct request *r)
{
	return (unsigned int)(r - nx.requests);
}

static inline void list_add(struct list *list, struct request *r)
{
	r->next = NULL;
	if (!list->first)
		list->end = &list->first;
	*list->end = r;
	list->end = &r->next;
}

static inline struct request *list_pop(struct list *list)
{
	struct request *r = list->first;

	if (r)
		list->first = r->next;
	return r;
}

/* Puts a request before all others. */
static inline void list_push(struct list *list, struct request *r)
{
	if (!list->first)
		list->end = &r->next;
	r->next = list->first;
	list->first = r;
}

/* Removes a request if it is in the list: 1 or 0. */
int nx_list_remove(struct list *list, struct request *r);

/* start.c */
/* Prints what has failed in which call, and ends the job. */
_Noreturn void nx_fatal(const char *call, int error);
int nx_error(int portals);
const char *nx_error_text(int error);

/* request.c */
struct request *nx_take(enum kind kind, int counted);   /* or null */
void nx_free(struct request *r);
void nx_drop(struct request *r);        /* the same, for one that will never end */
void nx_complete(struct request *r, int error);
long nx_id(const struct request *r);
struct request *nx_of_id(long mid);                     /* or null */
void nx_tell(const struct request *r);                  /* info... report this one from now on */

/* send.c */
int nx_type_bits(long type, uint64_t *bits);            /* 0 or EQTYPE */
void nx_send(struct request *r);                        /* peer, bits, base, bytes are set */
void nx_send_queued(void);
int nx_all_have_slots(size_t bytes);    /* whether a short message to all others need not wait */
int nx_unqueue(struct request *r);      /* withdraws a send that waits for slots: 1 or 0 */
void nx_tx_event(const struct event *event);
void nx_gone(uint32_t rank, ptl_ni_fail_t fail);
void nx_probe(void);            /* probes the peers of unfinished operations */

/* receive.c */
int nx_selector(long typesel, uint64_t *bits, uint64_t *ignore);    /* 0 or EQTYPE */
void nx_receive(struct request *r);             /* peer, bits, ignore, base, bytes are set */
void nx_rx_event(const struct event *event);
void nx_early_event(const struct event *event);
void nx_post_waiting(void);
const struct early *nx_find(uint64_t bits, uint64_t ignore, int32_t peer);
int nx_withdraw(struct request *r);                     /* 1: it will not end by itself */
void nx_end_lost(void);                 /* ends the receives from ranks that are gone */

/* Whether nothing of a rank comes any more. */
static inline int nx_is_lost(int rank)
{
	return nx.peers[rank].gone && dclock() >= nx.peers[rank].lost_at;
}

/* A receive from one other rank, which fails when that rank is gone. */
static inline int nx_is_named(const struct request *r)
{
	return r->kind == RECEIVE && r->peer >= 0 && r->peer != nx.rank;
}

/* progress.c */
void nx_event(int queue, const struct event *event);
struct event nx_copy(const ptl_event_t *event);
void nx_take_early(void);
void nx_progress(void);
void nx_block(void);                                    /* halts until something has come */
int nx_wait(struct request *r);         /* waits until it has ended; returns its error */

/* calls.c: the first part of calls that send or receive: 0 and a request, or EQ* */
int nx_begin_send(long type, const void *buf, long count, long node, long ptype,
		  nx_handler_t handler, int counted, struct request **begun);
int nx_begin_receive(long typesel, void *buf, long count, long nodesel, long ptypesel,
		     nx_handler_t handler, int counted, struct request **begun);
int nx_begin_both(long type, const void *sbuf, long scount, long node, long ptype,
		  long typesel, void *rbuf, long rcount, nx_handler_t handler, int counted,
		  struct request **begun);

static inline long nx_type_of(uint64_t bits)
{
	return (long)(bits & BITS_TYPE);
}

#endif
