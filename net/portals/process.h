/*
 * A process as seen by the kernel that runs the engine: the addresses at which its block and its
 * segment are mapped here, and bounds that make both safe to use.
 *
 * The view is in the runner's own memory, not in the block. Every index read from the block is
 * compared with the view's limits, and every address with its segment bounds. No list walk is
 * longer than its pool. So a damaged block may lose its owner's messages, but cannot harm the
 * runner.
 */
#ifndef NET_PORTALS_PROCESS_H
#define NET_PORTALS_PROCESS_H
#include "block.h"

struct portal;
struct ac;
struct me;
struct md;
struct eq;
struct operation;
struct piece;
struct mask;
struct chain;

/* Facts by which a block's owner checks BARRIER messages (barrier.c). */
struct barrier_job {
	uint32_t first_nid;         /* rank r of the job is node first_nid + r */
	uint32_t processes;         /* processes of the job; 0: not known, accept all messages */
	uint32_t launched;          /* not 0: a launcher reports deaths, and processes do not */
	uint64_t entered;           /* barriers that this process has entered */
};

/*
 * The parts of a segment that its application itself may use, as offsets from the segment's start.
 * It may read [0, guard) and [stack, bytes), and write to these from `data` on. All 0: everything.
 * All nodes of a job run the same image, so a peer's values equal the own ones.
 */
struct usable {
	uint64_t data;              /* end of text and read-only data */
	uint64_t guard;             /* start of the guard page below the stack */
	uint64_t stack;             /* start of the stack */
};

struct process_view {
	struct block *block;        /* as mapped here */
	struct block_limits limits;
	struct portal *portals;     /* the pools' addresses, set by view_init */
	struct ac *acs;
	struct me *mes;
	struct md *mds;
	struct eq *eqs;
	struct operation *ops;
	struct piece *pieces;
	struct mask *masks;         /* the index: PORTAL_MASKS masks for each portal */
	struct chain *chains;       /* the index */
	uint32_t chain_shift;       /* 64 - log2 of the number of chains (index.h) */
	uint8_t *slots;             /* event slot i is at slots + i * EVENT_SLOT_BYTES */
	uint8_t *memory;            /* the segment's first byte, as mapped here */
	const uint8_t *sources;     /* the same, for reading what is sent to others: it may be a
	                               second mapping, if that is faster */
	uint64_t bytes;             /* size of the segment */
	uint64_t base;              /* the owner's virtual address of the segment */
	struct usable usable;       /* parts of the segment that its application may use */
	union {                     /* the owner */
		struct { uint32_t nid, pid; };
		uint64_t process;   /* both */
	};
	union {
		struct { uint32_t uid, jid; };
		uint64_t user;      /* both */
	};
	struct barrier_job job;
	uint64_t inline_bytes;      /* in the owner's view: payload of a send of at most this length
	                               has been read when the call that starts it returns */
	void *transport;            /* private to the near transport, for this peer */
	uint64_t seed;              /* in the owner's view, for block_init: a random number that is
	                               secret outside the job; fixed for reproducible runs */
};

/*
 * Set the pools' addresses from `block` and `limits`, and `sources` to memory. The caller has set
 * memory, bytes, base and the identity; `mapped` bytes of the block are mapped. Returns 0, or
 * PORTALS_FAIL if the limits are invalid or do not fit. Reads nothing from the block.
 */
int view_init(struct process_view *view, void *block, uint64_t mapped,
	      const struct block_limits *limits);

/* 1 if the block's header agrees with the view: it is formatted, and has the same version, limits
 * and owner. Called before the first use of a peer's block. */
int view_check(const struct process_view *view);

/* 1 if [address, address + bytes) of the owner's addresses lies in its segment;
 * always 1 for 0 bytes. Never overflows. Needs no lock. */
static inline int view_holds(const struct process_view *view, uint64_t address, uint64_t bytes)
{
	uint64_t offset = address - view->base;

	return bytes == 0 || (offset <= view->bytes && bytes <= view->bytes - offset);
}

/* 1 if the owner's application itself may read (write: read and write) the segment's bytes
 * [offset, offset + bytes); always 1 for 0 bytes. Never overflows. Needs no lock. */
static inline int view_may_use(const struct process_view *view, uint64_t offset, uint64_t bytes,
			       int write)
{
	uint64_t first = 0, end = view->bytes;

	if (bytes == 0)
		return 1;
	if (offset < view->usable.stack) {
		first = write ? view->usable.data : 0;
		end = view->usable.guard;
	}
	return offset >= first && offset <= end && bytes <= end - offset;
}
#endif
