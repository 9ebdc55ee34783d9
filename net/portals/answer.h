/*
 * Acks and replies: making them, and taking them at the initiator. For the engine,
 * and for links that bring them; runners see deliver.h and message_refuse.
 */
#ifndef NET_PORTALS_ANSWER_H
#define NET_PORTALS_ANSWER_H
#include "deliver.h"

/* The REPLY to what fetches, or the ACK to the rest (tables 2 and 4 of the paper). */
void answer_make(const struct message *request, enum fail_type fail, uint64_t mlength,
		 struct message *answer);

/* deliver_begin of an ACK and of a REPLY; *grant is cleared. */
int answer_ack(struct process_view *view, const struct message *ack, struct grant *grant);
int answer_reply(struct process_view *view, const struct message *reply, uint32_t runner,
		 struct grant *grant);

/* deliver_inline of a REPLY; *grant is cleared. */
int answer_reply_inline(struct process_view *view, const struct message *reply,
			const void *payload, struct grant *grant);

/* 1 if this process waits for the answer, and for one from its source. */
int answer_is_awaited(const struct process_view *view, const struct message *answer);

/* An ACK by which a target says that it acknowledges nothing: OK, and the
 * operation has ended without an event; or DROPPED, if none waits for it. */
int answer_none(struct process_view *view, const struct message *ack);

#endif
