/*
 * The initiator's side: starting an operation, and the end of a send. Called
 * by the initiator's own kernel with its own block's lock held. What comes
 * back (acks, replies) goes through deliver_begin on the initiator's view.
 */
#ifndef NET_PORTALS_INITIATOR_H
#define NET_PORTALS_INITIATOR_H
#include "deliver.h"

#define LENGTH_WHOLE  (~0ULL)   /* the descriptor's whole length, from local_offset 0 */

/* Arguments of PtlPut[Region], PtlGet[Region], PtlGetPut, PtlAtomic, PtlFetchAtomic. */
struct initiator_args {
	handle_t md;            /* what is sent or fetched into */
	uint64_t local_offset;  /* first byte within it */
	uint64_t length;        /* bytes at the target, or LENGTH_WHOLE */
	uint32_t target_nid;
	uint32_t target_pid;
	uint32_t pt_index;
	uint32_t cookie;
	uint32_t ack;           /* enum ack_req; PUT, ATOMIC */
	uint8_t  operation;     /* enum message_operation of a request; 0 is a PUT */
	uint8_t  atomic_operation; /* enum atomic_operation; ATOMIC, FETCH_ATOMIC */
	uint8_t  datatype;      /* enum atomic_type; ATOMIC, FETCH_ATOMIC */
	uint8_t  zero;
	uint64_t match_bits;
	uint64_t remote_offset;
	uint64_t hdr_data;      /* not GET */
	handle_t put_md;        /* exchange: what is sent; `md` is what the reply goes to */
	uint64_t put_offset;    /* first byte within that */
	uint64_t most;          /* exchange: longest length allowed, at most
	                           DELIVER_INLINE_BYTES; 0 means that */
};

/* An operation that was started, for a transport to carry. */
struct outgoing {
	struct message *message; /* the transport's, as is `room` */
	uint8_t *room;          /* DELIVER_OPERAND_BYTES: for what is gathered from pieces */
	struct grant grant;     /* the range that is sent; a GET sends none */
	const uint8_t *payload; /* what is short can be read here until the application runs on,
	                           whatever becomes of its descriptor; else null */
	uint8_t  sends;         /* 1: not a GET: it ends with initiator_sent */
	uint8_t  sent;          /* 1: it has: SEND_END is recorded */
	uint32_t copied;        /* bytes that were gathered from pieces, to `room` */
};

/*
 * Start an operation of any kind: initiator_put, _get or _exchange by args->operation,
 * and their errors. The caller has set out->message and ->room. Payload of at most
 * DELIVER_INLINE_BYTES, and all operands, can be read at out->payload when this returns; if
 * no ack was asked for, SEND_END is then recorded already. out->grant.events and ->upcall
 * are those of all that. A target that cannot be reached afterwards: initiator_lost if
 * out->sent, else initiator_sent with NI_FAIL.
 */
int initiator_start(struct process_view *view, const struct initiator_args *args,
		    struct outgoing *out);

/*
 * Start a put or an atomic operation: checks, threshold, SEND_START; fills
 * *message and the source range in *grant. The descriptor is pinned until
 * initiator_sent. If an ack will be awaited, an operation record waits for it
 * (message.op_handle).
 *   PORTALS_ATOMIC_INVALID    no such operation or datatype, a length that is no multiple
 *                             of the datatype's or more than DELIVER_INLINE_BYTES
 *   PORTALS_MD_INVALID        handle, or the descriptor is inactive
 *   PORTALS_MD_ILLEGAL        the region is not inside the descriptor
 *   PORTALS_PROCESS_INVALID   the target names no process (a wildcard)
 *   PORTALS_SEGV              MD_SPAN: the application may not read all of the region itself
 *   PORTALS_NO_SPACE          an ack was asked for and no operation record is free
 *   PORTALS_FAIL              the block is damaged
 * On an error nothing has changed.
 */
int initiator_put(struct process_view *view, const struct initiator_args *args,
		  struct message *message, struct grant *grant);

/*
 * The put's payload has left this process's memory, or never will: SEND_END
 * with `fail`, the descriptor is no longer pinned, UNLINK if it goes.
 * `message` and `grant` are those of initiator_put. Call it exactly once.
 * Returns 0, or DELIVER_DAMAGED.
 */
int initiator_sent(struct process_view *view, const struct message *message,
		   struct grant *grant, enum fail_type fail);

/*
 * The whole initiator's half of the plainest puts: short, from contiguous memory, of a
 * descriptor that is bound to no entry, has no event queue and does not go. Without the
 * lock: nothing else touches what it changes. `target_nid` is a node's. 1: started as by
 * initiator_put and ended as by initiator_sent with NI_OK; the range may be read
 * until the application goes on. 0: nothing has changed, the put is another or
 * wrong, initiator_put knows.
 */
int initiator_fast_put(struct process_view *view, const struct initiator_args *args,
		       struct message *message, struct grant *grant);

/* A send that initiator_fast_put or initiator_start has ended with NI_OK did not reach its
 * target: it counts as failed. */
void initiator_lost(struct process_view *view, uint64_t bytes);

/*
 * The target has carried out a put and sends no ack, though one was asked for
 * (its descriptor disables them): the put is complete. For a link that
 * learns this from deliver_begin and deliver_end itself. Harmless when the put
 * awaited none, or its answer has been delivered.
 */
void initiator_unanswered(struct process_view *view, const struct message *message);

/*
 * Start a get: checks; fills *message. An operation record waits for the reply
 * and pins the descriptor until it has ended. Errors as for initiator_put, and
 *   PORTALS_SEGV              the application may not write all of the region itself
 */
int initiator_get(struct process_view *view, const struct initiator_args *args,
		  struct message *message);

/*
 * Start an exchange: both of them. args->put_md is sent: initiator_sent ends
 * that as it ends a put. args->md awaits the reply as of a get; the two may be
 * one. GETPUT: length is LENGTH_WHOLE for all of put_md; the reply is cut to
 * what lies behind local_offset in md; what it may fill must be writable by the application,
 * with MD_SPAN only as many bytes as are sent. FETCH_ATOMIC: both regions have `length`
 * bytes, that of put_md twice as many for CSWAP. Errors as for initiator_put;
 * PORTALS_MD_ILLEGAL too if a GETPUT's length is more than args->most.
 */
int initiator_exchange(struct process_view *view, const struct initiator_args *args,
		       struct message *message, struct grant *grant);

#endif
