/*
 * The initiator's side: starting an operation, and ending a send. Called by the initiator's own
 * kernel with its own block's lock held. Acks and replies go through deliver_begin or
 * deliver_inline on the initiator's view.
 */
#ifndef NET_PORTALS_INITIATOR_H
#define NET_PORTALS_INITIATOR_H
#include "deliver.h"

#define LENGTH_WHOLE  (~0ULL)   /* the descriptor's whole length, from local_offset 0 */

/* Arguments of PtlPut[Region], PtlGet[Region], PtlGetPut, PtlAtomic, PtlFetchAtomic. */
struct initiator_args {
	handle_t md;            /* descriptor that is sent, or that the reply goes to */
	uint64_t local_offset;  /* first byte within it */
	uint64_t length;        /* bytes at the target, or LENGTH_WHOLE */
	uint32_t target_nid;
	uint32_t target_pid;
	uint32_t pt_index;
	uint32_t cookie;        /* access control entry at the target */
	uint32_t ack;           /* enum ack_req; PUT, ATOMIC */
	uint8_t  operation;     /* enum message_operation of a request; 0 means PUT */
	uint8_t  atomic_operation; /* enum atomic_operation; ATOMIC, FETCH_ATOMIC */
	uint8_t  datatype;      /* enum atomic_type; ATOMIC, FETCH_ATOMIC */
	uint8_t  zero;
	uint64_t match_bits;
	uint64_t remote_offset;
	uint64_t hdr_data;      /* not GET */
	handle_t put_md;        /* exchange: the descriptor that is sent */
	uint64_t put_offset;    /* exchange: first byte within put_md */
	uint64_t most;          /* exchange: longest length allowed; 0: DELIVER_INLINE_BYTES, which
	                           is also its limit */
};

/* An operation that was started, for a transport to carry out. */
struct outgoing {
	struct message *message; /* the transport's memory, as is `room` */
	uint8_t *room;          /* DELIVER_OPERAND_BYTES bytes, for payload gathered from pieces */
	struct grant grant;     /* the range that is sent; a GET sends none */
	const uint8_t *payload; /* short payload: readable here until the application continues,
	                           even if its descriptor is gone; else null */
	uint8_t  sends;         /* 1: not a GET, so initiator_sent ends its send */
	uint8_t  sent;          /* 1: initiator_sent was called: SEND_END is recorded */
	uint32_t copied;        /* bytes gathered from pieces to `room` */
};

/*
 * Start an operation of any kind: calls initiator_put, _get or _exchange, by args->operation, and
 * returns their errors. The caller has set out->message and ->room. Afterwards payload of at most
 * DELIVER_INLINE_BYTES, and all operands, can be read at out->payload; then, if no ack was
 * requested, SEND_END is already recorded. out->grant.events and ->upcall are those of the whole
 * call. If the target turns out to be unreachable, call initiator_lost if out->sent is 1, else
 * initiator_sent with NI_FAIL.
 */
int initiator_start(struct process_view *view, const struct initiator_args *args,
		    struct outgoing *out);

/*
 * Start a put or an atomic operation: checks, threshold, SEND_START. Sets *message, and the source
 * range in *grant. The descriptor is pinned until initiator_sent. If an ack is requested, an
 * operation record awaits it (message.op_handle).
 *   PORTALS_ATOMIC_INVALID    no such operation or datatype, a length that is no multiple
 *                             of the datatype's or more than DELIVER_INLINE_BYTES
 *   PORTALS_MD_INVALID        handle, or the descriptor is inactive
 *   PORTALS_MD_ILLEGAL        the region is not inside the descriptor
 *   PORTALS_PROCESS_INVALID   the target names no process (a wildcard)
 *   PORTALS_SEGV              MD_SPAN: the application itself may not read all of the region
 *   PORTALS_NO_SPACE          an ack was requested and no operation record is free
 *   PORTALS_FAIL              the block is damaged
 * On an error nothing has changed.
 */
int initiator_put(struct process_view *view, const struct initiator_args *args,
		  struct message *message, struct grant *grant);

/*
 * End the send of initiator_put or initiator_exchange, once its payload was read or the send has
 * failed: SEND_END with `fail`; unpins the descriptor, with UNLINK if that frees it. `message` and
 * `grant` are those of the start. Call it exactly once. Returns 0, or DELIVER_DAMAGED.
 */
int initiator_sent(struct process_view *view, const struct message *message,
		   struct grant *grant, enum fail_type fail);

/*
 * The fast path: the initiator's whole half of a put. The put has at most `most` bytes, and MD_FAST
 * is the only flag of its descriptor. No lock is needed, as nothing else changes the same fields.
 * `target_nid` is a valid node. 1: started as by initiator_put and ended as by initiator_sent with
 * NI_OK; the range may be read until the application continues. 0: nothing has changed; the put is
 * longer, of another kind or invalid, so call initiator_put. No operation record awaits an ack: the
 * caller either requests none, or hands the ack to answer_ack_at_once before the call returns.
 * `message` may be null if no ack is requested: for a transport that makes a header of its own.
 */
int initiator_fast_put(struct process_view *view, const struct initiator_args *args,
		       uint64_t most, struct message *message, struct grant *grant);

/* Count a send as failed that initiator_fast_put or initiator_start has ended with NI_OK, but that
 * did not reach its target. */
void initiator_lost(struct process_view *view, uint64_t bytes);

/*
 * The target has carried out a put and sends no ack, though one was requested, as its descriptor
 * disables acks: free the record that awaits it. For a transport that learns this from
 * deliver_begin and deliver_end itself. Harmless if the put awaited no ack, or has its answer.
 */
void initiator_unanswered(struct process_view *view, const struct message *message);

/*
 * Start a get: checks; sets *message. An operation record awaits the reply, and pins the
 * descriptor until the reply has ended. Errors as for initiator_put, and
 *   PORTALS_SEGV              the application itself may not write all of the region
 */
int initiator_get(struct process_view *view, const struct initiator_args *args,
		  struct message *message);

/*
 * Start an exchange (GETPUT, FETCH_ATOMIC), which is a send and a fetch. args->put_md is sent, and
 * initiator_sent ends the send. args->md awaits the reply, as in a get. Both may be the same
 * descriptor. GETPUT: a length of LENGTH_WHOLE means all of put_md. The reply is truncated to the
 * bytes of md from local_offset on. The application itself must be able to write all of these; with
 * MD_SPAN only as many as are sent. FETCH_ATOMIC: both regions have `length` bytes, for CSWAP that
 * of put_md twice as many. Errors as for initiator_get; PORTALS_MD_ILLEGAL also if the length is
 * more than args->most.
 */
int initiator_exchange(struct process_view *view, const struct initiator_args *args,
		       struct message *message, struct grant *grant);

#endif
