/*
 * Operation records: one for each operation in progress on this block. deliver
 * allocates one at begin and frees it at end; initiator allocates one for each
 * answer that it awaits. The block's lock is always held.
 *
 * phase:  FREE -> WAITING (initiator awaits ack or reply) -> OPEN (reply begun) -> FREE
 *         FREE -> OPEN (put or get begun at the target)                         -> FREE
 *
 * `runner` is the node that will end the record: it copies the data, or in state WAITING it must
 * answer. When that node dies or restarts, the owner ends the record (block_peer_died). An answer
 * names the record with its generation, so an answer from a later life is never taken for one to
 * an earlier request. A transport that will itself end the record, whether the target lives or
 * not, makes this node its runner: near_start, and out_lost of net/frames.
 */
#ifndef NET_PORTALS_OP_H
#define NET_PORTALS_OP_H
#include "message.h"
#include "process.h"

enum op_phase { OP_FREE, OP_WAITING, OP_OPEN };

struct operation {
	struct event_head head;   /* contents of its events; WAITING: from the request */
	handle_t handle;          /* its own while in use; else KIND_FREE and the next generation */
	uint64_t hdr_data;
	uint64_t eq_handle;       /* WAITING for an ack: the queue for its event */
	uint64_t local_offset;    /* WAITING for a reply: its first byte in the descriptor */
	uint32_t runner;          /* node id */
	uint32_t md;              /* index of the descriptor that it pins, or NO_INDEX */
	uint32_t link;            /* link number of this operation's events */
	uint32_t next;            /* free: next free record */
	uint16_t reserved;        /* 1: an event slot is reserved for its END (rule 22) */
	uint8_t  reports_dropped; /* WAITING for an ack: 1 if the descriptor had MD_EVENT_DROPPED */
	uint8_t  zero;
	uint8_t  phase;           /* enum op_phase */
	uint8_t  kind;            /* enum message_operation: in progress or awaited */
	uint8_t  fail;            /* REPLY: its enum fail_type */
	uint8_t  begun;           /* 1: counted in its queue's `begun` */
	uint64_t room;            /* WAITING for a reply: most bytes that it may fill */
};

_Static_assert(sizeof(struct operation) == 128, "two cache lines per record");

/*
 * Allocate a record: DELIVER_OK with its handle set; the caller sets all other fields.
 * DELIVER_BUSY when all are in use (counted); DELIVER_DAMAGED.
 */
int op_alloc(struct process_view *view, struct operation **op);

/* The record in use, or null. */
struct operation *op_lookup(const struct process_view *view, handle_t handle);

/* Return a record to the pool. */
void op_free(struct process_view *view, struct operation *op);

#endif
