/*
 * The process block: all state of one process's portals, in fixed pools.
 *
 * It is position-independent: it contains indices and handles (index and
 * generation), but no pointers. Several kernels map it and change it under the
 * block's lock. A faulty node may have damaged anything in it. So the engine
 * accesses it through a struct process_view (process.h), which holds sizes and
 * bounds outside the block.
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
 *   layout.slots          limits.slots event slots, from a page boundary to the
 *                         end: the part that the owner's application may read
 *
 * Locking: the caller of any function of the engine that has a view as argument
 * holds the block's lock, unless the function's comment says otherwise. At most
 * one block's lock is held at a time.
 */
#ifndef NET_PORTALS_BLOCK_H
#define NET_PORTALS_BLOCK_H
#include <stddef.h>
#include "types.h"

#define BLOCK_MAGIC    0x314b434f4c42474dULL    /* "MGBLOCK1" */
#define BLOCK_VERSION  6u
#define BLOCK_PAGE     4096u

/* Sizes of the pools, at most NO_INDEX - 1 each, and of the other parts. Fixed for a job. */
struct block_limits {
	uint32_t portals;      /* portal table entries */
	uint32_t acs;          /* access control entries, at least 2 */
	uint32_t mes;          /* match entries */
	uint32_t mds;          /* memory descriptors */
	uint32_t eqs;          /* event queues */
	uint32_t ops;          /* operation records */
	uint32_t slots;        /* event slots of all event queues together */
	uint32_t pieces;       /* pieces of all iovec descriptors together */
};

#define BLOCK_DEFAULT_LIMITS \
	{ .portals = 64, .acs = 64, .mes = 10240, .mds = 10240, .eqs = 64, \
	  .ops = 1024, .slots = 8192, .pieces = 4096 }

#define BLOCK_MAX_PIECES     256u      /* of one iovec descriptor (max_md_iovecs) */
#define BLOCK_MAX_GETPUT     64u       /* bytes that PtlGetPut exchanges (max_getput_md) */
#define BLOCK_BARRIER_ROUNDS 16u       /* most rounds of a barrier: 2^16 processes */

/* Contents of a BARRIER message besides the numbers of rounds. */
enum {
	BLOCK_BARRIER_FAILED = BLOCK_BARRIER_ROUNDS, /* barriers fail from now on */
	BLOCK_BARRIER_PING,            /* no news; shows whether the node acknowledges it */
	BLOCK_BARRIER_NEWS             /* number of different contents */
};

/* Offset of each part from the block's start, in bytes. */
struct block_layout {
	uint64_t portals, acs, mes, mds, eqs, ops, pieces, masks, chains, slots;
	uint64_t bytes;        /* of the whole block, a multiple of BLOCK_PAGE */
};

enum block_state {
	BLOCK_CLOSED,          /* never initialised, or closed: every message is discarded */
	BLOCK_OPEN
};

enum block_pool { POOL_ME, POOL_MD, POOL_EQ, POOL_OP, POOL_PIECE, POOL_COUNT };

/* A pool's state. Entries that were freed are in a list linked by index. */
struct pool {
	uint32_t free;         /* first freed entry, or NO_INDEX */
	uint32_t fresh;        /* first entry not used since block_init, as are all behind it. Freed
	                          entries are used first, so this many were in use at once */
	uint32_t used;         /* entries in use */
	uint32_t limit;        /* most entries that may be used, as granted; not trusted as a bound:
	                          that is the view's limit */
};

/* Limits that PtlNIInit granted, for the owner's calls. Those of pools are in struct pool. */
struct block_granted {
	uint32_t portals;      /* portal table entries */
	uint32_t acs;          /* access control entries */
	uint32_t me_list;      /* match entries of one portal */
	uint32_t pieces;       /* pieces of one descriptor */
	uint32_t getput;       /* bytes that PtlGetPut exchanges */
};

/*
 * Values that PtlNIStatus returns, counted since block_init; they equal PTL_SR_*. The first
 * STAT_COUNTERS are sums of both sides' counters (struct block_side). Then come the pools, the
 * identity, and the pool of pieces.
 */
enum block_register {
	STAT_DROPPED,      /* messages discarded (rules 1, 2, 3, 13, 14, 17) */
	STAT_MESSAGES_IN,  /* messages accepted: puts, gets, acks, replies */
	STAT_MESSAGES_OUT, /* operations that this process started */
	STAT_BYTES_IN,     /* bytes written into this process by puts and replies */
	STAT_BYTES_OUT,    /* bytes read from it by puts and gets */
	STAT_COPIED,       /* bytes copied once more than necessary; transports add to it */
	STAT_BUSY,         /* times that no operation record was free */
	STAT_FAILED,       /* operations that ended with NI_FAIL */
	STAT_REFUSED,      /* this process's operations that ended with NI_DROPPED, with or without
	                      an event */
	STAT_COUNTERS,
	STAT_ME_USED = STAT_COUNTERS, STAT_ME_HIGH,
	STAT_MD_USED, STAT_MD_HIGH,
	STAT_EQ_USED, STAT_EQ_HIGH,
	STAT_OP_USED, STAT_OP_HIGH,
	STAT_NID, STAT_PID,    /* the owner's identity, from the view */
	STAT_UID, STAT_JID,
	STAT_PIECE_USED, STAT_PIECE_HIGH,
	STAT_EVENT_SLOTS,      /* this and the next are constant, from the view */
	STAT_INLINE,
	STAT_COUNT
};

/*
 * Fields that change with every operation, once for each side: for the owner, which starts
 * operations, and for the kernel that carries out operations on this block. These run on two
 * processors. A cache line that both write would move between them with each message (false
 * sharing).
 */
struct block_side {
	uint64_t operations;   /* operations begun; gives the next link number, and STAT_MESSAGES_IN
	                        * or _OUT without answers */
	uint64_t sends;        /* `started` only: sends that have not ended */
	uint64_t counters[STAT_COUNTERS]; /* by enum block_register; changed under the lock */
	uint64_t before;       /* value of `operations` at block_init */
	uint8_t  pad[32];
};

struct block {
	uint8_t  lock[64];     /* the transport's; the engine does not use it */
	uint64_t magic;
	uint32_t version;
	uint32_t state;        /* enum block_state */
	struct block_limits limits;
	uint32_t nid, pid;     /* owner */
	uint32_t uid, jid;
	uint64_t incarnation;  /* number of calls of block_init; part of the interface's handle */
	uint64_t event_base;   /* first event number of the next event queue */
	uint64_t seed;         /* of handles' first generations, from the view */
	struct block_granted granted;
	uint8_t  pad[20];
	struct pool pools[POOL_COUNT];
	uint8_t  pad2[48];
	struct block_side started, delivered;
	/* BARRIER messages that have arrived since the memory was zero, by their contents.
	 * block_init keeps the counts, as peers may enter a barrier before it. */
	uint64_t barrier[BLOCK_BARRIER_NEWS];
	uint8_t  spare[304];
};

_Static_assert(sizeof(struct block) == 1024, "the block's header stays small");
_Static_assert(offsetof(struct block, pools) % 64 == 0 &&
	       offsetof(struct block, started) % 64 == 0 &&
	       offsetof(struct block, delivered) % 64 == 0, "cache lines of their own");

/* The link number of the next operation. All events of an operation have the same link number, and
 * no other operation of the process has it: one side uses even numbers, the other odd ones. */
static inline uint64_t block_link_started(const struct block *block)
{
	return block->started.operations * 2;
}

static inline uint64_t block_link_delivered(const struct block *block)
{
	return block->delivered.operations * 2 + 1;
}

/* Count an operation that has ended. */
static inline void block_count_end(struct block *block, enum fail_type fail)
{
	if (fail == NI_FAIL)
		block->delivered.counters[STAT_FAILED]++;
	else if (fail == NI_DROPPED)
		block->delivered.counters[STAT_REFUSED]++;
}

struct process_view;

/* Compute the layout. Returns 0, or PORTALS_FAIL and a zero *layout if a limit is 0 or too large.
 * Needs no block. */
int block_layout(const struct block_limits *limits, struct block_layout *layout);

/* Bytes that a block with these limits takes; 0 if they are invalid. */
uint64_t block_bytes(const struct block_limits *limits);

/*
 * Format the view's block, closed. The owner calls it before block_open, and for another PtlNIInit
 * after block_close when block_pending is 0. Memory that was never a block must be zero. All
 * earlier objects are gone, and their handles never become valid again. Counters start at 0.
 * Identity and seed come from the view. All limits are granted. The lock, the barrier's counts and
 * the event slots do not change. Writes only to pool entries that were used before.
 */
void block_init(struct process_view *view);

/*
 * Grant less than the view's limits, after block_init and before block_open. Used are the fields
 * portals, acs, mes, mds and eqs of `wanted` (null: grant all). A number that is 0 or above the
 * limit means the limit; so does a number of acs below 2.
 *   max_me_list   match entries of one portal
 *   max_pieces    pieces of one descriptor
 */
void block_grant(struct process_view *view, const struct block_limits *wanted,
		 uint32_t max_me_list, uint32_t max_pieces);

/* Open the block: from now on messages are accepted. Returns the interface's handle. */
handle_t block_open(struct process_view *view);

/* Close the block: from now on new messages are discarded (rule 1); begun operations may end.
 * The owner then waits, without the lock, until block_pending is 0. */
void block_close(struct process_view *view);

/* The number of operations begun and not yet ended, and of sends not yet ended. While it is not 0
 * a node may still access the segment. Records that wait for an answer do not count once the block
 * is closed. */
uint32_t block_pending(const struct process_view *view);

/* 1 if `ni` is the interface's handle and the block is open. */
int block_is_ni(const struct process_view *view, handle_t ni);

/* 1 if the handle is that of the open interface or of an object in use. */
int block_is_alive(const struct process_view *view, handle_t handle);

/* Read a status register: 0, or PORTALS_SR_INDEX_INVALID. If called without the lock, the value
 * may be slightly out of date. */
int block_status(const struct process_view *view, uint64_t index, uint64_t *value);

/*
 * Node `nid` is dead: end every operation that it would have ended, with NI_FAIL. These are the
 * operations that it was carrying out on this block, and this process's gets and awaited acks
 * that it would have answered. The owner's kernel calls it once per death. Returns the number of
 * operations ended, and adds the events recorded to *events (if not null), so that the caller can
 * wake its application. Afterwards a later life of that node has nothing left to answer or end,
 * but for sends that the transport has still to end (out_lost in net/frames/state.h).
 * If a living kernel carries out an operation for the dead node, its transport ends it by
 * deliver_end with NI_FAIL.
 */
uint32_t block_peer_died(struct process_view *view, uint32_t nid, uint32_t *events);

#endif
