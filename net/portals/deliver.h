/*
 * deliver: carry out a message on the target's block, in three phases
 * (docs/portals.md section 3). It does not know where it runs: the receiver's kernel,
 * the sender's, a Linux process. An ack and a reply are delivered the same
 * way, on the initiator's view.
 *
 *   deliver_begin   lock held    checks, match, threshold, START; grants a range
 *   deliver_data    no lock      payload into the range; or a device, or a copy
 *                                of the caller's own straight to view->memory + offset
 *   deliver_end     lock held    END, UNLINK; the record is free again
 *
 *   deliver_inline  lock held    all three in one call, for a payload that is in the
 *                                runner's own memory and not longer than a cache line
 *   deliver_atomic  lock held    begin and data of an atomic operation with an ack
 *
 * Answers (ack, reply) come out as a message that the caller carries out after
 * unlocking. Nothing here blocks or allocates; with the lock held only
 * deliver_inline and deliver_atomic touch payload.
 *
 * near.h orders these phases where one kernel does both halves of an operation,
 * net/frames where each kernel does its own.
 *
 * Source and target may be one view. Then source and destination of the copy
 * may overlap, and the copy must be port_move within one mapping (rule 34); with
 * iovecs the bytes where they overlap are any of the two.
 */
#ifndef NET_PORTALS_DELIVER_H
#define NET_PORTALS_DELIVER_H
#include "message.h"
#include "process.h"

struct span;

enum deliver_result {
	DELIVER_OK      =  0,
	DELIVER_DROPPED = -1,   /* discarded and counted */
	DELIVER_BUSY    = -2,   /* no operation record free: nothing happened, try again */
	DELIVER_CLOSED  = -3,   /* no initialised interface: discarded (and counted) */
	DELIVER_DAMAGED = -4,   /* the block contradicts itself; nothing was written outside it */
	DELIVER_STALE   = -5    /* end: another node has ended the operation already */
};

#define DELIVER_INLINE_BYTES   64u    /* longest payload of deliver_inline: one cache line */
#define DELIVER_OPERAND_BYTES 128u    /* but compare-and-swap brings twice as much */

/* What a runner may do. It lies in the runner's own memory, out of a damaged
 * block's reach, from begin (or initiator_put) to end (or initiator_sent). */
struct grant {
	handle_t op;            /* operation record; HANDLE_NONE: nothing to end */
	handle_t md;            /* whose memory the range is; a send's, for initiator_sent */
	uint64_t offset;        /* first byte of the range, from the segment's start */
	uint64_t bytes;         /* manipulated length; may be 0 */
	uint32_t events;        /* events that the last call recorded in this block */
	uint8_t  answers;       /* 1: the last call made *answer: carry it out */
	uint8_t  ack;           /* 1: begin made the ack; end releases it */
	uint8_t  begun;         /* the engine's: counted in the queue's `begun` */
	uint8_t  upcall;        /* 1: the last call recorded an event in a queue with a handler:
	                           its owner is rung whether it sleeps or not */
	uint8_t  pieces;        /* 1: the descriptor is an iovec, and `offset` is a logical byte
	                           of it; the range is where deliver_span says */
	uint8_t  zero[7];
};

/*
 * Begin. `runner` is the node id of the kernel that will call deliver_end: if
 * it dies, the owner ends the operation (block_peer_died).
 *   PUT    OK: write the payload's first grant->bytes bytes to the range
 *   GET    OK: read the range; *answer is the REPLY that carries it
 *   ACK    complete after this call; grant->op is HANDLE_NONE
 *   REPLY  OK: write the first grant->bytes bytes of its payload to the range
 *   BARRIER counted and complete, whatever the block's state: neither event nor answer
 *   others DROPPED: they go through deliver_inline, an ATOMIC through deliver_atomic too
 * On DROPPED and CLOSED, grant->answers tells whether the initiator waits for
 * the answer in *answer (rule 16). After OK of a PUT grant->ack tells whether *answer is
 * an ack that may be carried out before deliver_end, once the payload is in place
 * (message_refuse if it is not); else deliver_end says it again, with how the
 * operation ended. *grant is filled whatever the result.
 * Keep *grant and *answer together, unchanged, until deliver_end.
 */
int deliver_begin(struct process_view *view, const struct message *message, uint32_t runner,
		  struct grant *grant, struct message *answer);

/*
 * Copy payload bytes [at, at + bytes) of the message to where the grant says.
 * What lies beyond grant->bytes is left out. Without the lock; pieces in any
 * order. Source and range may overlap if both are reached by view->memory, and
 * the range is in one piece. This call and the next three return DELIVER_OK, or
 * DELIVER_DAMAGED if the block no longer says where the pieces of a descriptor are.
 */
int deliver_data(const struct process_view *view, const struct grant *grant, uint64_t at,
		 const void *source, uint64_t bytes);

/* The other way: bytes [at, at + bytes) of the granted range, as far as it goes. */
int deliver_read(const struct process_view *view, const struct grant *grant, uint64_t at,
		 void *to, uint64_t bytes);

/* From range to range, as many bytes as both have; of one view or of two. */
int deliver_copy(const struct process_view *view, const struct grant *grant,
		 const struct process_view *source, const struct grant *from);

/* The contiguous memory that begins at byte `at` of the range: for runners that
 * copy by themselves. Nothing (span->bytes is 0) at its end. */
int deliver_span(const struct process_view *view, const struct grant *grant, uint64_t at,
		 struct span *span);

/*
 * End. `fail` is NI_OK when the bytes are in place (PUT, REPLY) or read (GET),
 * else why not. After a PUT grant->answers tells whether *answer is an ACK to
 * send: begin made it from the request, so nothing in it comes from the block,
 * and it is complete before PUT_END is recorded. With grant->op == HANDLE_NONE
 * nothing happens. Returns OK, STALE (ended before, harmless) or DAMAGED.
 */
int deliver_end(struct process_view *view, struct grant *grant, enum fail_type fail,
		struct message *answer);

/*
 * Begin, data and end in one, without an operation record: never BUSY or STALE.
 * For BARRIER, ACK, REPLY of a message that came this way, and all other messages
 * whose length is at most DELIVER_INLINE_BYTES; longer ones are DROPPED, a longer
 * REPLY is cut to that. The only way for GETPUT, ATOMIC, FETCH_ATOMIC, which are atomic by the lock.
 *   payload  PUT, GETPUT: length bytes; ATOMIC, FETCH_ATOMIC: length bytes of operands,
 *            for CSWAP length bytes of compared and then of new values; REPLY: mlength
 *            bytes; else null. It may lie in the segment, even within the range.
 *   result   DELIVER_INLINE_BYTES bytes: after GET, GETPUT, FETCH_ATOMIC the first
 *            answer->mlength of them are the reply's payload; else not touched, may be null
 * grant->events, ->upcall and ->answers are those of both halves; ->op is HANDLE_NONE.
 */
int deliver_inline(struct process_view *view, const struct message *message,
		   const void *payload, struct grant *grant, struct message *answer,
		   void *result);

/*
 * As deliver_begin, for an ATOMIC, which is applied at once: only deliver_end is still to
 * come. `operands` as for deliver_inline. DAMAGED: it was not applied, and has ended.
 */
int deliver_atomic(struct process_view *view, const struct message *message, uint32_t runner,
		   const void *operands, struct grant *grant, struct message *answer);

#endif
