/*
 * A process as seen by the kernel that runs the engine: where its block and its
 * segment are mapped here, and the bounds that make both safe to use.
 *
 * The view lives outside the block, in the runner's own memory. Every index
 * that is read from the block is compared with the view's limits, every
 * address with its segment bounds, every walk is at most as long as its pool:
 * a damaged block costs its owner messages, never the runner.
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

/* What the owner of a block believes of BARRIER messages (barrier.c). */
struct barrier_job {
	uint32_t first_nid;         /* rank r of the job is node first_nid + r */
	uint32_t processes;         /* of the job; 0: not known, all messages count */
	uint32_t launched;          /* not 0: a launcher tells of deaths, and no process does */
	uint64_t entered;           /* barriers, by this process */
};

/*
 * What the owner's application itself may use of its segment, in bytes from the segment's
 * start: it may read [0, guard) and [stack, bytes), and write them from `data` on. All 0:
 * everything. The nodes of a job run one image, so a peer's are one's own.
 */
struct usable {
	uint64_t data;              /* text and read-only data end here */
	uint64_t guard;             /* the page under the stack */
	uint64_t stack;
};

struct process_view {
	struct block *block;        /* as mapped here */
	struct block_limits limits;
	struct portal *portals;     /* the pools, by view_init from block and limits */
	struct ac *acs;
	struct me *mes;
	struct md *mds;
	struct eq *eqs;
	struct operation *ops;
	struct piece *pieces;
	struct mask *masks;         /* of the index: PORTAL_MASKS for each portal */
	struct chain *chains;       /* of the index */
	uint32_t chain_shift;       /* 64 - log2 of how many (index.h) */
	uint8_t *slots;             /* event slot i at slots + i * EVENT_SLOT_BYTES */
	uint8_t *memory;            /* the segment's first byte, as mapped here */
	const uint8_t *sources;     /* the same, to read what is sent to others; a second
	                               mapping where that is faster */
	uint64_t bytes;             /* of the segment */
	uint64_t base;              /* the owner's virtual address of that byte */
	struct usable usable;       /* of the segment, by its application */
	union {                     /* the owner */
		struct { uint32_t nid, pid; };
		uint64_t process;   /* both */
	};
	union {
		struct { uint32_t uid, jid; };
		uint64_t user;      /* both */
	};
	struct barrier_job job;
	uint64_t inline_bytes;      /* of the owner's view: a send of so many bytes has been read when
	                               the call that starts it returns, over any transport of its */
	void *transport;            /* the near transport's own, of this peer */
	uint64_t seed;              /* for block_init, of the owner's view: a number that nothing
	                               outside the job knows; fixed where runs are repeated */
};

/*
 * Set the pools' addresses from block, memory and limits, and `sources` to memory; the
 * caller has set memory, bytes, base and the identity, and `mapped` is how many bytes of the
 * block are mapped. Returns 0, or PORTALS_FAIL if the limits are invalid or do
 * not fit. Reads nothing from the block.
 */
int view_init(struct process_view *view, void *block, uint64_t mapped,
	      const struct block_limits *limits);

/* 1 if the block's header agrees with the view: formatted, same version, same
 * limits, same owner. For a peer's block before its first use. */
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
