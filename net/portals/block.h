/*
 * The process block: all state of one process's portals, in fixed pools.
 *
 * It is position-independent: links are indices, handles are index and
 * generation, nothing is a pointer. Several kernels map it and change it, each
 * under the block's lock. Everything in it may have been damaged by a broken
 * neighbour, so the kernel that runs the engine reaches it through a struct
 * process_view (process.h), which holds sizes and bounds outside the block.
 *
 *   0                     struct block
 *   layout.portals        struct portal[limits.portals]
 *   layout.acs            struct ac[limits.acs]
 *   layout.mes            struct me[limits.mes]
 *   layout.mds            struct md[limits.mds]
 *   layout.eqs            struct eq[limits.eqs]
 *   layout.ops            struct operation[limits.ops]
 *   layout.pieces         struct piece[limits.pieces], of iovec descriptors
 *   layout.masks          struct mask[limits.portals * PORTAL_MASKS]: of the index
 *   layout.chains         struct chain[index_chains(limits.mes)]: the index
 *   layout.outbox         limits.outbox message headers: reserved for follow-ups
 *                         that another kernel leaves for the owner
 *   layout.slots          limits.slots event slots, from a page boundary to the
 *                         end: the part that the owner's application may read
 *
 * Locking: every function of the engine that takes a view wants the block's
 * lock held, unless its comment says otherwise. No function takes two.
 */
#ifndef NET_PORTALS_BLOCK_H
#define NET_PORTALS_BLOCK_H
#include <stddef.h>
#include "types.h"

#define BLOCK_MAGIC    0x314b434f4c42474dULL    /* "MGBLOCK1" */
#define BLOCK_VERSION  3u
#define BLOCK_PAGE     4096u

/* How many of each; at most NO_INDEX - 1 of each pool. Fixed for a job. */
struct block_limits {
	uint32_t portals;      /* portal table entries */
	uint32_t acs;          /* access control entries, at least 2 */
	uint32_t mes;
	uint32_t mds;
	uint32_t eqs;
	uint32_t ops;          /* operation records */
	uint32_t outbox;       /* message headers */
	uint32_t slots;        /* event slots, shared by all event queues */
	uint32_t pieces;       /* pieces of memory, shared by all iovec descriptors */
};

#define BLOCK_DEFAULT_LIMITS \
	{ .portals = 64, .acs = 64, .mes = 10240, .mds = 10240, .eqs = 64, \
	  .ops = 1024, .outbox = 32, .slots = 8192, .pieces = 4096 }

#define BLOCK_MAX_PIECES     256u      /* of one iovec descriptor (max_md_iovecs) */
#define BLOCK_MAX_GETPUT     64u       /* bytes that PtlGetPut exchanges (max_getput_md) */
#define BLOCK_BARRIER_ROUNDS 16u       /* 2^16 processes */

/* What a BARRIER message says that is not of a round. */
enum {
	BLOCK_BARRIER_FAILED = BLOCK_BARRIER_ROUNDS, /* barriers fail from now on */
	BLOCK_BARRIER_PING,            /* nothing: does the node acknowledge it? */
	BLOCK_BARRIER_NEWS
};

/* Where each part begins, in bytes from the block's start. */
struct block_layout {
	uint64_t portals, acs, mes, mds, eqs, ops, pieces, masks, chains, outbox, slots;
	uint64_t bytes;        /* of the whole block, a multiple of BLOCK_PAGE */
};

enum block_state {
	BLOCK_CLOSED,          /* never initialised, or closed: every message is discarded */
	BLOCK_OPEN
};

enum block_pool { POOL_ME, POOL_MD, POOL_EQ, POOL_OP, POOL_PIECE, POOL_COUNT };

/* A pool's book-keeping; entries that got free are chained by index. */
struct pool {
	uint32_t free;         /* first free entry or NO_INDEX */
	uint32_t fresh;        /* first entry not used since block_init; all behind it neither */
	uint32_t used;         /* entries in use */
	uint32_t high;         /* most that ever were */
	uint32_t limit;        /* granted: most that may be used; bounds are the view's */
};

/* What PtlNIInit granted: the owner's calls respect it. Limits of pools are in
 * the pools. */
struct block_granted {
	uint32_t portals;      /* portal table entries */
	uint32_t acs;          /* access control entries */
	uint32_t me_list;      /* match entries of one portal */
	uint32_t pieces;       /* of one descriptor */
	uint32_t getput;       /* bytes that PtlGetPut exchanges */
};

/*
 * What PtlNIStatus shows, since block_init; values equal PTL_SR_*. The first
 * STAT_COUNTERS are the sums of both sides' counters, then come pools, the
 * identity, and the pool of pieces.
 */
enum block_register {
	STAT_DROPPED,      /* messages discarded (rules 1, 2, 3, 13, 14, 17) */
	STAT_MESSAGES_IN,  /* messages accepted: puts, gets, acks, replies */
	STAT_MESSAGES_OUT, /* operations that this process started */
	STAT_BYTES_IN,     /* bytes written into this process by puts and replies */
	STAT_BYTES_OUT,    /* bytes read from it by puts and gets */
	STAT_COPIED,       /* bytes that a link copied more than once; links add */
	STAT_BUSY,         /* times that no operation record was free */
	STAT_FAILED,       /* operations that ended with NI_FAIL */
	STAT_REFUSED,      /* this process's operations that ended with NI_DROPPED, told or not */
	STAT_COUNTERS,
	STAT_ME_USED = STAT_COUNTERS, STAT_ME_HIGH,
	STAT_MD_USED, STAT_MD_HIGH,
	STAT_EQ_USED, STAT_EQ_HIGH,
	STAT_OP_USED, STAT_OP_HIGH,
	STAT_NID, STAT_PID,    /* the owner's identity, from the view */
	STAT_UID, STAT_JID,
	STAT_PIECE_USED, STAT_PIECE_HIGH,
	STAT_EVENT_SLOTS,      /* the next two are constant, from the view */
	STAT_INLINE,
	STAT_COUNT
};

/*
 * What changes with every operation, apart for the two sides that do so: the
 * owner as it starts operations, and the kernel that carries them out here. They
 * run on two processors, and a cache line of both would travel between them
 * with each message.
 */
struct block_side {
	uint64_t operations;   /* begun: the next link number's half, and all but the answers of
	                        * STAT_MESSAGES_IN or _OUT */
	uint64_t sends;        /* started: puts not yet sent */
	uint64_t counters[STAT_COUNTERS]; /* enum block_register; changed under the lock */
	uint64_t before;       /* operations, at block_init */
	uint8_t  pad[32];
};

struct block {
	uint8_t  lock[64];     /* the link's; the engine does not touch it */
	uint64_t magic;
	uint32_t version;
	uint32_t state;        /* enum block_state */
	struct block_limits limits;
	uint32_t nid, pid;     /* owner */
	uint32_t uid, jid;
	uint64_t incarnation;  /* counts block_init; the interface's handle carries it */
	uint64_t event_base;   /* first event number of the next event queue */
	uint64_t seed;         /* of handles' first generations, from the view */
	struct block_granted granted;
	uint8_t  pad[12];
	struct pool pools[POOL_COUNT];
	uint8_t  pad2[28];
	struct block_side started, delivered;
	/* BARRIER messages of each round, and others, that have arrived since the memory
	 * was zero: block_init keeps them, as peers may be in a barrier first. */
	uint64_t barrier[BLOCK_BARRIER_NEWS];
	uint8_t  spare[304];
};

_Static_assert(sizeof(struct block) == 1024, "the block's header stays small");
_Static_assert(offsetof(struct block, pools) % 64 == 0 &&
	       offsetof(struct block, started) % 64 == 0 &&
	       offsetof(struct block, delivered) % 64 == 0, "cache lines of their own");

/* Link numbers: equal in all events of one operation, and no two operations of
 * a process share one, though the sides count by themselves. */
static inline uint64_t block_link_started(const struct block *block)
{
	return block->started.operations * 2;
}

static inline uint64_t block_link_delivered(const struct block *block)
{
	return block->delivered.operations * 2 + 1;
}

/* An operation has ended so: count it. */
static inline void block_count_end(struct block *block, enum fail_type fail)
{
	if (fail == NI_FAIL)
		block->delivered.counters[STAT_FAILED]++;
	else if (fail == NI_DROPPED)
		block->delivered.counters[STAT_REFUSED]++;
}

struct process_view;

/* Compute the layout. Returns 0, or PORTALS_FAIL if a limit is 0 or too large
 * (then *layout is zero). Needs no block. */
int block_layout(const struct block_limits *limits, struct block_layout *layout);

/* Bytes that a block with these limits takes; 0 if they are invalid. */
uint64_t block_bytes(const struct block_limits *limits);

/*
 * Format the view's block, closed; the owner calls it before block_open and
 * again for another PtlNIInit after block_close, when block_pending is 0.
 * Memory that never was a block must be zero. All objects of before are gone,
 * their handles stay invalid for ever. Counters start at 0. Takes identity
 * and seed from the view. Grants everything. Leaves the lock word, the barrier's words
 * and the event slots alone. Touches only what was used before.
 */
void block_init(struct process_view *view);

/*
 * Grant less than there is, after block_init and before block_open: each field
 * of `wanted` (portals, acs, mes, mds, eqs; null: all) and each number that is
 * 0 or more than there is means all of it; of acs there are at least 2.
 *   max_me_list   match entries of one portal
 *   max_pieces    pieces of one descriptor
 */
void block_grant(struct process_view *view, const struct block_limits *wanted,
		 uint32_t max_me_list, uint32_t max_pieces);

/* From now on messages are accepted. The result is the interface's handle. */
handle_t block_open(struct process_view *view);

/* From now on new messages are discarded (rule 1); begun operations may end.
 * The owner then waits, without the lock, until block_pending is 0. */
void block_close(struct process_view *view);

/* Operations begun and not yet ended, and sends started and not yet sent:
 * while this is not 0 a node may still write into the segment. Records that
 * wait for an answer do not count once the block is closed. */
uint32_t block_pending(const struct process_view *view);

/* Handle of the interface while the block is open: 1 if `ni` is it, else 0. */
int block_is_ni(const struct process_view *view, handle_t ni);

/* 1 if the handle is that of the interface or of an object that lives. */
int block_is_alive(const struct process_view *view, handle_t handle);

/* 0, or PORTALS_SR_INDEX_INVALID. Without the lock the value may be a little old. */
int block_status(const struct process_view *view, uint64_t index, uint64_t *value);

/*
 * Node `nid` is dead: end every operation that it would have ended, with
 * NI_FAIL: those that it was carrying out in this block, and this process's
 * gets and awaited acks that it would have answered. The owner's kernel calls
 * it once per death. Returns how many were ended; *events (if not null) counts
 * the events recorded, so that the caller wakes its application.
 * Nothing is left then that a later life of that node could answer or end.
 * Operations that a living kernel carries out on the dead one's behalf are
 * ended by that kernel's link with deliver_end(..., NI_FAIL, ...).
 */
uint32_t block_peer_died(struct process_view *view, uint32_t nid, uint32_t *events);

#endif
