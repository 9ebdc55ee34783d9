/*
 * The steps of an arriving request that deliver_begin (target.c) and deliver_inline (inline.c)
 * share. Both call target_find and target_use for every request, so both paths obey the same
 * rules. Private to the engine's target side.
 */
#ifndef NET_PORTALS_TARGET_H
#define NET_PORTALS_TARGET_H
#include "deliver.h"
#include "match.h"
#include "md.h"

/*
 * Rules 1 to 5 and 9: find the request's descriptor (*place), and the range of memory that it may
 * use (*grant). Changes nothing in the block. DELIVER_OK; DROPPED or CLOSED: the caller must
 * discard the request; DAMAGED.
 */
int target_find(struct process_view *view, const struct message *message, struct place *place,
		struct grant *grant);

/* Rules 6 to 8: update the descriptor of an accepted operation: local offset, threshold, unlinking.
 * OK or DAMAGED. */
int target_use(struct process_view *view, const struct place *place);

/* deliver_begin of a PUT, GET or ATOMIC. */
int target_begin(struct process_view *view, const struct message *message, uint32_t runner,
		 struct grant *grant, struct message *answer);

/* Discard a request: count it, and make its answer if the initiator awaits one (rule 16). Returns
 * `result`. */
int target_discard(struct process_view *view, const struct message *message, int result,
		   struct grant *grant, struct message *answer);

/* Make the answer of an accepted request; only a failure of its copy may still change it. */
void target_accept(const struct process_view *view, const struct message *message,
		   uint64_t mlength, struct message *answer);

/* Handle a BARRIER message (barrier.c): count it, or drop it if it is invalid. */
int target_barrier(struct process_view *view, const struct message *message);

/* Whether an accepted put or atomic operation is acknowledged (rule 12). */
static inline int target_acks(const struct message *message, uint32_t options)
{
	return message->ack_request == ACK_YES && !(options & MD_ACK_DISABLE);
}

/* Set the contents of a request's events. */
static inline void target_head(const struct message *message, const struct place *place,
			       const struct grant *grant, struct event_head *head)
{
	head->process = message->source;
	head->user = message->user;
	head->pt_index = message->pt_index;
	head->match_bits = message->match_bits;
	head->rlength = message->length;
	head->mlength = place->bytes;
	head->offset = place->offset;
	head->md_handle = grant->md;
}

/* The START event of an operation; its END is the next. */
static inline enum event_kind target_start(uint8_t operation)
{
	switch (operation) {
	case MESSAGE_PUT:
	case MESSAGE_ATOMIC: return EVENT_PUT_START;
	case MESSAGE_GET:    return EVENT_GET_START;
	case MESSAGE_REPLY:  return EVENT_REPLY_START;
	default:             return EVENT_GETPUT_START;
	}
}

#endif
