/*
 * Internals that the parts of Fast Messages share. One instance, `fm`, is used only by the
 * application's one thread and its handlers.
 *
 *   send.c     messages out: pieces become packets
 *   extract.c  packets in: which message, which handler
 *   thread.c   handlers as logical threads: stacks, switching
 *   direct.c   pieces that land at their final address
 *   credit.c   rings, credits, control messages, waiting
 *   open.c     beginning, end, barrier, handlers
 *   one.c      the calls of 1.1
 *
 * Portals    structure
 *   PACKETS  one entry and descriptor over all rings; the sender names the offset. Each packet
 *            is a PUT_END event in the queue `arrivals`.
 *   DIRECT   an entry for each piece that a handler waits for; likewise in `arrivals`.
 *   CONTROL  puts of no bytes: their header is the message. Events in the queue `control`.
 *   PROBE    puts of no bytes without events: the kernel's ack shows that the rank lives.
 */
#ifndef FM_INNER_H
#define FM_INNER_H
#include "clock.h"
#include <fm.h>
#include <fm1.h>
#undef FM_extract
#include <margay.h>
#include <portals3.h>

enum { PORTAL_PACKETS = 40, PORTAL_DIRECT, PORTAL_CONTROL, PORTAL_PROBE };

/* Match bits of a packet. Only the first one of a message has what stands from its serial on. */
#define BITS_ID(id)           ((uint64_t)(id))                  /* 4 bits */
#define BITS_INLINE(n)        ((uint64_t)(n) << 4)              /* bytes in hdr_data: 4 bits */
#define BITS_FIRST            (1ULL << 8)
#define BITS_CUT              (1ULL << 9)       /* without FIRST: no more of its message comes */
#define BITS_SERIAL(n)        ((uint64_t)((n) & SERIAL_MASK) << 9)
#define BITS_HANDLER(index)   ((uint64_t)(index) << 24)         /* 8 bits */
#define BITS_SIZE(bytes)      ((uint64_t)(bytes) << 32)
#define SERIAL_MASK           0x7fffu
#define ID_OF(bits)           ((unsigned)(bits) & 15u)
#define INLINE_OF(bits)       ((unsigned)((bits) >> 4) & 15u)
#define SERIAL_OF(bits)       ((unsigned)((bits) >> 9) & SERIAL_MASK)
#define HANDLER_OF(bits)      ((unsigned)((bits) >> 24) & 255u)
#define SIZE_OF(bits)         ((uint64_t)((bits) >> 32))

/* Match bits of a control message: kind and arguments. */
enum control {
	CONTROL_CREDIT,     /* hdr_data: the sender's new limit */
	CONTROL_GRANT,      /* id and serial of the message, key << 32; hdr_data: where in the
	                       message the named piece's missing bytes begin, and << 32 end */
	CONTROL_BARRIER     /* round << 8 */
};
#define CONTROL_KIND(bits)    ((enum control)((bits) & 15u))
#define GRANT_ID(id)          ((uint64_t)(id) << 4)
#define GRANT_SERIAL(n)       ((uint64_t)((n) & SERIAL_MASK) << 8)
#define GRANT_KEY(key)        ((uint64_t)(key) << 32)

enum {
	UNITS_OF_ALL = 4096,        /* units of all rings = event slots of `arrivals` */
	RINGS_BYTES = 8 << 20,      /* of all rings, at most */
	RING_MOST = 512 << 10,      /* bytes of a ring, at most */
	PACKETS_OF_RING = 8,        /* longest packets that a ring holds */
	TELL_PARTS = 8,             /* a new limit is sent when 1/8 of the ring is free again */
	FIRST_BYTES = 4096,         /* first packet of a long message: its handler starts early */
	GATHER_BYTES = 4096,        /* bytes of small pieces that make a packet, at most */
	GATHER_PIECE = 2048,        /* a longer piece is not gathered */
	OUTGOING_MOST = 128,        /* messages that a rank has open, at most */
	STAGES = 64,                /* copies of packets that the link has not read yet, */
	LONG_STAGES = 16,           /* and of those longer than GATHER_BYTES */
	CONTROL_SLOTS = 2048,       /* of `control`; and in jobs of more than FEW_RANKS ranks */
	CONTROL_SLOTS_MANY = 4096,
	FEW_RANKS = 128,
	SEND_SLOTS = STAGES + LONG_STAGES + STAGES, /* and one for each rank's answer to a probe */
	SPARE_SLOTS = 1024,         /* for queues of the program */
	BARRIER_ROUNDS = 10,        /* 2^10 ranks */
	STACKS_MORE = 16,           /* further stacks for handlers that wait for credit */
	PROBE_MS = 100,             /* interval at which a wait checks whether its peer lives */
	ENDED_MS = 2000             /* time in which what an ended rank had sent still comes */
};

enum stream_kind { STREAM_NONE, STREAM_OUT, STREAM_IN };

/* A message being received, and the logical thread of its handler. */
struct incoming;

/* A message being sent. */
struct outgoing {
	enum stream_kind kind;
	uint8_t id;                     /* among the messages to its peer */
	uint8_t failed;                 /* its peer has died */
	uint16_t serial;
	struct peer *to;
	struct incoming *owner;         /* the handler that began it; null: the program */
	uint64_t size, sent;            /* bytes; `sent` includes gathered ones */
	uint64_t first;                 /* BITS_FIRST and all that goes with it, then 0 */
	unsigned gathered;              /* bytes that wait in `gather` */
	uint32_t grant_key;             /* key of the receiver's grant, or 0 */
	uint32_t grant_from, grant_end; /* its range in the message */
	struct outgoing *next;          /* free */
	_Alignas(16) char gather[GATHER_BYTES];
};

struct peer {
	ptl_process_id_t process;
	/* sending to it */
	uint32_t sent;                  /* units used up; counts wrap */
	uint32_t limit;                 /* of `sent` */
	uint16_t serial;                /* of the next message */
	union {
		struct {
			uint16_t waiting; /* handlers that wait for its credit */
			uint8_t dead;   /* gone */
		};
		uint32_t slow;          /* either: the program leaves the fast path */
	};
	uint8_t died;                   /* it did not end by itself */
	uint8_t asked;                  /* the answer to a probe is awaited */
	uint8_t open;                   /* bit n: out[n] is there */
	int64_t dead_at;                /* when this rank learnt of it, ms */
	struct outgoing *out[FM_STREAMS];
	/* receiving from it */
	uint32_t taken;                 /* units that are free again */
	uint32_t told;                  /* limit that it was last sent */
	struct incoming *in[FM_STREAMS];
	struct incoming *held;          /* its thread has not read the last packet */
	void *assembly;                 /* of 1.1: memory for a long message, */
	size_t assembly_bytes;
	int assembly_used;
};

enum incoming_state {
	IN_FREE,
	IN_RUNS,
	IN_WAITS_DATA,
	IN_WAITS_CREDIT,
	IN_DISCARDS                     /* the handler returned before all bytes had come */
};

struct incoming {
	enum stream_kind kind;
	enum incoming_state state;
	uint8_t id;
	uint8_t direct;                 /* a match entry is posted for its piece */
	uint8_t cut;                    /* its sender has abandoned it */
	uint16_t index;                 /* in fm.threads */
	uint16_t serial;
	unsigned handler;
	struct peer *from;
	uint64_t size, arrived;         /* bytes: of the message; arrived */
	uint64_t received;              /* bytes returned by FM_receive */
	uint64_t head;                  /* bytes of the packet that came in its header */
	unsigned head_left, head_bytes;
	const char *at;                 /* unread bytes of the packet, */
	size_t left;                    /* how many */
	uint32_t units;                 /* units of the ring that the packet holds */
	char *to;                       /* piece being waited for: address of the next byte, */
	size_t wanted;                  /* bytes still missing */
	uint32_t generation;            /* of its key */
	ptl_handle_me_t entry;
	struct peer *credit_of;         /* peer whose credit it waits for, */
	uint32_t credit_units;          /* units needed, or WANTS_STREAM */
	void *sp;                       /* while it does not run */
	char *stack;                    /* its lowest byte */
	struct incoming *next;          /* list of free threads, or waiting for credit */
};

/* A copy of a packet, until the link has read it. */
struct stage {
	ptl_handle_md_t md;
	struct stage *next;
	struct stage **free;            /* where it belongs when the link has read it */
	char *bytes;
};

struct handler {
	FM_handler *two;
	FM_handler_1 *one;
};

struct fm {
	int opens;                      /* FM_initialize less FM_finalize */
	unsigned rank, ranks;
	unsigned units, unit_shift;     /* units of a ring; log2 of a unit's bytes */
	unsigned kept;                  /* units that the program leaves to handlers */
	size_t packet_bytes, ring_bytes;
	size_t gather_bytes;            /* GATHER_BYTES, or a packet's if they are fewer */
	size_t inline_bytes;            /* PTL_SR_INLINE */
	size_t one_packet;              /* longest packet that a put reads before it returns */
	char *rings;
	struct peer *peers;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queues[3];      /* QUEUE_* */
	ptl_handle_md_t plain;          /* all memory, without events */
	ptl_handle_md_t reported;       /* the same, with SEND_END */
	ptl_handle_md_t asked;          /* for probes */
	unsigned reading;               /* puts out of the caller's memory without SEND_END */
	struct stage *stages, *long_stages; /* free */
	struct stage *stage_pool;
	char *stage_memory;
	struct outgoing *out_free, *out_pool;
	unsigned out_count;
	const struct outgoing *out_end; /* behind the pool */
	struct incoming *threads, *thread_free;
	char *stacks;
	unsigned thread_count, busy;    /* busy: threads under way */
	struct incoming *current;       /* the handler that runs; null: the program */
	struct incoming *credit_first, **credit_end;
	void *program_sp;               /* while a handler runs */
	int pending;                    /* `event` has come and was not taken */
	ptl_event_t event;
	uint32_t barriers;              /* barriers begun */
	uint32_t signals[BARRIER_ROUNDS]; /* received so far for each round, of all barriers */
	int deaths;                     /* dead peers that fm_serve has not handled yet */
	uint64_t serve_at;              /* when so many packets are taken, or none is left */
	int64_t probe_at;               /* time of the next look for deaths, ms */
	int broken;                     /* Portals has failed: all ranks count as dead */
	ptl_handle_me_t entries[3];     /* packets, control, probes */
	struct FM_counters counters;
	struct handler handlers[FM_HANDLERS];
};

enum { QUEUE_ARRIVALS, QUEUE_CONTROL, QUEUE_SENDS, QUEUES };

/* A ring brings at most TELL_PARTS credits while its sender makes no call. There are slots for those of
 * 256 rings; in larger jobs for those of the program's packets and of as many answers of handlers, 6
 * of the 8 units of each ring. The rest is for grants, and for what else handlers send. */
_Static_assert(TELL_PARTS * FEW_RANKS + 2 * BARRIER_ROUNDS <= CONTROL_SLOTS / 2 + 200 &&
	       TELL_PARTS * 256 + 2 * BARRIER_ROUNDS <= CONTROL_SLOTS_MANY / 2 + 200 &&
	       UNITS_OF_ALL / 8 * 6 + 2 * BARRIER_ROUNDS <= CONTROL_SLOTS_MANY - 1000,
	       "credits that come while a rank makes no call find a slot");


extern struct fm fm;

/* Copies the next bytes of a thread's packet, those in its header first. extract.c */
size_t fm_take_bytes(struct incoming *in, char *to, size_t bytes);

/* Frees units of a peer's ring; sends the peer a new limit once there are enough. credit.c */
void fm_release(struct peer *peer, uint32_t units);

/* Waits until `peer` has room for a packet of `bytes` (direct: one unit), and takes the credit.
 * Returns the packet's first unit of the ring, or -1: the peer is dead. *before becomes the old
 * value of `sent`. credit.c */
int64_t fm_wait_credit(struct peer *peer, size_t bytes, int direct, uint32_t *before);

/* True if whatever waits for credit of a peer can go on: enough units are free, or a message can be
 * begun (WANTS_STREAM), or the peer is dead. credit.c */
#define WANTS_STREAM UINT32_MAX
int fm_has(const struct peer *peer, uint32_t units);

/* Whether a message to a peer can be begun (fm_has_stream); a wait until one ends or something else
 * happens. credit.c */
static inline int fm_has_stream(const struct peer *peer)
{
	return peer->open != (1u << FM_STREAMS) - 1 && fm.out_free;
}
void fm_wait_for_stream(struct peer *peer);

/* Takes an event of QUEUE_SENDS. credit.c */
void fm_sent(const ptl_event_t *event);

/* Takes control messages of peers, and events of the link. Ends the process if messages were lost.
 * credit.c */
void fm_look(void);

/* Waits for any event, at most `ms`. 0: the time is over. credit.c */
int fm_sleep(unsigned ms);

/* Sends a control message. credit.c */
void fm_tell(struct peer *peer, uint64_t bits, uint64_t data);

/* A peer is gone (died: not by itself): threads that wait for it go on at the next fm_serve.
 * credit.c */
void fm_dead(struct peer *peer, int died);

/* Sends a probe to a peer, unless it is dead or its answer is awaited. Does not wait. 0: the link has
 * no room for a probe now. fm_sent takes the answer. credit.c */
int fm_ask(struct peer *peer);

/* Waits until the answer has come, if one is awaited. credit.c */
void fm_await_answer(const struct peer *peer);

/* Whether messages of a rank that is gone may still come. Over cards the kernel of a rank that has
 * ended still retransmits: after lost frames the news of the end may arrive before the rank's last
 * messages. credit.c */
int fm_may_come(const struct peer *peer);

/* Whether a wait must look for deaths: PROBE_MS have passed since the last 1, whatever has come
 * meanwhile. credit.c */
int fm_is_due(void);

/* Probes the ranks from which handlers expect the rest of a message, or credit. Does not wait.
 * extract.c */
void fm_probe_waits(void);

/* Runs handlers whose credit has come, or whose peer has died. Only outside of handlers. Returns
 * how many. extract.c */
int fm_serve(void);

/* Takes one packet if possible. Returns its bytes, at least 1; or 0. extract.c */
size_t fm_take_packet(void);

/* Starts or continues a thread, until it waits or ends. thread.c */
void fm_run(struct incoming *in);

/* Reports that the handler of a thread has used more than its stack, and ends the process. thread.c */
__attribute__((noreturn)) void fm_overflowed(const struct incoming *in);

/* Deschedules the thread that runs. thread.c */
void fm_deschedule(enum incoming_state state);

/* A free thread, or null; and back. thread.c */
struct incoming *fm_thread_take(void);
void fm_thread_give(struct incoming *in);
int fm_threads_open(void);
void fm_threads_close(void);

/* Grants the missing piece of a thread to its sender; and withdraws the grant. direct.c */
void fm_grant(struct incoming *in);
void fm_ungrant(struct incoming *in);
struct incoming *fm_granted(uint64_t key);
void fm_hear_grant(struct peer *peer, const ptl_event_t *event);

/* The handler of a message of 1.1. one.c */
int fm_assemble(FM_stream *stream, FM_handler_1 *handler, unsigned sender);

static inline unsigned fm_rank_of(const struct peer *peer)
{
	return (unsigned)(peer - fm.peers);
}

/* a - b, of counts that wrap */
static inline int32_t fm_ahead(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

/* Units that a packet of `bytes` takes. Those in its header count too, so that a packet never takes
 * more than others that carry its bytes. */
static inline uint32_t fm_units(size_t bytes)
{
	return bytes ? (uint32_t)((bytes + (1u << fm.unit_shift) - 1) >> fm.unit_shift) : 1;
}

/* The fast path of fm_wait_credit for the ring: mostly there is credit. */
static inline int64_t fm_take_credit(struct peer *peer, size_t bytes, uint32_t *before)
{
	uint32_t units = fm_units(bytes), sent = peer->sent, at = sent & (fm.units - 1);

	if (peer->slow || at + units > fm.units ||
	    fm_ahead(peer->limit, sent + units + fm.kept) < 0)
		return fm_wait_credit(peer, bytes, 0, before);
	*before = sent;
	peer->sent = sent + units;
	return at;
}

#endif
