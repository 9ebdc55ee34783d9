/*
 * The initiator's side: starting a put or a get, and the end of a send. Called
 * by the initiator's own kernel with its own block's lock held. What comes
 * back (acks, replies) goes through deliver_begin on the initiator's view.
 */
#ifndef NET_PORTALS_INITIATOR_H
#define NET_PORTALS_INITIATOR_H
#include "deliver.h"

#define LENGTH_WHOLE  (~0ULL)   /* the descriptor's whole length, from local_offset 0 */

/* Arguments of PtlPut[Region] and PtlGet[Region]. */
struct initiator_args {
	handle_t md;
	uint64_t local_offset;  /* first byte within the descriptor */
	uint64_t length;        /* bytes, or LENGTH_WHOLE */
	uint32_t target_nid;
	uint32_t target_pid;
	uint32_t pt_index;
	uint32_t cookie;
	uint32_t ack;           /* enum ack_req; put only */
	uint32_t zero;
	uint64_t match_bits;
	uint64_t remote_offset;
	uint64_t hdr_data;      /* put only */
};

/*
 * Start a put: checks, threshold, SEND_START; fills *message and the source
 * range in *grant. The descriptor is pinned until initiator_sent. If an ack
 * will be awaited, an operation record waits for it (message.op_handle).
 *   PORTALS_MD_INVALID        handle, or the descriptor is inactive
 *   PORTALS_MD_ILLEGAL        the region is not inside the descriptor
 *   PORTALS_PROCESS_INVALID   the target names no process (a wildcard)
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
 * The target has carried out a put and sends no ack, though one was asked for
 * (its descriptor disables them): nobody waits any longer. For a link that
 * learns this from deliver_begin and deliver_end itself. Harmless when the put
 * awaited none, or its answer has been delivered.
 */
void initiator_unanswered(struct process_view *view, const struct message *message);

/*
 * Start a get: checks; fills *message. An operation record waits for the reply
 * and pins the descriptor until it has ended. Errors as for initiator_put.
 */
int initiator_get(struct process_view *view, const struct initiator_args *args,
		  struct message *message);

#endif
