/*
 * deliver: carry out a message on the target's block, in three phases
 * (DESIGN.md section 1). It does not know who runs it: the receiver's kernel,
 * the sender's, a Linux process. An ack and a reply are delivered the same
 * way, on the initiator's view.
 *
 *   deliver_begin   lock held    checks, match, threshold, START; grants a range
 *   deliver_data    no lock      payload into the range; or a device, or a copy
 *                                of the caller's own straight to view->memory + offset
 *   deliver_end     lock held    END, UNLINK; the record is free again
 *
 * Answers (ack, reply) come out as a message that the caller carries out after
 * unlocking. Nothing here blocks, allocates, or reads a byte of payload.
 *
 * One put, between two blocks that the runner maps (the sending kernel):
 *
 *   lock(me);     r = initiator_put(me, &args, &m, &from);          unlock(me);
 *   lock(peer);   r = deliver_begin(peer, &m, my_nid, &to, &a);     unlock(peer);
 *   OK:           copy to.bytes from me->memory + from.offset to peer->memory + to.offset
 *   lock(peer);   deliver_end(peer, &to, NI_OK, &a);                unlock(peer);
 *   lock(me);     initiator_sent(me, &m, &from, NI_OK);
 *                 if (to.answers) deliver_begin(me, &a, my_nid, &none, &b);
 *                 else initiator_unanswered(me, &m);               unlock(me);
 *   to.events:    wake the peer if it sleeps; from.events and none.events: nothing to
 *                 wake here, the application is in this call
 *   DROPPED, CLOSED: as OK without copy and end; the answer is in `a` after begin
 *   BUSY:         try begin again later; the message keeps its place in the order
 *   DAMAGED, or the peer is dead: initiator_sent(..., NI_FAIL), and
 *                 if (message_refuse(&m, NI_FAIL, &a)) deliver_begin(me, &a, ...)
 *
 * One get:
 *
 *   lock(me);     r = initiator_get(me, &args, &m);                 unlock(me);
 *   lock(peer);   r = deliver_begin(peer, &m, my_nid, &from, &a);   unlock(peer);
 *   a is the REPLY after OK, DROPPED and CLOSED: from.answers is 1
 *   lock(me);     r = deliver_begin(me, &a, my_nid, &to, &b);       unlock(me);
 *   OK:           copy to.bytes (never more than from.bytes)
 *   lock(me);     deliver_end(me, &to, NI_OK, &b);                  unlock(me);
 *   lock(peer);   deliver_end(peer, &from, NI_OK, &b);              unlock(peer);
 *                 (only if the first begin was OK)
 *
 * Source and target may be one view. Then source and destination of the copy
 * may overlap, and the copy must be port_move within one mapping (rule 34).
 */
#ifndef NET_PORTALS_DELIVER_H
#define NET_PORTALS_DELIVER_H
#include "message.h"
#include "process.h"

enum deliver_result {
	DELIVER_OK      =  0,
	DELIVER_DROPPED = -1,   /* discarded and counted */
	DELIVER_BUSY    = -2,   /* no operation record free: nothing happened, try again */
	DELIVER_CLOSED  = -3,   /* no initialised interface: discarded (and counted) */
	DELIVER_DAMAGED = -4,   /* the block contradicts itself; nothing was written outside it */
	DELIVER_STALE   = -5    /* end: the operation was already ended by somebody else */
};

/* What a runner may do. It lies in the runner's own memory, out of a damaged
 * block's reach, from begin (or initiator_put) to end (or initiator_sent). */
struct grant {
	handle_t op;            /* operation record; HANDLE_NONE: nothing to end */
	uint64_t offset;        /* first byte of the range, from the segment's start */
	uint64_t bytes;         /* manipulated length; may be 0 */
	uint32_t events;        /* events that the last call recorded in this block */
	uint8_t  answers;       /* 1: the last call made *answer: carry it out */
	uint8_t  ack;           /* the engine's: begin made the ack that end releases */
	uint8_t  begun;         /* the engine's: counted in the queue's `begun` */
	uint8_t  zero;
};

/*
 * Begin. `runner` is the node id of the kernel that will call deliver_end: if
 * it dies, the owner ends the operation (block_peer_died).
 *   PUT    OK: write the payload's first grant->bytes bytes to the range
 *   GET    OK: read the range; *answer is the REPLY that carries it
 *   ACK    complete after this call; grant->op is HANDLE_NONE
 *   REPLY  OK: write the first grant->bytes bytes of its payload to the range
 * On DROPPED and CLOSED, grant->answers tells whether the initiator waits for
 * the answer in *answer (rule 16). *grant is filled whatever the result.
 * Keep *grant and *answer together, unchanged, until deliver_end.
 */
int deliver_begin(struct process_view *view, const struct message *message, uint32_t runner,
		  struct grant *grant, struct message *answer);

/*
 * Copy payload bytes [at, at + bytes) of the message to where the grant says.
 * What lies beyond grant->bytes is left out. Without the lock; pieces in any
 * order. The source must not overlap the range.
 */
void deliver_data(const struct process_view *view, const struct grant *grant, uint64_t at,
		  const void *source, uint64_t bytes);

/* The same when the payload lies in the target's own segment, from offset
 * `source` on: overlap is allowed. The caller has checked the source range. */
void deliver_move(const struct process_view *view, const struct grant *grant, uint64_t source);

/*
 * End. `fail` is NI_OK when the bytes are in place (PUT, REPLY) or read (GET),
 * else why not. After a PUT grant->answers tells whether *answer is an ACK to
 * send: begin made it from the request, so nothing in it comes from the block,
 * and it is complete before PUT_END is recorded. With grant->op == HANDLE_NONE
 * nothing happens. Returns OK, STALE (ended before, harmless) or DAMAGED.
 */
int deliver_end(struct process_view *view, struct grant *grant, enum fail_type fail,
		struct message *answer);

#endif
