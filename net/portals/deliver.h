/*
 * deliver: carry out a message on the target's block, in three phases (docs/portals.md section 3).
 * It runs anywhere: in the receiver's kernel, the sender's kernel, or a Linux process; that is the
 * "runner". An ack or a reply is delivered in the same way, on the initiator's view.
 *
 *   deliver_begin   lock held    checks, match, threshold, START; grants a range of memory
 *   deliver_data    no lock      copies payload into the range. A card or the caller's own copy
 *                                may also write directly to view->memory + offset
 *   deliver_end     lock held    END, UNLINK; frees the operation record
 *
 *   deliver_apply   lock held    in place of deliver_data: a step of a long atomic operation
 *   deliver_inline  lock held    all three in one call, for a payload in the runner's own memory
 *                                that is not longer than a cache line
 *   deliver_atomic  lock held    begin and data of an atomic operation with an ack
 *
 * An answer (ack, reply) is returned as a message, which the caller delivers after unlocking.
 * Nothing here blocks or allocates memory. Only deliver_inline, deliver_atomic and deliver_apply
 * touch payload with the lock held, and at most DELIVER_STEP_BYTES of it.
 *
 * near.h has the order of these phases where one kernel does both halves of an operation, and
 * net/frames where each kernel does its own half.
 *
 * Source and target may be the same view. Then source and destination of the copy may overlap, and
 * the copy must be port_move within one mapping (rule 34). With iovecs, overlapping bytes may get
 * either value.
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
	DELIVER_CLOSED  = -3,   /* the interface is not initialised: discarded and counted */
	DELIVER_DAMAGED = -4,   /* the block is inconsistent; nothing was written outside it */
	DELIVER_STALE   = -5    /* deliver_end: another node has already ended the operation */
};

#define DELIVER_INLINE_BYTES   64u    /* longest payload of deliver_inline: one cache line */
#define DELIVER_OPERAND_BYTES 128u    /* longest operands of deliver_inline: compare-and-swap has
					 twice as many */
#define DELIVER_STEP_BYTES    512u    /* longest step of deliver_apply */

/* What a runner may do with the target's memory. The runner keeps it in its own memory, where a
 * damaged block cannot change it, from begin (or initiator_put) to end (or initiator_sent). */
struct grant {
	handle_t op;            /* operation record; HANDLE_NONE: nothing to end */
	handle_t md;            /* the descriptor of the range */
	uint64_t offset;        /* first byte of the range, from the segment's start */
	uint64_t bytes;         /* manipulated length; may be 0 */
	uint32_t events;        /* events that the last call recorded in this block */
	uint8_t  answers;       /* 1: the last call made *answer, which the runner must deliver */
	uint8_t  ack;           /* 1: begin made the ack; end completes it */
	uint8_t  begun;         /* private to the engine: 1 if counted in the queue's `begun` */
	uint8_t  upcall;        /* 1: the last call recorded an event for a handler, so ring the
	                           owner even if it does not sleep */
	uint8_t  pieces;        /* 1: an iovec descriptor; `offset` is a logical byte of it, and
	                           deliver_span gives the memory */
	uint8_t  zero[7];
};

/*
 * Begin. `runner` is the node id of the kernel that will call deliver_end. If that node dies, the
 * owner ends the operation (block_peer_died).
 *   PUT     OK: write the payload's first grant->bytes bytes to the range
 *   GET     OK: read the range; *answer is the REPLY that carries it
 *   ACK     complete after this call; grant->op is HANDLE_NONE
 *   REPLY   OK: write the first grant->bytes bytes of its payload to the range
 *   BARRIER counted, and complete; without event or answer, and in any state of the block
 *   ATOMIC  longer than DELIVER_INLINE_BYTES: OK: as PUT, but call deliver_apply
 *   others  DROPPED: use deliver_inline, or for a short ATOMIC deliver_atomic
 * After DROPPED or CLOSED grant->answers is 1 if the initiator awaits the answer in *answer
 * (rule 16). After OK of a PUT grant->ack is 1 if *answer is an ack. The runner may deliver it
 * before deliver_end, as soon as the payload is in place (with fail set and mlength 0 if that
 * failed). Otherwise deliver_end returns it, with the result of the operation. *grant is set for
 * any result. Keep *grant and *answer unchanged until deliver_end.
 */
int deliver_begin(struct process_view *view, const struct message *message, uint32_t runner,
		  struct grant *grant, struct message *answer);

/*
 * Copy payload bytes [at, at + bytes) of the message to the granted range; bytes beyond
 * grant->bytes are skipped. Called without the lock, in any order. Source and range may overlap if
 * both are in the mapping view->memory and the range is one piece. This function and the next three
 * return DELIVER_OK, or DELIVER_DAMAGED if an iovec descriptor's pieces are no longer valid.
 */
int deliver_data(const struct process_view *view, const struct grant *grant, uint64_t at,
		 const void *source, uint64_t bytes);

/*
 * A step of an ATOMIC that deliver_begin has accepted: apply operand bytes [at, at + bytes) of the
 * message to the granted range; those beyond grant->bytes are skipped. Lock held. Each byte once, in
 * any order; each element in one step. `operation` and `datatype` are those of the message. `bytes`
 * is at most DELIVER_STEP_BYTES. DAMAGED also if `at` or `bytes` divides an element.
 */
int deliver_apply(const struct process_view *view, const struct grant *grant, uint32_t operation,
		  uint32_t datatype, uint64_t at, const void *operands, uint64_t bytes);

/* Copy bytes [at, at + bytes) of the granted range, as far as it goes, to `to`. */
int deliver_read(const struct process_view *view, const struct grant *grant, uint64_t at,
		 void *to, uint64_t bytes);

/* Copy from range to range, as many bytes as both have. Both may be of the same view. */
int deliver_copy(const struct process_view *view, const struct grant *grant,
		 const struct process_view *source, const struct grant *from);

/* The contiguous memory that begins at byte `at` of the range, for runners with their own copy.
 * At the end of the range span->bytes is 0. */
int deliver_span(const struct process_view *view, const struct grant *grant, uint64_t at,
		 struct span *span);

/*
 * End. `fail` is NI_OK if the bytes were written (PUT, REPLY) or read (GET), else the reason. After
 * a PUT grant->answers is 1 if *answer is an ACK to deliver. Begin made it from the request, so
 * nothing in it comes from the block. With grant->op == HANDLE_NONE nothing happens. Returns OK,
 * STALE (ended before; harmless) or DAMAGED.
 */
int deliver_end(struct process_view *view, struct grant *grant, enum fail_type fail,
		struct message *answer);

/*
 * Begin, data and end in one call, without an operation record: never BUSY or STALE. For BARRIER,
 * ACK, and all other messages whose length is at most DELIVER_INLINE_BYTES. Longer ones are
 * DROPPED; a longer REPLY is truncated. It is the only way for GETPUT and FETCH_ATOMIC, and for a
 * short ATOMIC without an ack; the lock makes them atomic.
 *   payload  PUT, GETPUT: length bytes; ATOMIC, FETCH_ATOMIC: length bytes of operands, for CSWAP
 *            length bytes of values to compare with, then length bytes of new values; REPLY:
 *            mlength bytes; else null. It may be in the segment, even within the range.
 *   result   DELIVER_INLINE_BYTES bytes. After GET, GETPUT and FETCH_ATOMIC its first
 *            answer->mlength bytes are the reply's payload. Otherwise unused; may be null
 * grant->events, ->upcall and ->answers are those of begin and end together; ->op is HANDLE_NONE.
 */
int deliver_inline(struct process_view *view, const struct message *message,
		   const void *payload, struct grant *grant, struct message *answer,
		   void *result);

/*
 * As deliver_begin, for a short ATOMIC. It is applied at once, so only deliver_end must follow.
 * `operands` as the payload of deliver_inline. DAMAGED: it was not applied, and has ended.
 */
int deliver_atomic(struct process_view *view, const struct message *message, uint32_t runner,
		   const void *operands, struct grant *grant, struct message *answer);

#endif
