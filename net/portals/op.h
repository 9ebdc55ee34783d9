/*
 * Operation records: one per message that is under way in this block. deliver
 * takes one at begin and gives it back at end; initiator takes one for each
 * answer that it awaits. Block's lock held, always.
 *
 * phase:  FREE -> WAITING (initiator awaits ack or reply) -> OPEN (reply begun) -> FREE
 *         FREE -> OPEN (put or get begun at the target)                         -> FREE
 *
 * `runner` is the node whose action ends the record: it carries the data, or
 * in WAITING it shall answer. When that node dies, or another life of it begins,
 * the owner ends the record (block_peer_died): an answer names the record, with its
 * generation, so none of a later life is taken for that of the earlier.
 */
#ifndef NET_PORTALS_OP_H
#define NET_PORTALS_OP_H
#include "message.h"
#include "process.h"

enum op_phase { OP_FREE, OP_WAITING, OP_OPEN };

struct operation {
	struct event_head head;   /* of its events; WAITING: as the request named it */
	handle_t handle;          /* its own while in use; else KIND_FREE and the next generation */
	uint64_t hdr_data;
	uint64_t eq_handle;       /* WAITING for an ack: the queue that it names */
	uint64_t local_offset;    /* WAITING for a reply: where in the descriptor it goes */
	uint32_t runner;          /* node id */
	uint32_t md;              /* index of the descriptor that it pins, or NO_INDEX */
	uint32_t link;            /* of this operation's events */
	uint32_t next;            /* free: next free record */
	uint16_t reserved;        /* event slots reserved in the descriptor's queue */
	uint8_t  reports_dropped; /* WAITING for an ack: MD_EVENT_DROPPED, when it was started */
	uint8_t  zero;
	uint8_t  phase;           /* enum op_phase */
	uint8_t  kind;            /* enum message_operation: what is under way or awaited */
	uint8_t  fail;            /* REPLY: enum fail_type that it brought */
	uint8_t  begun;           /* 1: counted in its queue's `begun` */
	uint64_t room;            /* WAITING for a reply: bytes from there that it may fill */
};

_Static_assert(sizeof(struct operation) == 128, "two cache lines per record");

/*
 * Take a record: DELIVER_OK with its handle set, phase and the rest the
 * caller's; DELIVER_BUSY when all are in use (counted); DELIVER_DAMAGED.
 */
int op_alloc(struct process_view *view, struct operation **op);

/* The record in use, or null. */
struct operation *op_lookup(const struct process_view *view, handle_t handle);

/* Back to the pool. */
void op_free(struct process_view *view, struct operation *op);

#endif
