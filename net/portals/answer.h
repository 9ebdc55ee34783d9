/*
 * Acks and replies: making them at the target, and handling them at the initiator. For the
 * engine, near.c and net/frames; others use deliver.h and message_refuse.
 */
#ifndef NET_PORTALS_ANSWER_H
#define NET_PORTALS_ANSWER_H
#include "deliver.h"

/* Make the answer to a request: a REPLY to one that fetches, else an ACK (tables 2 and 4 of the
 * Portals paper). */
void answer_make(const struct message *request, enum fail_type fail, uint64_t mlength,
		 struct message *answer);

/* deliver_begin of an ACK and of a REPLY; *grant is cleared. */
int answer_ack(struct process_view *view, const struct message *ack, struct grant *grant);
int answer_reply(struct process_view *view, const struct message *reply, uint32_t runner,
		 struct grant *grant);

/* deliver_inline of a REPLY; *grant is cleared. */
int answer_reply_inline(struct process_view *view, const struct message *reply,
			const void *payload, struct grant *grant);

/* The ACK of a put that initiator_fast_put has started, which no record awaits. The kernel of the
 * initiator made it during the same call; *grant is cleared. */
void answer_ack_at_once(struct process_view *view, const struct message *put,
			const struct message *ack, struct grant *grant);

/* 1 if this process awaits this answer from its source. */
int answer_is_awaited(const struct process_view *view, const struct message *answer);

/* Handle an ACK that says that the target sends no acknowledgement: OK, and the operation has
 * ended without an event; or DROPPED, if none awaits it. */
int answer_none(struct process_view *view, const struct message *ack);

#endif
