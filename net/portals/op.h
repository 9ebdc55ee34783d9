/*
 * Operation records: one per message that is under way in this block. deliver
 * takes one at begin and gives it back at end; initiator takes one for each
 * answer that it awaits. Block's lock held, always.
 *
 * phase:  FREE -> WAITING (initiator awaits ack or reply) -> OPEN (reply begun) -> FREE
 *         FREE -> OPEN (put or get begun at the target)                         -> FREE
 *
 * `runner` is the node whose action ends the record: who carries the data, or
 * in WAITING who shall answer. When that node dies the owner ends the record.
 */
#ifndef NET_PORTALS_OP_H
#define NET_PORTALS_OP_H
#include "message.h"
#include "process.h"

enum op_phase { OP_FREE, OP_WAITING, OP_OPEN };

struct operation {
	struct event_head head;   /* as the END event shows it; type is that of END */
	handle_t handle;          /* its own while in use; else KIND_FREE and the next generation */
	uint64_t hdr_data;
	uint64_t peer_md;         /* PUT, GET at the target: handles to echo in the answer */
	uint64_t peer_eq;         /* PUT: EQ_NONE if no ack is due; own records: own queue */
	uint64_t peer_op;
	uint64_t peer_offset;     /* the request's offset, echoed */
	uint64_t sequence;        /* the operation's number at its initiator */
	uint32_t runner;          /* node id */
	uint32_t md;              /* index of this process's descriptor, pinned; or NO_INDEX */
	uint32_t link;            /* of this operation's events */
	uint32_t next;            /* next free record */
	uint32_t reserved;        /* event slots reserved in the descriptor's queue */
	uint8_t  phase;           /* enum op_phase */
	uint8_t  kind;            /* enum message_operation: what is awaited or under way */
	uint8_t  fail;            /* enum fail_type that the message brought */
	uint8_t  ack;             /* PUT: an ack is due at the end */
	uint8_t  begun;           /* counted in its queue's `begun` */
	uint8_t  zero[7];
	uint64_t spare[5];
};

_Static_assert(sizeof(struct operation) == 192, "three cache lines per record");

/* A free record with its handle set, or null (counted as busy). */
struct operation *op_take(struct process_view *view);

/* The record in use, or null. */
struct operation *op_lookup(const struct process_view *view, handle_t handle);

/* Back to the pool. */
void op_give(struct process_view *view, struct operation *op);

#endif
